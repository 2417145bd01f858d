"""What a bisection says."""

from __future__ import annotations

from msgspec import Struct

from hati.core import Metric, Revision


class Culprit(Struct, frozen=True):
    """A change between two revisions that were measured, all between which could not be.

    ``revisions`` are those that can have made it, oldest first: one, unless those before it could not be measured.
    ``ratio`` is what it made of the metric, with its ``interval``; ``confidence`` that there is a change at all; 0
    where the budget ended before it was shown.
    """

    revisions: tuple[Revision, ...]
    ratio: float
    interval: tuple[float, float] | None
    confidence: float


class BisectionConclusion(Struct, frozen=True):
    """The culprits from the oldest, their total change, and the cost.

    ``same`` means that the total is shown to be within the ``margin``: the search stops then.

    ``open_ranges`` are intervals in which there is a change that the budget did not suffice to find; the whole where it
    did not suffice to decide whether there is one.
    """

    study: str
    good: Revision
    bad: Revision
    benchmark: str
    metric: Metric
    ratio: float | None
    interval: tuple[float, float] | None
    margin: float
    same: bool
    culprits: tuple[Culprit, ...]
    open_ranges: tuple[tuple[Revision, Revision], ...]
    skipped: tuple[Revision, ...]
    probes: int
    runs: int
    failed: int
    seconds: float
