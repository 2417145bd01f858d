"""``hati export`` for tools that keep one value of each benchmark."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Hati = Callable[..., Any]


@pytest.fixture
def measured(hati: Hati, fake_project: Path) -> Path:
    done = hati("run", "--budget", "3")
    assert done.status == 0, done.err
    return fake_project


def test_bencher_reads_a_value_of_each_metric(hati: Hati, measured: Path) -> None:
    done = hati("export", "--format", "bencher", "--output", "bmf.json")
    assert (done.status, done.err) == (0, "")
    ((name, measures),) = json.loads((measured / "bmf.json").read_text()).items()
    assert name.startswith("main/a=")
    assert set(measures) == {"latency", "throughput"}
    assert 1e6 < measures["latency"]["lower_value"] < measures["latency"]["value"] < 1e8
    (latency, _) = hati("import", "bmf.json").json["samples"]
    assert (latency["metric"], latency["unit"]) == ("latency", "ns")
    stored = {each["metric"]: each for each in hati("export").json["samples"]}
    means = [sum(run["observations"][run["warmup"] :]) / 2 for run in stored["latency"]["runs"]]
    assert latency["runs"][0]["observations"] == [pytest.approx(1e9 * sum(means) / 3)]


def test_an_action_has_one_direction(hati: Hati, measured: Path) -> None:
    done = hati("export", "--format", "github-action-benchmark")
    assert (done.status, done.out) == (2, "")
    assert "has one direction" in done.err
    assert "--metric latency" in done.err
    for metric, tool in (("latency", "customSmallerIsBetter"), ("throughput", "customBiggerIsBetter")):
        done = hati("export", "--format", "github-action-benchmark", "--metric", metric)
        ((entry),) = done.json
        assert entry["name"].endswith(f" {metric}")
        assert entry["extra"].startswith("3 runs")
        assert f"tool: {tool}" in done.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--metric", "latncy"), "--metric: there are no runs of 'latncy'; did you mean 'latency'?"),
        (("--revision", "x"), "--revision: there are no runs of 'x'"),
        (("--format", "csv", "--revision", "x"), "--revision: there are no runs of 'x'"),
        (("--format", "csv", "--metric", "latency"), "--metric is not for csv"),
    ],
)
def test_what_is_not_there_is_refused(hati: Hati, measured: Path, words: tuple[str, ...], message: str) -> None:
    done = hati("export", *words)
    assert (done.status, done.out) == (2, "")
    assert message in done.err


def test_revisions_are_exported_one_by_one(hati: Hati, measured: Path) -> None:
    subject = measured / "subject.py"
    subject.write_text(subject.read_text() + "# another revision\n")
    assert hati("run", "--budget", "3").status == 0
    done = hati("export", "--format", "bencher")
    assert (done.status, done.out) == (2, "")
    assert "choose one by --revision" in done.err
    revisions = {each["revision"] for each in hati("export").json["samples"]}
    assert len(revisions) == 2
    for revision in revisions:
        assert hati("export", "--format", "bencher", "--revision", revision).status == 0
        table = hati("export", "--format", "csv", "--revision", revision).out
        assert len(table.splitlines()) == 4
        assert hati("export", "--format", "csv", "--revision", revision[:12]).out == table
    done = hati("export", "--revision", "")
    assert (done.status, done.out) == (2, "")


def test_nothing_to_export(hati: Hati, measured: Path) -> None:
    hati("forget", "--all")
    for chosen in ("bencher", "github-action-benchmark"):
        done = hati("export", "--format", chosen)
        assert (done.status, done.out) == (2, "")
        assert "there is no run to export" in done.err


@pytest.mark.parametrize("verb", ["export", "runs", "tree", "forget"])
def test_the_nearest_study_and_benchmark_are_suggested(hati: Hati, measured: Path, verb: str) -> None:
    ((study),) = hati("studies", "--format", "json").json
    key = study["study"]
    wrong = f"{key[:-1]}{'0' if key[-1] != '0' else '1'}"
    for words, said in (
        (("--study", wrong), f"there is no study {wrong}; did you mean {key!r}?"),
        (("--study", "mesurement"), f"there is no study mesurement; did you mean {key!r}?"),
        (("--study", "screening"), "there is no study screening; `hati studies` lists them"),
        (("--benchmark", "mian"), "the store has no runs of a benchmark 'mian'; did you mean 'main'?"),
    ):
        done = hati(verb, *words)
        assert (done.status, done.out) == (2, "")
        assert said in done.err
    assert len(hati("runs", "--format", "json").json) == 3


def test_a_shared_store_exports_the_runs_of_this_project(hati: Hati, measured: Path) -> None:
    """Also if both projects have a benchmark of the same name."""
    other = measured / "other"
    other.mkdir()
    project = (measured / "hati.toml").read_text()
    (other / "hati.toml").write_text(project.replace('name = "fake"', 'name = "theirs"', 1))
    (other / "subject.py").write_text((measured / "subject.py").read_text())
    store = measured / ".hati" / "store.sqlite"
    assert hati("run", "--budget", "2", "--store", str(store), folder=other).status == 0
    listed = hati("studies", "--format", "json").json
    assert [(each["subject"], each["benchmark"], each["runs"]) for each in listed] == [
        ("fake", "main", 3),
        ("theirs", "main", 2),
    ]
    for words, runs, left_out in (((), 3, True), (("--all",), 5, False), (("--study", listed[1]["study"]), 2, False)):
        done = hati("export", "--format", "csv", *words)
        assert len(done.out.splitlines()) == 1 + runs
        note = "note: 1 study of other projects left out (theirs); --all exports all"
        assert (note in done.err) is left_out
        samples = hati("export", *words).json["samples"]
        assert sum(len(each["runs"]) for each in samples if each["metric"] == "latency") == runs
    theirs = hati("export", "--format", "csv", "--store", str(store), folder=other)
    assert len(theirs.out.splitlines()) == 1 + 2
    (other / "hati.toml").write_text("[subject\n")
    broken = hati("export", "--store", str(store), folder=other)
    assert (broken.status, broken.out) == (2, "")
    assert "hati.toml:1" in broken.err
    (measured / "elsewhere").mkdir()
    assert len(hati("export", "--store", str(store), folder=measured / "elsewhere").json["samples"]) > 0
