"""Schedules: what is left of tasks, rounds of pairs, and when a study gives up."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from hati.core import Configuration, Evidence, Observations, Outcome, Plan, Run, Task, Workload, generator
from hati.studies.schedule import (
    given_up,
    limit_until_first_success,
    paired_round,
    rounds_begun,
    tasks_left,
    tasks_without_run,
)

TASKS = tuple(Task("s", "design", "main", Configuration({"a": 1}), "1", Workload(), number) for number in range(9))
PLAN = Plan.of(TASKS)


def failed(number: int, outcome: Outcome = Outcome.FAILED) -> Run:
    return Run(TASKS[number], "m", datetime(2026, 1, 1, tzinfo=UTC), 1.0, outcome)


def done(number: int) -> Run:
    seen = (Observations("latency", "s", np.ones(1)),)
    return Run(TASKS[number], "m", datetime(2026, 1, 1, tzinfo=UTC), 1.0, Outcome.DONE, observations=seen)


@pytest.mark.parametrize(("failures", "left"), [(0, 5), (3, 2), (5, 0), (7, 0)])
def test_five_failures_are_enough(failures: int, left: int) -> None:
    made = Evidence(tuple(failed(number) for number in range(failures)))
    assert limit_until_first_success(PLAN, made).tasks == TASKS[:left]


def test_one_run_that_works_lets_a_study_go_on() -> None:
    assert limit_until_first_success(PLAN, Evidence((*(failed(number) for number in range(5)), done(5)))) == PLAN


def test_what_is_left_are_the_tasks_without_a_run() -> None:
    made = Evidence((done(1), failed(3)))
    assert tasks_without_run(TASKS, made) == tuple(task for number, task in enumerate(TASKS) if number not in {1, 3})
    assert tasks_left(TASKS, made).tasks == tasks_without_run(TASKS, made)
    assert tasks_left(TASKS, Evidence((failed(0),))).tasks == TASKS[1:5]


def test_a_round_has_both_sides_of_each_cell_one_after_the_other() -> None:
    found = list(paired_round(5, generator(1, "round")))
    assert sorted(found) == [(cell, side) for cell in range(5) for side in range(2)]
    assert all(one == other for (one, _), (other, _) in zip(found[::2], found[1::2], strict=True))
    first = {side for number in range(20) for _, side in list(paired_round(5, generator(number, "round")))[::2]}
    assert first == {0, 1}


def test_what_is_not_built_or_fails_three_times_is_given_up() -> None:
    def by_thirds(run: Run) -> int:
        return run.task.repetition // 3

    assert given_up([failed(0), failed(1), done(2), failed(3), failed(4)], by_thirds) == frozenset()
    assert given_up([failed(0), failed(1), failed(2), failed(3, Outcome.NOT_BUILT)], by_thirds) == {0, 1}


def test_the_rounds_that_were_begun_are_counted() -> None:
    assert rounds_begun(()) == 0
    assert rounds_begun((failed(4), done(2))) == 5
