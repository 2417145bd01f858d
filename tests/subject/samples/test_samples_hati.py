"""Hati's own format of samples."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from hati.core import (
    Better,
    Configuration,
    InputError,
    Metric,
    Observations,
    Sample,
    SampledRun,
    SummarizedRuns,
    Usage,
    Workload,
    replace,
)
from hati.core.run import Origin
from hati.document import Joined, SamplesJson, publish
from hati.render import to_plain
from hati.subject.samples import read_samples


def a_sample() -> Sample:
    runs = (
        SampledRun(
            Observations("latency", "ms", np.array([3.0, 2.5, 2.25]), 1),
            datetime(2026, 11, 20, 10, tzinfo=UTC),
            Usage(0.5, 0.75, 3, 4, 5, 0.25),
            Origin("s", "design", 2),
            0,
        ),
        SampledRun(Observations("latency", "ms", np.array([2.0]))),
    )
    metric = Metric("latency", "ms", Better.HIGHER)
    return Sample("b", metric, runs, Configuration({"a": "on", "n": 1, "x": True}), "r", Workload({"n": 1.5}), "m")


def written(folder: Path, content: object) -> Path:
    path = folder / "a.json"
    path.write_text(json.dumps(content))
    return path


def test_what_is_exported_is_read_again(tmp_path: Path) -> None:
    exported = to_plain(publish(Joined(samples=[a_sample()]), SamplesJson))
    found = read_samples(written(tmp_path, exported))
    assert found.samples == (a_sample(),)
    assert found.warnings == ()


@pytest.mark.parametrize("known", [SummarizedRuns(20, 0.25), SummarizedRuns(20), SummarizedRuns(1), SummarizedRuns()])
def test_a_mean_of_runs_keeps_what_is_known_of_them(tmp_path: Path, known: SummarizedRuns) -> None:
    run = SampledRun(Observations("latency", "ms", np.array([2.1])), summary=known)
    exported = to_plain(publish(Joined(samples=[replace(a_sample(), runs=(run,))]), SamplesJson))
    assert read_samples(written(tmp_path, exported)).samples[0].runs == (run,)


@pytest.mark.parametrize(
    ("run", "place", "reason"),
    [
        ({"observations": [2.1], "deviation": 0.1}, ".deviation", "needs their number"),
        ({"observations": [2.1], "mean_of": "unknown", "deviation": 0.1}, ".mean_of", "number is unknown"),
        ({"observations": [2.1], "mean_of": 0}, ".mean_of", "a mean of 0 runs"),
        ({"observations": [2.1], "mean_of": "ten"}, ".mean_of", "a number is needed"),
        ({"observations": [2.1, 2.2, 2.3], "mean_of": 20}, ".mean_of", "a single observation, not 3"),
    ],
)
def test_means_of_runs_that_contradict_themselves_are_refused(
    tmp_path: Path, run: dict[str, object], place: str, reason: str
) -> None:
    sample = {"benchmark": "b", "metric": "m", "unit": "s", "runs": [run]}
    with pytest.raises(InputError, match=reason) as caught:
        read_samples(written(tmp_path, {"format": "hati-samples-1", "samples": [sample]}))
    assert str(caught.value.place).endswith(f"samples[0].runs[0]{place}")


def test_the_deviation_of_runs_is_in_the_unit_of_their_mean(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("benchmark,value,unit,n,deviation\na,1.5,s,20,0.25\na,1500,ms,20,250\n")
    first, second = read_samples(path).samples[0].runs
    assert first == second


def test_packed_files_and_byte_order_marks_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.json.gz"
    path.write_bytes(
        gzip.compress(
            b"\xef\xbb\xbf" + json.dumps(to_plain(publish(Joined(samples=[a_sample()]), SamplesJson))).encode()
        )
    )
    assert read_samples(path).samples == (a_sample(),)


def test_how_far_one_has_got_is_told(tmp_path: Path) -> None:
    path = written(tmp_path, to_plain(publish(Joined(samples=[a_sample()] * 2000), SamplesJson)))
    told: list[tuple[int, int]] = []
    read_samples(path, watch=lambda *position: told.append(position))
    size = path.stat().st_size
    assert told[-1] == (size, size)
    assert len(told) > 5


def test_runs_of_one_identity_are_one_sample(tmp_path: Path) -> None:
    (found,) = read_samples(
        written(tmp_path, to_plain(publish(Joined(samples=[a_sample(), a_sample()]), SamplesJson)))
    ).samples
    assert len(found.runs) == 4
    assert [len(values) for values in found.steady] == [2, 1, 2, 1]


def test_units_of_one_dimension_are_converted(tmp_path: Path) -> None:
    content = to_plain(publish(Joined(samples=[a_sample(), a_sample()]), SamplesJson))
    content["samples"][1]["unit"] = "s"  # type: ignore[index,call-overload]  # plain JSON
    found = read_samples(written(tmp_path, content))
    assert found.samples[0].runs[3].observations.values.tolist() == [2000.0]
    assert "converted to ms" in found.warnings[0]


def test_a_sample_needs_runs_and_a_name() -> None:
    run = SampledRun(Observations("t", "s", np.array([1.0])))
    with pytest.raises(InputError, match="no runs"):
        Sample("b", Metric("t", "s"), ())
    with pytest.raises(InputError, match="empty name"):
        Sample("", Metric("t", "s"), (run,))
    with pytest.raises(InputError, match="'ms'"):
        Sample("b", Metric("t", "ms"), (run,))
    with pytest.raises(InputError, match="time zone"):
        SampledRun(run.observations, datetime(2026, 1, 1))
