from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hati.core import Benchmark, Engine, Metric, Reader, ReaderKind, Task
from hati.engine import DuetEngine, LocalEngine
from hati.subject import machine
from hati.testing import FakeEngine
from hati.testing.conformance import EngineConformance


class Tasks(EngineConformance):
    @pytest.fixture
    def good_tasks(self, task: Callable[..., Task]) -> tuple[Task, ...]:
        return tuple(task("good", repetition) for repetition in range(3))

    @pytest.fixture
    def bad_task(self, task: Callable[..., Task]) -> Task:
        made: Task = task("bad")
        return made


class TestLocalEngine(Tasks):
    @pytest.fixture
    def engine(self, tmp_path: Path) -> Iterator[Engine]:
        reader, metrics = Reader(ReaderKind.PROCESS), (Metric("wall_time", "s"),)
        benchmarks = [Benchmark("good", ("true",), reader, metrics), Benchmark("bad", ("false",), reader, metrics)]
        with LocalEngine(tmp_path, benchmarks, machine(), lock=tmp_path / "lock") as engine:
            yield engine


class TestDuetEngine(Tasks):
    @pytest.fixture
    def engine(self, tmp_path: Path) -> Iterator[Engine]:
        reader, metrics = Reader(ReaderKind.PROCESS), (Metric("wall_time", "s"),)
        benchmarks = [Benchmark("good", ("true",), reader, metrics), Benchmark("bad", ("false",), reader, metrics)]
        cores = (min(os.sched_getaffinity(0)), max(os.sched_getaffinity(0)))
        with DuetEngine(tmp_path, benchmarks, machine(), cores, lock=tmp_path / "lock") as engine:
            yield engine


class TestFakeEngine(Tasks):
    @pytest.fixture
    def engine(self) -> Engine:
        return FakeEngine(lambda task: {"latency": [1.0, 2.0]} if task.benchmark == "good" else "it failed")
