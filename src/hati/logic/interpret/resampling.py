"""Draws of the means of two sides, by resampling runs and their observations (SPL paper, section 4.4)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from hati.core import FloatArray
from hati.logic.interpret.relation import Limit, MeasuredSample

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
    means = [side.value if isinstance(side, Limit) else float(side.means.mean()) for side in (left, right)]
    return Resampled(means[0], means[1], *(_mean_draws(side, rng, draws) for side in (left, right)))


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
