"""In which order runs are read that come from several machines."""

from __future__ import annotations

from dataclasses import dataclass, field

from hati.core import Batch, Run, Task


@dataclass
class _Release:
    """A batch that is out: the ids of the tasks that have no run yet, and the runs that wait for older batches."""

    batch: Batch[Task]
    missing: set[str]
    waiting: list[Run] = field(default_factory=list)


class ReleaseOrder:
    """Puts runs into the order in which their batches were released.

    The oldest batch that is out holds back the runs of all later ones, failures included. Were runs read as they end,
    a test that may stop at each look would see the fast ones first.
    """

    def __init__(self) -> None:
        self._out: list[_Release] = []

    def release(self, batch: Batch[Task]) -> None:
        """Count a batch as out."""
        self._out.append(_Release(batch, {task.id for task in batch.members}))

    def forget(self, batch: Batch[Task]) -> tuple[Run, ...]:
        """The runs that are next once nothing more comes of a batch; runs of it that wait are kept."""
        for each in self._out:
            if each.batch is batch:
                each.missing.clear()
        return self._next()

    @property
    def out(self) -> tuple[Batch[Task], ...]:
        """The batches that runs are missing of, and those that wait for them, oldest first."""
        return tuple(each.batch for each in self._out)

    @property
    def missing(self) -> int:
        """How many runs are to come."""
        return sum(len(each.missing) for each in self._out)

    @property
    def waiting(self) -> tuple[Run, ...]:
        """The runs that have come and wait for an older batch, in order of release."""
        return tuple(run for each in self._out for run in each.waiting)

    def arrived(self, run: Run) -> tuple[Run, ...]:
        """The runs that are next after this one has come; none while an older batch is out.

        Nobody waits for the run of a task that is not out. A second run of one whose first waits is dropped.
        """
        if any(run.task.id == each.task.id for each in self.waiting):
            return ()
        owner = next((each for each in self._out if run.task.id in each.missing), None)
        if owner is None:
            return (run,)
        owner.missing.remove(run.task.id)
        owner.waiting.append(run)
        return self._next()

    def settle(self) -> tuple[Run, ...]:
        """The waiting runs, in order: batches that are out complete no more."""
        left, self._out = self.waiting, []
        return left

    def _next(self) -> tuple[Run, ...]:
        found: list[Run] = []
        while self._out:
            oldest = self._out[0]
            found += oldest.waiting
            oldest.waiting = []
            if oldest.missing:
                break
            del self._out[0]
        return tuple(found)
