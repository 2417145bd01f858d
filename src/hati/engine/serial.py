"""Engines that run one batch after another, and one whose runs are looked up in a table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Generic, Self, TypeVar

import numpy as np

from hati.core import Batch, BatchOrder, Machine, Observations, Outcome, Run, Task

if TYPE_CHECKING:
    from hati.subject.table import MeasuredTable

Work = TypeVar("Work")


@dataclass
class _Out(Generic[Work]):
    """A batch, its remaining work, and its completed runs that were not yet handed over."""

    batch: Batch[Work]
    left: deque[Work]
    made: deque[Run] = field(default_factory=deque)


class SerialEngine(ABC, Generic[Work]):
    """Runs one batch at a time, in the thread that iterates over ``completed``; a context manager."""

    def __init__(self) -> None:
        self._out: deque[_Out[Work]] = deque()

    def hold(self, study: str) -> None:
        """Nothing is reserved."""

    def capacity(self) -> int:
        """One batch, where none is waiting or in progress."""
        return 0 if self._out else 1

    def submit(self, batch: Batch[Work]) -> None:
        """Queue a batch."""
        self._out.append(_Out(batch, deque(batch.members)))

    def withdraw(self, batch: Batch[Work]) -> bool:
        """Drop the remaining work of a batch; return whether that was all of it."""
        found = next((each for each in self._out if each.batch == batch), None)
        if found is None:
            return True
        unbegun = len(found.left) == len(batch.members)
        found.left.clear()
        if not found.made:
            self._out.remove(found)
        return unbegun

    def completed(self) -> Iterator[Run]:
        """Do the runs, and yield each when it has ended; ends where no batch is left.

        Raises:
            MeasurementError: where nothing can be measured.
        """
        while self._out:
            oldest = self._out[0]
            if not oldest.made:
                oldest.made.extend(self._next(oldest))
            run = oldest.made.popleft()
            if not oldest.left and not oldest.made:
                self._out.popleft()
            yield run

    def run(self, work: Iterable[Work]) -> Iterator[Run]:
        """Do the runs of tasks or jobs in order, outside of a campaign."""
        for each in work:
            self.submit(Batch((each,)))
            yield from self.completed()

    def close(self) -> None:
        """Drop the waiting batches."""
        self._out.clear()

    @abstractmethod
    def execute(self, work: Work, /) -> Run:
        """Do one run; a failure is a run too."""

    def execute_together(self, several: Sequence[Work], /) -> Sequence[Run]:
        """Do the runs of work that is to run at the same time."""
        return [self.execute(work) for work in several]

    def _next(self, oldest: _Out[Work]) -> Sequence[Run]:
        """The next run of a batch, or all its runs if they run at the same time."""
        if oldest.batch.order is not BatchOrder.TOGETHER:
            return [self.execute(oldest.left.popleft())]
        together = tuple(oldest.left)
        oldest.left.clear()
        return self.execute_together(together)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


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
