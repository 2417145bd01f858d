"""The loop that every study runs in."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from typing import TypeVar

from hati.core import Budget, Engine, Evidence, Plan, Run, Store, Study

Conclusion = TypeVar("Conclusion")

Observer = Callable[[Run, Evidence, Plan], None]
"""Told of each recorded run, with the evidence before this plan was started and the plan itself."""


def silent(run: Run, evidence: Evidence, plan: Plan) -> None:
    """An observer that does nothing."""


def campaign(
    study: Study[Conclusion], engine: Engine, store: Store, budget: Budget, observe: Observer = silent
) -> Conclusion:
    """Let a study plan, an engine run and a store keep, until the study has enough or the budget is spent.

    Killed anywhere and called again, it goes on where the store ends: what a budget was spent on is read
    from the evidence, not from a clock. A time budget is checked after each run, so that it is missed or exceeded
    by about half a run.
    """
    evidence = store.evidence(study.id)
    while plan := study.plan(evidence).within(budget.left(evidence)):
        made, recorded = _made(plan, evidence, engine, store, budget, observe)
        another_recorded = len(recorded) < len(made)
        evidence = store.evidence(study.id) if another_recorded else Evidence((*evidence.runs, *recorded))
        if not recorded:  # the same plan would come again for ever
            break
    return study.conclude(evidence)


def _made(
    plan: Plan, evidence: Evidence, engine: Engine, store: Store, budget: Budget, observe: Observer
) -> tuple[list[Run], list[Run]]:
    """Run a plan; its runs, and those of them that the store did not know."""
    spent = [run.seconds for run in evidence.runs]
    made, recorded = [], []
    with closing(_closable(engine.run(plan))) as runs:
        for run in runs:
            made.append(run)
            if store.record(run):
                recorded.append(run)
            spent.append(run.seconds)
            observe(run, evidence, plan)
            if math.isfinite(budget.seconds) and budget.after(spent).seconds <= 0.0:
                break
    return made, recorded


def _closable(runs: Iterator[Run]) -> Generator[Run, None, None]:
    yield from runs
