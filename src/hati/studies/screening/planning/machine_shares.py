"""Which runs of a screening are those of one machine of a pool: whole repetitions, or blocks of the design."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hati.core import Evidence, Plan, Task


class Blocked(Protocol):
    """A study whose runs are in blocks."""

    def plan(self, evidence: Evidence) -> Plan:
        """The tasks that are left."""
        ...

    def blocks_of(self, tasks: Sequence[Task], blocks: int) -> list[int | None]:
        """The block of each task, of so many, from 0; None where any machine may run it."""
        ...


def machine_share(study: Blocked, evidence: Evidence, member: int, machines: int) -> Plan:
    """The tasks that are left for one of so many machines, from 0.

    Tasks of no block, and those before a first run has worked, are for whichever machine comes first.
    """
    plan = study.plan(evidence)
    if machines == 1 or not evidence.done:
        return plan
    blocks = dict(zip((task.id for task in plan.tasks), study.blocks_of(plan.tasks, machines), strict=True))
    own = tuple(batch for batch in plan.batches if blocks[batch.members[0].id] in {None, member})
    return plan if len(own) == len(plan.batches) else Plan(own)
