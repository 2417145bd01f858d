"""Real programs for the subject's tests, started by a supervisor."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from hati.core import Benchmark, Configuration, Job, Metric, Reader, ReaderKind, Run, Setting, Task, Workload
from hati.subject import LocalSubject, Program, Supervisor, machine

PYTHON = (sys.executable, "-S", "-E")


@pytest.fixture
def supervisor() -> Iterator[Supervisor]:
    one = Supervisor()
    yield one
    one.close()


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., Program]:
    """A program that a shell or Python runs: ``program("echo a")``, ``program(python="print(1)")``."""

    def make(shell: str = "", *, python: str = "", timeout: float = 60.0, **about: Any) -> Program:
        argv = (*PYTHON, "-c", python) if python else ("sh", "-c", shell)
        return Program(about.pop("argv", argv), tmp_path, dict(os.environ), timeout, **about)

    return make


@pytest.fixture
def measure(tmp_path: Path, supervisor: Supervisor) -> Callable[..., Run]:
    """One run of a benchmark in the folder ``project`` that these words describe."""
    root = tmp_path / "project"
    root.mkdir()

    def make(
        *command: str,
        kind: ReaderKind = ReaderKind.PROCESS,
        patterns: tuple[tuple[str, str], ...] = (),
        configuration: Mapping[str, Setting] | None = None,
        workload: Mapping[str, Setting] | None = None,
        repetition: int = 1,
        metrics: tuple[Metric, ...] = (Metric("wall_time", "s"),),
        **about: Any,
    ) -> Run:
        benchmark = Benchmark("b", command, Reader(kind, patterns), metrics, **about)
        task = Task("s", "design", "b", Configuration(configuration), "rev1", Workload(workload), repetition)
        subject = LocalSubject(root, machine())
        subject.tidy()
        return subject.measure(Job(task, benchmark, ""), supervisor)

    return make


def running(marker: str) -> list[int]:
    """The processes that have a text among their arguments."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if marker.encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


@pytest.fixture
def lives() -> Callable[[str], bool]:
    """Whether a process with a text among its arguments lives: while it is being started, /proc tells none of them."""
    return lambda marker: _soon(lambda: bool(running(marker)))


@pytest.fixture
def all_gone() -> Callable[[str], bool]:
    """Whether no process with a text among its arguments is left, within a minute."""
    return lambda marker: _soon(lambda: not running(marker))


def _soon(true: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 60
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
