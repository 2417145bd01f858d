"""Schedules: rounds of pairs in random order, the tasks that are left, and when a study gives up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

from numpy.random import Generator

from hati.core import Evidence, Outcome, Plan, Run, Task

GIVE_UP_AFTER = 5
"""The first runs after which a study ends if all failed: it would only spend the budget on failures."""
MOST_FAILURES = 3
"""The number of failed runs, with none that worked, after which what they measure is left out."""

K = TypeVar("K", bound=Hashable)


def tasks_without_run(tasks: Iterable[Task], evidence: Evidence) -> tuple[Task, ...]:
    """The tasks without a run, in their order."""
    return tuple(task for task in tasks if task.id not in evidence.known)


def tasks_left(tasks: Iterable[Task], evidence: Evidence) -> Plan:
    """The tasks without a run; at most five until a first run has worked, so that a study that cannot work ends."""
    return limit_until_first_success(Plan.of(tasks_without_run(tasks, evidence)), evidence)


def limit_until_first_success(plan: Plan, evidence: Evidence) -> Plan:
    """The plan; before a first run has worked, limited to five runs in all."""
    return plan if evidence.done else plan.at_most(max(0, GIVE_UP_AFTER - len(evidence.runs)))


def paired_round(cells: int, rng: Generator) -> Iterator[tuple[int, int]]:
    """Both sides, 0 and 1, of each cell, one after the other; cells and sides are in random order."""
    for cell in rng.permutation(cells).tolist():
        first = int(rng.integers(2))
        yield from ((cell, first), (cell, 1 - first))


def rounds_begun(runs: Iterable[Run]) -> int:
    """The number of rounds in which a run was made; a repetition is a round."""
    return 1 + max((run.task.repetition for run in runs), default=-1)


def given_up(runs: Iterable[Run], of: Callable[[Run], K]) -> frozenset[K]:
    """What cannot be measured, such as a revision: it cannot be built, or three runs failed and none worked."""
    made: dict[K, list[Outcome]] = defaultdict(list)
    for run in runs:
        made[of(run)].append(run.outcome)
    return frozenset(
        key
        for key, outcomes in made.items()
        if Outcome.DONE not in outcomes and (Outcome.NOT_BUILT in outcomes or len(outcomes) >= MOST_FAILURES)
    )
