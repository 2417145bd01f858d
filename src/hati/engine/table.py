"""The engine that looks runs up in a table."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import numpy as np

from hati.core import Machine, Observations, Outcome, Run, Task
from hati.engine.serial import SerialEngine
from hati.subject.table import MeasuredTable


def _now() -> datetime:
    return datetime.now(UTC)


class TableEngine(SerialEngine[Task]):
    """Looks tasks up in a table: a task's repetition is the number of the configuration's run in it.

    A lookup costs no time, so that runs take 0 s and have no resources. A configuration or a repetition that the
    table does not have is a failed run.
    """

    def __init__(self, table: MeasuredTable, machine: Machine, clock: Callable[[], datetime] = _now) -> None:
        super().__init__()
        self._table = table
        self._machine = machine.fingerprint
        self._clock = clock

    def execute(self, task: Task, /) -> Run:
        """Look a run up."""
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
