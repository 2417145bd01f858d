"""The runs of a design: their tasks, their order, the remaining ones, and those of one machine of a pool.

A machine runs whole repetitions, or blocks of the design.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hati.core import Benchmark, Configuration, Evidence, Plan, StudyId, Task, generator
from hati.design import run_order
from hati.studies import schedule

STAGE = "design"


def design_tasks(
    study: StudyId,
    benchmark: Benchmark,
    revision: str,
    configurations: Sequence[Configuration],
    repetitions: int,
    replicated: int = 0,
) -> tuple[Task, ...]:
    """All runs of a design in order: each repetition is a block of all configurations in a random order.

    The first ``replicated`` configurations of a design with one repetition are run once more, anywhere in the order.
    """
    count = len(configurations)
    order = run_order(count + replicated, repetitions, generator(study.seed, "order"))
    return tuple(
        benchmark.task(
            study,
            STAGE,
            configurations[int(row) % count],
            revision,
            int(row) // count if replicated else place // count,
        )
        for place, row in enumerate(order)
    )


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
