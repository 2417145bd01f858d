"""The difference of two samples' locations: estimates, the bootstrap, classical tests, and tests valid at any time."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, InputError, replace
from hati.stats.distributions import (
    kolmogorov_above,
    log_confluent,
    log_gamma,
    log_sum_of_exponentials,
    noncentrality_of_t,
    normal_tails,
    t_cdf,
    t_cdfs,
    t_quantile,
)
from hati.stats.power import BoundTest, PlannedTest, runs_to_decide
from hati.stats.variances import VariancePrior, resolution


class Difference(Struct, frozen=True):
    """The second sample's location minus the first's, by means or by ranks.

    ``variance`` is that of a single run (about its sample's mean, where means are compared); both samples' runs reduce
    it to the estimate's. It has ``own`` degrees of freedom from these runs and ``borrowed`` ones, infinite where it is
    known. ``runs`` are the sizes of the samples. No p-value of no difference is below ``least``.
    """

    estimate: float
    variance: float
    own: float
    runs: tuple[int, int]
    borrowed: float = 0.0
    least: float = 0.0

    def __post_init__(self) -> None:
        if min(self.runs) < 1 or min(self.variance, self.own, self.borrowed) < 0.0:
            raise InputError(f"no difference of samples of {self.runs} runs with the variance {self.variance}")

    def borrowing(self, prior: VariancePrior, place: int) -> Difference:
        """The difference with its variance moderated by a prior from other samples; it is the ``place``-th of them."""
        variance, df = prior.moderated(place, self.variance, self.df)
        return replace(self, variance=variance, borrowed=df - self.own)

    def remembering(self, variance: float, df: float) -> Difference:
        """The difference with its variance pooled with that of earlier runs."""
        if df <= 0.0:
            return self
        pooled = (self.df * self.variance + df * variance) / (self.df + df)
        return replace(self, variance=pooled, borrowed=self.borrowed + df)

    @property
    def df(self) -> float:
        """Degrees of freedom of the variance."""
        return self.own + self.borrowed

    @property
    def testable(self) -> bool:
        """Whether there is an estimate of the noise."""
        return self.df > 0.0

    @property
    def standard_error(self) -> float:
        """The standard error of the estimate."""
        return math.sqrt(self.variance * (1.0 / self.runs[0] + 1.0 / self.runs[1]))

    @property
    def p_value(self) -> float:
        """The two-sided p-value of Student's test for no difference; 1 where nothing is known of the noise.

        Samples without any variance show only that one lies entirely on one side of the other.
        """
        if self.testable and self.standard_error == 0.0 and self.estimate != 0.0:
            return max(self.least, self._of_orders)
        return min(1.0, max(self.least, 2.0 * self._above(abs(self.estimate))))

    def half_width(self, confidence: float) -> float:
        """The half-width of the interval about the estimate; infinite where nothing is known of the noise."""
        return t_quantile(0.5 + confidence / 2.0, self.df) * self.standard_error if self.testable else math.inf

    def within(self, low: float, high: float) -> float:
        """The p-value of lying between two bounds: the larger of two one-sided tests' (Schuirmann 1987)."""
        return max(self._above(self.estimate - low), self._above(high - self.estimate))

    def detectable(self, alpha: float, power: float) -> float:
        """The size of a difference that the two-sided test finds with that power; infinite where none is."""
        if not self.testable:
            return math.inf
        if self.standard_error == 0.0:
            return self.significant(alpha)
        critical = t_quantile(1.0 - alpha / 2.0, self.df)
        return noncentrality_of_t(critical, self.df, power) * self.standard_error

    def significant(self, alpha: float) -> float:
        """The size of an estimate from which on it is significant; infinite where none is."""
        if self.testable and self.standard_error == 0.0:
            return 0.0 if self._of_orders <= alpha else math.inf
        return self.half_width(1.0 - alpha)

    def runs_needed(self, alpha: float, low: float, high: float, level: float) -> int | None:
        """The number of runs of each sample that decides with 80 % power, if the estimate and the variance hold.

        Either the difference is significant at the ``level``, or shown at alpha to be between the bounds. The number is
        above the present one if these runs do not decide; None where 10,000 do not suffice.
        """
        if not self.testable:
            return None
        known = self.p_value <= level or self.within(low, high) <= alpha
        fewest = max(2, min(self.runs) + (0 if known else 1))
        return runs_to_decide(lambda runs: self._of(runs)._planned(alpha, low, high, level), fewest)

    @property
    def _of_orders(self) -> float:
        """The fraction of orderings of all runs in which one sample entirely precedes the other."""
        return 2 / math.comb(sum(self.runs), self.runs[0])

    def _of(self, runs: int) -> Difference:
        return replace(self, runs=(runs, runs), own=2.0 * runs - 2.0, least=0.0)

    def _planned(self, alpha: float, low: float, high: float, level: float) -> PlannedTest:
        error = self.standard_error
        if error > 0.0:
            critical = t_quantile(1.0 - level / 2.0, self.df)
        else:
            critical = 0.0 if self._of_orders <= level else math.inf
        changed = BoundTest.of(self.estimate, error, critical)
        margin = t_quantile(1.0 - alpha, self.df)
        within = BoundTest.of(self.estimate - low, error, margin), BoundTest.of(self.estimate - high, error, margin)
        return PlannedTest(changed, changed, self.own, within, self.borrowed)

    def _above(self, size: float) -> float:
        """The probability of an estimate at least that far above the true difference."""
        if not self.testable:
            return 1.0
        error = self.standard_error
        if error == 0.0:
            return 0.0 if size > 0.0 else 1.0
        return t_cdf(-size / error, self.df)


class SampleMean(Struct, frozen=True):
    """The mean of a number of runs and the variance of one, None where it is unknown, as with a single run."""

    mean: float
    variance: float | None
    runs: int

    @classmethod
    def of(cls, values: FloatArray) -> SampleMean:
        """The mean of run values, shape (runs,)."""
        several = len(values) > 1
        return cls(float(np.mean(values)), float(np.var(values, ddof=1)) if several else None, len(values))


def difference(first: FloatArray, second: FloatArray) -> Difference:
    """The difference of the means of two samples of run values, shapes (runs,) each; see `difference_of_means`."""
    return difference_of_means(SampleMean.of(first), SampleMean.of(second))


def difference_of_means(first: SampleMean, second: SampleMean) -> Difference:
    """The difference of two means.

    With equal sizes the variance is the mean of both samples' and the degrees of freedom are Student's: the test then
    hardly suffers from unequal variances. Else they are Welch's (1947, Biometrika 34, 28-35). Where the variance of one
    is unknown, it is taken to be that of the other, with the other's degrees of freedom.
    """
    sizes = first.runs, second.runs
    known = [(each.variance, each.runs) for each in (first, second) if each.variance is not None]
    squares = [variance / size for variance, size in known]
    df = float(sum(size - 1 for _, size in known))
    if len(known) == len(sizes):
        variance = sum(squares) / (1.0 / sizes[0] + 1.0 / sizes[1])
        if sizes[0] != sizes[1] and variance > 0.0:
            df = sum(squares) ** 2 / sum(s**2 / (n - 1) for s, n in zip(squares, sizes, strict=True))
    else:
        variance = sum(variance for variance, _ in known)
    return Difference(second.mean - first.mean, variance, df, sizes)


_FEWEST = 10
"""With fewer values the interval by ranks is too uncertain: of 776 clusters of five and five runs two had a wrong
sign."""
_ERRORS = 1.3
"""Standard errors of Wilcoxon's statistic: wider intervals need more runs, narrower ones are less certain."""


def rank_shift(first: FloatArray, second: FloatArray) -> Difference:
    """The median of all differences between a value of the second sample and one of the first.

    The estimate of Hodges and Lehmann (1963, Annals of Mathematical Statistics 34, 598-611). Its standard error is the
    half-width, divided by 1.3, of the interval by Wilcoxon's test at 1.3 standard errors of its statistic (Lehmann
    1963, 34, 1507-1512), at least that of rounding. The statistic's error is the larger one of equal distributions and
    of placements, so that spreads may differ (Brunner and Munzel 2000, Biometrical Journal 42, 17-25), with its degrees
    of freedom.

    Where both ends of that interval are at one level or tick, the error is too small. The p-value is therefore at least
    the smaller one of two tests that hold for any equal distributions: Wilcoxon's, and Smirnov's, which finds a shift
    of most runs where some are on another level. With fewer than ten values on a side the result is the difference of
    the means.

    Args:
        first: one per run, in any unit, shape (runs,).
        second: in the same unit, shape (runs,).
    """
    sizes = len(first), len(second)
    if min(sizes) < _FEWEST:
        return difference(first, second)
    apart = np.sort(np.subtract.outer(second, first), axis=None)
    pairs = len(apart)
    error, df = _error_of_the_statistic(first, second - np.median(apart))
    half = _ERRORS * error
    low, middle, high = np.interp((pairs - 1) / 2.0 + np.array([-half, 0.0, half]), np.arange(pairs), apart)
    width = float(high - low) / (2.0 * _ERRORS)
    rounding = resolution(np.concatenate((first, second))) ** 2 / 12.0
    least = min(_wilcoxon(first, second), _smirnov(first, second))
    variance = max(width**2 / (1.0 / sizes[0] + 1.0 / sizes[1]), rounding)
    return Difference(float(middle), variance, df, sizes, least=least)


def _error_of_the_statistic(first: FloatArray, second: FloatArray) -> tuple[float, float]:
    """The standard error of Wilcoxon's statistic for samples of equal medians, and its degrees of freedom."""
    count, other = len(first), len(second)
    equal = count * other * (count + other + 1) / 12.0
    parts = count * float(np.var(_below(first, second), ddof=1)), other * float(np.var(_below(second, first), ddof=1))
    if sum(parts) <= equal:
        return math.sqrt(equal), count + other - 2.0
    df = sum(parts) ** 2 / (parts[0] ** 2 / (count - 1) + parts[1] ** 2 / (other - 1))
    return math.sqrt(sum(parts)), df


def _below(values: FloatArray, others: FloatArray) -> FloatArray:
    """The number of the others below each value, equal ones counted half."""
    ordered = np.sort(others)
    left, right = (np.searchsorted(ordered, values, side) for side in ("left", "right"))
    return np.asarray(left + right, dtype=np.float64) / 2.0


def _wilcoxon(first: FloatArray, second: FloatArray) -> float:
    """The two-sided p-value of Wilcoxon's test, by the normal distribution with ties."""
    pairs, every = len(first) * len(second), np.concatenate((first, second))
    ties, runs = np.unique(every, return_counts=True)[1].astype(np.float64), len(every)
    variance = pairs / 12.0 * (runs + 1 - float(np.sum(ties**3 - ties)) / (runs * (runs - 1)))
    beyond = abs(float(_below(first, second).sum()) - pairs / 2.0) - 0.5
    if beyond <= 0.0 or variance <= 0.0:
        return 1.0
    return 2.0 * float(normal_tails(np.array(beyond / math.sqrt(variance))))


def _smirnov(first: FloatArray, second: FloatArray) -> float:
    """The p-value of Smirnov's test of equal distributions; by the limit, which is conservative for few values."""
    every = np.concatenate((first, second))
    parts = [np.searchsorted(np.sort(values), every, "right") / len(values) for values in (first, second)]
    largest = float(np.max(np.abs(parts[0] - parts[1])))
    return kolmogorov_above(largest / math.sqrt(1.0 / len(first) + 1.0 / len(second)))


DRAWS = 10_000
_AT_ONCE = 1_000_000
"""The number of values drawn at a time, to bound the memory."""


def bootstrap_interval(
    first: FloatArray, second: FloatArray, confidence: float, rng: np.random.Generator, draws: int = DRAWS
) -> tuple[float, float] | None:
    """The interval of the second sample's mean of run values minus the first's; None where a sample has one run.

    Both samples have shape (runs,).

    Runs are drawn with replacement, each with all of its observations: of two levels only the upper one is resampled
    (Davison and Hinkley 1997, Bootstrap Methods and their Application, 3.8; Ren and others 2010, Journal of Applied
    Statistics 37, 1487-1498). A run's value already varies with its observations; resampling these too would count
    their variance twice.

    The quantiles are those of the expanded percentile interval. It corrects for the bootstrap's variance, which is too
    small by (n - 1) / n and taken as known: the probability in a tail is that of a normal variable beyond
    t sqrt(n / (n - 1)), t with n - 1 degrees of freedom (Hesterberg 2015, The American Statistician 69, 371-386); n is
    the smaller number of runs.
    """
    runs = min(len(first), len(second))
    if runs < 2:
        return None
    beyond = t_quantile(0.5 + confidence / 2.0, runs - 1.0) * math.sqrt(runs / (runs - 1.0))
    tail = float(normal_tails(np.array([beyond]))[0])
    drawn = _bootstrap_means(second, draws, rng) - _bootstrap_means(first, draws, rng)
    low, high = np.quantile(drawn, [tail, 1.0 - tail])
    return float(low), float(high)


def _bootstrap_means(values: FloatArray, draws: int, rng: np.random.Generator) -> FloatArray:
    """The means of ``draws`` resamples of the values' size, with replacement; shape (draws,)."""
    size = len(values)
    step = max(1, _AT_ONCE // size)
    parts = [
        values[rng.integers(size, size=(min(step, draws - start), size))].mean(axis=1)
        for start in range(0, draws, step)
    ]
    return np.concatenate(parts)


# scipy.stats is imported where it is needed: it takes longer to load than most commands take.

_EXACT = 50
"""Below this size Wilcoxon's test of samples without ties is exact, as in R's wilcox.test."""
_SHAPIRO = (3, 5000)
"""The sizes for which Royston's (1995, Applied Statistics 44, 547-551, AS R94) Shapiro-Wilk test is defined."""


class TwoSampleTest(Struct, frozen=True):
    """A test for no difference of two samples, two-sided, on ``transformed`` values.

    ``statistic`` and ``p_value`` are None where the test is not defined. ``normality`` has the Shapiro-Wilk p-values of
    both samples, for parametric tests; None for fewer than three values or values that are all equal.
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
    """All tests, nonparametric ones first; shapes (n,), n >= 1, finite values.

    The t test is Student's where the samples are of equal sizes, as in the Kalibera paper, else Welch's. It is not
    defined where the transformation of a value is not.
    """
    return (
        _kolmogorov_smirnov(first, second),
        _rank_sum(first, second),
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
    """Kolmogorov and Smirnov's test, exact up to 10,000 values; with ties p is an upper bound then."""
    from scipy import stats

    found = stats.ks_2samp(first, second)
    return TwoSampleTest("Kolmogorov-Smirnov", "x", float(found.statistic), min(1.0, float(found.pvalue)))


def _rank_sum(first: FloatArray, second: FloatArray) -> TwoSampleTest:
    """The rank-sum test: exact for few values without ties, else normal with both corrections, as in R."""
    from scipy import stats

    both = np.concatenate([first, second])
    if np.ptp(both) <= 0.0:
        return TwoSampleTest("Wilcoxon", "x", None, None)
    exact = max(len(first), len(second)) < _EXACT and len(np.unique(both)) == len(both)
    found = stats.mannwhitneyu(first, second, method="exact" if exact else "asymptotic")
    return TwoSampleTest("Wilcoxon", "x", float(found.statistic), min(1.0, float(found.pvalue)))


def _kruskal_wallis(first: FloatArray, second: FloatArray) -> TwoSampleTest:
    """Kruskal and Wallis's test by the chi-square distribution, corrected for ties."""
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
    if not found.testable or found.standard_error <= 0.0:
        return TwoSampleTest("t", name, None, None, normality)
    return TwoSampleTest("t", name, -found.estimate / found.standard_error, found.p_value, normality)


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
"""The logarithm of the largest reported e-value."""


def anytime_critical(size: int, alpha: float) -> float:
    """The smallest t statistic of ``size`` values for which the e-value is at least 1 / alpha.

    Times the standard error it is the half-width of the confidence sequence. Infinite where no statistic reaches it.

    >>> round(anytime_critical(20, 0.05), 2), anytime_critical(2, 0.05)
    (3.42, inf)
    """
    known = 1.0 + size
    factor = math.exp((math.log(known) - 2.0 * math.log(alpha)) / size)
    if factor >= known:
        return math.inf
    return math.sqrt((size - 1) * (factor - 1.0) / (1.0 - factor / known))


def fewest_signs(alpha: float) -> int:
    """The number of values whose signs, if all are equal, have at most the probability alpha under a fair coin.

    >>> fewest_signs(0.05), fewest_signs(0.01)
    (6, 8)
    """
    return 1 + math.ceil(-math.log2(alpha))


_AGAINST_NORMAL = 1.0
"""The deviation of the standardised mean: the unit-information prior of ``anytime_e_values``."""
_AGAINST_SKEWED = (1.0, 4.0, 16.0, 64.0)
"""Prior deviations, equally probable: values that hardly vary relative to their mean refute a bounded distribution."""
_BETWEEN = 4.0
"""The shape of the gamma distribution: its skewness is 1, that of the exponential one 2."""
_STEP = 0.5
_ASIDE = 0.5
_DEVIATIONS = 4.0
"""The integral over scales: the step in deviations of the integrand, and how far beyond its modes it goes."""


def skewed_e_values(values: FloatArray) -> FloatArray:
    """The e-value against a mean of at most zero, after each value.

    Args:
        values: in the order in which they came, shape (n,), n >= 1, finite.

    Returns:
        Shape (n,); 0 where the mean is not above zero.

    >>> skewed_e_values(np.array([1.0, 2.0, 1.5, 1.8, 1.6, 1.2])).round(2).tolist()
    [1.44, 1.02, 1.8, 2.71, 6.29, 13.01]
    """
    scaled = _scaled(values)
    sizes = np.arange(1.0, len(values) + 1.0)
    return _e_values(scaled, sizes, lambda each: np.cumsum(each, axis=-1), np.maximum.accumulate(scaled))


def skewed_e_value(values: FloatArray, size: float) -> float:
    """The last e-value of ``size`` values, if all were like these, shape (n,).

    >>> round(skewed_e_value(np.array([1.0, 2.0, 1.5, 1.8, 1.6, 1.2]), 6), 2)
    13.01
    """
    scaled, times = _scaled(values), size / len(values)
    largest = scaled.max(keepdims=True)
    return float(_e_values(scaled, np.array([size]), lambda each: times * each.sum(-1, keepdims=True), largest)[0])


def fewest_of_a_share(alpha: float, share: float) -> int:
    """The number of values that all fall into a fraction ``share`` of a distribution with a probability of only alpha.

    >>> fewest_of_a_share(0.01, 0.7), fewest_of_a_share(0.05, 0.5)
    (13, 5)
    """
    return math.ceil(math.log(alpha) / math.log(share))


class _Summed(Struct, frozen=True, eq=False):
    """Numbers of values with their sums, sums of squares and largest values, which are above zero, shape (looks,)."""

    sizes: FloatArray
    sums: FloatArray
    squares: FloatArray
    largest: FloatArray


def _scaled(values: FloatArray) -> FloatArray:
    return np.asarray(values / (float(np.abs(values).max()) or 1.0), dtype=np.float64)


def _e_values(
    values: FloatArray, sizes: FloatArray, summed: Callable[[FloatArray], FloatArray], largest: FloatArray
) -> FloatArray:
    """The e-values of looks at the values; ``summed`` gives the sums over the last axis at each look."""
    sums = summed(values)
    found, above = np.zeros(len(sizes)), sums > 0.0
    if not above.any():
        return found
    summary = _Summed(*(each[above] for each in (sizes, sums, summed(values**2), np.maximum(largest, sums / sizes))))
    scales = _scales(summary)
    with np.errstate(divide="ignore"):
        rests = summed(np.log(np.maximum(1.0 - np.exp(scales)[:, None] * values, 0.0)))[:, above]
    shifted = [_log_shifted(summary, deviation) for deviation in _AGAINST_SKEWED]
    likely = log_sum_of_exponentials(np.stack(shifted)) - math.log(len(shifted)) + _log_normal(summary)
    logs = np.minimum(
        _log_shifted(summary, _AGAINST_NORMAL),
        likely - np.maximum(_log_exponential(summary), _log_between(summary, scales, rests)),
    )
    found[above] = np.exp(np.minimum(logs, _LARGEST))
    return found


def _log_shifted(summary: _Summed, deviation: float) -> FloatArray:
    """The logarithm of the likelihood over the normal one, of a half-normal standardised mean above zero."""
    known = summary.sizes + deviation**-2.0  # the precision of the mean with the prior's
    explained = summary.sums**2 / (known * summary.squares)
    statistics = np.sqrt(summary.sizes * explained / (1.0 - explained))
    positive = np.log(2.0 * t_cdfs(statistics, summary.sizes))
    return np.asarray(
        positive - np.log(deviation * np.sqrt(known)) - summary.sizes / 2.0 * np.log1p(-explained), dtype=np.float64
    )


def _log_normal(summary: _Summed) -> FloatArray:
    """The logarithm of the likelihood of normal values with mean zero, the logarithm of their scale being uniform."""
    halves = summary.sizes / 2.0
    density = -halves * math.log(2.0 * math.pi) - math.log(2.0)
    return np.asarray(density + log_gamma(halves) + halves * np.log(2.0 / summary.squares), dtype=np.float64)


def _log_exponential(summary: _Summed) -> FloatArray:
    """The logarithm of the likelihood of exponential values with mean zero, their tail below: none above its scale."""
    sums = summary.sums / summary.largest
    exact = sums - summary.sizes - np.log(summary.sizes) + log_confluent(summary.sizes, sums)
    return np.asarray(exact - summary.sizes * np.log(summary.largest), dtype=np.float64)


def _log_between(summary: _Summed, scales: FloatArray, rests: FloatArray) -> FloatArray:
    """The logarithm of the likelihood of gamma variates, by the sum over logarithms of inverse scales, shape (scales,).

    ``rests`` are the sums of the logarithms of the values' distances, in their scale, from the distribution's end:
    shape (scales, looks), minus infinity where a value is beyond the end.
    """
    logs = (
        scales[:, None] * summary.sizes + (_BETWEEN - 1.0) * rests + _BETWEEN * np.exp(scales)[:, None] * summary.sums
    )
    likely = log_sum_of_exponentials(logs) + math.log(scales[0] - scales[1])
    density = _BETWEEN * math.log(_BETWEEN) - _BETWEEN - math.lgamma(_BETWEEN)
    return np.asarray(likely + summary.sizes * density, dtype=np.float64)


def _scales(summary: _Summed) -> FloatArray:
    """Logarithms of inverse scales, descending from where the first look's largest value ends the distribution.

    In the logarithm the likelihood is concave, with a curvature above the number of values; its mode is within
    0.48 of the largest value, or of shape deviations.
    """
    step = _STEP / math.sqrt(summary.sizes[-1])
    deviations = np.sqrt(_BETWEEN * summary.squares / summary.sizes)
    modes = -np.log(np.maximum(summary.largest, deviations))
    least = float(np.min(modes - _DEVIATIONS / np.sqrt(summary.sizes))) - _ASIDE
    return np.arange(-math.log(float(summary.largest.min())) - step / 2.0, least, -step)
