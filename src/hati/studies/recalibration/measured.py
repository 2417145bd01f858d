"""Runs as values of configurations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from hati.core import Configuration, FloatArray, Metric, Run, conversion


def values_of(runs: Iterable[Run], metric: Metric, configurations: Sequence[Configuration]) -> FloatArray:
    """The mean of each run, in the metric's unit, shape (most runs of any, configurations); nan where there are fewer.

    Raises:
        InputError: where a run's unit cannot be converted to the metric's.
    """
    found: dict[Configuration, list[float]] = {configuration: [] for configuration in configurations}
    for run in runs:
        observed = run.of(metric.name)
        if observed is not None and run.task.configuration in found:
            found[run.task.configuration].append(observed.mean * conversion(observed.unit, metric.unit))
    values = np.full((max(map(len, found.values()), default=0), len(configurations)), np.nan)
    for place, configuration in enumerate(configurations):
        own = found[configuration]
        values[: len(own), place] = own
    return values
