"""Threats to effects: suspect runs, a trend over the order of runs, and a scale on which they are not additive."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, replace
from hati.stats.distributions import f_above, normal_quantiles
from hati.stats.linear_models import Index, LeastSquares, within_residuals, without_blocks
from hati.stats.selection import EXACT, LEVEL, Steps, significant_steps
from hati.stats.terms import LEAST_LEFT, ModelTerms, spanned

_PART = 0.08
FEWEST_SUSPECTED, _MOST_RUNS = 12, 512
"""The sizes of studies that are searched: with fewer runs nothing is left to compare one with, with more a single run
matters little."""
_MOST_SUSPECT = 12


class Suspects(Struct, frozen=True, eq=False):
    """The ``places`` of suspect runs, the most suspect first, and the ``shifts`` by which they are off."""

    places: Index
    shifts: FloatArray

    def without(self, values: FloatArray) -> FloatArray:
        """The values less the shifts: suspect runs get the values that the others predict."""
        made = values.copy()
        made[self.places] -= self.shifts
        return made


NO_SUSPECTS = Suspects(np.empty(0, dtype=np.intp), np.empty(0))


def most_suspect(runs: int) -> int:
    """The largest number of suspect runs of a study, at least one: more would show that the model lacks terms."""
    return max(1, int(_PART * runs))


def suspect_runs(terms: ModelTerms, values: FloatArray) -> Suspects:
    """The runs that a model with few terms fits only if they have means of their own.

    The mean-shift model of outliers (She and Owen 2011, JASA 106, 626-639): every run may have a parameter of its own,
    and both kinds of parameters are rare. One outlier shifts all contrasts of a design alike, so that one parameter
    explains what takes many terms without it (Daniel 1959; Box and Meyer 1987).

    A forward selection among runs, and terms under weak heredity, proposes runs. It continues past a step without
    gain, and then returns to its last significant one: effects of equal size hide each other. Then the terms are
    selected again with the first of these runs, the first two, and so on. The extended Bayesian criterion (Chen and
    Chen 2008, Biometrika 95, 759-771) gives the number of runs. Those with significant shifts are suspect.

    Args:
        terms: the candidates.
        values: shape (runs,), on the deciding scale.
    """
    count = terms.runs
    total = float(np.sum((values - values.mean()) ** 2))
    if not FEWEST_SUSPECTED <= count <= _MOST_RUNS or total <= 0.0:
        return NO_SUSPECTS
    most = min(_MOST_SUSPECT, most_suspect(count))
    proposed = significant_steps(terms, values, among=range(count)).runs[:most]
    fits = [significant_steps(terms, values, proposed[:number]) for number in range(len(proposed) + 1)]
    best = min(fits, key=lambda fit: fit.extended_bayes(EXACT * total, others=count))
    return _significant(terms, values, best, EXACT * total)


def _significant(terms: ModelTerms, values: FloatArray, fit: Steps, smallest: float) -> Suspects:
    """The runs whose own means are significant, each given the others, by Bonferroni over all runs."""
    count, runs = terms.runs, list(fit.runs)
    columns = [terms.always, *(terms.columns[term] for term in fit.terms)]
    while runs:
        matrix = np.hstack([*columns, np.eye(count)[:, runs]])
        inverse = np.linalg.pinv(matrix)
        coefficients = inverse @ values
        residual = values - matrix @ coefficients
        spare = count - int(np.linalg.matrix_rank(matrix))
        if spare < LEAST_LEFT:
            break
        own = slice(-len(runs), None)
        variance = max(float(residual @ residual), smallest) / spare
        squares = coefficients[own] ** 2 / (variance * np.sum(inverse[own] ** 2, axis=1))
        p_values = count * f_above(squares, 1, spare)
        worst = int(np.argmin(squares))
        if p_values[worst] <= LEVEL:
            order = np.argsort(-squares, kind="stable")
            return Suspects(np.array(runs, dtype=np.intp)[order], np.asarray(coefficients[own][order]))
        del runs[worst]
    return NO_SUSPECTS


CONFOUNDED = 0.5
"""A column whose correlation with the order is larger cannot be distinguished from a trend."""
_BY_CHANCE = 3.0
_LARGE = 3.75
"""Contrasts above this multiple of the median size are large: Lenth's 2.5 s0."""
_NOTHING = 1e-12


