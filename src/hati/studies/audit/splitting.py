"""The runs of one thing as two samples."""

from __future__ import annotations

import math

import numpy as np

from hati.core import Sample
from hati.stats import Index
from hati.studies.comparison import RunValues, Sides

FEWEST_RUNS = 4
"""Fewer cannot be split in halves of which each tells its noise."""
_ALIKE = 0.03


def random_halves(values: RunValues, rng: np.random.Generator) -> Sides:
    """Two halves of equally many runs; of an odd number one is left out."""
    return _halves(values, rng.permutation(len(values.values)))


def halves_in_time(values: RunValues, order: Index) -> Sides:
    """The earlier and the later half; of an odd number the run in the middle is left out."""
    return _halves(values, order)


def order_in_time(sample: Sample) -> Index | None:
    """The places of the runs in the order of their starts; None where one is not known."""
    starts = [run.started.timestamp() for run in sample.runs if run.started is not None]
    return np.argsort(np.array(starts), kind="stable") if len(starts) == len(sample.runs) else None


def correlation(runs: int) -> float:
    """How alike two random splits of so many runs are at least, as far as alarms go.

    One part in as many as there are different splits: of four runs there are three, and at most one of them is
    significant at usual levels. No less than 3 %: of ten runs and more that are normal, long-tailed, skewed or bimodal
    simulations show 0 to 3.5 %.
    """
    half = runs // 2
    return max(_ALIKE, 2.0 / math.comb(2 * half, half))


def _halves(values: RunValues, order: Index) -> Sides:
    half = len(order) // 2
    return Sides(values.of(order[:half]), values.of(order[-half:]))
