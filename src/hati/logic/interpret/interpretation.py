"""The interpretations of relations by name.

The default has the run as the unit, and an unproven relation is INCONCLUSIVE. The SPL paper's interpretations accept
a relation unless it is rejected, without margins; they resample (section 4.4 and Definition 4.10), or estimate the
variance of run means from earlier runs too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from functools import cached_property

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, InputError, replace
from hati.formula import Comparator
from hati.logic.interpret.contrast import (
    BesideLimit,
    Contrast,
    SideMean,
    Test,
    detectable_of,
    difference,
    estimate_of,
    fewest_alone,
    interval_of,
    limit_mean,
    p_values,
    runs_needed,
    scale_of,
    side_mean,
    verdict_of,
)
from hati.logic.interpret.relation import (
    AskedRelation,
    FormulaVerdict,
    Limit,
    MeasuredSample,
    RelationEvidence,
    mean_of,
)
from hati.stats import chi_square_cdf, normal_quantile, t_quantile

_GATHERS = 40_000_000
"""The number of observations drawn for one distribution."""
_FEWEST_MEANS = 8
_CHUNK = 1 << 18
_DIGITS = 9


class Resampled(Struct, frozen=True, eq=False):
    """Two means, and draws of their distributions centred on zero, shape (draws,) each."""

    left: float
    right: float
    left_draws: FloatArray
    right_draws: FloatArray

    def differences(self, bound: float) -> FloatArray:
        """Draws of left - bound right about the true one."""
        return self.left_draws - bound * self.right_draws

    def above(self, bound: float) -> float:
        """The fraction of draws not below the difference: at most alpha beyond the quantile 1 - alpha."""
        return float(np.mean(self.differences(bound) >= self.left - bound * self.right))

    def below(self, bound: float) -> float:
        """The fraction not above it; the quantile alpha is the quantile 1 - alpha of reflected draws, for axiom (5)."""
        return float(np.mean(self.differences(bound) <= self.left - bound * self.right))

    def reach(self, bound: float, alpha: float) -> tuple[float, float]:
        """The quantiles alpha and 1 - alpha: empirical quantiles 1 - alpha of the reflected draws and of the draws."""
        draws = self.differences(bound)
        return -upper_quantile(-draws, alpha), upper_quantile(draws, alpha)

    def detectable(self, bound: float, alpha: float) -> float:
        """The shift that is found with a power of 80 %."""
        return detectable_shift(self.differences(bound), *self.reach(bound, alpha))


def detectable_shift(draws: FloatArray, low: float, high: float) -> float:
    """The shift of a distribution that puts 80 % of it below ``low`` or above ``high``, on the worse side."""
    one_fifth, four_fifths = np.quantile(draws, (0.2, 0.8)).tolist()
    return float(max(high - one_fifth, four_fifths - low))


def upper_quantile(draws: FloatArray, alpha: float) -> float:
    """The inverse of the empirical distribution function at 1 - alpha."""
    place = math.ceil(round(len(draws) * (1.0 - alpha), _DIGITS)) - 1
    return float(np.partition(draws, place)[place])


def resampled(left: MeasuredSample, right: MeasuredSample | Limit, rng: np.random.Generator, draws: int) -> Resampled:
    """The means of two sides with draws of them."""
    return Resampled(left.mean, right.mean, *(_mean_draws(side, rng, draws) for side in (left, right)))


def _mean_draws(side: MeasuredSample | Limit, rng: np.random.Generator, draws: int) -> FloatArray:
    """Draws of a side's mean about its own mean, shape (draws,); zero for a limit.

    A draw has as many runs and observations as the side. It resamples the history or, without one, the runs
    themselves. Runs of several sizes count as runs of their harmonic mean.
    """
    if isinstance(side, Limit):
        return np.zeros(draws)
    runs, means = (side.history, side.history_means) if side.history else (side.runs, side.own_means)
    observations = len(side.runs) / sum(1.0 / len(run) for run in side.runs)
    return resampled_means(runs, len(side.runs), max(1, round(observations)), draws, rng) - float(means.mean())


def resampled_means(
    runs: Sequence[FloatArray], size: int, observations: int, draws: int, rng: np.random.Generator
) -> FloatArray:
    """Draws of the mean of ``size`` resampled runs, each of a given number of resampled observations, shape (draws,).

    A run's resampled means theta* are drawn with replacement from a store of them (SPL paper, section 4.4). The store
    has one per run of each draw, or as many as 40 million observations give: the means of long runs differ little.
    """
    wanted = min(draws * size, _GATHERS // observations)
    each = max(_FEWEST_MEANS, -(-wanted // len(runs)))
    stored = np.stack([_means(run, observations, each, rng) for run in runs])
    chosen = rng.integers(0, len(runs), (draws, size)), rng.integers(0, each, (draws, size))
    return np.asarray(stored[chosen].mean(axis=1), dtype=np.float64)


def _means(run: FloatArray, observations: int, number: int, rng: np.random.Generator) -> FloatArray:
    """Means of observations drawn from a run with replacement, shape (number,)."""
    if len(run) == 1:
        return np.full(number, run[0])
    rows = max(1, _CHUNK // observations)
    parts = [
        run[rng.integers(0, len(run), (min(rows, number - start), observations))].mean(axis=1)
        for start in range(0, number, rows)
    ]
    return np.concatenate(parts)


PREDICTIVE_DRAWS = 2_000
"""Draws of the distribution of a difference of means."""
_STEPS = 30
_PRECISE = 1e-7
_TINY = 1e-300
_LARGEST_STEP = 1.0


class Deviations(Struct, frozen=True, eq=False, dict=True):
    """Deviations of run means from their sample's mean, as fractions of it if ``relative``, shape (n,).

    The squares in each sample are scaled by n / (n - 1), so that their mean is an unbiased variance; ``df`` of the
    deviations are independent.
    """

    values: FloatArray
    df: float
    relative: bool

    @classmethod
    def of(cls, samples: Sequence[FloatArray]) -> Deviations:
        """The deviations in samples of run means, shape (n,) each; at least one sample has two."""
        several = [means for means in samples if len(means) > 1]
        relative = all(float(means.mean()) > 0.0 for means in samples)
        parts = [
            (means - mean) / (mean if relative else 1.0) * math.sqrt(len(means) / (len(means) - 1))
            for means, mean in zip(several, map(mean_of, several), strict=True)
        ]
        return cls(np.concatenate(parts), float(sum(len(means) - 1 for means in several)), relative)

    @cached_property
    def variance(self) -> float:
        """The mean square of the deviations."""
        return float(np.mean(self.values**2))

    @cached_property
    def variance_df(self) -> float:
        """The effective degrees of freedom of the variance: fewer for heavy tails.

        The variance of a variance of n values grows with their excess kurtosis g as 2 + g (Box 1953, Biometrika 40,
        318-335); a negative g counts as zero.
        """
        if self.variance <= 0.0:
            return self.df
        excess = float(np.mean(self.values**4)) / self.variance**2 - 3.0
        return 2.0 * self.df / (2.0 + max(0.0, excess))

    def unit(self, mean: float) -> float:
        """The unit of a deviation, for a side with that mean."""
        return abs(mean) if self.relative else 1.0

    def draws(self, mean: float, runs: int, rng: np.random.Generator) -> FloatArray:
        """Draws of the mean of ``runs`` runs about the true one, shape (draws,)."""
        chosen = rng.integers(0, len(self.values), (PREDICTIVE_DRAWS, runs))
        return np.asarray(self.unit(mean) * self.values[chosen].mean(axis=1), dtype=np.float64)


class HistoricalVariance(Struct, frozen=True, eq=False, dict=True):
    """Draws about two means, widened because their variance is estimated with ``df`` degrees of freedom.

    A draw times sqrt(df / chi-square) is predictive: normal draws become Student's t. Where few values determine the
    quantile of the draws, that quantile times t / z at alpha is used instead, if it is wider.
    """

    drawn: Resampled
    df: float
    alpha: float
    known: int

    def above(self, bound: float) -> float:
        """The p-value of left <= bound right."""
        return self._beyond(self.drawn.differences(bound), difference(self.drawn.left, bound * self.drawn.right))

    def below(self, bound: float) -> float:
        """The p-value of left >= bound right."""
        return self._beyond(-self.drawn.differences(bound), difference(bound * self.drawn.right, self.drawn.left))

    def reach(self, bound: float, alpha: float) -> tuple[float, float]:
        """The quantiles at the bound 1, scaled by the deviation at this bound."""
        low, high = self._at_one if alpha == self.alpha else self._reach(alpha)
        scale = self._deviation(bound) / (self._deviation(1.0) or 1.0)
        return scale * low, scale * high

    def detectable(self, bound: float, alpha: float) -> float:
        """The shift that is found with a power of 80 %."""
        return detectable_shift(self.drawn.differences(bound), *self.reach(bound, alpha))

    @cached_property
    def _at_one(self) -> tuple[float, float]:
        return self._reach(self.alpha)

    def _reach(self, alpha: float) -> tuple[float, float]:
        draws = self.drawn.differences(1.0)
        return -self._quantile(-draws, alpha), self._quantile(draws, alpha)

    def _quantile(self, draws: FloatArray, alpha: float) -> float:
        """The size at which the p-value is alpha: by secants of the logarithms, from the quantile of the draws on."""
        least = self._factor * upper_quantile(draws, alpha)
        if least <= 0.0 or np.mean(draws > 0.0) <= alpha:
            return least
        at, slope, last = math.log(least), -self.df / 2.0, (math.nan, math.nan)
        for _ in range(_STEPS):
            miss = math.log(max(self._tail(draws, math.exp(at)), _TINY) / alpha)
            if abs(miss) <= _PRECISE or (math.isnan(last[0]) and miss < 0.0):
                break
            if not math.isnan(last[0]) and miss != last[1]:
                slope = (miss - last[1]) / (at - last[0])
            last, at = (at, miss), at + min(max(-miss / slope, -_LARGEST_STEP), _LARGEST_STEP)
        return max(least, math.exp(at))

    def _deviation(self, bound: float) -> float:
        return float(np.std(self.drawn.differences(bound)))

    def _beyond(self, draws: FloatArray, size: float) -> float:
        """The probability of a difference of at least this size; if nothing varied, by the number of known runs."""
        if size > 0.0 and not draws.any():
            return 1.0 / (1.0 + self.known)
        widened = float(np.mean(self._factor * draws >= size))
        if size <= 0.0:
            return max(widened, 1.0 - self._tail(-draws, -size)) if size < 0.0 else widened
        return max(widened, self._tail(draws, size))

    def _tail(self, draws: FloatArray, size: float) -> float:
        """P(draw sqrt(df / chi-square) > size) for a size above 0."""
        positive = draws[draws > 0.0]
        return float(chi_square_cdf(self.df * (positive / size) ** 2, self.df).sum()) / len(draws)

    @cached_property
    def _factor(self) -> float:
        return t_quantile(1.0 - self.alpha, self.df) / normal_quantile(1.0 - self.alpha)


class _Side(Struct, frozen=True, eq=False):
    """A side's mean as compared and as measured, its number of runs, and their deviations."""

    mean: float
    own_mean: float
    runs: int
    varying: Deviations

    def draws(self, rng: np.random.Generator) -> FloatArray:
        return self.varying.draws(self.own_mean, self.runs, rng)

    def known(self) -> SideMean:
        variance = self.varying.variance * self.varying.unit(self.own_mean) ** 2
        return SideMean(self.mean, variance, self.runs, self.varying.variance_df)


