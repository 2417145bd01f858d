"""The campaign loop: a study plans, an engine runs and a store keeps, until the study has enough.

It knows studies, engines and stores by their ports only.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import TypeVar

from msgspec import Struct

from hati.core import (
    Batch,
    Benchmark,
    Budget,
    Engine,
    Evidence,
    InputError,
    Job,
    Plan,
    Run,
    Store,
    Study,
    Task,
    replace,
)


class JobMaker(Struct, frozen=True):
    """Joins tasks with the definitions of their benchmarks and with the digest of the ``sources`` of their revision."""

    benchmarks: Mapping[str, Benchmark]
    sources: Callable[[str], str]

    def job(self, task: Task) -> Job:
        """The task as a job.

        Raises:
            InputError: where its benchmark is unknown.
        """
        if task.benchmark not in self.benchmarks:
            raise InputError(
                f"there is no benchmark {task.benchmark!r}", fix=f"there are: {', '.join(self.benchmarks)}"
            )
        return Job(task, self.benchmarks[task.benchmark], self.sources(task.revision))


class Dispatcher(Struct, frozen=True):
    """Takes batches of tasks, and hands them to an engine as jobs."""

    engine: Engine[Job]
    make: JobMaker

    def hold(self, study: str) -> None:
        """Reserve what a study needs."""
        self.engine.hold(study)

    def capacity(self) -> int:
        """The number of batches that the engine would start now."""
        return self.engine.capacity()

    def submit(self, batch: Batch[Task]) -> None:
        """Hand a batch over.

        Raises:
            InputError: where a task's benchmark is unknown, or can never be run.
        """
        self.engine.submit(self._joined(batch))

    def withdraw(self, batch: Batch[Task]) -> bool:
        """Take back a batch that has not begun; False where part of it has."""
        return self.engine.withdraw(self._joined(batch))

    def completed(self) -> Iterator[Run]:
        """Runs as they end."""
        return self.engine.completed()

    def close(self) -> None:
        """End all runs in progress."""
        self.engine.close()

    def _joined(self, batch: Batch[Task]) -> Batch[Job]:
        return Batch(tuple(map(self.make.job, batch.members)), batch.order)


@dataclass
class _Release:
    """A released batch: the ids of the tasks that have no run yet, and the runs that wait for older batches."""

    batch: Batch[Task]
    missing: set[str]
    waiting: list[Run] = field(default_factory=list)


class ReleaseOrder:
    """Puts runs into the order in which their batches were released.

    The oldest incomplete batch holds back the runs of all later ones, failures included. If runs were read as they end,
    a test that may stop at each look would see the fast ones first.
    """

    def __init__(self) -> None:
        self._out: list[_Release] = []

    def release(self, batch: Batch[Task]) -> None:
        """Count a batch as released."""
        self._out.append(_Release(batch, {task.id for task in batch.members}))

    def forget(self, batch: Batch[Task]) -> tuple[Run, ...]:
        """The runs that are next if a batch yields no more; runs of it that wait are kept."""
        for each in self._out:
            if each.batch is batch:
                each.missing.clear()
        return self._next()

    @property
    def out(self) -> tuple[Batch[Task], ...]:
        """The released batches with missing runs, and those that wait for them, oldest first."""
        return tuple(each.batch for each in self._out)

    @property
    def missing(self) -> int:
        """The number of runs that are still expected."""
        return sum(len(each.missing) for each in self._out)

    @property
    def waiting(self) -> tuple[Run, ...]:
        """The runs that have arrived and wait for an older batch, in order of release."""
        return tuple(run for each in self._out for run in each.waiting)

    def arrived(self, run: Run) -> tuple[Run, ...]:
        """The runs that are next after this one arrives; none while an older batch is incomplete.

        The run of a task that is not expected is passed on at once. A second run of a task whose first waits is
        dropped.
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
        """The waiting runs, in order, once the released batches yield no more."""
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


Conclusion = TypeVar("Conclusion")

Observer = Callable[[Run, Evidence, Plan], None]
"""Called for each recorded run, with the evidence before this plan was started and the plan itself."""


def silent(run: Run, evidence: Evidence, plan: Plan) -> None:
    """An observer that does nothing."""


def campaign(
    study: Study[Conclusion], engine: Engine[Task], store: Store, budget: Budget, observe: Observer = silent
) -> Conclusion:
    """The conclusion of a study whose tasks an engine runs and a store keeps; ``measured`` says how it resumes."""
    return study.conclude(measured(study, engine, store, budget, observe))


def measured(
    study: Study[Conclusion], engine: Engine[Task], store: Store, budget: Budget, observe: Observer = silent
) -> Evidence:
    """The evidence of a study once it has enough, or once the budget is spent.

    Batches are released while the engine has capacity, and their runs recorded in the order of release. The study sees
    complete batches only, and is asked again once all that it planned is complete, or where the engine would be idle.

    If it is killed and called again, it goes on where the store ends: the spent budget follows from the evidence, not
    from a clock. A time budget is checked after each run, so that it is missed or exceeded by about half a run of each
    machine.
    """
    under_way = _UnderWay(study, engine, store, budget, observe)
    while under_way.ask():
        under_way.carry_out()
    return under_way.evidence


