"""The smallest effect that a study finds with a given power."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from hati.core import FloatArray
from hati.stats.distributions import (
    chi_square_quantiles,
    noncentral_f_above,
    noncentrality,
    normal_tails,
    t_quantile,
)
from hati.stats.lenth import active_effect_draws

POWER = 0.8

_BEYOND = 4.0
_NOTHING = 1e-12
_MOST_LIMITS = 0.95
_STEPS = 200
_HALVINGS = 30


def step_critical(alpha: float, tests: int, df: float) -> float:
    """The t statistic that Holm's first step needs with that many tests: alpha is shared among all of them."""
    return t_quantile(1.0 - alpha / (2.0 * tests), df)


def detectable_by_pure_error(
    standard_error: float, df: int, critical: float, relevant: float, power: float = POWER
) -> float:
    """The effect that is found with 80 % power where the error's variance is estimated from repetitions.

    Found means |estimate| > max(critical s, relevant), where s has ``df`` degrees of freedom and estimates
    ``standard_error``. The power of Student's t test, averaged over the chi distribution of s. Or another ``power``.
    """
    if standard_error <= _NOTHING * relevant:
        return relevant
    return standard_error * _by_pure_error(df, critical, relevant / standard_error, power)


def detectable_contrast(standard_error: float, dimensions: int, df: int, p_value: float, power: float = POWER) -> float:
    """The size of a contrast of a term with so many columns at which the term's F test is significant with that power.

    At the least: among all effects with a contrast c of that size the noncentrality is smallest where the others are
    zero, (c / standard error)^2. Of an option's settings these are two apart and all others in their middle.

    Args:
        standard_error: the contrast's.
        dimensions: the term's columns.
        df: the residual degrees of freedom.
        p_value: below this it is significant.
        power: the probability of finding it.
    """
    return standard_error * math.sqrt(noncentrality(p_value, power, dimensions, df))


def power_of_contrast(effect: float, standard_error: float, dimensions: int, df: int, p_value: float) -> float:
    """The power of which ``detectable_contrast`` is the inverse."""
    return noncentral_f_above(p_value, (effect / standard_error) ** 2, dimensions, df)


def detectable_by_lenth(
    standard_error: float, contrasts: int, critical: float, relevant: float, power: float = POWER
) -> float:
    """The effect that is found with 80 % power by Lenth's method, if it is the only active one.

    By simulation of the pseudo standard error, of which ``standard_error`` is an estimate. More active effects
    make the pseudo standard error larger, so this is the best case. Or another ``power``.
    """
    if standard_error <= _NOTHING * relevant:
        return relevant
    return standard_error * _by_lenth(contrasts, critical, relevant / standard_error, power)


def power_by_pure_error(effect: float, standard_error: float, df: int, critical: float, relevant: float) -> float:
    """The power of which ``detectable_by_pure_error`` is the inverse, for an effect in the unit of its error."""
    if standard_error <= _NOTHING * relevant:
        return float(abs(effect) > relevant)
    found = _power_by_pure_error(df, critical, relevant / standard_error)
    return found(abs(effect) / standard_error)


def power_by_lenth(effect: float, standard_error: float, contrasts: int, critical: float, relevant: float) -> float:
    """The power of which ``detectable_by_lenth`` is the inverse, for an effect in the unit of its error."""
    if standard_error <= _NOTHING * relevant:
        return float(abs(effect) > relevant)
    found = _power_by_lenth(contrasts, critical, relevant / standard_error)
    return found(abs(effect) / standard_error)


@lru_cache(maxsize=256)
def _by_pure_error(df: int, critical: float, relevant: float, wanted: float) -> float:
    """In standard errors, as ``relevant`` is."""
    high = float(_limits_by_pure_error(df, critical, relevant).max())
    return _smallest(_power_by_pure_error(df, critical, relevant), high + _BEYOND, wanted)


@lru_cache(maxsize=256)
def _by_lenth(contrasts: int, critical: float, relevant: float, wanted: float) -> float:
    """In standard errors, as ``relevant`` is."""
    errors, _ = active_effect_draws(contrasts)
    high = float(np.quantile(np.maximum(critical * errors, relevant), _MOST_LIMITS))
    return _smallest(_power_by_lenth(contrasts, critical, relevant), high + _BEYOND, wanted)


def _limits_by_pure_error(df: int, critical: float, relevant: float) -> FloatArray:
    return np.asarray(np.maximum(critical * _estimated_errors(df), relevant))


@lru_cache(maxsize=256)
def _estimated_errors(df: int) -> FloatArray:
    levels = (np.arange(_STEPS) + 0.5) / _STEPS
    return np.asarray(np.sqrt(chi_square_quantiles(levels, df) / df))


def _power_by_pure_error(df: int, critical: float, relevant: float) -> Callable[[float], float]:
    limits = _limits_by_pure_error(df, critical, relevant)
    return lambda effect: float(np.mean(normal_tails(limits - effect) + normal_tails(limits + effect)))


def _power_by_lenth(contrasts: int, critical: float, relevant: float) -> Callable[[float], float]:
    errors, noise = active_effect_draws(contrasts)
    limits = np.maximum(critical * errors, relevant)
    return lambda effect: float(np.mean(np.abs(effect + noise) > limits))


def _smallest(power: Callable[[float], float], high: float, wanted: float) -> float:
    """The effect at which the power reaches what is wanted, by bisection."""
    low = 0.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if power(middle) >= wanted else (middle, high)
    return high
