"""How far measuring is, as ``pytest --hati`` shows it."""

from __future__ import annotations

from dataclasses import dataclass, field

from hati.campaign import campaign
from hati.core import Budget, Task
from hati.pytest_plugin.collecting import MeasuringProgress
from hati.testing import FakeEngine, MemoryStore
from hati.testing.assertions import study_of


@dataclass
class Screen:
    """What was written, and how."""

    redraws: bool
    said: list[str] = field(default_factory=list)
    drawn: list[str] = field(default_factory=list)

    def say(self, text: str) -> None:
        self.said.append(text)

    def draw(self, text: str) -> None:
        self.drawn.append(text)


class Clock:
    """Each run takes a second."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def shown(screen: Screen) -> int:
    """The number of runs of a campaign of two formulas, of which one is decided first."""
    clock = Clock()

    def measured(task: Task) -> dict[str, list[float]]:
        clock.now += 1.0
        value = {"a": 1.0, "b": 2.0, "c": 1.0}[task.benchmark]
        return {"time": [value * (1 + 0.01 * (task.repetition * 7 % 10 - 4.5))]}

    study = study_of("a <= b", "c <= 1 s", budget=Budget(60))
    engine = FakeEngine(measured)
    campaign(study, engine, MemoryStore(), study.budget, MeasuringProgress(study, screen, clock))
    return len(engine.tasks)


def test_a_terminal_is_redrawn_after_every_run() -> None:
    screen = Screen(redraws=True)
    runs = shown(screen)
    assert screen.said == []
    assert len(screen.drawn) == runs
    assert screen.drawn[0] == "1 run, 0 of 2 formulas decided, 1 s"
    assert screen.drawn[-1] == f"{runs} runs, 1 of 2 formulas decided, {runs} s"


def test_elsewhere_there_is_a_line_after_two_seconds_and_then_now_and_then() -> None:
    screen = Screen(redraws=False)
    runs = shown(screen)
    assert screen.drawn == []
    assert [line.split(",")[0] for line in screen.said] == [f"{count} runs" for count in range(2, runs + 1, 5)]