def confounded_with_order(columns: FloatArray, trends: FloatArray, blocks: Index) -> Index:
    """The columns, shape (runs, any), with a correlation above .5 with the order of the runs, within blocks.

    With fewer than 36 runs in one order the limit is three standard errors of a chance correlation, which is higher.

    Args:
        columns: of effects.
        trends: the places in one order, shape (runs,), or in several, shape (runs, orders), each zero in the others'
            runs; their multiple correlation counts.
        blocks: the block of each run.
    """
    orders = trends if trends.ndim == 2 else trends[:, None]
    free, basis = without_blocks(columns, blocks), spanned(without_blocks(orders, blocks))
    sizes = np.sqrt(np.sum(free**2, axis=0))
    correlations = np.linalg.norm(basis.T @ free, axis=0) / np.where(sizes > 0.0, sizes, np.inf)
    by_chance = (_BY_CHANCE + np.sqrt(basis.shape[1]) - 1.0) / np.sqrt(len(columns))  # Fisher's chi approximation
    return np.flatnonzero(correlations > max(CONFOUNDED, by_chance))


def adjusted_for_trend(
    fit: LeastSquares, values: FloatArray, order: FloatArray, rows: Index, blocks: Index
) -> LeastSquares:
    """The same effects, each adjusted for a linear trend over the order of the runs.

    The trend is estimated from repetitions and from the contrasts that are not large, except the adjusted one: a
    design with as many contrasts as runs has no other information. Large contrasts are found by forward selection:
    each step takes the trend or the contrast that explains most of the values.

    Args:
        fit: how effects are estimated from these runs.
        values: on the deciding scale, shape (runs,).
        order: the place of each run in time.
        rows: the design's row of each run.
        blocks: the block of each run.
    """
    centred = order - order.mean()
    within, _ = within_residuals(centred, rows, blocks)
    unit = np.vstack([fit.operator / np.sqrt(fit.variances)[:, None], fit.remainder])
    along = unit @ centred
    rest = ~_Forward(unit @ values, along, float(within @ values), float(within @ within)).large()
    own = np.where(rest, along, 0.0)
    informed = float(within @ within + own @ own) - own**2
    informative = informed > _NOTHING * float(centred @ centred)
    weights = np.where(informative, along / np.where(informative, informed, 1.0), 0.0)
    adjusted = unit - weights[:, None] * (within + own @ unit) + (weights * own)[:, None] * unit
    sizes = np.sqrt(np.sum(adjusted**2, axis=1))
    terms = len(fit.terms)
    return replace(
        fit,
        operator=adjusted[:terms] * np.sqrt(fit.variances)[:, None],
        variances=fit.variances * sizes[:terms] ** 2,
        remainder=adjusted[terms:] / np.where(sizes[terms:] > 0.0, sizes[terms:], 1.0)[:, None],
        trend=within,
    )