def remembering(
    left: MeasuredSample, right: MeasuredSample, alpha: float, rng: np.random.Generator
) -> tuple[HistoricalVariance, Contrast]:
    """The test of two sides, of which at least one has a history, and the contrast that plans more runs.

    A history of one side only, or one that both share, estimates the variance of both together with the runs of both.
    Two histories estimate the variance of their own sides; the degrees of freedom are then the smaller number.
    """
    sides = [_side(side, varying) for side, varying in zip((left, right), _varying(left, right), strict=True)]
    drawn = Resampled(sides[0].mean, sides[1].mean, *(side.draws(rng) for side in sides))
    df = min(side.varying.variance_df for side in sides)
    known = min(len(side.varying.values) for side in sides)
    return HistoricalVariance(drawn, df, alpha, known), Contrast(*(side.known() for side in sides))


def history_of(left: MeasuredSample, right: MeasuredSample) -> int:
    """The number of earlier runs that estimate the noise of the side with fewer of them."""
    own = [side.history_means for side in (left, right)]
    if _shared(own):
        return max(len(means) for means in own)
    return min(len(means) for means in own)


def _varying(left: MeasuredSample, right: MeasuredSample) -> tuple[Deviations, Deviations]:
    histories = [side.history_means for side in (left, right)]
    if _shared(histories):
        both = Deviations.of([max(histories, key=len), left.own_means, right.own_means])
        return both, both
    first, second = (Deviations.of([side.history_means, side.own_means]) for side in (left, right))
    return first, second


