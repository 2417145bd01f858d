"""What other benchmark tools write, read as a run: one benchmark's observations in one process."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.core import Benchmark, InputError, Metric, Outcome, Reader, Resources, Run, SampleFormat
from hati.subject.readers import check_reader, read

NOTHING = Resources(2.0, 1.0, 0.5, 3 * 2**20, 1, 2, 0.0)
FIXTURES = Path(__file__).parent / "samples" / "fixtures"
TOOLS = GOOGLE, JMH, GO = SampleFormat.GOOGLE_BENCHMARK, SampleFormat.JMH, SampleFormat.GO
GOOGLE_OUTPUT = (FIXTURES / "google-benchmark.json").read_bytes()
JMH_TWO_FORKS = (FIXTURES / "jmh.json").read_bytes()
GO_TWO_PROCESSES = (FIXTURES / "go.txt").read_bytes()
GO_OUTPUT = b"".join(GO_TWO_PROCESSES.partition(b"PASS")[:2])
NS, PER_OP = Metric("real_time", "ns"), Metric("time", "ns/op")


def one_fork() -> bytes:
    document = json.loads(JMH_TWO_FORKS)
    for result in document:
        for metric in (result["primaryMetric"], *result["secondaryMetrics"].values()):
            metric["rawData"] = metric["rawData"][:1]
    return json.dumps(document).encode()


JMH_OUTPUT = one_fork()


def benchmark(
    kind: str, metrics: Sequence[Metric], pattern: str | None = None, field: str | None = None, warmup: int = 0
) -> Benchmark:
    patterns = tuple((metric.name, pattern) for metric in metrics if pattern is not None)
    fields = tuple((metric.name, field) for metric in metrics if field is not None)
    return Benchmark("b", ("true",), Reader(kind, patterns, fields), tuple(metrics), warmup=warmup)


def values(output: bytes, kind: str, metric: Metric, *about: str | None) -> list[float]:
    return list(read(benchmark(kind, [metric], *about), output, NOTHING)[0].values)


def error(output: bytes, kind: str, metric: Metric, *about: str | None) -> str:
    with pytest.raises(InputError) as caught:
        values(output, kind, metric, *about)
    return str(caught.value)


class TestGoogleBenchmark:
    def test_repetitions_are_observations_and_the_pattern_picks_the_benchmark(self) -> None:
        written = [b for b in json.loads(GOOGLE_OUTPUT)["benchmarks"] if b["run_type"] == "iteration"]
        for key, unit in (("real_time", "ns"), ("cpu_time", "ns"), ("items_per_second", "1/s")):
            expected = [b[key] for b in written if b["run_name"].startswith("BM_Sort/10/")]
            assert len(expected) == 3
            assert values(GOOGLE_OUTPUT, GOOGLE, Metric(key, unit), "^BM_Sort/10/") == expected

    def test_units_are_converted_and_the_metric_may_have_a_name_of_its_own(self) -> None:
        known = np.array(values(GOOGLE_OUTPUT, GOOGLE, NS, "Sort/10/"))
        own = Metric("latency", "us")
        assert values(GOOGLE_OUTPUT, GOOGLE, own, "Sort/10/", "real_time") == pytest.approx(list(known / 1e3))

    def test_two_metrics_of_two_benchmarks(self) -> None:
        small, large = Metric("small", "ns"), Metric("large", "ns")
        reader = Reader(
            GOOGLE, (("small", "Sort/10/"), ("large", "Sort/20/")), (("small", "real_time"), ("large", "real_time"))
        )
        found = read(Benchmark("b", ("true",), reader, (small, large)), GOOGLE_OUTPUT, NOTHING)
        assert [list(one.values) for one in found] == [
            values(GOOGLE_OUTPUT, GOOGLE, NS, f"Sort/{n}/") for n in (10, 20)
        ]

    def test_one_repetition_has_no_warm_up_and_several_have(self) -> None:
        document = json.loads(GOOGLE_OUTPUT)
        one = json.dumps({**document, "benchmarks": document["benchmarks"][:1]}).encode()
        assert read(benchmark(GOOGLE, [NS], warmup=1), one, NOTHING)[0].warmup == 0
        assert read(benchmark(GOOGLE, [NS], "/10/", warmup=1), GOOGLE_OUTPUT, NOTHING)[0].warmup == 1

    def test_one_that_failed_is_told(self) -> None:
        failed = {"name": "BM_A", "error_occurred": True, "error_message": "no file"}
        output = json.dumps({"context": {}, "benchmarks": [failed]}).encode()
        assert error(output, GOOGLE, NS) == (
            "standard output: there is nothing measured in it; 'BM_A' failed and is left out: no file"
        )


class TestJmh:
    def test_iterations_of_the_fork_are_observations(self) -> None:
        first, *_ = json.loads(JMH_OUTPUT)
        throughput = Metric("thrpt", "ops/s")
        expected = [1e6 * value for value in first["primaryMetric"]["rawData"][0]]
        assert values(JMH_OUTPUT, JMH, throughput, "n=10,") == pytest.approx(expected)

    def test_secondary_metrics(self) -> None:
        allocated = values(JMH_OUTPUT, JMH, Metric("allocated", "B/op"), "n=20,", "avgt gc.alloc.rate.norm")
        assert len(allocated) == 3

    def test_several_forks_are_several_runs(self) -> None:
        assert error(JMH_TWO_FORKS, JMH, Metric("avgt", "us/op"), "n=10,") == (
            "standard output: org.example.MyBenchmark.sort (n=10, threads=1) was measured in 2 processes:"
            " a run is one process; let JMH fork once: -f 1"
        )


class TestGo:
    def test_counts_are_observations(self) -> None:
        assert values(GO_OUTPUT, GO, PER_OP, "Sort/n=10$") == [50.90, 22.74]
        assert values(GO_OUTPUT, GO, Metric("time", "us/op"), "Sort/n=20$") == pytest.approx([0.03506, 0.02164])
        assert values(GO_OUTPUT, GO, Metric("memory", "B/op"), "n=10$") == [0.0, 53.0]

    def test_several_processes_are_several_runs(self) -> None:
        assert error(GO_TWO_PROCESSES, GO, PER_OP, "n=10$") == (
            "standard output: example.org/sorting.BenchmarkSort/n=10 (procs=2) was measured in 2 processes:"
            " a run is one process; let the command start one test program; -count repeats within it"
        )


NAMES = "example.org/sorting.BenchmarkSort/n=10 (procs=2), example.org/sorting.BenchmarkSort/n=20 (procs=2)"
SORT = NAMES.partition(", ")[0]
SEVERAL = f": there are several benchmarks: {NAMES}"
BM_SORT = "BM_Sort/10/iterations:1000"


@pytest.mark.parametrize(
    ("output", "kind", "metric", "about", "expected"),
    [
        (b"", GO, PER_OP, (), ": the output is empty; did the tool find any benchmark?"),
        (b" \n", JMH, PER_OP, (), ": the output is empty; did the tool find any benchmark?"),
        (b"PASS\n", GO, PER_OP, (), ": there is no line of a benchmark's result"),
        (b"BenchmarkA 10 x ns/op\n", GO, PER_OP, (), ":1:1: 'x' stands where a number is needed"),
        (GO_OUTPUT, GO, PER_OP, (), f"{SEVERAL}; give the metric a pattern that finds one"),
        (GO_OUTPUT, GO, PER_OP, ("Sort",), f": 'Sort' finds{SEVERAL[11:]}; end it with $, or name one in full"),
        (GO_OUTPUT, GO, PER_OP, ("Sort$",), f": no benchmark is found by 'Sort$'; there are: {NAMES}"),
        (GO_OUTPUT, GO, Metric("tmie", "s"), ("n=10$",), f": {SORT} has no 'tmie'; did you mean 'time'?"),
        (
            GO_OUTPUT,
            GO,
            Metric("time", "ns"),
            ("n=10$",),
            ": 'time': unit 'ns/op' cannot be converted to 'ns': one is time/op, the other time;"
            " correct `unit` there or in hati.toml",
        ),
        (b"started\n{}", GOOGLE, NS, (), ":1: this begins with no JSON; add --benchmark_format=json to"),
        (b'{"context": {}, "benchmarks": 3}', GOOGLE, NS, (), ": there is nothing measured in it"),
        (b'{"benchmarks": [{"name": "a"}]}', GOOGLE, NS, (), " at benchmarks[0]: there is no 'time_unit'"),
        (GOOGLE_OUTPUT[:-40], GOOGLE, NS, (), ": the JSON ends before it is complete; is the file whole?"),
        (GOOGLE_OUTPUT, GOOGLE, PER_OP, ("/10/",), f": {BM_SORT} has no 'time'; did you mean 'cpu_"),
        (
            GOOGLE_OUTPUT,
            JMH,
            NS,
            (),
            ": this is of the format google-benchmark, and the reader is 'jmh'; write reader = \"google-benchmark\"",
        ),
        (b'[{"name": "a", "value": 1}]', JMH, NS, (), ": this is of the format github-action-benchmark, and"),
        (b"# JMH version: 1.37\n", JMH, NS, (), ":1: this begins with no JSON; add \"-rf\", \"json\", "),
        (b"[]", JMH, NS, (), ": there is nothing measured in it"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_told(
    output: bytes, kind: str, metric: Metric, about: tuple[str, ...], expected: str
) -> None:
    told = error(output, kind, metric, *about).partition("\n")[0]
    assert re.sub(r":\d+:\d+: the JSON ends", ": the JSON ends", told).startswith(f"standard output{expected}")


def test_a_pattern_is_checked_before_anything_runs() -> None:
    check_reader(benchmark(GO, [PER_OP]))
    with pytest.raises(InputError, match=r"'\(a' is not a valid regular expression"):
        check_reader(benchmark(GO, [PER_OP], "(a"))


HYPERFINE_OUTPUT = b'{"results": [{"command": "seq 1", "times": [0.25]}]}'
CSV_OUTPUT = b"benchmark,metric,unit,run,value\nsort,time,s,1,0.5\nsort,time,s,1,0.25\n"
TIME = Metric("time", "ns")


@pytest.mark.parametrize(
    ("kind", "output", "metric", "about", "number"),
    [
        (SampleFormat.HYPERFINE, HYPERFINE_OUTPUT, TIME, (), 1),
        (SampleFormat.CSV, CSV_OUTPUT, TIME, ("sort",), 2),
        (SampleFormat.PYTEST_BENCHMARK, "pytest-benchmark.json", TIME, (r"\[10\]",), 4),
        (SampleFormat.ASV, "asv.json", TIME, (r"time_sort.*=10, param2='up'",), 6),
        (SampleFormat.GITHUB_ACTION, "custom.json", Metric("memory", "MB"), ("memory", "value"), 1),
        (SampleFormat.BENCHER, "bencher.json", Metric("latency", "ms"), (), 1),
        (SampleFormat.CATCH2, "catch2.xml", TIME, (), 1),
        (SampleFormat.CRITERION, "criterion/sort/stable/10/new/sample.json", TIME, (), 10),
    ],
)
def test_each_format_of_samples_is_a_reader(
    kind: str, output: bytes | str, metric: Metric, about: tuple[str, ...], number: int
) -> None:
    folder = None if isinstance(output, bytes) else (FIXTURES / output).parent
    text = output if isinstance(output, bytes) else (FIXTURES / output).read_bytes()
    asked = benchmark(kind, [metric], *about)
    check_reader(asked)
    assert read(asked, text, NOTHING, "r", folder)[0].values.shape == (number,)


@pytest.mark.parametrize(
    ("kind", "file", "fix"),
    [
        (SampleFormat.PYPERF, "pyperf.json", "let pyperf start one process: -p 1"),
        (SampleFormat.HYPERFINE, "hyperfine.json", "let hyperfine start the program once: --runs 1 --warmup 0"),
        (SampleFormat.BENCHMARK_DOTNET, "benchmarkdotnet.json", "was measured in 2 processes: a run is one process"),
    ],
)
def test_several_processes_are_no_run(kind: str, file: str, fix: str) -> None:
    assert fix in error((FIXTURES / file).read_bytes(), kind, TIME, "seq 1" if kind == "hyperfine" else None)


@given(
    st.sampled_from([GOOGLE_OUTPUT, JMH_OUTPUT, GO_OUTPUT]),
    st.sampled_from(TOOLS),
    st.integers(0, 4000),
    st.integers(0, 40),
    st.binary(max_size=8),
)
def test_any_output_is_read_or_refused(output: bytes, kind: str, start: int, length: int, inserted: bytes) -> None:
    damaged = output[:start] + inserted + output[start + length :]
    try:
        found = read(benchmark(kind, [PER_OP], "10"), damaged, NOTHING)
    except InputError as refused:
        assert str(refused)
    else:
        assert np.all(np.isfinite(found[0].values))


class TestFile:
    """What the command writes into a file."""

    Measure = Callable[..., Run]

    def test_it_is_read_instead_of_what_is_printed(self, measure: Measure, tmp_path: Path) -> None:
        (tmp_path / "jmh.json").write_bytes(JMH_OUTPUT)
        command = ("sh", "-c", f"echo '# JMH'; cp {tmp_path}/jmh.json {{work}}/r.json")
        metrics = (Metric("thrpt", "ops/us"),)
        patterns = (("thrpt", r"sort \(n={n},"),)
        run = measure(
            *command, kind=JMH, metrics=metrics, patterns=patterns, workload={"n": 20}, output="{work}/r.json"
        )
        assert run.outcome is Outcome.DONE, run.detail
        assert list(run.observations[0].values) == json.loads(JMH_OUTPUT)[1]["primaryMetric"]["rawData"][0]

    def test_what_stands_beside_the_file_is_read_too_and_nothing_else(
        self, measure: Measure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        here = tmp_path / "here"
        here.mkdir()
        monkeypatch.chdir(here)
        (here / "benchmark.json").write_text("{}")  # of another
        source = FIXTURES / "criterion" / "sort" / "stable" / "10" / "new"
        command = ("sh", "-c", f"cp -r {source} {{work}}/new")
        run = measure(*command, kind=SampleFormat.CRITERION, metrics=(TIME,), output="{work}/new/sample.json")
        assert run.outcome is Outcome.DONE, run.detail
        assert run.observations[0].values.size == 10
        printed = measure("cat", str(source / "sample.json"), kind=SampleFormat.CRITERION, metrics=(TIME,))
        assert printed.outcome is Outcome.UNREADABLE

    @pytest.mark.parametrize(
        ("script", "expected"),
        [
            ("true", "r.json: the command did not write this file; `output` and the command must name the same file"),
            ("mkdir {work}/r.json", "r.json: this is not a file; `output` and the command must name the same file"),
            ("truncate -s 17M {work}/r.json", "r.json: the file has more than 16 MiB; let the command write less"),
            ("echo [] > {work}/r.json", "r.json: there is nothing measured in it"),
        ],
    )
    def test_a_file_that_cannot_be_read_is_told(self, measure: Measure, script: str, expected: str) -> None:
        run = measure("sh", "-c", script, kind=JMH, metrics=(Metric("thrpt", "ops/us"),), output="{work}/r.json")
        assert (run.outcome, run.detail) == (Outcome.UNREADABLE, expected)