class _Forward(Struct, frozen=True, eq=False):
    """Contrasts of the ``values`` and, ``along``, of the order; ``product`` and ``square`` are those of repetitions."""

    values: FloatArray
    along: FloatArray
    product: float
    square: float

    def large(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which contrasts are too large to estimate the trend."""
        large, trend = np.zeros(len(self.values), dtype=np.bool_), False
        for _ in range((len(self.values) + 1) // 2):
            informative = self.square + float(self.along[~large] @ self.along[~large])
            slope = (
                (self.product + float(self.values[~large] @ self.along[~large])) / informative
                if informative > _NOTHING
                else 0.0
            )
            left = np.where(large, 0.0, np.abs(self.values - (slope * self.along if trend else 0.0)))
            place = int(np.argmax(left))
            by_trend = 0.0 if trend else abs(slope) * np.sqrt(informative)
            if max(left[place], by_trend) <= _LARGE * float(np.median(left[~large])):
                break
            if by_trend >= left[place]:
                trend = True
            else:
                large[place] = True
        return large


_POWERS = np.round(np.arange(-60, 61) * 0.05, 2)
_SAME = 1e-9
_ENTRIES = 4_000_000
_DROP = 1.920729410347062  # half of the 95 % quantile of chi-square with one degree of freedom


class BoxCox(Struct, frozen=True):
    """The profile likelihood of the power in a power transformation of the response.

    ``power`` maximises it over [-3, 3]; ``interval`` is its 95 % likelihood interval, cut at those limits;
    ``log_gain`` is the log likelihood at power 0 (the logarithm) minus that at power 1 (no transformation).
    """

    power: float
    interval: tuple[float, float]
    log_gain: float


def box_cox(values: FloatArray, model: FloatArray, blocks: Index) -> BoxCox:
    """The likelihood of a linear model for each power of the values, with the effects of blocks.

    Box and Cox (1964), An analysis of transformations, JRSS B 26(2), 211-252, section 3: with the
    responses divided by their geometric mean, the log likelihood is -n/2 ln(residual sum of squares).

    Args:
        values: the responses, shape (n,), all above zero.
        model: the model's further columns, shape (n, p), p may be 0.
        blocks: the block of each value, as in ``additive_blocks``.
    """
    logs = np.log(values)
    logs = logs - logs.mean()
    basis, sizes, _ = np.linalg.svd(without_blocks(model, blocks), full_matrices=False)
    basis = basis[:, sizes > _SAME * np.sqrt(len(values))]
    step = max(1, _ENTRIES // len(values))
    parts = [_squares(logs, _POWERS[i : i + step], basis, blocks) for i in range(0, len(_POWERS), step)]
    likelihood = -0.5 * len(values) * np.log(np.concatenate(parts))
    power, best = _peak(likelihood)
    low, high = _crossings(likelihood, best - _DROP)
    zero, one = (int(np.flatnonzero(power_ == _POWERS)[0]) for power_ in (0.0, 1.0))
    return BoxCox(power, (low, high), float(likelihood[zero] - likelihood[one]))


def _squares(logs: FloatArray, powers: FloatArray, basis: FloatArray, blocks: Index) -> FloatArray:
    """The residual sum of squares for each power."""
    with np.errstate(divide="ignore", invalid="ignore"):
        transformed = np.expm1(np.outer(logs, powers)) / powers
    transformed[:, powers == 0.0] = logs[:, None]
    centred = without_blocks(transformed, blocks)
    residuals = centred - basis @ (basis.T @ centred)
    # Rounding leaves a little of an exact fit; without a floor it would be compared by its last digits.
    floor = len(logs) * (1e-12 * np.abs(transformed).max(axis=0)) ** 2 + np.finfo(float).tiny
    return np.asarray(np.maximum(np.sum(residuals**2, axis=0), floor))


def _peak(likelihood: FloatArray) -> tuple[float, float]:
    """The maximum between the grid's points, by a parabola through the best three."""
    i = int(np.argmax(likelihood))
    if i in (0, len(_POWERS) - 1):
        return float(_POWERS[i]), float(likelihood[i])
    left, middle, right = likelihood[i - 1 : i + 2]
    bend = left - 2.0 * middle + right
    shift = 0.5 * (left - right) / bend if bend < 0 else 0.0
    step = float(_POWERS[1] - _POWERS[0])
    return float(_POWERS[i]) + shift * step, float(middle - 0.25 * (left - right) * shift)


def _crossings(likelihood: FloatArray, level: float) -> tuple[float, float]:
    """Where the likelihood rises above a level for the first time, and falls below it for the last."""
    above = np.flatnonzero(likelihood >= level)
    if not len(above):  # a peak narrower than the grid
        i = int(np.argmax(likelihood))
        return float(_POWERS[max(i - 1, 0)]), float(_POWERS[min(i + 1, len(_POWERS) - 1)])
    low, high = int(above[0]), int(above[-1])
    return _between(likelihood, level, low, low - 1), _between(likelihood, level, high, high + 1)


def _between(likelihood: FloatArray, level: float, inside: int, outside: int) -> float:
    if not 0 <= outside < len(_POWERS):
        return float(_POWERS[inside])
    part = (likelihood[inside] - level) / (likelihood[inside] - likelihood[outside])
    return float(_POWERS[inside] + part * (_POWERS[outside] - _POWERS[inside]))


_FEWEST = 8


def mid_ranks(values: FloatArray) -> FloatArray:
    """Ranks from 1, shape (n,); equal values share their mean rank."""
    _, group, members = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(members)
    return np.asarray((last - (members - 1) / 2.0)[group], dtype=np.float64)


def normal_scores(values: FloatArray, groups: Index) -> FloatArray:
    """Normal scores of a series whose groups (machines) have levels and noise of their own, shape (n,).

    The groups' medians are taken out, the rest is scaled to the groups' noise and ranked, and the rank r is given the
    normal quantile of (r - 3/8) / (n + 1/4) (Blom 1958, Statistical estimates and transformed beta-variables); then the
    groups' means are taken out, and the scores divided by their standard deviation. All 0 where nothing varies.

    Args:
        values: shape (n,).
        groups: the group of each value, counted from 0, shape (n,).
    """
    scores = normal_quantiles((mid_ranks(standardised(values, groups)) - 0.375) / (len(values) + 0.25))
    counts = np.bincount(groups)
    scores = scores - (np.bincount(groups, scores) / np.maximum(counts, 1))[groups]
    freedom = len(values) - np.count_nonzero(counts) + 1
    size = float(np.sqrt(scores @ scores / freedom))
    return np.asarray(scores / size if size > 1e-9 else np.zeros(len(values)))


def standardised(values: FloatArray, groups: Index) -> FloatArray:
    """The values less their group's median, in units of the median size of the group's successive differences.

    Steps change neither much. A group with few values gets the median unit of the others.
    """
    counts = np.bincount(groups)
    if np.count_nonzero(counts) == 1:
        return values
    made = values.copy()
    units = np.zeros(len(counts))
    for group in np.flatnonzero(counts):
        own = values[groups == group]
        made[groups == group] -= np.median(own)
        if len(own) >= _FEWEST:
            units[group] = np.median(np.abs(np.diff(own)))
    known = units[units > 0.0]
    if known.size == 0:
        return made
    return np.asarray(made / np.where(units > 0.0, units, np.median(known))[groups])


def log_variances(samples: Sequence[FloatArray], weights: Sequence[FloatArray] | None = None) -> FloatArray | None:
    """The ln s^2 of every sample, or None where one has fewer than two values or does not vary.

    The Skoll paper's third response. The logarithm makes the variance of s^2 nearly free of its mean
    (Bartlett and Kendall 1946, JRSS Supplement 8(1), 128-138).

    Args:
        samples: any number of values each.
        weights: of the values, inversely proportional to their variances within a sample; equal where there are none.
    """
    if not samples or min(len(sample) for sample in samples) < 2:
        return None
    variances = np.array(list(map(_variance, samples, weights or [np.ones(len(sample)) for sample in samples])))
    scales = np.array([np.max(np.abs(sample)) for sample in samples])
    if np.any(variances <= (1e-14 * scales) ** 2):
        return None
    return np.asarray(np.log(variances), dtype=np.float64)


def _variance(values: FloatArray, weights: FloatArray) -> float:
    squares = (values - np.average(values, weights=weights)) ** 2
    return float(weights @ squares) / (len(values) - 1)
