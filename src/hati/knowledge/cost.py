"""What a run costs."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from msgspec import Struct

from hati.core import InputError
from hati.knowledge.entry import Provenance

_ENOUGH = 8
"""A study with so many runs tells what one costs; of fewer the newest may be of a few configurations."""


class TimedRuns(Struct, frozen=True):
    """The ``seconds`` of the runs of a study that worked.

    Raises:
        InputError: without any.
    """

    provenance: Provenance
    seconds: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.seconds:
            raise InputError(f"{self.provenance.study} has no run that worked")

    @property
    def median(self) -> float:
        """What a run costs."""
        return median(self.seconds)


def by_cost(studies: Sequence[TimedRuns]) -> tuple[TimedRuns, str] | None:
    """The study that tells what a run costs, and why that: the newest on this machine with eight runs or more.

    Where none has, the one with the most runs; those of other machines only where there are no others.
    """
    if not studies:
        return None
    here = [one for one in studies if not one.provenance.machine] or studies
    enough = [one for one in here if len(one.seconds) >= _ENOUGH]
    if enough:
        return max(enough, key=lambda one: one.provenance.measured), f"the newest study with {_ENOUGH} runs or more"
    most = max(here, key=lambda one: (len(one.seconds), one.provenance.measured))
    return most, "the study with the most runs"
