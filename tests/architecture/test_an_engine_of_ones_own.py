"""A package adds an engine in one file, and changes none of Hati's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from packages import Hati, installed, write_entry_points

from hati.core import Benchmark, Configuration, Job, Metric, Reader, ReaderKind, StudyId, Task, Workload
from hati.engine import EngineSetup
from hati.subject import machine
from hati.testing.conformance import AnyEngine, EngineConformance

PROJECT = """
[subject]
engine = "pinned"

[[benchmark]]
name = "main"
command = ["python3", "-c", "import os; print('cpus:', len(os.sched_getaffinity(0)))"]
reader = "regex"
metric = [{ name = "cpus", unit = "1", pattern = "cpus: ([0-9]+)" }]
"""


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the package of the documentation is installed."""
    return installed(tmp_path_factory.mktemp("site"), "add-an-engine.md", "hati.engines")


@pytest.mark.parametrize(
    "words", [("run", "--budget", "2"), ("compare", "main", "main", "--budget", "16", "--fail-on", "none")]
)
def test_a_project_names_it(hati: Hati, package: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "hati.toml").write_text(PROJECT)
    made = hati(package, tmp_path, *words, "--format", "json")
    assert made.status == 0, made.err
    assert '"mean": 1.0' in json.dumps(json.loads(made.out))
    without = hati(tmp_path, tmp_path, *words, "--fresh")
    assert (without.status, without.out) == (2, "")
    assert "hati.toml:3:10: there is no engine 'pinned'" in without.err


def test_one_that_cannot_be_loaded_is_named(hati: Hati, tmp_path: Path) -> None:
    write_entry_points(tmp_path, "hati.engines", "pinned = nowhere:engine\n")
    (tmp_path / "hati.toml").write_text(PROJECT)
    wrong = hati(tmp_path, tmp_path, "run", "--budget", "2")
    assert (wrong.status, wrong.out) == (2, "")
    assert "the engine 'pinned' of nowhere:engine cannot be used: ModuleNotFoundError" in wrong.err


class TestPinned(EngineConformance):
    """The engine of the documentation."""

    @pytest.fixture
    def engine(self, package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AnyEngine]:
        monkeypatch.syspath_prepend(str(package))
        monkeypatch.setenv("HATI_LOCK", str(tmp_path / "lock"))
        setup = EngineSetup(tmp_path, tuple(BENCHMARKS.values()), machine())
        with import_module("pinned").pinned_engine(setup) as engine:
            yield engine

    @pytest.fixture
    def good_jobs(self) -> tuple[Job, ...]:
        return tuple(_job("good", number) for number in range(3))

    @pytest.fixture
    def bad_job(self) -> Job:
        return _job("bad", 0)


READER, METRICS = Reader(ReaderKind.REGEX, (("one", "(1)"),)), (Metric("one", "1"),)
COMMANDS = {"good": ("echo", "1"), "bad": ("false",)}
BENCHMARKS = {name: Benchmark(name, command, READER, METRICS) for name, command in COMMANDS.items()}


def _job(benchmark: str, number: int) -> Job:
    study = StudyId.of("measurement", {}, 1, "here")
    task = Task(study.key, "measurement", benchmark, Configuration({}), "r", Workload(), number)
    return Job(task, BENCHMARKS[benchmark], "")
