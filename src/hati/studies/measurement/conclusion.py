"""What a measurement says: runs summarised, the run as the unit of replication."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from hati.core import Configuration, FloatArray, Metric, Run, usage
from hati.harness import disturbances
from hati.stats import t_margin


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
    """All summaries, and the outcomes of the runs; ``warnings`` concern completed ones."""

    study: str
    benchmark: str
    revision: str
    summaries: tuple[Summary, ...]
    done: int
    failed: int
    failures: tuple[str, ...]
    seconds: float
    warnings: tuple[str, ...] = ()


_CONFIDENCE = 0.95


def summarise(metric: Metric, configuration: Configuration, runs: Sequence[Run]) -> Summary:
    """Summarise the runs of one configuration; there is at least one, and each has the metric."""
    having = [(run, found) for run in runs if (found := run.of(metric.name)) is not None]
    observed = [found for _, found in having]
    means = np.array([o.mean for o in observed])
    reasons = disturbances([usage(run) for run, _ in having])
    quiet = means[[not reason for reason in reasons]]
    spreads = [float(np.std(o.steady, ddof=1)) for o in observed if o.steady.size > 1]
    return Summary(
        configuration=configuration,
        metric=metric,
        runs=len(means),
        observations=sum(o.steady.size for o in observed),
        mean=float(means.mean()),
        interval=_interval(means),
        median=float(np.median(means)),
        deviation=float(np.std(means, ddof=1)) if means.size > 1 else None,
        within=float(np.median(spreads)) if spreads else None,
        minimum=float(means.min()),
        maximum=float(means.max()),
        disturbed=tuple(filter(None, reasons)),
        undisturbed=float(quiet.mean()) if quiet.size else None,
    )


def _interval(means: FloatArray) -> tuple[float, float] | None:
    if means.size < 2:
        return None
    half = t_margin(_CONFIDENCE, means.size - 1) * float(np.std(means, ddof=1)) / math.sqrt(means.size)
    middle = float(means.mean())
    return (middle - half, middle + half)
