"""What follow-up runs yielded."""

from __future__ import annotations

import numpy as np

from hati.core import Configuration, Evidence, FloatArray, Metric, conversion


def metric_values(evidence: Evidence, metric: Metric) -> tuple[tuple[Configuration, ...], FloatArray]:
    """The configurations of the runs with a value, and the values: means after warm-up, in the metric's unit.

    Raises:
        InputError: where a run's unit cannot be converted to the metric's.
    """
    found = [(run.task.configuration, run.of(metric.name)) for run in evidence.runs]
    usable = [(configuration, observed) for configuration, observed in found if observed is not None]
    values = [observed.mean * conversion(observed.unit, metric.unit) for _, observed in usable]
    return tuple(configuration for configuration, _ in usable), np.array(values, dtype=np.float64)
