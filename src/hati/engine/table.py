"""The engine that looks runs up in a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

import numpy as np

from hati.core import Machine, Observations, Outcome, Plan, Run, Task
from hati.subject.table import MeasuredTable


def _now() -> datetime:
    return datetime.now(UTC)


class TableEngine:
    """Runs tasks by looking them up: a task's repetition is the number of the configuration's run in the table.

    A lookup costs no time, so that runs take 0 s and have no resources. A configuration or a repetition that the
    table does not have is a failed run.
    """

    def __init__(self, table: MeasuredTable, machine: Machine, clock: Callable[[], datetime] = _now) -> None:
        self._table = table
        self._machine = machine.fingerprint
        self._clock = clock

    def hold(self, study: str) -> None:
        """Nothing is locked: lookups disturb nobody."""

    def run(self, plan: Plan) -> Iterator[Run]:
        """One run of each task, in the plan's order."""
        for task in plan:
            yield self._run(task)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        return

    def _run(self, task: Task) -> Run:
        found = self._table.run(task.configuration, task.repetition, task.id)
        started = self._clock()
        if isinstance(found, str):
            return Run(task, self._machine, started, 0.0, Outcome.FAILED, detail=found)
        observations = tuple(
            Observations(metric.name, metric.unit, np.array([found[metric.name]]))
            for metric in self._table.metrics
            if metric.name in found
        )
        return Run(task, self._machine, started, 0.0, Outcome.DONE, observations=observations)
