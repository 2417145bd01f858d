"""The loop that every study runs in."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, suppress
from itertools import chain
from typing import TypeVar

from hati.campaign.releases import ReleaseOrder
from hati.core import Batch, Budget, Engine, Evidence, Plan, Run, Store, Study, Task, replace

Conclusion = TypeVar("Conclusion")

Observer = Callable[[Run, Evidence, Plan], None]
"""Called for each recorded run, with the evidence before this plan was started and the plan itself."""


def silent(run: Run, evidence: Evidence, plan: Plan) -> None:
    """An observer that does nothing."""


def campaign(
    study: Study[Conclusion], engine: Engine[Task], store: Store, budget: Budget, observe: Observer = silent
) -> Conclusion:
    """Let a study plan, an engine run and a store keep, until the study has enough or the budget is spent.

    Batches are released while the engine has room, and their runs recorded in the order of release. The study sees
    complete batches only, and is asked again once all that it planned is complete, or where the engine would be idle.

    Killed anywhere and called again, it goes on where the store ends: what a budget was spent on is read
    from the evidence, not from a clock. A time budget is checked after each run, so that it is missed or exceeded
    by about half a run of each machine.
    """
    under_way = _UnderWay(study, engine, store, budget, observe)
    while under_way.ask():
        under_way.carry_out()
    return study.conclude(under_way.evidence)


class _UnderWay:
    """A campaign between what its study has planned and what its store has."""

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
        """Release the planned batches, and those planned after them, until none is out."""
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
        """Release what there is room for; whether anything is out."""
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
        """What the budget has left after all that has come, recorded or not, and ``out`` more runs.

        Only a time needs to know what each run took.
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
        for run in runs:  # all are kept by now, should it fail
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
    """Closed with it, where it is a generator: its ``finally`` does not wait for the garbage collector."""
    yield from runs
