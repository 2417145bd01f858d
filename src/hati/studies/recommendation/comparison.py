"""Whether a configuration is better than another, from pairs of runs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hati.core import FloatArray
from hati.stats import t_margin

CONFIDENCE = 0.95


@dataclass(frozen=True)
class PairedChange:
    """The change from a baseline: a fraction; its interval is None with fewer than two pairs.

    ``value`` and ``baseline`` are means over the pairs in the metric's unit, geometric where all values are positive.
    ``middle`` is the change on the scale of the differences and ``deviation`` its standard error, None of one pair.
    """

    value: float
    baseline: float
    change: float
    interval: tuple[float, float] | None
    pairs: int
    middle: float
    deviation: float | None


def paired_change(values: FloatArray, baselines: FloatArray, confidence: float = CONFIDENCE) -> PairedChange:
    """The mean change over pairs of runs, with the t interval of the pairs' differences.

    Of positive values the differences are those of logarithms, told as a ratio less one; of others they are divided by
    the mean size of all values.

    Args:
        values: one per pair, shape (pairs,), at least one.
        baselines: the other run of each pair.
        confidence: of the interval.
    """
    positive = bool(np.min(values) > 0.0 and np.min(baselines) > 0.0)
    one, other = (np.log(values), np.log(baselines)) if positive else (values, baselines)
    size = 1.0 if positive else float(np.mean(np.abs([values, baselines]))) or 1.0
    differences = (one - other) / size
    middle, count = float(differences.mean()), len(differences)
    around, deviation = None, None
    if count > 1:
        deviation = float(differences.std(ddof=1)) / math.sqrt(count)
        half = t_margin(confidence, count - 1) * deviation
        around = (middle - half, middle + half)
    told = _ratio_less_one if positive else float
    back = math.exp if positive else float
    return PairedChange(
        value=back(float(one.mean())),
        baseline=back(float(other.mean())),
        change=told(middle),
        interval=None if around is None else (told(around[0]), told(around[1])),
        pairs=count,
        middle=middle,
        deviation=deviation,
    )


def _ratio_less_one(difference: float) -> float:
    """Of a difference of logarithms; infinite beyond what a float holds, as of two pairs at a high confidence."""
    with np.errstate(over="ignore"):
        return float(np.expm1(difference))
