"""Classical tests of two samples: the table of the Kalibera paper, Fig. 5 (section 3.3)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from msgspec import Struct

from hati.core import FloatArray
from hati.stats.samples.difference import difference

# scipy.stats is imported where it is needed: it takes longer to load than most commands take.

_EXACT = 50
"""Below it Wilcoxon's test of samples without ties is exact, as R's wilcox.test is."""
_SHAPIRO = (3, 5000)
"""The sizes for which Royston's (1995, Applied Statistics 44, 547-551, AS R94) Shapiro-Wilk test is made."""


class TwoSampleTest(Struct, frozen=True):
    """A test for no difference of two samples, two-sided, on ``transformed`` values.

    ``statistic`` and ``p_value`` are None where the test is not defined. ``normality`` has the Shapiro-Wilk p-values of
    both samples, of parametric tests; None for fewer than three values or values that are all equal.
    """

    name: str
    transformed: str
    statistic: float | None
    p_value: float | None
    normality: tuple[float | None, float | None] | None = None


_TRANSFORMATIONS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "x": lambda values: values,
    "log(x)": np.log,
    "1/x": np.reciprocal,
    "1/sqrt(x)": lambda values: np.reciprocal(np.sqrt(values)),
}


def two_sample_tests(first: FloatArray, second: FloatArray) -> tuple[TwoSampleTest, ...]:
    """All of them, nonparametric ones first; shapes (n,), n >= 1, finite values.

    Student's t test where the samples are of equal sizes, as in the seed, else Welch's. A transformation of values
    that it is not defined for leaves the test undefined.
    """
    return (
        _kolmogorov_smirnov(first, second),
        _wilcoxon(first, second),
        _kruskal_wallis(first, second),
        *(_t(name, first, second) for name in _TRANSFORMATIONS),
    )


def shapiro_wilk(values: FloatArray) -> float | None:
    """The p-value of normality; None for fewer than 3 or more than 5,000 values, or values that are all equal."""
    from scipy import stats

    if not _SHAPIRO[0] <= len(values) <= _SHAPIRO[1] or np.ptp(values) <= 0.0:
        return None
    return float(stats.shapiro(values).pvalue)


def _kolmogorov_smirnov(first: FloatArray, second: FloatArray) -> TwoSampleTest:
    """Exact up to 10,000 values; with ties p is an upper bound then."""
    from scipy import stats

    found = stats.ks_2samp(first, second)
    return TwoSampleTest("Kolmogorov-Smirnov", "x", float(found.statistic), min(1.0, float(found.pvalue)))


def _wilcoxon(first: FloatArray, second: FloatArray) -> TwoSampleTest:
    """The rank-sum test: exact for few values without ties, else normal with both corrections, as in R."""
    from scipy import stats

    both = np.concatenate([first, second])
    if np.ptp(both) <= 0.0:
        return TwoSampleTest("Wilcoxon", "x", None, None)
    exact = max(len(first), len(second)) < _EXACT and len(np.unique(both)) == len(both)
    found = stats.mannwhitneyu(first, second, method="exact" if exact else "asymptotic")
    return TwoSampleTest("Wilcoxon", "x", float(found.statistic), min(1.0, float(found.pvalue)))


def _kruskal_wallis(first: FloatArray, second: FloatArray) -> TwoSampleTest:
    """By the chi-square distribution, corrected for ties."""
    from scipy import stats

    if np.ptp(np.concatenate([first, second])) <= 0.0:
        return TwoSampleTest("Kruskal-Wallis", "x", None, None)
    found = stats.kruskal(first, second)
    return TwoSampleTest("Kruskal-Wallis", "x", float(found.statistic), float(found.pvalue))


def _t(name: str, first: FloatArray, second: FloatArray) -> TwoSampleTest:
    if name != "x" and min(first.min(), second.min()) <= 0.0:
        return TwoSampleTest("t", name, None, None, (None, None))
    with np.errstate(over="ignore", invalid="ignore"):
        before, after = (_TRANSFORMATIONS[name](values) for values in (first, second))
        found = difference(before, after)
    if not math.isfinite(found.variance):
        return TwoSampleTest("t", name, None, None, (None, None))
    normality = shapiro_wilk(before), shapiro_wilk(after)
    if not found.told or found.standard_error <= 0.0:
        return TwoSampleTest("t", name, None, None, normality)
    return TwoSampleTest("t", name, -found.estimate / found.standard_error, found.p_value, normality)
