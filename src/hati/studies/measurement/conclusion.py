"""What a measurement says, as plain values."""

from __future__ import annotations

from msgspec import Struct

from hati.core import Configuration, Metric


class Summary(Struct, frozen=True):
    """One configuration's metric over its runs; a run's value is its mean after warm-up. In the metric's unit.

    ``interval`` is the mean's 95 % confidence interval over runs, None with fewer than two; ``deviation`` is the
    standard deviation between runs; ``within`` the median over runs of the deviation within them, None where
    runs have one observation. All of them include the ``disturbed`` runs, whose reasons these are; ``undisturbed`` is
    the mean without them, None where nothing is left.
    """

    configuration: Configuration
    metric: Metric
    runs: int
    observations: int
    mean: float
    interval: tuple[float, float] | None
    median: float
    deviation: float | None
    within: float | None
    minimum: float
    maximum: float
    disturbed: tuple[str, ...] = ()
    undisturbed: float | None = None


class MeasurementConclusion(Struct, frozen=True):
    """All summaries, and what became of the runs; ``warnings`` say what is wrong with those that are done."""

    study: str
    benchmark: str
    revision: str
    summaries: tuple[Summary, ...]
    done: int
    failed: int
    failures: tuple[str, ...]
    seconds: float
    warnings: tuple[str, ...] = ()
