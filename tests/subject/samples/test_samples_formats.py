"""The formats of other tools, as those tools wrote them (``fixtures/make.sh``)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from malformed import FIXTURES

from hati.core import Better, InputError, Metric, Sample, SampleFormat, SummarizedRuns, Workload
from hati.subject.samples import read_all, read_samples


def read(name: str) -> tuple[Sample, ...]:
    return read_samples(FIXTURES / name).samples


def values(sample: Sample) -> list[list[float]]:
    return [run.observations.values.tolist() for run in sample.runs]


def test_hyperfine_starts_a_process_for_each_time() -> None:
    one, two = read("hyperfine.json")
    assert (one.benchmark, one.metric, one.workload) == ("seq 1", Metric("time", "s"), Workload({"n": "1"}))
    assert values(one) == [[0.001616812], [0.0021106320000000003], [0.0013502850000000001]]
    assert [run.exit for run in two.runs] == [0, 0, 0]


def test_forks_of_jmh_are_runs_and_iterations_observations() -> None:
    samples = read("jmh.json")
    by_time, by_rate = (next(s for s in samples if s.metric.name == mode) for mode in ("avgt", "thrpt"))
    assert (by_time.metric.unit, by_time.metric.better) == ("us/op", Better.LOWER)
    assert (by_rate.metric.unit, by_rate.metric.better) == ("ops/us", Better.HIGHER)
    assert values(by_rate) == [
        [4.613643100788543, 4.77214566836211, 16.542827196867208],
        [29.406182996182515, 6.995069419378836, 1.1493852191860772],
    ]
    assert by_rate.workload == Workload({"n": "10"})
    assert {len(sample.runs) for sample in samples if "alloc" in sample.metric.name} == {2}


def test_runs_of_pyperf_have_their_warmup_and_calibrations_are_left_out() -> None:
    (sample,) = read("pyperf.json")
    assert (sample.benchmark, sample.metric.unit, sample.machine) == ("sort", "s", "box")
    assert len(sample.runs) == 10
    assert sample.runs[0].observations.warmup == 1
    assert sample.runs[0].steady.tolist() == [4.7989883042443e-07, 4.648529892126163e-07]
    assert sample.runs[0].usage.peak_memory == 20033536


@pytest.mark.parametrize(
    ("name", "count", "observed"),
    [("pytest-benchmark.json", 2, 4), ("google-benchmark.json", 6, 3), ("criterion", 2, 10)],
)
def test_what_one_process_repeats_is_one_run(name: str, count: int, observed: int) -> None:
    found = read_samples(FIXTURES / name)
    assert len(found.samples) == count
    assert all(len(sample.runs) == 1 for sample in found.samples)
    assert all(len(sample.steady[0]) == observed for sample in found.samples)
    assert any("one process" in warning for warning in found.warnings)


def test_several_files_are_several_runs() -> None:
    path = FIXTURES / "google-benchmark.json"
    assert [len(sample.runs) for sample in read_all([path, path]).samples] == [2] * 6


def test_google_benchmark_has_times_and_rates() -> None:
    real, cpu, rate = read("google-benchmark.json")[:3]
    assert [(s.metric.name, s.metric.unit) for s in (real, cpu, rate)] == [
        ("real_time", "ns"),
        ("cpu_time", "ns"),
        ("items_per_second", "1/s"),
    ]
    assert (real.metric.better, rate.metric.better) == (Better.LOWER, Better.HIGHER)
    assert real.machine == "box"


def test_processes_of_go_are_runs_and_counts_observations() -> None:
    samples = read("go.txt")
    assert [s.metric.name for s in samples] == ["time", "memory", "allocations"] * 2
    assert samples[0].benchmark == "example.org/sorting.BenchmarkSort/n=10"
    assert samples[0].workload == Workload({"procs": 2})
    assert values(samples[0]) == [[50.9, 22.74], [21.95, 35.27]]


def test_criterion_gives_times_for_each_iteration(tmp_path: Path) -> None:
    ten, twenty = read("criterion")
    assert (ten.benchmark, twenty.benchmark, ten.metric.unit) == ("sort/stable/10", "sort/stable/20", "ns")
    assert ten.steady[0][0] == pytest.approx(329333 / 9194)
    folder = FIXTURES / "criterion/sort/stable/10/new"
    for file in ("sample.json", "benchmark.json"):
        assert read_samples(folder / file).samples == (ten,)
    alone = tmp_path / "sample.json"
    alone.write_bytes((folder / "sample.json").read_bytes())
    assert read_samples(alone).samples[0].benchmark == tmp_path.name
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(InputError, match="no files of measurements"):
        read_samples(empty)


def test_asv_pools_processes_and_leaves_out_what_was_not_measured() -> None:
    found = read_samples(FIXTURES / "asv.json")
    *times, size = found.samples
    assert [dict(s.workload) for s in times] == [
        {"param1": "10", "param2": "'up'"},
        {"param1": "10", "param2": "'down'"},
        {"param1": "20", "param2": "'up'"},
    ]
    assert all(len(s.steady[0]) == 6 for s in times)
    assert times[0].revision.startswith("533c1f6d")
    assert values(size) == [[42.0]]
    assert any("left out" in warning for warning in found.warnings)


def test_asv_names_parameters_and_units_in_a_file_above(tmp_path: Path) -> None:
    (tmp_path / "box").mkdir()
    shutil.copy(FIXTURES / "asv.json", tmp_path / "box" / "a.json")
    shutil.copy(FIXTURES / "asv-benchmarks.json", tmp_path / "benchmarks.json")
    *times, size = read_samples(tmp_path / "box" / "a.json").samples
    assert dict(times[1].workload) == {"n": "10", "order": "'down'"}
    assert (times[0].metric.unit, size.metric.unit) == ("s", "B")
    text = (tmp_path / "benchmarks.json").read_text()
    (tmp_path / "benchmarks.json").write_text(text.replace('"unit": "bytes"', '"unit": "requests/s"'))
    *_, size = read_samples(tmp_path / "box" / "a.json").samples
    assert size.metric == Metric("value", "requests/s", Better.HIGHER)
    (tmp_path / "benchmarks.json").write_text("{")
    with pytest.raises(InputError, match="ends before it is complete"):
        read_samples(tmp_path / "box" / "a.json")


def test_launches_of_benchmarkdotnet_are_runs() -> None:
    (sample,) = read("benchmarkdotnet.json")
    assert (sample.benchmark, dict(sample.workload)) == ("Examples.Sorting.Sort", {"N": "10"})
    assert values(sample) == [[100.25, 100.5, 100.75], [200.25, 200.5, 200.75]]


@pytest.mark.parametrize("name", ["data.js", "custom.json", "bencher.json", "catch2.xml"])
def test_summaries_are_single_observations_and_a_warning_says_so(name: str) -> None:
    found = read_samples(FIXTURES / name)
    assert all(len(run.observations.values) == 1 for sample in found.samples for run in sample.runs)
    assert any("not single observations" in warning for warning in found.warnings)


def test_summaries_keep_revisions_units_and_directions() -> None:
    assert [(s.revision, s.metric.unit, values(s)) for s in read("data.js")] == [
        ("a1", "ns/iter", [[120.0]]),
        ("b2", "ns/iter", [[90.5]]),
    ]
    assert [s.metric.better for s in read("custom.json")] == [Better.HIGHER, Better.LOWER]
    assert [(s.metric.unit, s.metric.better.value) for s in read("bencher.json")] == [
        ("ns", "lower"),
        ("1/s", "higher"),
    ]
    assert [(s.benchmark, values(s)) for s in read("catch2.xml")] == [("sorting: sort 10", [[659.987]])]


def test_rows_of_a_table_are_runs_unless_a_column_says_which(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("benchmark,value,unit\na,1,s\nb,2,s\na,3,s\n")
    assert [values(sample) for sample in read_samples(path).samples] == [[[1.0], [3.0]], [[2.0]]]
    path.write_text(
        "run,benchmark,value,metric,better,revision\n1,a,1,m,higher,r\n1,a,2,m,higher,r\n2,a,3,m,higher,r\n"
    )
    (sample,) = read_samples(path).samples
    assert values(sample) == [[1.0, 2.0], [3.0]]
    assert (sample.metric, sample.revision) == (Metric("m", "", Better.HIGHER), "r")


def test_rows_of_a_table_may_be_means_of_runs(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("benchmark,value,n,deviation\na,1.5,20,0.25\nb,2,12,\nc,3,,\n")
    found = [sample.runs[0].summary for sample in read_samples(path).samples]
    assert found == [SummarizedRuns(20, 0.25), SummarizedRuns(12), None]


def test_rows_of_a_table_are_of_named_runs_or_means_of_runs(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("benchmark,value,run,n\na,1,x,\na,2,x,\na,1.5,,20\n")
    [sample] = read_samples(path).samples
    assert [(run.steady.tolist(), run.summary) for run in sample.runs] == [
        ([1.0, 2.0], None),
        ([1.5], SummarizedRuns(20)),
    ]


def test_a_score_of_jmh_is_the_mean_of_its_forks(tmp_path: Path) -> None:
    metric = {"score": 2.0, "scoreUnit": "us/op"}
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"benchmark": "a", "mode": "avgt", "forks": 5, "primaryMetric": metric}]))
    [sample] = read_samples(path).samples
    assert sample.runs[0].summary == SummarizedRuns(5)
    [warning] = read_samples(path).warnings
    assert warning == "this JMH file gives scores, not single observations: how much these vary is not known"


@pytest.mark.parametrize(("name", "runs"), [("catch2.xml", 1), ("custom.json", None)])
def test_repetitions_of_one_process_are_one_run_and_others_are_not_counted(name: str, runs: int | None) -> None:
    assert {run.summary for sample in read(name) for run in sample.runs} == {SummarizedRuns(runs)}


def test_a_format_can_be_named() -> None:
    with pytest.raises(InputError, match="nothing measured"):
        read_samples(FIXTURES / "pyperf.json", SampleFormat.HYPERFINE)


def test_observations_of_a_sample_cannot_be_written_to() -> None:
    with pytest.raises(ValueError, match="read-only"):
        np.put(read("go.txt")[0].steady[0], 0, 1.0)


@pytest.mark.parametrize(
    ("name", "data", "line"),
    [
        ("cut.txt", b"goos: linux\nBenchmarkX-8 100 123.4 ns/op 45 B/op\nBenchmarkX-8 100 121.4 ns/op 45 B/", 3),
        ("cut-name.txt", b"goos: linux\nBenchmarkX-8 100 123.4 ns/op\nBenchma", 3),
        ("cut.csv", b"benchmark,value\nsort,123.4\nsort,12", 3),
    ],
)
def test_a_last_line_without_its_end_is_warned_of(tmp_path: Path, name: str, data: bytes, line: int) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    assert any(f"{name}:{line}: this last line has no line end" in warning for warning in read_samples(path).warnings)
    path.write_bytes(data + b"\n")
    assert not any("no line end" in warning for warning in read_samples(path).warnings)
