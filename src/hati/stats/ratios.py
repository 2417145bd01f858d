"""Ratios of means and changes relative to a mean, with their intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hati.core import FloatArray, InputError
from hati.stats.distributions import t_quantile

_LARGEST = 300.0
"""The largest logarithm of an interval's end."""


def least_ratio(*values: FloatArray) -> float:
    """The least possible ratio of means: 0 if no value is negative, since such a metric cannot fall below zero."""
    return 0.0 if all(float(np.nanmin(each)) >= 0.0 for each in values) else -math.inf


def ratio_interval(
    ratio: float, first: float, second: float, both: float, critical: float
) -> tuple[float, float] | None:
    """The interval of a second mean over a first one, where neither can be negative, by Fieller's theorem.

    It has the ratios r for which the second mean less r times the first does not differ from zero by more than
    ``critical`` standard errors (Fieller 1954, Journal of the Royal Statistical Society B 16, 175-185). 1 is among them
    if a test of the difference does not reject it. None if the first mean may be zero: then no ratio is too large.

    Args:
        ratio: the second mean, in units of the first.
        first: the variance of the first mean, in units of its square.
        second: the variance of the second mean, in the same units.
        both: their covariance.
        critical: the critical value of the test.
    """
    square = critical**2
    bounded = 1.0 - square * first
    if not bounded > 0.0 or not math.isfinite(square):
        return None
    middle = ratio - square * both
    root = math.sqrt(max(0.0, middle**2 - bounded * (ratio**2 - square * second)))
    return max(0.0, (middle - root) / bounded), (middle + root) / bounded


def change_interval(
    difference: float, first: float, variance: float, of_first: float, both: float, critical: float
) -> tuple[float, float]:
    """The interval of a difference from a first mean as a fraction of it, where no mean can be negative.

    It is that of ``ratio_interval`` less 1. If the first mean may be zero, the upper end is infinite: the fractions are
    all above a lower end, or above -1.

    Args:
        difference: the second mean less the first.
        first: the first mean.
        variance: the variance of the difference.
        of_first: the variance of the first mean.
        both: their covariance.
        critical: the critical value of the test of the difference.

    >>> [round(end, 3) for end in change_interval(-60.0, 85.0, 2.0, 1.0, -1.0, 2.0)]
    [-0.73, -0.681]
    >>> [round(end, 3) for end in change_interval(12.0, 0.5, 2.0, 1.0, -1.0, 2.0)]
    [3.92, inf]
    """
    second, of_second, covariance = first + difference, variance + of_first + 2.0 * both, of_first + both
    if first > 0.0:
        units = (of_first / first / first, of_second / first / first, covariance / first / first)
        found = ratio_interval(second / first, *units, critical)
        if found is not None:
            return found[0] - 1.0, max(0.0, found[1]) - 1.0
    square = critical**2
    constant = second**2 - square * of_second
    middle = first * second - square * covariance
    root = math.sqrt(max(0.0, middle**2 - (first**2 - square * of_first) * constant))
    bounded = first**2 > square * of_first or constant <= 0.0 or not middle + root > 0.0
    return (0.0 if bounded else constant / (middle + root)) - 1.0, math.inf


def quotient_interval(
    above: Sequence[FloatArray], below: Sequence[FloatArray], confidence: float
) -> tuple[float, float] | None:
    """The interval of the product of the means ``above`` over that of the means ``below``; shapes (runs,).

    None where a mean is of one run, or where runs vary so widely that the interval has no end.

    By Student's t of the logarithms: that of a mean has about the variance (s / mean)^2 / n (the delta method), and
    their sum the degrees of freedom of Satterthwaite (1946, Biometrics Bulletin 2, 110-114).

    Raises:
        InputError: where a mean is not above zero.
    """
    parts = (*above, *below)
    if any(len(values) < 2 for values in parts):
        return None
    means = [float(values.mean()) for values in parts]
    if min(means) <= 0.0:
        raise InputError("a quotient of means that are not above zero has no logarithm")
    squares = [(float(values.std(ddof=1)) / mean) ** 2 / len(values) for values, mean in zip(parts, means, strict=True)]
    logs = [math.log(mean) for mean in means]
    middle, total = sum(logs[: len(above)]) - sum(logs[len(above) :]), sum(squares)
    if total <= 0.0:
        return math.exp(middle), math.exp(middle)
    df = total**2 / sum(square**2 / (len(values) - 1) for square, values in zip(squares, parts, strict=True))
    half = t_quantile(0.5 + confidence / 2.0, df) * math.sqrt(total)
    if abs(middle) + half > _LARGEST:
        return None
    return math.exp(middle - half), math.exp(middle + half)
