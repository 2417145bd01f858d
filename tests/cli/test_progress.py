"""How a campaign is watched."""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime

import numpy as np
import pytest

from hati.campaign import Observer
from hati.cli import progress as module
from hati.cli.progress import announced_if_slow, progress
from hati.core import Configuration, Evidence, Observations, Outcome, Plan, Run, Task, Workload, replace


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def tasks(count: int) -> tuple[Task, ...]:
    return tuple(Task("s", "assert", "b", Configuration(), "r", Workload(), number) for number in range(count))


def run(task: Task) -> Run:
    observed = (Observations("time", "s", np.array([1.0])),)
    return Run(task, "m", datetime(2026, 1, 1, tzinfo=UTC), 1.0, Outcome.DONE, observations=observed)


def watched(observe: Observer, rounds: int = 2, size: int = 3) -> None:
    """Rounds of so many tasks, each a plan of its own."""
    made: list[Run] = []
    every = tasks(rounds * size)
    for number in range(rounds):
        plan, before = Plan.of(every[number * size : (number + 1) * size]), Evidence(tuple(made))
        for task in plan.tasks:
            made.append(run(task))
            observe(made[-1], before, plan)


def told(evidence: Evidence) -> str:
    return f"{len(evidence.runs) // 3} of 2 decided"


def test_the_last_line_counts_all_that_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("formulas", told) as observe:
        watched(observe)
    assert capsys.readouterr().err == "formulas: 6 of 6 runs, 2 of 2 decided\n"
    with progress("b") as observe:
        watched(observe)
    assert capsys.readouterr().err == "b: 6 of 6 runs\n"


def test_pilot_runs_are_not_counted_as_runs_of_the_design(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("screening") as observe:
        made: list[Run] = []
        for stage, number in (("pilot", 3), ("isolation", 2), ("design", 4)):
            plan, before = Plan.of(replace(task, stage=stage) for task in tasks(number)), Evidence(tuple(made))
            for task in plan.tasks:
                made.append(run(task))
                observe(made[-1], before, plan)
    assert capsys.readouterr().err == "screening: 5 of 5 runs\nscreening: 4 of 4 runs\n"


def test_the_known_runs_are_counted_once_for_a_plan(capsys: pytest.CaptureFixture[str]) -> None:
    """Else the time of n runs grows with the square of n."""
    looks: list[int] = []

    class Counted(tuple[Run, ...]):
        def __iter__(self) -> Iterator[Run]:
            looks.append(len(self))
            return super().__iter__()

    every = tasks(8)
    known, plan = Evidence(Counted(map(run, every[:3]))), Plan.of(every[3:])
    looks.clear()
    with progress("b") as observe:
        for task in plan.tasks:
            observe(run(task), known, plan)
        assert looks == [3]
    assert capsys.readouterr().err == "b: 8 of 8 runs\n"


def test_a_terminal_shows_what_is_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "100")
    with progress("formulas", told) as observe:
        watched(observe)
    assert "formulas, 2 of 2 decided" in terminal.getvalue()


def test_what_takes_long_to_find_out_is_found_out_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock by which it takes 1 s, and all else nothing: it is found out for the first of 6 runs, and at the end."""
    monkeypatch.setattr(sys, "stderr", Terminal())
    asked: list[int] = []
    seconds = _seconds(asked)
    monkeypatch.setattr(module.time, "monotonic", lambda: next(seconds))

    def slow(evidence: Evidence) -> str:
        asked.append(len(evidence.runs))
        return ""

    with progress("formulas", slow) as observe:
        watched(observe)
    assert asked == [1, 6]


def _seconds(asked: list[int]) -> Iterator[float]:
    while True:
        yield 1.0 + len(asked)


@pytest.mark.parametrize(("terminal", "delay"), [(Terminal, "_SLOW"), (io.StringIO, "_SECONDS_BETWEEN_LINES")])
def test_what_takes_seconds_is_announced(
    terminal: type[io.StringIO], delay: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = terminal()
    monkeypatch.setattr(sys, "stderr", said)
    with announced_if_slow("writing the report"):
        pass
    monkeypatch.setattr(module, delay, 0.0)
    ended = threading.Event()

    def say(text: str) -> None:
        said.write(text)
        ended.set()

    monkeypatch.setattr(module, "say", say)
    with announced_if_slow("drawing the charts"):
        assert ended.wait(60.0)
    assert said.getvalue() == "drawing the charts"
