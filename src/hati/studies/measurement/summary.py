"""Runs to a summary: the run is the unit of replication."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hati.core import Configuration, FloatArray, Metric, Run, usage
from hati.harness import disturbances
from hati.stats import t_margin
from hati.studies.measurement.conclusion import Summary

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