def _shared(histories: Sequence[FloatArray]) -> bool:
    """Whether there is only one history."""
    return any(not len(means) for means in histories) or all(np.array_equal(means, histories[0]) for means in histories)


def _side(side: MeasuredSample, varying: Deviations) -> _Side:
    return _Side(mean_of(side.means), mean_of(side.own_means), len(side.runs), varying)


DRAWS = 10_000
"""Draws of the distribution of a difference of means."""


def welch(left: MeasuredSample, right: MeasuredSample | Limit, relation: AskedRelation) -> RelationEvidence:
    """Definition 4.5: Welch's t-test on all observations, ignoring runs."""
    sides = [_observed(side) for side in (left, right)]
    if any(side.size == 1 for side in sides):
        return _undefined(left, right, "Welch's test needs two observations of each side")
    contrast = Contrast(*sides)
    return _printed_evidence(contrast, contrast.left.mean, contrast.right.mean, left, right, relation)


def parametric(left: MeasuredSample, right: MeasuredSample | Limit, relation: AskedRelation) -> RelationEvidence:
    """Definition 4.8 as printed, where S^2 counts twice and z stands for t.

    It is undefined for one run, or for runs of one observation.
    """
    if any(isinstance(side, MeasuredSample) and not _nested(side) for side in (left, right)):
        return _undefined(left, right, "Definition 4.8 needs two runs of each side, and two observations of each run")
    contrast = Contrast(*(_two_level(side) for side in (left, right)))
    return _printed_evidence(contrast, contrast.left.mean, contrast.right.mean, left, right, relation)


