"""Intervals by drawing runs anew, which take no noise for normal."""

from __future__ import annotations

import math

import numpy as np

from hati.core import FloatArray
from hati.stats.distributions import normal_tails, t_quantile

DRAWS = 10_000
_AT_ONCE = 1_000_000
"""So many values are drawn at a time, to bound the memory."""


def bootstrap_interval(
    first: FloatArray, second: FloatArray, confidence: float, rng: np.random.Generator, draws: int = DRAWS
) -> tuple[float, float] | None:
    """Of the second sample's mean of run values less the first's; shapes (runs,). None where a sample has one run.

    Runs are drawn with replacement, each with all of its observations: of two levels the upper one alone is drawn anew
    (Davison and Hinkley 1997, Bootstrap Methods and their Application, 3.8; Ren and others 2010, Journal of Applied
    Statistics 37, 1487-1498). A run's value varies with its observations already; drawing these anew besides would
    count their variance twice.

    The quantiles are those of the expanded percentile interval, which makes up for the bootstrap's variance being too
    small by (n - 1) / n and for its not knowing the variance: the probability in a tail is that of a normal variable
    beyond t sqrt(n / (n - 1)), t with n - 1 degrees of freedom (Hesterberg 2015, The American Statistician 69,
    371-386); n is the smaller number of runs.
    """
    runs = min(len(first), len(second))
    if runs < 2:
        return None
    beyond = t_quantile(0.5 + confidence / 2.0, runs - 1.0) * math.sqrt(runs / (runs - 1.0))
    tail = float(normal_tails(np.array([beyond]))[0])
    drawn = _means(second, draws, rng) - _means(first, draws, rng)
    low, high = np.quantile(drawn, [tail, 1.0 - tail])
    return float(low), float(high)


def _means(values: FloatArray, draws: int, rng: np.random.Generator) -> FloatArray:
    """The means of so many samples of as many values, drawn with replacement; shape (draws,)."""
    size = len(values)
    step = max(1, _AT_ONCE // size)
    parts = [
        values[rng.integers(size, size=(min(step, draws - start), size))].mean(axis=1)
        for start in range(0, draws, step)
    ]
    return np.concatenate(parts)
