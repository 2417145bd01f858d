"""What a replay yields."""

from __future__ import annotations

from msgspec import Struct

from hati.core import Configuration, Metric, Revision
from hati.knowledge import Coverage
from hati.studies.regression import Series


class RevisionSpread(Struct, frozen=True):
    """How a metric is distributed over the configurations at a revision: five quantiles, weighted (RES paper, Fig. 12).

    ``quantiles`` are the smallest value, the quartiles and the largest, in the metric's unit.
    """

    revision: Revision
    quantiles: tuple[float, float, float, float, float]
    configurations: int


class Skipped(Struct, frozen=True):
    """A revision that could not be measured, or one configuration of a benchmark at it, and ``why``."""

    revision: Revision
    why: str
    benchmark: str = ""
    configuration: Configuration | None = None


class Replayed(Struct, frozen=True):
    """The series of every benchmark, metric and stratum; the spread at each revision; and what could not be measured.

    ``spreads`` are by benchmark and metric. A revision of which one configuration could not be measured is in no series
    of several configurations that have it. ``coverage`` says of each benchmark what was measured of its space.
    """

    study: str
    series: tuple[Series, ...]
    spreads: dict[tuple[str, str], tuple[RevisionSpread, ...]]
    metrics: dict[tuple[str, str], Metric]
    skipped: tuple[Skipped, ...]
    left: int
    runs: int
    failed: int
    seconds: float
    coverage: tuple[Coverage, ...] = ()