def nonparametric(
    left: MeasuredSample,
    right: MeasuredSample | Limit,
    relation: AskedRelation,
    rng: np.random.Generator,
    draws: int = DRAWS,
) -> RelationEvidence:
    """Definition 4.10: rejection beyond the quantiles of resampled means of the histories, shifted to one mean.

    A side without a history resamples its own runs.
    """
    test = resampled(left, right, rng, draws)
    return _printed_evidence(test, test.left, test.right, left, right, relation)


def _printed_evidence(
    test: Test,
    left: float,
    right: float,
    first: MeasuredSample,
    second: MeasuredSample | Limit,
    relation: AskedRelation,
) -> RelationEvidence:
    """The evidence by an interpretation of the paper.

    ``>=`` is ``<=`` with the sides exchanged (axiom 5); ``<`` holds if ``>=`` is rejected, as in the original tool.
    Equality is rejected if either is: at 2 alpha in all.
    """
    sizes = first.size, second.size
    scale = scale_of(left, right, sizes)
    above, below = test.above(1.0), test.below(1.0)
    holds, violated = {
        Comparator.AT_MOST: (below, above),
        Comparator.LESS: (below, above),
        Comparator.AT_LEAST: (above, below),
        Comparator.MORE: (above, below),
        Comparator.EQUAL: (1.0, min(1.0, 2.0 * min(above, below))),
    }[relation.sign]
    level = printed_level(relation.sign, relation.alpha)
    kept = holds <= level if relation.sign.strict else violated > level
    return RelationEvidence(
        verdict=FormulaVerdict.HOLDS if kept else FormulaVerdict.VIOLATED,
        scale=scale,
        estimate=estimate_of(left, right, scale),
        runs=sizes,
        p_holds=holds,
        p_violated=violated,
        interval=interval_of(test, left, right, scale, relation.alpha),
        detectable=detectable_of(test, AskedRelation(Comparator.AT_MOST, alpha=relation.alpha), right, scale),
        remembered=sum(len(side.history) for side in (first, second) if isinstance(side, MeasuredSample)),
    )


