"""The test of two sides whose variance is estimated from earlier runs too."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct

from hati.core import FloatArray
from hati.logic.interpret.contrast import Contrast, SideMean, difference
from hati.logic.interpret.relation import MeasuredSample, mean_of
from hati.logic.interpret.resampling import Resampled, detectable_shift, upper_quantile
from hati.stats import chi_square_cdf, normal_quantile, t_quantile

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
