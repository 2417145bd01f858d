"""Student's t of values of two kinds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from hati.stats import two_kinds_t_above, two_kinds_t_critical


@pytest.mark.parametrize("share", [0.3, 0.5, 0.1])
@pytest.mark.parametrize("size", [2, 5, 13, 40])
def test_it_is_the_share_of_samples(size: int, share: float) -> None:
    """Of all counts of the rarer kind, each with scipy's statistic and its binomial probability."""
    statistics = [math.inf]
    for count in range(1, size):
        values = np.repeat([1.0, 0.0], [count, size - count])
        statistics.append(-float(stats.ttest_1samp(values, share).statistic))
    chances = stats.binom.pmf(np.arange(size), size, share)
    for statistic in (0.1, 0.7, 1.9, 3.3, 8.0):
        wanted = sum(chance for each, chance in zip(statistics, chances, strict=True) if each >= statistic)
        assert two_kinds_t_above(statistic, size, share) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("size", [13, 18, 100, 10_000])
@pytest.mark.parametrize("alpha", [0.2, 0.01])
def test_beyond_the_critical_value_it_is_at_most_alpha(size: int, alpha: float) -> None:
    critical = two_kinds_t_critical(size, alpha, 0.3)
    assert two_kinds_t_above(critical * (1.0 + 1e-8), size, 0.3) <= alpha
    assert two_kinds_t_above(critical * (1.0 - 1e-8), size, 0.3) > alpha


def test_too_few_values_have_none() -> None:
    assert two_kinds_t_critical(12, 0.01, 0.3) == math.inf
    assert two_kinds_t_above(1e300, 12, 0.3) == pytest.approx(0.7**12)