def printed_level(sign: Comparator, alpha: float) -> float:
    """The level of rejection of a relation: twice alpha for equality, which is two relations."""
    return 2.0 * alpha if sign is Comparator.EQUAL else alpha


def _observed(side: MeasuredSample | Limit) -> SideMean:
    """The mean of all observations."""
    if isinstance(side, Limit):
        return limit_mean(side.value)
    values: FloatArray = np.concatenate(side.runs)
    variance = float(values.var(ddof=1)) if len(values) > 1 else 0.0
    return SideMean(float(values.mean()) + side.offset, variance, len(values), len(values) - 1.0)


def _two_level(side: MeasuredSample | Limit) -> SideMean:
    """The mean with a run's variance (o R^2 + S^2) / o, taken as known; the mean's is (o R^2 + S^2) / (r o).

    For runs of several sizes S^2 / o is averaged over the runs.
    """
    if isinstance(side, Limit):
        return limit_mean(side.value)
    within = float(np.mean([run.var(ddof=1) / len(run) for run in side.runs]))
    return SideMean(float(side.means.mean()), float(side.means.var(ddof=1)) + within, len(side.runs), math.inf)


def _nested(side: MeasuredSample) -> bool:
    return len(side.runs) > 1 and all(len(run) > 1 for run in side.runs)


def _undefined(left: MeasuredSample, right: MeasuredSample | Limit, why: str) -> RelationEvidence:
    scale = scale_of(left.mean, right.mean, (left.size, right.size))
    estimate = estimate_of(left.mean, right.mean, scale)
    return RelationEvidence(FormulaVerdict.INCONCLUSIVE, scale, estimate, (left.size, right.size), remark=why)


FEWEST_RUNS = 5
"""For a side without a history: t on fewer run means errs too often if they have two modes."""
_SHORTEST_HISTORY = 10
"""A shorter history determines the distribution of run means too poorly."""
_ALONE = 100
"""With a history of at least this length one run of a side is enough, else two."""
_LEVEL = 0.01
"""At smaller levels the history must be longer in proportion, and saves no runs."""
_ROUNDING = 1e-9


def decide(
    left: MeasuredSample, right: MeasuredSample | Limit, relation: AskedRelation, rng: np.random.Generator
) -> RelationEvidence:
    """The verdict on a relation by run means, with its evidence.

    ``<=`` HOLDS if left < right (1 + margin) is shown at alpha, and is VIOLATED if left > right (1 + margin) is shown:
    with the truth on the bound each has at most probability alpha. ``>=`` is ``<=`` with the sides exchanged. ``=``
    HOLDS if both are shown (Schuirmann 1987), and is VIOLATED if either is shown at alpha to be violated. ``<`` and
    ``>`` have their bound at 1.

    The test is Student's t with Welch's degrees of freedom, and from ten earlier runs on that of ``remembering``. Fewer
    than five runs of a side show nothing; with a history two suffice, and from 100 earlier runs on one. At an alpha
    below 1 % a history must be longer in proportion, and saves no runs. The generator is for randomised
    interpretations. Against a limit runs may be skewed, fewer than ``fewest_alone`` show nothing, and a history is not
    used: it does not show events rarer than one of its runs, and skewness cancels only between two sides.

    Raises:
        InputError: for ``=`` without a margin.
    """
    if relation.sign is Comparator.EQUAL and not relation.margin:
        raise InputError("equality can be shown only with a margin", fix="write a = b +- 2%")
    found = tested(left, right, relation.alpha, rng)
    if found is None:
        return _too_few(left, right, relation.alpha)
    remark = _why(found.fewest, left, right, relation.alpha) if left.size < found.fewest else ""
    return replace(_evidence(found, relation), remark=remark)


class Tested(Struct, frozen=True, eq=False):
    """The test of two sides, the effect of more runs on it, the minimal runs, and the history behind it."""

    test: Test
    contrast: Contrast
    fewest: int
    remembered: int


