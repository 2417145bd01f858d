"""``hati compare`` of files as other tools write them: several a side, one process a side, some benchmarks only."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from hati.cli.commands import option_for_each

Hati = Callable[..., Any]


def go_text(sort: float, draws: random.Random) -> str:
    """What a process of ``go test -bench . -count 10 -benchmem`` prints."""
    level = draws.gauss(1.0, 0.004)
    lines = ["goos: linux", "goarch: amd64", "pkg: example.org/sorting", "cpu: Some CPU @ 2.00GHz"]
    for name, mean in (("Sort", sort), ("Parse", 500.0)):
        lines += [
            f"Benchmark{name}-8   \t 1000000\t{mean * level * draws.gauss(1.0, 0.01):10.1f} ns/op\t      16 B/op"
            for _ in range(10)
        ]
    return "\n".join([*lines, "PASS", "ok  \texample.org/sorting\t12.3s", ""])


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    draws = random.Random(4)
    for number in range(1, 6):
        (tmp_path / f"old{number}.txt").write_text(go_text(100.0, draws))
        (tmp_path / f"new{number}.txt").write_text(go_text(112.0, draws))
    return tmp_path


def write_google(file: Path, level: float, draws: random.Random, *, unit: str = "ns") -> None:
    """Ten repetitions within a process, as google-benchmark writes them."""
    benches = [
        {
            "name": "BM_Sort/1024",
            "run_name": "BM_Sort/1024",
            "run_type": "iteration",
            "repetition_index": place,
            "iterations": 1000,
            "real_time": level * draws.gauss(1.0, 0.005),
            "cpu_time": level * draws.gauss(1.0, 0.005),
            "time_unit": unit,
        }
        for place in range(10)
    ]
    context = {"date": "2026-05-01T10:00:00+00:00", "host_name": "box", "num_cpus": 8}
    file.write_text(json.dumps({"context": context, "benchmarks": benches}))


def write_pytest(file: Path, level: float, draws: random.Random) -> None:
    """Two hundred rounds within a process, as pytest-benchmark writes them."""
    data = [level * draws.gauss(1.0, 0.02) for _ in range(200)]
    benchmark = {"name": "test_sort", "fullname": "tests/test_sort.py::test_sort", "stats": {"data": data}}
    whole = {"machine_info": {"node": "box"}, "commit_info": {"id": "unversioned"}, "benchmarks": [benchmark]}
    file.write_text(json.dumps({**whole, "datetime": "2026-05-01T10:00:00+00:00", "version": "4.0.0"}))


def write_criterion(folder: Path, level: float, draws: random.Random) -> None:
    """A benchmark of a hundred samples, as criterion.rs keeps it."""
    new = folder / "sort" / "new"
    new.mkdir(parents=True)
    iters = [float(place) for place in range(1, 101)]
    times = [level * count * draws.gauss(1.0, 0.01) for count in iters]
    (new / "sample.json").write_text(json.dumps({"sampling_mode": "Linear", "iters": iters, "times": times}))
    (new / "benchmark.json").write_text(json.dumps({"group_id": "sort", "full_id": "sort", "title": "sort"}))


@pytest.mark.parametrize(
    "words",
    [
        ("--before", "old1.txt", "old2.txt", "old3.txt", "--after", "new1.txt", "new2.txt", "new3.txt"),
        ("--before", "old1.txt", "--before", "old2.txt", "--before", "old3.txt", "--after", "new[123].txt"),
        ("old[123].txt", "new[123].txt"),
    ],
    ids=["words", "options", "patterns"],
)
def test_several_files_a_side_are_runs_of_one_sample(hati: Hati, runs: Path, words: Sequence[str]) -> None:
    done = hati("compare", *words, "--format", "json")
    assert done.status == 1, done.err
    rows = {(row["benchmark"].rpartition(".")[2], row["metric"]): row for row in done.json}
    sort = rows["BenchmarkSort", "time"]
    assert (sort["verdict"], sort["before"]["runs"], sort["after"]["runs"]) == ("slower", 3, 3)
    assert rows["BenchmarkParse", "time"]["verdict"] == "same"
    assert all(row["within_process"] is None for row in done.json)
    assert done.err == ""


def test_a_folder_is_a_side(hati: Hati, runs: Path) -> None:
    for side in ("old", "new"):
        (runs / side).mkdir()
        for file in runs.glob(f"{side}?.txt"):
            file.rename(runs / side / file.name)
    (runs / "old" / ".hidden").write_text("not a result")
    done = hati("compare", "old", "new", "--format", "json")
    assert done.status == 1, done.err
    assert {row["before"]["runs"] for row in done.json} == {5}


def test_a_long_comparison_says_what_it_does(hati_here: Hati, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hati.cli.progress._SECONDS_BETWEEN_LINES", 0.0)
    monkeypatch.setattr("hati.wiring.compared_files._MANY_RUNS", 40)
    err = hati_here("compare", "old?.txt", "new?.txt", "--fail-on", "none").err
    assert "reading files: 7 of 10 steps" in err
    assert "comparing 40 runs of benchmarks" in err


def test_the_change_and_the_geometric_mean_are_always_shown(hati: Hati, runs: Path) -> None:
    out = hati("compare", "old?.txt", "new?.txt").out
    parse = " ".join(line for line in out.splitlines() if "BenchmarkParse" in line)
    assert "~" not in out
    assert "same" in parse
    assert " %" in parse
    assert "geomean of 2 (time)" in out
    assert "geomean of 2 (memory)" in out


def test_each_change_has_its_interval(hati: Hati, runs: Path) -> None:
    words = ("compare", "old?.txt", "new?.txt", "--benchmark", "*Sort", "--metric", "time", "--fail-on", "none")
    ((low, high),) = (row["interval"] for row in hati(*words, "--format", "json").json)
    out = hati(*words, env={"COLUMNS": "120"}).out
    assert "interval" in out
    assert f"+{100.0 * (low - 1.0):.3g} to +{100.0 * (high - 1.0):.3g}" in out


@pytest.mark.parametrize(
    ("chosen", "names"),
    [
        (("*Sort",), {"BenchmarkSort"}),
        (("example.org/sorting.BenchmarkParse",), {"BenchmarkParse"}),
        (("*Sort", "*Parse"), {"BenchmarkSort", "BenchmarkParse"}),
    ],
)
def test_benchmarks_are_chosen_by_name_or_pattern(
    hati: Hati, runs: Path, chosen: tuple[str, ...], names: set[str]
) -> None:
    words = [word for name in chosen for word in ("--benchmark", name)]
    done = hati("compare", "old?.txt", "new?.txt", *words, "--metric", "time", "--format", "json")
    assert {row["benchmark"].rpartition(".")[2] for row in done.json} == names


def test_a_name_with_brackets_is_not_a_pattern(hati: Hati, tmp_path: Path) -> None:
    draws = random.Random(1)
    for name in ("a[1].json", "b[1].json"):
        write_pytest(tmp_path / name, 1.0, draws)
        text = (tmp_path / name).read_text().replace("::test_sort", "::test_sort[8-up]")
        (tmp_path / name).write_text(text)
    words = ("compare", "a[1].json", "b[1].json", "--format", "json")
    (row,) = hati(*words, "--benchmark", "tests/test_sort.py::test_sort[8-up]").json
    assert row["benchmark"].endswith("test_sort[8-up]")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("none*.txt", "new?.txt"), "no file matches 'none*.txt'"),
        (("--before", "old1.txt", "--after", "none.txt"), "none.txt: there is no such file"),
        (("--before", "old1.txt"), "--after is missing"),
        (("--after", "old1.txt"), "--before is missing"),
        (("old1.txt",), "AFTER is missing"),
        ((), "BEFORE and AFTER are missing"),
        (("old1.txt", "old2.txt", "new1.txt"), "3 files are on neither side"),
        (("x.txt", "--before", "old1.txt", "--after", "new1.txt"), "x.txt is on neither side"),
        (("old?.txt", "old1.txt"), "old1.txt is on both sides"),
        (("", "new1.txt"), "the name of a file is empty"),
        (("empty", "new1.txt"), "this folder holds no files of measurements"),
        (
            ("old?.txt", "new?.txt", "--benchmark", "*Srt"),
            "no benchmark is named '*Srt'; there are: example",
        ),
        (("old?.txt", "units.json"), "no benchmark is in both"),
        (("ns.json", "items.json"), "BM_Sort/1024 real_time: unit 'B' cannot be converted"),
        (("old?.txt", "new?.txt", "--output", "new3.txt"), "new3.txt cannot be written: it is an input"),
        (("--before", "old1.txt", "notes.md", "--after", "new1.txt"), "the format of this file is not known"),
    ],
)
def test_sides_that_are_refused(hati: Hati, runs: Path, words: tuple[str, ...], message: str) -> None:
    (runs / "empty").mkdir()
    (runs / "notes.md").write_text("# Notes\n")
    write_google(runs / "units.json", 1.0, random.Random(1))
    write_google(runs / "ns.json", 1.0, random.Random(1))
    write_google(runs / "items.json", 1.0, random.Random(1), unit="B")
    done = hati("compare", *words)
    assert (done.status, done.out) == (2, "")
    assert message in done.err
    assert "Traceback" not in done.err


def test_a_file_counts_once_on_its_side(hati: Hati, runs: Path) -> None:
    done = hati("compare", "--before", "old?.txt", "old1.txt", "./old1.txt", "--after", "new?.txt", "--format", "json")
    assert {row["before"]["runs"] for row in done.json} == {5}


def test_units_of_several_files_are_converted(hati: Hati, tmp_path: Path) -> None:
    draws = random.Random(2)
    for number in range(3):
        write_google(tmp_path / f"a{number}.json", 1000.0, draws)
        write_google(tmp_path / f"b{number}.json", 1.0, draws, unit="us")
    done = hati("compare", "--before", "a0.json", "b0.json", "a1.json", "--after", "b1.json", "a2.json", "b2.json")
    assert done.status == 0, done.err
    assert "'real_time' is in us and in ns: converted to ns" in done.err
    assert "2 same" in done.out


def test_the_same_files_on_both_sides_are_named(hati: Hati, runs: Path) -> None:
    done = hati("compare", "old?.txt", "old?.txt")
    assert "warning: both sides are the same files" in done.err


def one_process_a_side(tool: str, folder: Path) -> tuple[str, str]:
    """Files of one process each: the second is a tenth slower."""
    draws = random.Random(9)
    for name, level in (("a", 100.0), ("b", 110.0)):
        if tool == "go":
            (folder / name).write_text(go_text(level, draws))
        elif tool == "google":
            write_google(folder / name, level, draws)
        elif tool == "pytest":
            write_pytest(folder / name, level, draws)
        else:
            write_criterion(folder / name, level, draws)
    return "a", "b"


LINES = {
    "go": "go test -run '^$' -bench . -count 1; done > before.txt",
    "google": "./BENCHMARK --benchmark_out=before-$i.json --benchmark_out_format=json; done",
    "pytest": "pytest --benchmark-only --benchmark-json=before-$i.json; done",
    "criterion": "CRITERION_HOME=$PWD/before-$i cargo bench; done",
}


@pytest.mark.parametrize("tool", LINES)
def test_one_process_a_side_is_an_estimate_without_a_verdict(hati: Hati, tmp_path: Path, tool: str) -> None:
    sides = one_process_a_side(tool, tmp_path)
    done = hati("compare", *sides, "--format", "json")
    assert done.status == 3, done.err
    row = next(each for each in done.json if "sort" in each["benchmark"].lower())
    low, high = row["within_process"]["interval"]
    assert 1.05 < low < row["ratio"] < high < 1.15
    assert (row["verdict"], row["interval"], row["p_value"]) == ("inconclusive", None, None)
    assert row["within_process"]["decides"] is False
    assert LINES[tool] in done.err
    assert "repeats within one process" not in done.err
    text = hati("compare", *sides).out
    assert "within one process" in " ".join(text.split())
    assert "1 slower" not in text


@pytest.mark.parametrize("tool", LINES)
def test_within_process_decides_for_these_processes(hati: Hati, tmp_path: Path, tool: str) -> None:
    sides = one_process_a_side(tool, tmp_path)
    done = hati("compare", *sides, "--within-process", "--format", "json")
    assert done.status == 1, done.err
    row = next(each for each in done.json if "sort" in each["benchmark"].lower())
    assert row["verdict"] == "slower"
    assert row["within_process"]["decides"] is True
    assert row["interval"] == row["within_process"]["interval"]
    assert row["runs_needed"] is None
    assert "slower (within one process)" in hati("compare", *sides, "--within-process", "--format", "markdown").out


def test_a_history_of_several_processes_decides(hati: Hati, runs: Path) -> None:
    words = ("compare", "old1.txt", "new1.txt", "--metric", "time", "--format", "json")
    assert {row["verdict"] for row in hati(*words).json} == {"inconclusive"}
    earlier = ("old2.txt", "old3.txt", "old4.txt", "old5.txt", "new4.txt")
    done = hati(*words, *(word for name in earlier for word in ("--history", name)))
    sort = next(row for row in done.json if "Sort" in row["benchmark"])
    assert (sort["within_process"], sort["p_value"] is None) == (None, False)
    whole = hati(*words, "--history", "old?.txt")
    assert whole.json[0]["p_value"] is not None
    assert "does not count" in hati(*words, "--history", "old2.txt").err
    before = hati("compare", "--history", "old?.txt", *words[1:])
    assert before.json == whole.json, "an option's file is not one of the sides'"


def test_several_processes_do_not_need_the_flag(hati: Hati, runs: Path) -> None:
    words = ("compare", "old?.txt", "new?.txt", "--format", "json")
    assert hati(*words, "--within-process").json == hati(*words).json


def test_estimates_within_a_process_in_other_formats(hati: Hati, tmp_path: Path) -> None:
    sides = one_process_a_side("google", tmp_path)
    junit = hati("compare", *sides, "--format", "junit").out
    assert "within one process: +" in junit
    assert "how much processes differ is not known" in junit
    assert "| within one process |" in hati("compare", *sides, "--format", "markdown").out
    words = ("--tests", "--interval", "bootstrap", "--within-process", "--fail-on", "none")
    done = hati("compare", *sides, *words, "--format", "json")
    assert done.status == 0, done.err
    assert all(row["interval"] == row["within_process"]["interval"] for row in done.json), "one run is not resampled"


def test_single_values_have_neither_interval_nor_verdict(hati: Hati, tmp_path: Path) -> None:
    for name, value in (("a.json", 1.0), ("b.json", 1.2)):
        (tmp_path / name).write_text(json.dumps({"sort": {"latency": {"value": value}}}))
    row = hati("compare", "a.json", "b.json", "--within-process", "--format", "json").json[0]
    assert (row["verdict"], row["within_process"]) == ("inconclusive", None)
    assert row["ratio"] == pytest.approx(1.2)


def test_options_of_files_are_refused_with_benchmarks(hati: Hati, fake_project: Path) -> None:
    for words in (("--within-process",), ("--benchmark", "x")):
        done = hati("compare", "main", "main", *words)
        assert (done.status, done.out) == (2, "")
        assert f"{words[0]} is for files of samples" in done.err


@pytest.mark.parametrize(
    ("words", "parsed"),
    [
        (["a", "b"], ["a", "b"]),
        (["--before", "a", "--after", "b"], ["--before", "a", "--after", "b"]),
        (
            ["--history", "h", "--before", "a", "b", "--after", "c", "d", "--metric", "time", "x"],
            [
                *("--history", "h", "--before", "a", "--before", "b"),
                *("--after", "c", "--after", "d", "--metric", "time", "x"),
            ],
        ),
        (["--before=a", "b"], ["--before=a", "b"]),
        (["--history", "h", "a", "b"], ["--history", "h", "a", "b"]),
        (["-o", "-", "--before", "a", "b"], ["-o", "-", "--before", "a", "--before", "b"]),
    ],
)
def test_an_option_takes_the_words_up_to_the_next(words: list[str], parsed: list[str]) -> None:
    assert list(option_for_each(words)) == parsed


def test_samples_are_read_from_pipes(tmp_path: Path) -> None:
    rows = "benchmark,metric,unit,run,value\n" + "".join(f"sort,time,s,{run},{1 + run / 100}\n" for run in range(4))
    (tmp_path / "a.csv").write_text(rows)
    done = subprocess.run(
        [sys.executable, "-m", "hati", "compare", "a.csv", "/dev/stdin", "--format", "json"],
        check=False,
        input=rows,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["comparisons"][0]["benchmark"] == "sort"


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("20,0.05", ""),
        ("20,", "the standard deviation of the runs of a mean is not known: it is taken to be the other side's"),
    ],
)
def test_a_mean_counts_as_the_runs_that_it_stands_for(hati: Hati, tmp_path: Path, known: str, said: str) -> None:
    draws = random.Random(5)
    rows = "".join(f"sort,{draws.gauss(1.0, 0.05)},s\n" for _ in range(10))
    (tmp_path / "before.csv").write_text(f"benchmark,value,unit\n{rows}")
    (tmp_path / "after.csv").write_text(f"benchmark,value,unit,n,deviation\nsort,1.2,s,{known}\n")
    done = hati("compare", str(tmp_path / "before.csv"), str(tmp_path / "after.csv"), "--format", "json")
    found = json.loads(done.out)
    [row] = found["comparisons"]
    assert (row["before"]["runs"], row["after"]["runs"], row["verdict"]) == (10, 20, "slower")
    warned = " ".join(hati("compare", str(tmp_path / "before.csv"), str(tmp_path / "after.csv")).out.split())
    assert ("of a mean is not known" in warned, said in warned) == (bool(said), True)
