"""What follow-up runs yielded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from hati.core import Configuration, Evidence, FloatArray, Metric, Outcome, Run, conversion


def metric_values(evidence: Evidence, metric: Metric) -> tuple[tuple[Configuration, ...], FloatArray]:
    """The configurations of the runs with a value, and the values: means after warm-up, in the metric's unit.

    Raises:
        InputError: where a run's unit cannot be converted to the metric's.
    """
    found = [(run.task.configuration, run.of(metric.name)) for run in evidence.runs]
    usable = [(configuration, observed) for configuration, observed in found if observed is not None]
    values = [observed.mean * conversion(observed.unit, metric.unit) for _, observed in usable]
    return tuple(configuration for configuration, _ in usable), np.array(values, dtype=np.float64)


def failure_reasons(evidence: Evidence, metric: Metric) -> tuple[str, ...]:
    """Why runs have no value, each reason once with its count, the most frequent first."""
    failed: Sequence[Run] = [run for run in evidence.runs if run.of(metric.name) is None]
    counts = Counter(
        f"it yielded no values of {metric.name}" if run.outcome is Outcome.DONE else run.detail or run.outcome.value
        for run in failed
    )
    return tuple(f"{reason} ({count} runs)" if count > 1 else reason for reason, count in counts.most_common())
