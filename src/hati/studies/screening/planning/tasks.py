"""The runs of a design: their tasks, their order, the remaining ones, and those of one machine of a pool.

A machine runs whole repetitions, or blocks of the design.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from hati.core import Benchmark, Configuration, Evidence, FloatArray, Plan, StudyId, Task, generator, replace
from hati.design import Model, levels, run_order, trend_robust_order
from hati.studies import schedule
from hati.studies.screening.planning.fractions import Choice
from hati.studies.screening.planning.models import ModelChoice

if TYPE_CHECKING:
    from hati.space import Space

STAGE = "design"
_ORDERS = 100
"""The random orders of which the one that a linear trend disturbs least is run."""
_MOST_RUNS = 256
"""Designs with more runs have a random order: by chance a trend raises the variance of an effect by 1 / runs."""
_PAIRS = 2
_MOST_COLUMNS = 1_000


def with_robust_order(choice: Choice | ModelChoice) -> Choice | ModelChoice:
    """The choice with an order of runs that a linear trend disturbs little."""
    return replace(choice, orders=_ORDERS) if choice.runs <= _MOST_RUNS else choice


def design_tasks(
    study: StudyId,
    benchmark: Benchmark,
    revision: str,
    space: Space,
    configurations: Sequence[Configuration],
    choice: Choice | ModelChoice,
) -> tuple[Task, ...]:
    """All runs of a design in order: each repetition is a block of all configurations in a random order.

    The first configurations that a choice replicates are run once more, anywhere in the order.
    """
    count, replicated = len(configurations), choice.replicated if isinstance(choice, ModelChoice) else 0
    rows = configurations if not replicated else (*configurations, *configurations[:replicated])
    return tuple(
        benchmark.task(
            study,
            STAGE,
            rows[int(row)],
            revision,
            int(row) // count if replicated else place // count,
        )
        for place, row in enumerate(_order_of(rows, space, choice, study.seed))
    )


def _order_of(rows: Sequence[Configuration], space: Space, choice: Choice | ModelChoice, seed: int) -> NDArray[np.intp]:
    """The row that each run measures, of those of one repetition."""
    rng = generator(seed, "order")
    if not choice.orders:
        return run_order(len(rows), choice.repetitions, rng)
    mains, pairs = effect_columns(rows, space, _MOST_COLUMNS)
    return trend_robust_order(mains, pairs, choice.repetitions, choice.orders, rng)


def effect_columns(configurations: Sequence[Configuration], space: Space, most: int) -> tuple[FloatArray, FloatArray]:
    """The columns of main effects and of two-factor interactions; none of these if they may be more than ``most``."""
    sizes = [len(option.settings) for option in space.options]
    parameters = sum(sizes) - len(sizes)
    model = Model.of_order(sizes, 1 if parameters**2 > most else _PAIRS)
    columns = model.matrix(levels(configurations, space))[:, 1:]
    return columns[:, :parameters], columns[:, parameters:]


def tasks_left(tasks: Sequence[Task], evidence: Evidence) -> Plan:
    """The tasks that are left; at most five until a first run has worked, so that a study that cannot work ends."""
    return schedule.tasks_left(tasks, evidence.stage(STAGE))


class Blocked(Protocol):
    """A study whose runs are in blocks."""

    @property
    def tasks(self) -> tuple[Task, ...]:
        """All runs of the design in order."""
        ...

    def plan(self, evidence: Evidence) -> Plan:
        """The tasks that are left."""
        ...

    def as_run(self, evidence: Evidence) -> Blocked:
        """The study that the runs so far belong to."""
        ...

    def blocks_of(self, tasks: Sequence[Task], blocks: int) -> list[int | None]:
        """The block of each task, of at most ``blocks``, from 0; None where any machine may run it."""
        ...


def machine_share(study: Blocked, evidence: Evidence, member: int, machines: int) -> Plan:
    """The tasks that are left for machine ``member``, from 0; any machine may run a task without a block.

    Before a first run has worked, each machine gets the first of its own tasks: the design's first tasks may all belong
    to another machine.
    """
    if machines == 1:
        return study.plan(evidence)
    if not evidence.stage(STAGE).done:
        return tasks_left(own_tasks(study, study.tasks, member, machines), evidence)
    plan = study.plan(evidence)
    own = {task.id for task in own_tasks(study.as_run(evidence), plan.tasks, member, machines)}
    batches = tuple(batch for batch in plan.batches if batch.members[0].id in own)
    return plan if len(batches) == len(plan.batches) else Plan(batches)


def own_tasks(study: Blocked, tasks: Sequence[Task], member: int, machines: int) -> tuple[Task, ...]:
    """The tasks that one of the machines, from 0, may run."""
    if machines == 1:
        return tuple(tasks)
    blocks = study.blocks_of(tasks, machines)
    return tuple(task for task, block in zip(tasks, blocks, strict=True) if block in {None, member})
