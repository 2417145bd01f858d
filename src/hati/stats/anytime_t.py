"""A t-test that may be looked at after every value: its error is that of all looks together.

Under a null hypothesis of independent normal values with mean zero and any variance, the e-value is a martingale that
starts at 1, so that it ever reaches 1 / alpha with a probability of at most alpha (Ville's inequality). It is the ratio
of two likelihoods of what does not depend on the unit, the ratios of the values: of a standardised mean delta that is
standard normal to that of delta = 0 (Wang and Ramdas 2025, Sequential Analysis 44(1), 56-110, theorem 4.9 with c = 1;
Lai 1976, Annals of Statistics 4(2), 265-280, has a flat delta).

The standard normal says as much of delta as one value does: the unit-information prior (Kass and Wasserman 1995,
Journal of the American Statistical Association 90, 928-934).
"""

from __future__ import annotations

import math

import numpy as np

from hati.core import FloatArray


def anytime_e_values(values: FloatArray) -> FloatArray:
    """The e-value against a mean of zero after each value.

    Args:
        values: in the order in which they came, shape (n,), finite.

    Returns:
        Shape (n,), positive; the first is 1.

    >>> anytime_e_values(np.array([1.0, 2.0, 1.5, 1.8])).round(2).tolist()
    [1.0, 1.44, 3.02, 7.56]
    """
    sizes = np.arange(1, len(values) + 1)
    largest = float(np.max(np.abs(values), initial=0.0)) or 1.0
    sums, squares = np.cumsum(values / largest), np.cumsum((values / largest) ** 2)
    share = np.divide(sums**2, sizes * squares, out=np.zeros(len(values)), where=squares > 0.0)
    known = 1.0 + sizes  # the precision of the mean with the prior's
    logs = -np.log(known) / 2.0 - sizes / 2.0 * np.log1p(-np.minimum(share, 1.0) * sizes / known)
    return np.asarray(np.exp(np.minimum(logs, _LARGEST)), dtype=np.float64)


_LARGEST = 700.0
"""The logarithm of the largest e-value that is told."""


def anytime_critical(size: int, alpha: float) -> float:
    """The size of Student's t statistic of so many values from which on the e-value is at least 1 / alpha.

    Times the standard error it is the half-width of the confidence sequence. Infinite where no statistic reaches it.

    >>> round(anytime_critical(20, 0.05), 2), anytime_critical(2, 0.05)
    (3.42, inf)
    """
    known = 1.0 + size
    factor = math.exp((math.log(known) - 2.0 * math.log(alpha)) / size)
    if factor >= known:
        return math.inf
    return math.sqrt((size - 1) * (factor - 1.0) / (1.0 - factor / known))


def anytime_e_value(statistic: float, size: int) -> float:
    """The e-value where Student's t statistic of so many values, two or more, is that; ``anytime_critical`` inverts it.

    >>> round(anytime_e_value(anytime_critical(20, 0.05), 20), 6)
    20.0
    """
    known = 1.0 + size
    share = 1.0 / (1.0 + (size - 1) / statistic**2) if statistic else 0.0
    return math.exp(min(-math.log(known) / 2.0 - size / 2.0 * math.log1p(-share * size / known), _LARGEST))


def fewest_signs(alpha: float) -> int:
    """How many values it takes for their signs alone to be that improbable where each sign is a fair coin's.

    >>> fewest_signs(0.05), fewest_signs(0.01)
    (6, 8)
    """
    return 1 + math.ceil(-math.log2(alpha))
