"""What engines share that run one batch after the other, while their runs are waited for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Generic, Self, TypeVar

from hati.core import Batch, BatchOrder, Run

Work = TypeVar("Work")


@dataclass
class _Out(Generic[Work]):
    """A batch, what is left of it, and its runs that have ended and were not handed over yet."""

    batch: Batch[Work]
    left: deque[Work]
    made: deque[Run] = field(default_factory=deque)


class SerialEngine(ABC, Generic[Work]):
    """Runs one batch at a time, in the thread of whoever iterates over ``completed``; a context manager."""

    def __init__(self) -> None:
        self._out: deque[_Out[Work]] = deque()

    def hold(self, study: str) -> None:
        """Nothing is reserved."""

    def capacity(self) -> int:
        """One batch, where none is out."""
        return 0 if self._out else 1

    def submit(self, batch: Batch[Work]) -> None:
        """Let a batch wait for its turn."""
        self._out.append(_Out(batch, deque(batch.members)))

    def withdraw(self, batch: Batch[Work]) -> bool:
        """Forget what is left of a batch; whether that was all of it."""
        found = next((each for each in self._out if each.batch == batch), None)
        if found is None:
            return True
        unbegun = len(found.left) == len(batch.members)
        found.left.clear()
        if not found.made:
            self._out.remove(found)
        return unbegun

    def completed(self) -> Iterator[Run]:
        """Make runs, and yield each when it has ended; ends where no batch is left.

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
        """The runs of tasks, or of jobs, in order, outside of a campaign."""
        for each in work:
            self.submit(Batch((each,)))
            yield from self.completed()

    def close(self) -> None:
        """Forget what waits."""
        self._out.clear()

    @abstractmethod
    def execute(self, work: Work, /) -> Run:
        """Make one run; a failure is a run too."""

    def execute_together(self, several: Sequence[Work], /) -> Sequence[Run]:
        """Make the runs of work that is to be run at the same time."""
        return [self.execute(work) for work in several]

    def _next(self, oldest: _Out[Work]) -> Sequence[Run]:
        """The next run of a batch, or its runs that are made at once."""
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
