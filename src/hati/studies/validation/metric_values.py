"""What follow-up runs yielded."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hati.core import Configuration, Evidence, FloatArray, Metric, conversion
from hati.stats import Index


class MetricValues(NamedTuple):
    """The runs with a value, in the order in which they were made.

    ``values`` are means after warm-up, in the metric's unit; ``machines`` the recorded fingerprints from 0; ``order``
    the places in time of the runs' starts, None where runs took none, being looked up in a table.
    """

    configurations: tuple[Configuration, ...]
    values: FloatArray
    machines: Index
    order: FloatArray | None


def metric_values(evidence: Evidence, metric: Metric) -> MetricValues:
    """The values of a metric.

    Raises:
        InputError: where a run's unit cannot be converted to the metric's.
    """
    found = [(place, run, run.of(metric.name)) for place, run in enumerate(evidence.runs)]
    usable = [(place, run, observed) for place, run, observed in found if observed is not None]
    values = [observed.mean * conversion(observed.unit, metric.unit) for _, _, observed in usable]
    timed = any(run.seconds > 0.0 for _, run, _ in usable)
    return MetricValues(
        configurations=tuple(run.task.configuration for _, run, _ in usable),
        values=np.array(values, dtype=np.float64),
        machines=np.unique([run.machine for _, run, _ in usable], return_inverse=True)[1].astype(np.intp),
        order=np.array([place for place, _, _ in usable], dtype=np.float64) if timed else None,
    )