def tested(
    left: MeasuredSample, right: MeasuredSample | Limit, alpha: float, rng: np.random.Generator
) -> Tested | None:
    """The test of the default interpretation; None if there are too few runs."""
    if isinstance(right, Limit):
        return _against_limit(left, right, alpha)
    fewest = min(left.size, right.size)
    remembered = history_of(left, right)
    least = _fewest_against(remembered, alpha)
    if remembered * min(alpha / _LEVEL, 1.0) >= _SHORTEST_HISTORY - _ROUNDING and fewest >= least:
        return Tested(*remembering(left, right, alpha, rng), least, remembered)
    if fewest < FEWEST_RUNS:
        return None
    contrast = Contrast(side_mean(left.means), side_mean(right.means))
    return Tested(contrast, contrast, FEWEST_RUNS, 0)


def _fewest_against(history: int, alpha: float) -> int:
    if alpha < _LEVEL:
        return FEWEST_RUNS
    return 1 if history >= _ALONE else 2


def _against_limit(left: MeasuredSample, right: Limit, alpha: float) -> Tested | None:
    """The test against a limit, also for too few runs to decide: these estimate how many more are needed."""
    if left.size == 1:
        return None
    contrast = BesideLimit(side_mean(left.means), limit_mean(right.value))
    return Tested(contrast, contrast, fewest_alone(alpha), 0)


def _evidence(found: Tested, relation: AskedRelation) -> RelationEvidence:
    left, right = found.contrast.left, found.contrast.right
    scale = scale_of(left.mean, right.mean, (left.size, right.size))
    holds, violated = p_values(found.test, relation.bounds(right.mean))
    verdict = verdict_of(holds, violated, relation.alpha)
    needed = runs_needed(found.contrast, relation, found.fewest)
    if verdict is FormulaVerdict.INCONCLUSIVE and needed is not None:
        needed = max(needed, min(side.size for side in (left, right) if side.size) + 1)
    return RelationEvidence(
        verdict=verdict,
        scale=scale,
        estimate=estimate_of(left.mean, right.mean, scale),
        runs=(left.size, right.size),
        p_holds=holds,
        p_violated=violated,
        interval=interval_of(found.test, left.mean, right.mean, scale, relation.alpha),
        detectable=detectable_of(found.test, relation, right.mean, scale),
        runs_needed=needed,
        remembered=found.remembered,
    )


def _too_few(left: MeasuredSample, right: MeasuredSample | Limit, alpha: float) -> RelationEvidence:
    """The evidence of too few runs: the runs needed are the fewest that decide anything, as the noise is unknown."""
    needed = fewest_alone(alpha) if isinstance(right, Limit) else FEWEST_RUNS
    return replace(_undefined(left, right, _why(needed, left, right, alpha)), runs_needed=needed)


def _why(needed: int, left: MeasuredSample, right: MeasuredSample | Limit, alpha: float) -> str:
    if isinstance(right, Limit):
        return f"fewer than {needed} runs{', and an absolute limit uses no history' if left.history else ''}"
    lacking = f", and no history of {_SHORTEST_HISTORY} runs that would do" if alpha >= _LEVEL else ""
    return f"fewer than {needed} runs of a side{lacking}"


class Interpretation(StrEnum):
    """How measurements decide a relation; the last three as printed in the SPL paper, two-valued, without margins."""

    DEFAULT = "default"
    WELCH = "welch"
    PARAMETRIC = "parametric"
    NONPARAMETRIC = "nonparametric"


def interpret(
    by: Interpretation,
    left: MeasuredSample,
    right: MeasuredSample | Limit,
    relation: AskedRelation,
    rng: np.random.Generator,
) -> RelationEvidence:
    """The verdict of an interpretation on a relation, with its evidence.

    Raises:
        InputError: for equality without a margin under the default interpretation.
    """
    if by is Interpretation.WELCH:
        return welch(left, right, relation)
    if by is Interpretation.PARAMETRIC:
        return parametric(left, right, relation)
    if by is Interpretation.NONPARAMETRIC:
        return nonparametric(left, right, relation, rng)
    return decide(left, right, relation, rng)
