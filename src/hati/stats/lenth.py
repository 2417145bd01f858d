"""Effects without repetitions: Lenth's pseudo standard error and its simulated reference distribution.

Lenth (1989), Quick and easy analysis of unreplicated factorials, Technometrics 31(4), 469-473. His margins come
from Student's t, which is only roughly right; Ye and Hamada (2000), Critical values of the Lenth method for
unreplicated factorial designs, Journal of Quality Technology 32(1), 57-66, simulate the distribution instead.
Study-wise (their experiment-wise) refers to the largest of all statistics of a study.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hati.core import FloatArray, generator
from hati.stats.distributions import t_quantile
from hati.stats.lenth_table import PROBABILITIES, QUANTILES

_SEED = 1989
_ENTRIES = 4_000_000


def pseudo_standard_errors(contrasts: FloatArray) -> FloatArray:
    """Lenth's pseudo standard error along the last axis; zero where half of the contrasts and more are zero.

    s0 = 1.5 median |c|; PSE = 1.5 median of those |c| that are below 2.5 s0 (Lenth 1989).
    """
    sizes = np.sort(np.abs(contrasts), axis=-1)
    s0 = 1.5 * np.median(sizes, axis=-1, keepdims=True)
    kept = np.maximum(np.sum(sizes < 2.5 * s0, axis=-1, keepdims=True), 1)
    middle = [np.take_along_axis(sizes, index, axis=-1) for index in ((kept - 1) // 2, kept // 2)]
    return np.where(s0 > 0, 0.75 * (middle[0] + middle[1]), 0.0)[..., 0]


def pseudo_standard_error(contrasts: FloatArray) -> float:
    """Lenth's pseudo standard error of one study's contrasts, shape (m,)."""
    return float(pseudo_standard_errors(contrasts))


def degrees_of_freedom(contrasts: int) -> float:
    """Those of the pseudo standard error of that many contrasts: a third of them (Lenth 1989)."""
    return contrasts / 3.0


def margin_of_error(contrasts: FloatArray, confidence: float = 0.95) -> float:
    """Lenth's margin of error: the half-width of one contrast's confidence interval."""
    m = len(contrasts)
    return pseudo_standard_error(contrasts) * t_quantile((1.0 + confidence) / 2.0, degrees_of_freedom(m))


def simultaneous_margin_of_error(contrasts: FloatArray, confidence: float = 0.95) -> float:
    """Lenth's own study-wise margin, from Student's t; conservative beside the simulated critical value."""
    m = len(contrasts)
    return pseudo_standard_error(contrasts) * t_quantile((1.0 + confidence ** (1.0 / m)) / 2.0, degrees_of_freedom(m))


@dataclass(frozen=True, eq=False)
class LenthReference:
    """The distribution of the largest |contrast| / PSE when no effect is active.

    ``values`` are the quantiles that are exceeded with ``probabilities``, which fall while values rise.
    """

    probabilities: FloatArray
    values: FloatArray

    def critical(self, alpha: float) -> float:
        """What the largest statistic exceeds with probability ``alpha``."""
        return float(np.interp(-np.log(alpha), -np.log(self.probabilities), self.values))

    def p_values(self, statistics: FloatArray) -> FloatArray:
        """Study-wise p-values of |contrast| / PSE; none is below the smallest probability that was simulated."""
        return np.exp(np.interp(np.abs(statistics), self.values, np.log(self.probabilities), left=0.0))


@lru_cache(maxsize=64)
def lenth_reference(contrasts: int) -> LenthReference:
    """The reference for that many independent contrasts of equal variance: tabulated, or simulated once."""
    if contrasts in QUANTILES:
        return LenthReference(np.array(PROBABILITIES), np.array(QUANTILES[contrasts]))
    return simulated_reference(contrasts, _draws(contrasts))


def correlated_reference(correlation: FloatArray, independent: int) -> LenthReference:
    """The reference for contrasts with that correlation, and ``independent`` further ones besides.

    Simulated for each call, with a seed of its own: designs that lost runs have correlated estimates.
    """
    values, vectors = np.linalg.eigh(correlation)
    factor = vectors * np.sqrt(np.maximum(values, 0.0))
    total = len(correlation) + independent
    rng = generator(_SEED, "correlated")
    z = rng.standard_normal((max(2000, _draws(total) // 2), total))
    z[:, : len(correlation)] = z[:, : len(correlation)] @ factor.T
    return _reference(_largest(z))


def simulated_reference(contrasts: int, draws: int) -> LenthReference:
    """The reference by simulation of that many studies, always with the same seed."""
    rng = generator(_SEED, "independent", str(contrasts))
    step = max(1, _ENTRIES // contrasts)
    parts = [_largest(rng.standard_normal((min(step, draws - i), contrasts))) for i in range(0, draws, step)]
    return _reference(np.concatenate(parts))


@lru_cache(maxsize=16)
def active_effect_draws(contrasts: int) -> tuple[FloatArray, FloatArray]:
    """For power: pairs of PSE and one contrast's noise, in standard errors, where that contrast is large.

    A contrast that is found with 80 % power lies beyond 2.5 s0, so that its own size does not touch the PSE.
    """
    rng = generator(_SEED, "active", str(contrasts))
    z = rng.standard_normal((max(1000, min(10_000, _ENTRIES // 4 // contrasts)), contrasts))
    noise = z[:, 0].copy()
    z[:, 0] = 1e6
    return pseudo_standard_errors(z), noise


def _draws(contrasts: int) -> int:
    return max(2000, min(40_000, _ENTRIES // contrasts))


def _largest(z: FloatArray) -> FloatArray:
    return np.asarray(np.max(np.abs(z), axis=-1) / pseudo_standard_errors(z))


def _reference(largest: FloatArray) -> LenthReference:
    probabilities = np.array([p for p in PROBABILITIES if p * len(largest) >= 10])
    return LenthReference(probabilities, np.quantile(largest, 1.0 - probabilities))
