"""Effects without repetitions: pseudo standard errors and their simulated reference distribution.

Lenth (1989), Quick and easy analysis of unreplicated factorials, Technometrics 31(4), 469-473, takes a median. His
margins come from Student's t, which is only roughly right; Ye and Hamada (2000), Critical values of the Lenth method
for unreplicated factorial designs, Journal of Quality Technology 32(1), 57-66, simulate the distribution instead.
Dong (1993), On the identification of active contrasts in unreplicated fractional factorials, Statistica Sinica 3(1),
209-217, takes the mean square of the contrasts that Lenth keeps, which varies less: effects are judged by that.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, generator
from hati.stats.lenth_table import LARGEST, PROBABILITIES, SINGLE

_SEED = 1989
_KEPT = 2.5
_ENTRIES = 4_000_000
_POOLED = 16
_FEWEST = 10


def pseudo_standard_errors(contrasts: FloatArray) -> FloatArray:
    """Lenth's pseudo standard error along the last axis; zero where half of the contrasts and more are zero.

    s0 = 1.5 median |c|; PSE = 1.5 median of those |c| that are below 2.5 s0 (Lenth 1989).
    """
    sizes = np.sort(np.abs(contrasts), axis=-1)
    s0 = 1.5 * np.median(sizes, axis=-1, keepdims=True)
    kept = np.maximum(np.sum(sizes < _KEPT * s0, axis=-1, keepdims=True), 1)
    middle = [np.take_along_axis(sizes, index, axis=-1) for index in ((kept - 1) // 2, kept // 2)]
    return np.where(s0 > 0, 0.75 * (middle[0] + middle[1]), 0.0)[..., 0]


def pseudo_standard_error(contrasts: FloatArray) -> float:
    """Lenth's pseudo standard error of one study's contrasts, shape (m,)."""
    return float(pseudo_standard_errors(contrasts))


def adaptive_standard_errors(contrasts: FloatArray) -> FloatArray:
    """Dong's adaptive standard error along the last axis; zero where half of the contrasts and more are zero.

    The root mean square of those |c| that are up to 2.5 s0, s0 = 1.5 median |c| (Dong 1993).
    """
    sizes = np.abs(contrasts)
    kept = sizes <= _KEPT * 1.5 * np.median(sizes, axis=-1, keepdims=True)
    return np.asarray(np.sqrt(np.sum(sizes**2 * kept, axis=-1) / np.sum(kept, axis=-1)))


def adaptive_standard_error(contrasts: FloatArray) -> float:
    """Dong's adaptive standard error of one study's contrasts, shape (m,)."""
    return float(adaptive_standard_errors(contrasts))


def degrees_of_freedom(contrasts: int) -> float:
    """The degrees of freedom of the pseudo standard error of that many contrasts: a third of them (Lenth 1989)."""
    return contrasts / 3.0


class Tail(Struct, frozen=True, eq=False):
    """The upper tail of a statistic: ``values`` are exceeded with ``probabilities``, which fall while values rise."""

    probabilities: FloatArray
    values: FloatArray

    @classmethod
    def of(cls, drawn: FloatArray) -> Tail:
        """The tail of a sample, out to its ten largest values."""
        probabilities = np.array([p for p in PROBABILITIES if p * drawn.size >= _FEWEST])
        return cls(probabilities, np.quantile(drawn, 1.0 - probabilities))

    def critical(self, probability: float) -> float:
        """The value exceeded with that probability; the last one for probabilities below those simulated."""
        return float(np.interp(-np.log(probability), -np.log(self.probabilities), self.values))

    def p_values(self, statistics: FloatArray) -> FloatArray:
        """The probabilities of values at least as large; none is below the smallest that was simulated."""
        return np.exp(np.interp(np.abs(statistics), self.values, np.log(self.probabilities), left=0.0))


class LenthReference(Struct, frozen=True, eq=False):
    """The distribution of |contrast| / standard error when no effect is active: of each, and of a study's largest."""

    single: Tail
    largest: Tail

    def critical(self, alpha: float, tests: int) -> float:
        """The value that the largest of that many statistics exceeds with a probability of at most ``alpha``."""
        return min(self.single.critical(alpha / tests), self.largest.critical(alpha))

    def p_values(self, statistics: FloatArray, tests: int) -> FloatArray:
        """Study-wise p-values for that many tests: the smaller of Bonferroni's and that of the largest statistic."""
        return np.minimum(tests * self.single.p_values(statistics), self.largest.p_values(statistics))


@lru_cache(maxsize=64)
def lenth_reference(contrasts: int) -> LenthReference:
    """The reference for that many independent contrasts of equal variance: tabulated, or simulated once."""
    if contrasts in LARGEST:
        return LenthReference(_tabulated(SINGLE[contrasts]), _tabulated(LARGEST[contrasts]))
    return simulated_reference(contrasts, _draws(contrasts))


def correlated_reference(correlation: FloatArray, independent: int) -> LenthReference:
    """The reference for contrasts with that correlation, and ``independent`` further ones.

    Simulated for each call, with a seed of its own: designs that lost runs have correlated estimates.
    """
    values, vectors = np.linalg.eigh(correlation)
    factor = vectors * np.sqrt(np.maximum(values, 0.0))
    total = len(correlation) + independent
    rng = generator(_SEED, "correlated")
    z = rng.standard_normal((max(2000, _draws(total) // 2), total))
    z[:, : len(correlation)] = z[:, : len(correlation)] @ factor.T
    return _reference([z])


def simulated_reference(contrasts: int, draws: int) -> LenthReference:
    """The reference by simulation of that many studies, always with the same seed."""
    rng = generator(_SEED, "independent", str(contrasts))
    step = max(1, _ENTRIES // contrasts)
    return _reference(rng.standard_normal((min(step, draws - i), contrasts)) for i in range(0, draws, step))


@lru_cache(maxsize=16)
def active_effect_draws(contrasts: int) -> tuple[FloatArray, FloatArray]:
    """Draws for power: the standard error and the noise of one large contrast, in true standard errors.

    A contrast that is found with 80 % power lies beyond 2.5 s0, so that its size does not affect the standard error.
    """
    rng = generator(_SEED, "active", str(contrasts))
    z = rng.standard_normal((max(1000, min(10_000, _ENTRIES // 4 // contrasts)), contrasts))
    noise = z[:, 0].copy()
    z[:, 0] = 1e6
    return adaptive_standard_errors(z), noise


def _tabulated(quantiles: tuple[float, ...]) -> Tail:
    return Tail(np.array(PROBABILITIES[: len(quantiles)]), np.array(quantiles))


def _draws(contrasts: int) -> int:
    return max(2000, min(40_000, _ENTRIES // contrasts))


def _reference(drawn: Iterable[FloatArray]) -> LenthReference:
    """The reference from contrasts, arrays of shape (studies, contrasts); ``single`` is from the first arrays."""
    largest, single = list[FloatArray](), list[FloatArray]()
    for z in drawn:
        statistics = np.abs(z) / adaptive_standard_errors(z)[:, None]
        largest.append(np.max(statistics, axis=-1))
        if len(single) < _POOLED:
            single.append(np.asarray(statistics.ravel(), dtype=np.float32))
    return LenthReference(Tail.of(np.concatenate(single)), Tail.of(np.concatenate(largest)))