class _UnderWay:
    """A campaign in progress, between what its study has planned and what its store has."""

    def __init__(
        self, study: Study[Conclusion], engine: Engine[Task], store: Store, budget: Budget, observe: Observer
    ) -> None:
        self._study, self._engine, self._store, self._budget, self._observe = study, engine, store, budget, observe
        self._recorded, self._asked_at = list(store.evidence(study.id).runs), -1
        self._plan, self._before = Plan(), Evidence()
        self._foreign = False
        self._waiting: deque[Batch[Task]] = deque()
        self._required: frozenset[str] = frozenset()
        self._order = ReleaseOrder()

    @property
    def evidence(self) -> Evidence:
        """The recorded runs read so far: a copy, too expensive to make for each run."""
        return Evidence(tuple(self._recorded))

    def ask(self) -> bool:
        """Let the study plan from the complete runs; return whether it wants more.

        It does nothing where no run was recorded since the last call: the same plan would repeat forever.
        """
        if self._foreign:
            self._recorded, self._foreign = list(self._store.evidence(self._study.id).runs), False
        if not self._new:
            return False
        released = {task.id for batch in self._order.out for task in batch.members}
        seen = self.evidence
        if any(run.task.id in released for run in seen.runs):
            seen = Evidence(tuple(run for run in seen.runs if run.task.id not in released))
        self._plan, self._before = self._study.plan(seen).within(self._budget.left(seen)), seen
        self._asked_at = len(self._recorded)
        self._required = frozenset(task.id for task in self._plan.tasks)
        wanted = [*self._plan.batches, *self._plan.ahead]
        self._waiting = deque(batch for batch in wanted if released.isdisjoint(task.id for task in batch.members))
        return bool(self._plan)

    def carry_out(self) -> None:
        """Release the planned batches, and those planned after them, until all are complete."""
        with closing(_closable(self._engine.completed())) as runs:
            try:
                while self._release():
                    run = next(runs, None)
                    if run is None:  # the engine has lost the others: they are planned again
                        self._record(self._order.settle())
                        break
                    self._record(self._order.arrived(run))
                    if self._left().spent:
                        self._stop()
            except BaseException:
                self._break_off()
                raise

    def _release(self) -> bool:
        """Release batches while the engine has capacity; return whether any is incomplete."""
        while self._engine.capacity() > 0 or not self._order.out:
            batch = self._next()
            if batch is None:
                break
            self._engine.submit(batch)
            self._order.release(batch)
        return bool(self._order.out)

    def _next(self) -> Batch[Task] | None:
        """The next batch, as far as the budget has runs for it; None where there is none now."""
        left = self._left(self._order.missing)
        if left.spent:
            return None
        if self._new and (not self._waiting or self._looked_for()) and not self.ask():
            self._stop()
        if not self._waiting:
            return None
        batch = self._waiting.popleft()
        return batch if len(batch.members) <= left.runs else replace(batch, members=batch.members[: int(left.runs)])

    def _left(self, out: int = 0) -> Budget:
        """The budget that is left after all runs that have arrived, recorded or not, and ``out`` more.

        Only a time budget needs to know how long each run took.
        """
        waiting = self._order.waiting
        if math.isinf(self._budget.seconds) and math.isinf(self._budget.wall):
            return self._budget.left(Evidence(), len(self._recorded) + len(waiting) + out)
        return self._budget.left(Evidence((*self._recorded, *waiting)), out)

    @property
    def _new(self) -> bool:
        """Whether something was recorded since the study was asked last."""
        return len(self._recorded) != self._asked_at

    def _looked_for(self) -> bool:
        """Whether all planned runs are complete, so that the study may decide; batches ahead do not count."""
        left = (task.id for batch in chain(self._order.out, self._waiting) for task in batch.members)
        return self._required.isdisjoint(left)

    def _record(self, runs: tuple[Run, ...]) -> None:
        for run in runs:
            if self._store.record(run):
                self._recorded.append(run)
            else:
                self._foreign = True
        for run in runs:  # all are kept by now, in case an observer fails
            self._observe(run, self._before, self._plan)

    def _stop(self) -> None:
        """Release no more batches, and take back those that have not begun."""
        self._waiting.clear()
        for batch in reversed(self._order.out):
            if self._engine.withdraw(batch):
                self._record(self._order.forget(batch))

    def _break_off(self) -> None:
        """Keep completed runs, and take back batches that have not begun; an error here does not hide the original one.

        Runs ahead of the next look are repeated. Otherwise the look would see only the fast ones of its batch.
        """
        out, waiting = self._order.out, self._order.settle()
        with suppress(Exception):
            for run in waiting:
                if run.task.id in self._required:
                    self._store.record(run)
        for batch in out:
            with suppress(Exception):
                self._engine.withdraw(batch)


def _closable(runs: Iterator[Run]) -> Generator[Run]:
    """Yield the runs; closing this closes their generator, whose ``finally`` need not wait for garbage collection."""
    yield from runs
