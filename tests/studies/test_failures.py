"""Runs without a value: what is said of them."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np

from hati.core import Configuration, Metric, Observations, Outcome, Run, Task, Workload, replace
from hati.studies.schedule import failure_reasons, nothing_measured

LATENCY = Metric("latency", "s")
TASKS = tuple(Task("s", "design", "main", Configuration({"a": 1}), "1", Workload(), number) for number in range(9))


def failed(number: int, detail: str = "", outcome: Outcome = Outcome.FAILED) -> Run:
    return Run(TASKS[number], "m", datetime(2026, 1, 1, tzinfo=UTC), 1.0, outcome, detail)


def done(number: int, metric: str = "latency") -> Run:
    seen = (Observations(metric, "s", np.ones(1)),)
    return Run(TASKS[number], "m", datetime(2026, 1, 1, tzinfo=UTC), 1.0, Outcome.DONE, observations=seen)


def test_reasons_are_counted_and_the_most_frequent_comes_first() -> None:
    runs = [failed(0, "no cheese"), done(1), failed(2, outcome=Outcome.TIMEOUT), failed(3, "no cheese")]
    assert failure_reasons(runs, LATENCY) == ("no cheese (2 runs)", "timeout")
    assert failure_reasons([done(0, "size")], LATENCY) == ("it yielded no values of latency",)
    assert failure_reasons([done(0)], LATENCY) == ()


def test_reasons_that_differ_in_the_configuration_alone_are_one() -> None:
    tasks = [replace(TASKS[0], configuration=Configuration({"a": setting})) for setting in (1, 2, 3, 3)]
    runs = [replace(failed(0, f"no row of {task.configuration}"), task=task) for task in tasks]
    assert failure_reasons(runs, LATENCY) == ("no row of a=1 (and so of 2 other configurations)",)
    assert failure_reasons(runs[:2], LATENCY) == ("no row of a=1 (and so of 1 other configuration)",)
    assert failure_reasons(runs[2:], LATENCY) == ("no row of a=3 (2 runs)",)


def test_nothing_measured_says_why() -> None:
    assert "most often because: no cheese (2 runs)" in nothing_measured(("no cheese (2 runs)", "timeout")).message
    assert "no run was made" in nothing_measured(()).message
