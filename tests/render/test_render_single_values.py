"""Samples as one value for each benchmark and metric, read back by Hati's own readers."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hati.core import (
    Better,
    Configuration,
    InputError,
    Metric,
    Observations,
    Sample,
    SampledRun,
    SampleFormat,
    Workload,
    conversion,
)
from hati.render import action_json, action_tool, bencher_json, to_plain
from hati.subject.samples import read_samples


def sample(values: list[list[float]], metric: str = "time", unit: str = "s", **other: object) -> Sample:
    of = Metric(metric, unit, Better(str(other.pop("better", "lower"))))
    runs = tuple(SampledRun(Observations(metric, unit, np.array(v), len(v) > 1)) for v in values)
    return Sample(str(other.pop("benchmark", "sort")), of, runs, **other)  # type: ignore[arg-type]  # fields of several types


def test_a_time_is_the_latency_in_ns_with_a_deviation_on_each_side() -> None:
    one = sample(
        [[9.0, 1.0, 2.0], [2.5]],
        unit="ms",
        configuration=Configuration({"cache": True}),
        workload=Workload({"n": 10}),
    )
    deviation = float(np.std([1.5, 2.5], ddof=1)) * 1e6
    (name, measures), *others = to_plain(bencher_json([one])).items()
    assert (name, others) == ("sort/cache=true/n=10", [])
    assert measures == {
        "latency": {
            "value": pytest.approx(2e6),
            "lower_value": pytest.approx(2e6 - deviation),
            "upper_value": pytest.approx(2e6 + deviation),
        }
    }


@pytest.mark.parametrize(
    ("metrics", "measures"),
    [
        ([("time", "s")], {"latency": 2e9}),
        ([("time", "ns/op"), ("memory", "B/op")], {"latency": 2.0, "memory (B/op)": 2.0}),
        ([("real_time", "us"), ("cpu_time", "us")], {"latency": 2000.0, "cpu_time (us)": 2.0}),
        ([("time", "s"), ("latency", "ms")], {"latency": 2e6, "time (s)": 2.0}),
        ([("time", "s"), ("latency", "")], {"latency": 2.0, "time (s)": 2.0}),
        ([("throughput", "1/ms")], {"throughput": 2000.0}),
        ([("throughput", "MB/s")], {"throughput (MB/s)": 2.0}),
        ([("build-time", "min")], {"build-time": 120.0}),
        ([("file-size", "KiB"), ("score", "")], {"file-size": 2048.0, "score": 2.0}),
    ],
)
def test_units_are_those_of_the_measure_or_in_its_name(
    metrics: list[tuple[str, str]], measures: dict[str, float]
) -> None:
    found = to_plain(bencher_json([sample([[2.0]], metric, unit) for metric, unit in metrics]))["sort"]
    assert found == {name: {"value": pytest.approx(value)} for name, value in measures.items()}


def test_an_object_for_each_benchmark_and_metric() -> None:
    (found,) = to_plain(action_json([sample([[1.0], [1.2]], revision="abc", machine="box")]))
    assert found == {
        "name": "sort time",
        "unit": "s",
        "value": pytest.approx(1.1),
        "range": "± 0.141",
        "extra": "2 runs\nrevision abc\nmachine box",
    }
    assert to_plain(action_json([sample([[1.0]], unit="")])) == [
        {"name": "sort time", "unit": "1", "value": 1.0, "extra": "1 run"}
    ]


def test_the_tool_has_the_direction() -> None:
    rate = sample([[1.0]], "requests", "1/s", better="higher")
    assert action_tool([sample([[1.0]])]) == "customSmallerIsBetter"
    assert action_tool([rate]) == "customBiggerIsBetter"
    with pytest.raises(InputError, match=r"lower is better of time, higher is better of requests.*--metric time"):
        action_json([sample([[1.0]]), rate])


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"revision": "b"}, "sort time is of the revisions a, b; choose one by --revision"),
        ({"revision": "a", "machine": "m"}, "sort time is of the machines m, unknown; choose a --study of one machine"),
    ],
)
def test_several_samples_of_one_name_are_refused(other: dict[str, str], message: str) -> None:
    samples = [sample([[1.0]], revision="a"), sample([[1.0]], **other)]
    for write in (bencher_json, action_json):
        with pytest.raises(InputError) as raised:
            write(samples)
        assert message in str(raised.value)


_TEXT = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S"]), min_size=1, max_size=12)
_UNITS = st.sampled_from(["s", "ms", "ns/op", "MiB", "1/s", "MB/s", "%", ""])
_METRICS = st.sampled_from(["time", "latency", "wall_time", "throughput", "peak"])
_RUNS = st.lists(st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=3), min_size=1, max_size=4)


def read(value: object, written_as: SampleFormat) -> tuple[Sample, ...]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.json"
        path.write_text(json.dumps(value))
        return read_samples(path, written_as).samples


@given(st.dictionaries(_TEXT, st.tuples(_METRICS, _UNITS, _RUNS), min_size=1, max_size=4), _TEXT)
@settings(max_examples=60)
def test_what_is_written_is_read_again(benchmarks: dict[str, tuple[str, str, list[list[float]]]], setting: str) -> None:
    samples = [
        sample(runs, metric, unit, benchmark=name, configuration=Configuration({"o": setting}))
        for name, (metric, unit, runs) in benchmarks.items()
    ]
    means = [float(np.mean([run.mean() for run in each.steady])) for each in samples]
    found = read(to_plain(bencher_json(samples)), SampleFormat.BENCHER)
    assert [each.benchmark for each in found] == [f"{each.benchmark}/o={setting}" for each in samples]
    for one, written, mean in zip(found, samples, means, strict=True):
        above = written.metric.unit.removesuffix("/op") if one.metric.name == "latency" else written.metric.unit
        assert one.metric.name in {written.metric.name, "latency"}
        factor = conversion(above, one.metric.unit) if above else 1.0
        assert one.steady[0][0] == pytest.approx(factor * mean)
    again = read(to_plain(action_json(samples)), SampleFormat.GITHUB_ACTION)
    assert [each.benchmark for each in again] == [f"{e.benchmark}/o={setting} {e.metric.name}" for e in samples]
    assert [each.metric.unit for each in again] == [each.metric.unit or "1" for each in samples]
    assert [each.steady[0][0] for each in again] == pytest.approx(means)
