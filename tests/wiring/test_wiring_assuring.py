"""Formulas about methods, prepared to be measured."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from hati.core import InputError
from hati.studies.assertion import Standard
from hati.subject import Revisions
from hati.wiring import formulas_of, prepare_assertion, workplace_around
from hati.wiring.formulas.measuring import AssertionCampaign

BENCHMARK = """
[[benchmark]]
name = "b"
command = ["true", "{n}", "{m}"]
reader = "process"
workload = { n = 1, m = 2 }
[[benchmark.metric]]
name = "wall_time"
unit = "s"
"""

WORKLOADS = """
import hati

@hati.workload
def rand(kind, n):
    return [kind] * n

@hati.instance
def made(kind, *, size=3):
    return kind
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a function, edited since."""
    (tmp_path / "m.py").write_text("def f(n):\n    return n\n")
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    for words in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "before"], ["tag", "v1"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True, capture_output=True)
    (tmp_path / "m.py").write_text("def f(n):\n    return -n\n")
    (tmp_path / "w.py").write_text(WORKLOADS)
    (tmp_path / "hati.toml").write_text(BENCHMARK)
    return tmp_path


def prepared(project: Path, *formulas: str) -> AssertionCampaign:
    asked = [requirement for text in formulas for requirement in formulas_of(text)]
    return prepare_assertion(workplace_around(project, None), asked, Standard(), "1000", fresh=False)


def test_all_revisions_of_a_method_record_what_is_asked_of_any(project: Path) -> None:
    study = prepared(project, "memory(m:f(1)) <= 100 MB", "cpu(m:f@v1(1)) <= 2 ms").study
    names = [{metric.name for metric in point.benchmark.metrics} for point in study.points.values()]
    assert names == [{"wall_time", "cpu_time", "peak_memory"}] * 2
    assert len({point.benchmark.definition for point in study.points.values()}) == 1


@pytest.mark.parametrize(
    ("formula", "message", "column"),
    [
        ("m:f(1) <= 1 s & m:f(2) <= 2 MB", "the left side is time, the right side memory", 27),
        ("m:f(1) <= 1 s & 2 MB >= m:f(2)", "the left side is memory, the right side time", 25),
        ("m:f(1) <= 1 s & m:f(2) <= m:f(1) within 2 MB", "the margin is memory, the sides time", 41),
        ("m:f(1) <= 1 s & m:f(2) <= m:f(1) within 120%", "a margin is at least 0 and below 1", 17),
        ("m:f(1) <= 1 s & time of m:f(2) <= 1 s", "no metric 'time'; did you mean 'cpu_time'?", 17),
        ("m:f(1) <= 1 s & m:f(n = 2, n = 3) <= 1 s", "m:f.* has parameter n twice; give it once", 17),
        ("m:f(1) <= 1 s & m:f(3, n = 4) <= 1 s", r"has parameters with names \(n\) and without; write all", 17),
        ("m:f(1) <= 1 s & b(3, n = 4) <= 1 s", "has parameter n twice; give it once; its workload has: n, m", 17),
        ("m:f(1) <= 1 s & b(3, 4, 5) <= 1 s", "b has no parameter for 5; its workload has: n, m", 17),
        ("m:f(1) <= 1 s & m:f[w:rand('x', 1, 2)] <= 1 s", "rand takes kind, n, and is given 3 in brackets; leave", 21),
        ("m:f(1) <= 1 s & m:f[w:rand, w:made('x', 3)](1) <= 1 s", "made takes kind, size, and is given 2 in", 29),
        (
            "m:f(1) <= 1 s & m:f[w:rand('x')](1, 2) <= 1 s",
            r"parameter 2 \(2\): rand takes kind, n, of which \('x'\)",
            17,
        ),
        ("m:f(1) <= 1 s & m:f[w:rand('x')] <= 1 s", "rand needs n; give it as a parameter", 17),
        ("m:f(1) <= 1 s & m:f[w:rand@v1](1) <= 1 s", "has a revision; generators are those of the working tree", 21),
    ],
)
def test_what_no_measurement_decides_is_refused_before_there_is_one(
    project: Path, formula: str, message: str, column: int
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        prepared(project, formula)
    assert caught.value.place is not None
    assert caught.value.place.column == column


def test_places_of_a_benchmarks_parameters_are_those_of_the_project_file(project: Path) -> None:
    points = prepared(project, "b(3) <= 1 s & b(3, 4) <= 1 s & b(m = 5) <= 1 s & b <= 1 s").study.points
    assert {name: dict(point.benchmark.workload) for name, point in points.items()} == {
        "b(3)": {"n": 3, "m": 2},
        "b(3, 4)": {"n": 3, "m": 4},
        "b(m = 5)": {"n": 1, "m": 5},
        "b": {"n": 1, "m": 2},
    }
    assert [point.benchmark.name for point in points.values()] == ["b(3, 2)", "b(3, 4)", "b(1, 5)", "b(1, 2)"]


def test_generators_arguments_are_part_of_the_benchmark_and_its_name(project: Path) -> None:
    study = prepared(
        project,
        "for all k in {'uni', 'x'}: m:f[w:rand(k)](1) <= 1.1 * m:f[w:rand('x')](n = 1) & m:f[w:rand('x', 1)] <= 1 s",
    ).study
    benchmarks = {name: point.benchmark for name, point in study.points.items()}
    assert list(benchmarks) == [
        "m:f[w:rand('uni')](1)",
        "m:f[w:rand('x')](n = 1)",
        "m:f[w:rand('x', 1)]",
        "m:f[w:rand('x')](1)",
    ]
    assert [each.name for each in benchmarks.values()] == list(benchmarks)
    told = [[word for word in each.command if "argument" in word] for each in benchmarks.values()]
    assert told == [
        ["workload.argument=text:=uni"],
        ["workload.argument=text:=x"],
        ["workload.argument=text:=x", "workload.argument=int:=1"],
        ["workload.argument=text:=x"],
    ]
    assert len({each.definition for each in benchmarks.values()}) == 4


@pytest.mark.parametrize(
    ("formula", "calls"),
    [
        ("m:f(1) <= 1 s", "batched"),
        ("m:f(1) <= 1.05 * m:f@v1(1) + 2 us", "batched"),
        ("throughput(m:f(1)) >= 10 Hz", "batched"),
        ("p99(memory(m:f(1))) <= 1 GB", "batched"),
        ("p99(m:f(1)) <= 1 s", "single"),
        ("m:f(1) <= 1 s & median(m:f@v1(1)) <= 1 s", "single"),
        ("median(cpu(m:f(1))) <= 1 s", "single"),
        ("m:f(1) <=(x: x * x / (1 s + x), x: x) m:f@v1(1)", "single"),
    ],
)
def test_calls_are_timed_singly_where_the_mean_will_not_do(project: Path, formula: str, calls: str) -> None:
    points = prepared(project, formula).study.points
    assert {word for point in points.values() for word in point.benchmark.command if word.startswith("calls=")} == {
        f"calls={calls}"
    }


def test_the_working_tree_is_looked_at_once(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that all methods are of the same, were it edited meanwhile."""
    found: list[str] = []
    find = Revisions.find
    monkeypatch.setattr(Revisions, "find", lambda self, text, start: (found.append(text), find(self, text))[1])
    prepared(project, "m:f(1) <= m:f@v1(1) & m:f(2) <= m:f@v1(2)")
    assert sorted(found) == [".", "v1"]
