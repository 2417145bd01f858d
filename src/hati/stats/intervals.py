"""Means and proportions with intervals: by the bootstrap, of quotients, over a stratified population, and weighted.

A weighted sample has the distribution that it represents, and is compared with other values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, InputError
from hati.stats.distributions import beta_cdf, beta_quantile, normal_quantile, normal_tails, t_cdf, t_quantile
from hati.stats.linear_models import Index

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


class Proportion(Struct, frozen=True):
    """A proportion of successes among independent trials, and the interval of the true one."""

    count: float
    trials: float
    interval: tuple[float, float]

    @property
    def estimate(self) -> float:
        """The observed proportion."""
        return self.count / self.trials

    def p_above(self, share: float) -> float:
        """The probability of at least as many successes if the true proportion is ``share``; 0 < ``share`` < 1."""
        return beta_cdf(share, self.count, self.trials - self.count + 1.0) if self.count > 0.0 else 1.0


def proportion(count: float, trials: float, confidence: float = 0.95) -> Proportion:
    """The proportion among independent trials, with the interval of Clopper and Pearson (1934, Biometrika 26, 404-413).

    The interval holds the true proportion with at least that confidence. Neither number need be whole;
    0 <= ``count`` <= ``trials``, 0 < ``trials``.

    >>> [round(end, 4) for end in proportion(0, 20).interval]
    [0.0, 0.1684]
    """
    tail = (1.0 - confidence) / 2.0
    left = trials - count
    low = beta_quantile(tail, count, left + 1.0) if count > 0.0 else 0.0
    high = beta_quantile(1.0 - tail, count + 1.0, left) if left > 0.0 else 1.0
    return Proportion(count, trials, (low, high))


def clustered_proportion(shares: FloatArray, trials: int, correlation: float, confidence: float = 0.95) -> Proportion:
    """The proportion among clusters of equally many ``trials``; ``shares`` of each succeed, shape (clusters,).

    Trials of one cluster are correlated. They count as fewer, by the design effect 1 + (trials - 1) r, r being the
    correlation within clusters, by the analysis of variance of zeros and ones (Kish 1965, Survey Sampling, 5.4), but
    at least ``correlation``: a few clusters with successes estimate it poorly. With the effective number the interval
    is Clopper and Pearson's (Korn and Graubard 1998, Survey Methodology 24, 193-201).
    """
    found = float(np.mean(shares))
    alike = min(1.0, max(correlation, _intraclass(shares, trials)))
    effective = len(shares) * trials / (1.0 + (trials - 1) * alike)
    return proportion(found * effective, effective, confidence)


def _intraclass(shares: FloatArray, trials: int) -> float:
    """The correlation of two trials of a cluster; 0 where it cannot be estimated."""
    if len(shares) < 2 or trials < 2:
        return 0.0
    between = trials * float(np.var(shares, ddof=1))
    within = trials * float(np.mean(shares * (1.0 - shares))) / (trials - 1)
    total = between + (trials - 1) * within
    return (between - within) / total if total > 0.0 else 0.0


def sign_test(first: int, second: int) -> float:
    """The p-value, two-sided and exact, of the counts of two kinds that are equally likely.

    >>> round(sign_test(1, 7), 4)
    0.0703
    """
    cases, fewer = first + second, min(first, second)
    if first == second:
        return 1.0
    return min(1.0, 2.0 * (1.0 - beta_cdf(0.5, fewer + 1.0, float(cases - fewer))))


_FEWEST_DF = 4
_TOLERANCE = 1e-9


class MeanEstimate(Struct, frozen=True):
    """An estimated mean, its standard error and the error's degrees of freedom; None where these are unknown."""

    estimate: float
    standard_error: float | None
    df: float

    def interval(self, confidence: float = 0.95) -> tuple[float, float] | None:
        """The interval by Student's t, None where the error is not known."""
        if self.standard_error is None:
            return None
        half = t_quantile(0.5 + confidence / 2.0, self.df) * self.standard_error
        return (self.estimate - half, self.estimate + half)


