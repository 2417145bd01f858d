"""Engines whose batches go to a store's ledger: for workers with the project, or volunteers with signed files."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

from hati.core import Batch, BatchOrder, Job, MeasurementError, Outcome, Run, Task, replace
from hati.core.wording import listed
from hati.engine.engines import ANYWHERE, Placement
from hati.steering import ANYTHING, Client, Requirements, obstacle
from hati.store import Attempt, BatchState, Ledger, run_of

_SHORTEST, _LONGEST = 0.005, 0.1
"""Seconds between two queries of the ledger."""
_EXPIRE_SECONDS = 0.25
"""Seconds between two looks for expired leases."""
_SILENT_SECONDS = 5.0
"""Seconds without a result after which the engine says what a batch waits for."""


@dataclass
class Released:
    """A released batch, its number in the ledger, and its tasks without a run."""

    batch: Batch[Job]
    number: int
    missing: dict[str, Task]
    state: BatchState = BatchState.OPEN
    """Its state at the last look."""
    wanted: bool = True
    """False once the campaign has withdrawn it."""


class WorkersEngine:
    """Releases batches into a ledger, and yields the results that workers put there; a context manager.

    There are as many released batches as workers, and at least one. ``machines`` are the names of the machines that may
    run them, any where empty; ``waiting`` is called with a sentence if no results come; ``asked`` has the priority of
    batches and when they are due; ``placement`` is what they need of machines. A batch that machines
    fail too often becomes failed runs, with the reasons of all attempts.

    Runs in progress when the engine is closed are not stopped: their results stay in the ledger, and count
    where the same task is submitted again.
    """

    nobody = "waiting for a worker: start one by `hati worker`, with the same store"
    """What is said where no machine is there."""

    def __init__(
        self,
        ledger: Ledger,
        machines: Sequence[str],
        waiting: Callable[[str], None],
        asked: Requirements | None = None,
        placement: Placement = ANYWHERE,
    ) -> None:
        self._ledger, self._asked = ledger, asked or ANYTHING
        self._placement = placement
        self._machines = tuple(machines)
        self._waiting = waiting
        self._out: list[Released] = []
        self._ready: deque[tuple[Batch[Job], Run]] = deque()
        self._delivered: set[str] = set()
        self._said: set[str] = set()
        self._expired = -math.inf

    def hold(self, study: str) -> None:
        """Nothing is reserved."""

    def capacity(self) -> int:
        """One batch for each present worker, at least one, minus the released batches."""
        return max(1, len(self._present())) - len(self._out)

    def submit(self, batch: Batch[Job]) -> None:
        """Release a batch."""
        tasks = {job.task.id: job.task for job in batch.members}
        again = self._delivered & set(tasks)
        number = self._release(batch, again)
        self._delivered -= again
        self._out.append(Released(batch, number, tasks))

    def withdraw(self, batch: Batch[Job]) -> bool:
        """Withdraw the part of a batch that no worker has taken; False where part of it has begun."""
        found = next((each for each in self._out if each.batch == batch), None)
        if found is None:
            return all(owner != batch for owner, _ in self._ready)
        found.wanted = False
        unbegun = self._ledger.withdraw(found.number)
        if unbegun:
            self._out.remove(found)
        return unbegun

    def completed(self) -> Iterator[Run]:
        """Yield results as they come; ends where no batch is left."""
        pause, since = _SHORTEST, time.monotonic()
        while self._out or self._ready:
            if self._ready:
                pause, since = _SHORTEST, time.monotonic()
                yield self._ready.popleft()[1]
                continue
            if time.monotonic() - since > _SILENT_SECONDS:
                self._say_why()
                since = time.monotonic()
            self._pause(pause)
            pause = min(2 * pause, _LONGEST)
            self._look()

    def close(self) -> None:
        """Withdraw the released batches."""
        for each in reversed(self._out):
            self._ledger.withdraw(each.number)
        self._out.clear()
        self._ready.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _pause(self, seconds: float) -> None:
        """Wait for results, no longer than a time."""
        time.sleep(seconds)

    def _release(self, batch: Batch[Job], again: Collection[str] = ()) -> int:
        """Release a batch, for the tasks with the ids ``again`` once more; its number."""
        return self._ledger.release(batch, self._requirements(batch), again)

    def _look(self) -> None:
        """Collect new results; states are read before results, so that the results of final batches are complete."""
        if time.monotonic() - self._expired > _EXPIRE_SECONDS:
            self._ledger.expire()
            self._expired = time.monotonic()
        states = self._ledger.states(each.number for each in self._out)
        results = self._ledger.results(task for each in self._out for task in each.missing)
        for each in tuple(self._out):
            for task in [task for task in results if task in each.missing]:
                self._deliver(each, run_of(results[task], each.missing[task]))
            if states.get(each.number) is BatchState.WITHDRAWN and each.wanted and each.missing:
                each.number = self._release(each.batch)  # by another campaign, or a server of volunteers
                continue
            each.state = states.get(each.number, BatchState.WITHDRAWN)  # a study that was forgotten has no batches
            if each.state is BatchState.QUARANTINED:
                each.state = self._give_up(each)
            if each.state.final or not each.missing:
                self._out.remove(each)

    def _give_up(self, out: Released) -> BatchState:
        """Deliver what is missing of a quarantined batch as failed runs; return the batch's state afterwards."""
        attempts = counted_attempts(self._ledger.attempts(out.number))
        for left in tuple(out.missing.values()):
            self._deliver(out, _given_up(left, attempts))
        return BatchState.QUARANTINED

    def _deliver(self, out: Released, run: Run) -> None:
        del out.missing[run.task.id]
        self._delivered.add(run.task.id)
        self._ready.append((out.batch, run))

    def _present(self) -> tuple[Client, ...]:
        return tuple(each for each in self._ledger.present() if not self._machines or each.name in self._machines)

    def _requirements(self, batch: Batch[Job]) -> Requirements:
        pinned = [cpu + 1 for job in batch.members for cpu in job.benchmark.cpus]
        together = 2 if batch.order is BatchOrder.TOGETHER else 1
        return replace(
            self._asked,
            sources=tuple(sorted({job.sources for job in batch.members})),
            revisions=tuple(sorted({job.task.revision for job in batch.members})),
            machines=self._machines,
            cpus=max([together, *pinned]),
            attributes=self._placement.attributes(batch),
        )

    def _say_why(self) -> None:
        """Say once why the oldest batch waits: its failed attempts, and the requirements that no machine meets."""
        for attempt in counted_attempts(self._ledger.attempts(self._out[0].number)):
            self._say(f"attempt {attempt.number} at the next batch failed: {attempt.reason}")
        clients = {client.machine: client for client in self._ledger.present()}
        oldest = self._out[0]
        reason = obstacle(self._requirements(oldest.batch), None, clients, self._ledger.reporters(oldest.number))
        if not clients:
            self._say(self.nobody)
        elif reason:
            self._say(f"waiting for another worker: the next batch {reason}")

    def _say(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self._waiting(text)


def counted_attempts(attempts: Sequence[Attempt]) -> list[Attempt]:
    """The attempts that failed."""
    return [each for each in attempts if each.outcome and each.outcome.counted]


def _given_up(task: Task, attempts: Sequence[Attempt]) -> Run:
    """The failed run of a task during which workers ended.

    Raises:
        MeasurementError: where no worker ended: failing machines say nothing about the subject.
    """
    last = attempts[-1]
    reasons = [f"attempt {each.number}: {each.reason}" for each in attempts]
    if not any(each.outcome and each.outcome.fatal for each in attempts):
        raise MeasurementError(
            f"no machine could run a batch of study {task.study}: {listed(reasons, separator='; ')}",
            fix="see to these machines, and start the campaign again: what was recorded is kept",
        )
    seconds = sum((each.ended or each.began) - each.began for each in attempts)
    detail = f"no machine completed it: {listed(reasons, separator='; ')}"
    return Run(task, last.machine, datetime.fromtimestamp(last.began, UTC), seconds, Outcome.NOT_STARTED, detail)
