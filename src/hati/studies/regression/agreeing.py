"""Steps that several machines agree on."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from hati.core import replace
from hati.studies.regression.levels import Step


class PlacedStep(Struct, frozen=True):
    """A step of these machines: it is after the place ``after``, at the latest at the last of its indexes."""

    step: Step
    after: int
    machines: frozenset[int]

    def agrees(self, other: PlacedStep) -> bool:
        """Whether both may be one change, in the same direction, seen by different machines."""
        same = (self.step.after > self.step.before) == (other.step.after > other.step.before)
        latest = min(self.step.indexes[1], other.step.indexes[1])
        return same and self.machines.isdisjoint(other.machines) and max(self.after, other.after) < latest

    def joined(self, other: PlacedStep) -> PlacedStep:
        """The surer of both, where both may be."""
        surer = min(self.step, other.step, key=lambda step: step.p_value)
        after = max(self.after, other.after)
        latest = min(self.step.indexes[1], other.step.indexes[1])
        index = min(max(self.step.index, after + 1), max(other.step.index, after + 1), latest)
        earliest = max(self.step.indexes[0], other.step.indexes[0])
        step = replace(surer, index=index, indexes=(min(earliest, index), latest))
        return PlacedStep(step, after, self.machines | other.machines)


def agreed(steps: Sequence[PlacedStep]) -> tuple[Step, ...]:
    """The steps in order, those that agree as one."""
    found: list[PlacedStep] = []
    for step in sorted(steps, key=lambda one: one.step.index):
        if found and found[-1].agrees(step):
            found[-1] = found[-1].joined(step)
        else:
            found.append(step)
    return tuple(one.step for one in found)