class StratumMean(Struct, frozen=True):
    """A stratum's estimated mean, with an interval from a variance that is common to all strata."""

    estimate: float
    interval: tuple[float, float] | None


def stratified_mean(values: FloatArray, owners: Index, shares: FloatArray) -> MeanEstimate:
    """The population's mean: the strata's means, weighted by their shares.

    ``values`` and ``owners`` (a value's stratum) have shape (n,), ``shares`` (strata,) and sum 1. The variance is that
    of Cochran (1977), Sampling Techniques, section 5.4, without the correction for finite strata, as values have noise
    of their own; its degrees of freedom are Satterthwaite's, formula 5.16 there. Strata of one value are collapsed with
    their neighbours (section 5A.12), which errs on the wide side; a single one has the variance within the others.

    Raises:
        InputError: where a stratum has no value.
    """
    means, counts = _means_of_strata(values, owners, shares)
    parts = [
        (shares[h] ** 2 * float(np.var(values[owners == h], ddof=1)) / counts[h], counts[h] - 1)
        for h in np.flatnonzero(counts > 1)
    ]
    singles = np.flatnonzero(counts == 1)
    if len(singles) == 1 and parts:
        rest = values - means[owners]
        free = float(len(values) - len(shares))
        parts.append((float(shares[singles[0]] ** 2 * (rest @ rest) / free), free))
    parts += _collapsed(means, shares, singles)
    estimate = float(shares @ means)
    if not parts:
        return MeanEstimate(estimate, None, 0.0)
    variance = float(sum(part for part, _ in parts))
    below = float(sum(part**2 / df for part, df in parts))
    df = variance**2 / below if below > 0.0 else float(sum(df for _, df in parts))
    return MeanEstimate(estimate, math.sqrt(variance), df)


