"""Samples as Go's benchmark format: read back by a parser after its specification, and by Hati's own reader."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hati.core import (
    Better,
    Configuration,
    Metric,
    Observations,
    Sample,
    SampledRun,
    SampleFormat,
    Workload,
    conversion,
)
from hati.render import benchstat_text
from hati.subject.samples import read_samples


class Result(NamedTuple):
    """A line of the format."""

    settings: dict[str, str]
    name: str
    iterations: int
    values: dict[str, float]


def parsed(text: str) -> tuple[list[Result], dict[str, dict[str, str]]]:
    """All results and what is said of units (https://go.dev/design/14313-benchmark-format, section Proposal).

    Raises:
        AssertionError: for a line that begins as a result and is none.
    """
    configuration: dict[str, str] = {}
    results: list[Result] = []
    units: dict[str, dict[str, str]] = {}
    for line in text.split("\n"):
        key = re.fullmatch(r"([^\W\dA-Z_][^\sA-Z:]*):(?:[ \t]+(.*))?", line)
        if line.startswith("Benchmark"):
            name, iterations, *pairs = line.split()
            assert pairs
            assert len(pairs) % 2 == 0
            assert int(iterations) > 0
            values = {unit: float(value) for value, unit in zip(pairs[::2], pairs[1::2], strict=True)}
            results.append(Result(dict(configuration), name, int(iterations), values))
        elif line.startswith("Unit "):
            _, unit, *told = line.split()
            units[unit] = dict(word.split("=", 1) for word in told)
        elif key:
            configuration[key[1]] = key[2] or ""
    return results, units


def sample(values: list[list[float]], unit: str = "ms", metric: str = "latency", **other: object) -> Sample:
    of = Metric(metric, unit, Better(str(other.pop("better", "lower"))))
    runs = tuple(SampledRun(Observations(metric, unit, np.array(v), len(v) > 1)) for v in values)
    return Sample(str(other.pop("benchmark", "orders")), of, runs, **other)  # type: ignore[arg-type]  # fields of several types


def text(*samples: Sample) -> str:
    return "".join(benchstat_text(samples))


def test_a_run_is_a_line_with_its_mean_after_warmup() -> None:
    one = sample(
        [[9.0, 1.0, 2.0], [3.0]],
        configuration=Configuration({"mode": "WAL", "path": "/tmp x"}),
        workload=Workload({"n": 10, "procs": 4}),
        revision="ab12",
        machine="box",
    )
    name = r"Benchmarkorders/mode=WAL/path=\x2ftmp_x/n=10-4"
    assert text(one).splitlines() == [
        "Unit latency-ns better=lower",
        "commit: ab12",
        "machine: box",
        f"{name} 2 1500000.0 latency-ns",
        "PASS",
        "commit: ab12",
        "machine: box",
        f"{name} 1 3000000.0 latency-ns",
        "PASS",
    ]


def test_what_go_printed_is_written_as_it_was() -> None:
    benchmark = "example.org/sorting.BenchmarkSort/n=10"
    one = sample([[50.9]], "ns/op", "time", benchmark=benchmark, workload=Workload({"procs": 2}))
    results, _ = parsed(text(one))
    assert results == [Result({"pkg": "example.org/sorting"}, "BenchmarkSort/n=10-2", 1, {"ns/op": 50.9})]


@pytest.mark.parametrize(
    ("metric", "unit", "written", "factor"),
    [
        ("latency", "s", "latency-ns", 1e9),
        ("time", "us/op", "ns/op", 1e3),
        ("memory", "KiB", "memory-B", 1024.0),
        ("throughput", "MB/s", "MB/s", 1.0),
        ("disk", "MB/s", "disk-B/s", 1e6),
        ("requests", "1/s", "requests-1/s", 1.0),
        ("cache hits", "", "cache_hits", 1.0),
        ("read", "page", "read-page", 1.0),
    ],
)
def test_units_are_those_that_benchstat_knows(metric: str, unit: str, written: str, factor: float) -> None:
    (result,), _ = parsed(text(sample([[2.0]], unit, metric)))
    assert result.values == {written: pytest.approx(2.0 * factor)}


def test_what_is_no_longer_known_is_taken_back() -> None:
    results, _ = parsed(text(sample([[1.0]], revision="a"), sample([[1.0]], machine="b")))
    assert [result.settings for result in results] == [{"commit": "a"}, {"commit": "", "machine": "b"}]


def test_names_that_become_the_same_are_told_apart_and_no_number_is_one_of_processors() -> None:
    found = parsed(text(*(sample([[1.0]], benchmark=name) for name in ("a b", "a_b", "a\tb", "c-8", "c 8", "c\n8-8"))))
    names = [result.name for result in found[0]]
    assert names == [f"Benchmark{name}" for name in ("a_b", "a_b#01", "a_b#02", "c-8-1", "c_8", "c_8-8-1")]


_NAMES = st.text(st.characters(codec="utf-8", exclude_characters="-"), min_size=1, max_size=12)
_UNITS = st.sampled_from(["s", "ms", "ns/op", "MiB", "1/s", "MB/s", "%"])
_RUNS = st.lists(st.lists(st.floats(0, 1e9), min_size=1, max_size=3), min_size=1, max_size=4)


@given(_NAMES, st.dictionaries(_NAMES, st.integers(0, 9) | st.booleans() | _NAMES, max_size=2), _UNITS, _RUNS)
@settings(max_examples=30)
def test_what_is_written_is_read_again(
    name: str, workload: dict[str, int | str], unit: str, values: list[list[float]]
) -> None:
    samples = [
        sample(values, unit, "m", benchmark=name, workload=Workload(workload), revision="r 1", better="higher"),
        sample(values[:1], unit, "m", benchmark=name, workload=Workload(workload), machine="m"),
    ]
    written = text(samples[0])
    results, units = parsed(written)
    assert {said["better"] for said in units.values()} == {"higher"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.txt"
        path.write_text(text(samples[1]) + written)
        first, second = read_samples(path, SampleFormat.GO).samples
    assert (first.machine, first.revision, second.machine, second.revision) == ("m", "", "m", "r 1")
    assert second.metric.better is Better.HIGHER
    assert [[*run.steady] for run in second.runs] == [[*result.values.values()] for result in results]
    factor = conversion(unit, second.metric.unit)
    means = [run.observations.mean for run in samples[0].runs]
    np.testing.assert_allclose([run.steady[0] for run in second.runs], np.multiply(means, factor), rtol=1e-12)
    assert {result.iterations for result in results} <= {1, 2}
