"""The smallest effect that a study finds with a given power."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from hati.stats.distributions import chi_square_quantiles, normal_tails, t_quantile
from hati.stats.lenth import active_effect_draws

POWER = 0.8

_STEPS = 200
_HALVINGS = 30


def step_critical(alpha: float, tests: int, df: float) -> float:
    """The t statistic that Holm's first step needs with that many tests: alpha is shared among all of them."""
    return t_quantile(1.0 - alpha / (2.0 * tests), df)


def detectable_by_pure_error(standard_error: float, df: int, critical: float, relevant: float) -> float:
    """The effect that is found with 80 % power where the error's variance is estimated from repetitions.

    Found means |estimate| > max(critical s, relevant), where s has ``df`` degrees of freedom and estimates
    ``standard_error``. The power of Student's t test, averaged over the chi distribution of s.
    """
    if standard_error <= 0.0:
        return relevant
    return standard_error * _by_pure_error(df, critical, relevant / standard_error)


def detectable_by_lenth(standard_error: float, contrasts: int, critical: float, relevant: float) -> float:
    """The effect that is found with 80 % power by Lenth's method, if it is the only active one.

    By simulation of the pseudo standard error, of which ``standard_error`` is an estimate. More active effects
    make the pseudo standard error larger, so this is the best case.
    """
    if standard_error <= 0.0:
        return relevant
    return standard_error * _by_lenth(contrasts, critical, relevant / standard_error)


@lru_cache(maxsize=256)
def _by_pure_error(df: int, critical: float, relevant: float) -> float:
    """In standard errors, as ``relevant`` is."""
    levels = (np.arange(_STEPS) + 0.5) / _STEPS
    errors = np.sqrt(chi_square_quantiles(levels, df) / df)
    limits = np.maximum(critical * errors, relevant)

    def power(effect: float) -> float:
        return float(np.mean(normal_tails(limits - effect) + normal_tails(limits + effect)))

    return _smallest(power, float(limits.max()) + 4.0)


@lru_cache(maxsize=256)
def _by_lenth(contrasts: int, critical: float, relevant: float) -> float:
    """In standard errors, as ``relevant`` is."""
    errors, noise = active_effect_draws(contrasts)
    limits = np.maximum(critical * errors, relevant)

    def power(effect: float) -> float:
        return float(np.mean(np.abs(effect + noise) > limits))

    return _smallest(power, float(np.quantile(limits, 0.95)) + 4.0)


def _smallest(power: Callable[[float], float], high: float) -> float:
    """The effect at which power reaches 80 %, by bisection."""
    low = 0.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if power(middle) >= POWER else (middle, high)
    return high