def assisted_mean(values: FloatArray, owners: Index, shares: FloatArray, columns: FloatArray) -> MeanEstimate:
    """The population's mean with the help of columns whose mean over the population is 0, shape (n, columns).

    The regression estimator with one slope for all strata (Cochran 1977, section 7.10): it corrects for the sample's
    remaining imbalance in the columns, and its error is that of the residuals. The first columns are used, as many
    as leave half of the degrees of freedom and no fewer than four; without any it is `stratified_mean`.

    Raises:
        InputError: where a stratum has no value.
    """
    means, counts = _means_of_strata(values, owners, shares)
    free = len(values) - len(shares)
    centres = np.vstack([columns[owners == h].mean(axis=0) for h in range(len(shares))])
    within = columns - centres[owners]
    used = _independent(within, min(free // 2, free - _FEWEST_DF))
    if not used:
        return stratified_mean(values, owners, shares)
    within = within[:, used]
    inverse = np.linalg.inv(within.T @ within)
    pulls = (shares / counts)[owners] - within @ (inverse @ (shares @ centres[:, used]))
    rest = values - means[owners]
    rest = rest - within @ (inverse @ (within.T @ rest))
    left = free - len(used)
    variance = float(rest @ rest) / left * float(pulls @ pulls)
    return MeanEstimate(float(pulls @ values), math.sqrt(variance), float(left))


def stratum_means(
    values: FloatArray, owners: Index, shares: FloatArray, confidence: float = 0.95
) -> tuple[StratumMean, ...]:
    """Each stratum's mean and its interval, from the variance within all strata together.

    Raises:
        InputError: where a stratum has no value.
    """
    means, counts = _means_of_strata(values, owners, shares)
    free = len(values) - len(shares)
    if free == 0:
        return tuple(StratumMean(float(mean), None) for mean in means)
    rest = values - means[owners]
    deviation = math.sqrt(float(rest @ rest) / free)
    halves = t_quantile(0.5 + confidence / 2.0, free) * deviation / np.sqrt(counts)
    return tuple(
        StratumMean(float(mean), (float(mean - half), float(mean + half)))
        for mean, half in zip(means, halves, strict=True)
    )


def _means_of_strata(values: FloatArray, owners: Index, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The strata's means and their numbers of values."""
    counts = np.bincount(owners, minlength=len(shares)).astype(np.float64)
    if len(counts) > len(shares) or not np.all(counts):
        raise InputError("a stratum without a value has no estimate", fix="measure at least one of every stratum")
    return np.bincount(owners, weights=values, minlength=len(shares)) / counts, counts


def _collapsed(means: FloatArray, shares: FloatArray, singles: Index) -> list[tuple[float, float]]:
    """Variances and degrees of freedom of strata of one value, collapsed in pairs of neighbours, or the last three.

    A single such stratum has none.
    """
    if len(singles) < 2:
        return []
    starts = np.arange(0, len(singles) - 1, 2)[: len(singles) // 2]
    parts = []
    for group in np.split(singles, starts[1:]):
        totals = shares[group] * means[group]
        expected = shares[group] / shares[group].sum() * totals.sum()
        size = len(group)
        parts.append((float(np.sum((totals - expected) ** 2)) * size / (size - 1), size - 1.0))
    return parts


def _independent(columns: FloatArray, most: int) -> list[int]:
    """The first linearly independent columns, up to ``most``."""
    used: list[int] = []
    basis = np.empty((len(columns), 0))
    for place in range(columns.shape[1]):
        if len(used) >= most:
            break
        rest = columns[:, place] - basis @ (basis.T @ columns[:, place])
        size = float(np.linalg.norm(rest))
        if size > _TOLERANCE * max(1.0, float(np.linalg.norm(columns[:, place]))):
            used.append(place)
            basis = np.column_stack([basis, rest / size])
    return used


class Quantile(Struct, frozen=True):
    """A quantile's estimate; a bound is None where the sample does not reach far enough."""

    level: float
    estimate: float
    low: float | None
    high: float | None


class Ecdf(Struct, frozen=True, eq=False):
    """A weighted empirical distribution: ``values`` ascending, ``cumulated`` weights up to each, ending in 1."""

    values: FloatArray
    cumulated: FloatArray

    @classmethod
    def of(cls, values: FloatArray, weights: FloatArray) -> Ecdf:
        """From values and weights, both of shape (n,), in any order; weights are brought to sum 1.

        Raises:
            InputError: for no values, or weights that are not positive.
        """
        if not len(values) or np.any(weights <= 0.0):
            raise InputError("a distribution needs values, and positive weights")
        order = np.argsort(values, kind="stable")
        cumulated = np.cumsum(weights[order])
        return cls(values[order], cumulated / cumulated[-1])

    def below(self, points: FloatArray, *, strictly: bool) -> FloatArray:
        """The fraction of the distribution below each point, or up to and including it."""
        places = np.searchsorted(self.values, points, side="left" if strictly else "right")
        return np.concatenate([[0.0], self.cumulated])[places]

    def quantiles(self, levels: FloatArray) -> FloatArray:
        """The values at those levels of (0, 1), linear between the values' mid-weights.

        With equal weights the definition 5 of Hyndman and Fan (1996), The American Statistician 50, 361-365.
        """
        middles = (self.cumulated + np.concatenate([[0.0], self.cumulated[:-1]])) / 2.0
        return np.interp(levels, middles, self.values)


def stratified_quantiles(
    values: FloatArray, owners: Index, shares: FloatArray, levels: FloatArray, confidence: float = 0.95
) -> tuple[Quantile, ...]:
    """Quantiles of the population, with intervals between values of the sample.

    Arguments as in `stratified_mean`. The bounds are order statistics, by the binomial distribution with an effective
    number of values, as Korn and Graubard (1998), Survey Methodology 24, 193-201, use for proportions: p (1 - p) over
    the stratified variance of p, the share of values up to the quantile. A stratum's share is drawn towards the
    quantile's level by one value, so that strata that are all on one side still vary.
    """
    counts = np.bincount(owners, minlength=len(shares))
    distribution = Ecdf.of(values, (shares / counts)[owners])
    estimates = distribution.quantiles(levels)
    return tuple(
        _quantile(distribution, float(level), float(estimate), (values, owners, shares), confidence)
        for level, estimate in zip(levels, estimates, strict=True)
    )


def _quantile(
    distribution: Ecdf,
    level: float,
    estimate: float,
    sample: tuple[FloatArray, Index, FloatArray],
    confidence: float,
) -> Quantile:
    values, owners, shares = sample
    counts = np.bincount(owners, minlength=len(shares))
    within = np.bincount(owners, weights=values <= estimate, minlength=len(shares))
    drawn = (within + level) / (counts + 1.0)
    share = float(shares @ drawn)
    number = share * (1.0 - share) / float(np.sum(shares**2 * drawn * (1.0 - drawn) / counts))
    alpha = (1.0 - confidence) / 2.0
    ends = distribution.cumulated
    starts = np.concatenate([[0.0], ends[:-1]])
    # Korn and Graubard's inverse: a bound is wrong if too few (too many) of the values turn out up to the quantile.
    lows = [beta_cdf(1.0 - level, number * (1.0 - start), number * start + 1.0) <= alpha for start in starts]
    highs = [beta_cdf(level, number * end, number * (1.0 - end) + 1.0) <= alpha for end in ends]
    low = max((place for place, fits in enumerate(lows) if fits), default=None)
    high = min((place for place, fits in enumerate(highs) if fits), default=None)
    return Quantile(
        level,
        estimate,
        None if low is None else float(distribution.values[low]),
        None if high is None else float(distribution.values[high]),
    )


_ALPHA = 0.05
_POWER = 0.8


class MannWhitney(Struct, frozen=True):
    """The result of Mann and Whitney's test, and its power.

    ``superiority`` is the probability that a value of the sample is below one of the others, ties counting half.
    ``detectable`` is the shift, in standard deviations, that is found with 80 % power; ``power`` that for ``shift``.
    """

    superiority: float
    p_value: float
    shift: float
    power: float
    detectable: float


class Equivalence(Struct, frozen=True):
    """Two one-sided tests of a difference of means against a margin.

    ``interval`` has 90 % confidence: the means are ``equivalent`` where it is within the margin. ``provable`` is
    the smallest margin within which it is.
    """

    difference: float
    interval: tuple[float, float]
    margin: float
    p_value: float
    equivalent: bool
    provable: float


def ks_distance(values: FloatArray, weights: FloatArray, others: FloatArray) -> float:
    """The largest distance between two distribution functions (Kolmogorov and Smirnov), one of them weighted.

    Raises:
        InputError: for no values, or weights that are not positive.
    """
    one, other = Ecdf.of(values, weights), Ecdf.of(others, np.ones(len(others)))
    points = np.unique(np.concatenate([one.values, other.values]))
    return float(np.max(np.abs(one.below(points, strictly=False) - other.below(points, strictly=False))))


def range_covered(values: FloatArray, others: FloatArray) -> float:
    """The share of the others that lie between the smallest and the largest of the values (Skoll paper, Table 4)."""
    inside = (others >= values.min()) & (others <= values.max())
    return float(np.mean(inside))


def mann_whitney(values: FloatArray, weights: FloatArray, others: FloatArray, shift: float) -> MannWhitney:
    """The rank test of a weighted sample against others, with its power for a ``shift`` in standard deviations.

    With equal weights the test of Mann and Whitney (1947) by its normal approximation, corrected for ties; otherwise
    with the number of values that the weights are worth, (sum w)^2 / sum w^2. Strata vary less than a random sample;
    this is ignored, so that p-values are on the large side and powers on the small one. Power by Noether (1987), JASA
    82, 645-647, for normal distributions.

    Raises:
        InputError: for no values, or weights that are not positive.
    """
    one, other = Ecdf.of(values, weights), Ecdf.of(others, np.ones(len(others)))
    above = (other.below(values, strictly=True) + other.below(values, strictly=False)) / 2.0
    share = weights / weights.sum()
    superiority = float(share @ (1.0 - above))
    worth, number = 1.0 / float(share @ share), float(len(others))
    deviation = math.sqrt((worth + number + 1.0) / (12.0 * worth * number) * _untied(one, other, worth, number))
    statistic = abs(superiority - 0.5) / deviation if deviation > 0.0 else 0.0
    pull = math.sqrt(12.0 * worth * number / (worth + number + 1.0))
    return MannWhitney(
        superiority=superiority,
        p_value=math.erfc(statistic / math.sqrt(2.0)),
        shift=shift,
        power=_power(shift, pull),
        detectable=_detectable(pull),
    )


def equivalence(one: MeanEstimate, other: MeanEstimate, margin: float) -> Equivalence | None:
    """Two one-sided t tests (Schuirmann 1987) at 5 % of the difference one - other; None where no error is known.

    Raises:
        InputError: for a margin that is not above 0.
    """
    if not margin > 0.0:
        raise InputError(f"an equivalence margin is above 0, not {margin}")
    if one.standard_error is None or other.standard_error is None:
        return None
    difference = one.estimate - other.estimate
    error = math.hypot(one.standard_error, other.standard_error)
    if error == 0.0:
        inside = abs(difference) < margin
        return Equivalence(difference, (difference, difference), margin, float(not inside), inside, abs(difference))
    df = error**4 / sum(m.standard_error**4 / m.df for m in (one, other) if m.standard_error)
    half = t_quantile(1.0 - _ALPHA, df) * error
    interval = (difference - half, difference + half)
    p_value = t_cdf((abs(difference) - margin) / error, df)
    return Equivalence(difference, interval, margin, p_value, p_value < _ALPHA, max(abs(interval[0]), abs(interval[1])))


def quantile_pairs(values: FloatArray, weights: FloatArray, others: FloatArray, number: int) -> FloatArray:
    """The points of a Q-Q plot, shape (number, 2): quantiles of the weighted sample and of the others.

    Raises:
        InputError: for no values, or weights that are not positive.
    """
    levels = (np.arange(number) + 0.5) / number
    one, other = Ecdf.of(values, weights), Ecdf.of(others, np.ones(len(others)))
    return np.column_stack([one.quantiles(levels), other.quantiles(levels)])


def _untied(one: Ecdf, other: Ecdf, worth: float, number: float) -> float:
    """The factor by which ties reduce the variance: 1 - sum (t^3 - t) / (N^3 - N), t being the sizes of ties."""
    points = np.unique(np.concatenate([one.values, other.values]))
    tied = sum(
        size * (e.below(points, strictly=False) - e.below(points, strictly=True))
        for e, size in ((one, worth), (other, number))
    )
    total = worth + number
    return 1.0 - float(np.sum(np.maximum(tied**3 - tied, 0.0))) / (total**3 - total)


def _power(shift: float, pull: float) -> float:
    away = abs(_normal_cdf(shift / math.sqrt(2.0)) - 0.5) * pull
    critical = normal_quantile(1.0 - _ALPHA / 2.0)
    return _normal_cdf(away - critical) + _normal_cdf(-away - critical)


def _detectable(pull: float) -> float:
    """The shift that is found with 80 % power; infinite where not even complete separation would be found."""
    needed = (normal_quantile(1.0 - _ALPHA / 2.0) + normal_quantile(_POWER)) / pull
    return math.sqrt(2.0) * normal_quantile(0.5 + needed) if needed < 0.5 else math.inf


def _normal_cdf(value: float) -> float:
    return 0.5 * math.erfc(-value / math.sqrt(2.0))
