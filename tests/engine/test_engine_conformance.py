from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hati.core import Benchmark, Job, Metric, Reader, ReaderKind, Task
from hati.engine import LocalEngine
from hati.subject import machine
from hati.testing import FakeEngine, FakeMachines
from hati.testing.conformance import AnyEngine, EngineConformance

READER, METRICS = Reader(ReaderKind.PROCESS), (Metric("wall_time", "s"),)
GOOD = Benchmark("good", ("true",), READER, METRICS)
BAD = Benchmark("bad", ("false",), READER, METRICS)


class TestLocalEngine(EngineConformance):
    @pytest.fixture
    def engine(self, tmp_path: Path) -> Iterator[AnyEngine]:
        with LocalEngine(tmp_path, [GOOD, BAD], machine(), lock=tmp_path / "lock") as engine:
            yield engine

    @pytest.fixture
    def good_jobs(self, task: Callable[..., Task]) -> tuple[Job, ...]:
        return tuple(Job(task("good", repetition), GOOD, "") for repetition in range(3))

    @pytest.fixture
    def bad_job(self, task: Callable[..., Task]) -> Job:
        return Job(task("bad"), BAD, "")


class Tasks(EngineConformance):
    @pytest.fixture
    def good_jobs(self, task: Callable[..., Task]) -> tuple[Task, ...]:
        return tuple(task("good", repetition) for repetition in range(3))

    @pytest.fixture
    def bad_job(self, task: Callable[..., Task]) -> Task:
        made: Task = task("bad")
        return made


def measured(task: Task) -> dict[str, list[float]] | str:
    return {"latency": [1.0, 2.0]} if task.benchmark == "good" else "it failed"


class TestFakeEngine(Tasks):
    @pytest.fixture
    def engine(self) -> AnyEngine:
        return FakeEngine(measured)


class TestFakeMachines(Tasks):
    """Fast runs come first: those of the second machine, and of high repetitions."""

    @pytest.fixture
    def engine(self) -> AnyEngine:
        return FakeMachines(measured, number=3, lasting=lambda task, machine: math.exp(-task.repetition - machine))
