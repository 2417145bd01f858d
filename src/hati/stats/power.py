"""The smallest effect that a study finds with a given power, and how many runs decide a test."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import FloatArray, generator
from hati.stats.distributions import (
    chi_square_quantiles,
    halved,
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
    """The effect that is found with that power, where the error's variance is estimated from repetitions.

    Found means |estimate| > max(critical s, relevant), where s has ``df`` degrees of freedom and estimates
    ``standard_error``. The power is that of Student's t test, averaged over the chi distribution of s.
    """
    if standard_error <= _NOTHING * relevant:
        return relevant
    return standard_error * _by_pure_error(df, critical, relevant / standard_error, power)


def detectable_contrast(standard_error: float, dimensions: int, df: int, p_value: float, power: float = POWER) -> float:
    """The smallest contrast of a term with that many columns for which its F test is significant with that power.

    This is the worst case: among all effects with a contrast c of that size the noncentrality is smallest, at
    (c / standard error)^2, where the others are zero: two settings differ, and all others are in their middle.

    Args:
        standard_error: the contrast's.
        dimensions: the term's columns.
        df: the residual degrees of freedom.
        p_value: below this it is significant.
        power: the probability of finding it.
    """
    return standard_error * math.sqrt(noncentrality(p_value, power, dimensions, df))


def power_of_contrast(effect: float, standard_error: float, dimensions: int, df: int, p_value: float) -> float:
    """The power of the F test for an effect; the inverse of ``detectable_contrast``."""
    return noncentral_f_above(p_value, (effect / standard_error) ** 2, dimensions, df)


def detectable_by_lenth(
    standard_error: float, contrasts: int, critical: float, relevant: float, power: float = POWER
) -> float:
    """The effect that is found with that power by Lenth's method, if it is the only active one.

    By simulation of the pseudo standard error, of which ``standard_error`` is an estimate. More active effects make the
    pseudo standard error larger, so this is the best case.
    """
    if standard_error <= _NOTHING * relevant:
        return relevant
    return standard_error * _by_lenth(contrasts, critical, relevant / standard_error, power)


def power_by_pure_error(effect: float, standard_error: float, df: int, critical: float, relevant: float) -> float:
    """The power for an effect in the unit of its error; the inverse of ``detectable_by_pure_error``."""
    if standard_error <= _NOTHING * relevant:
        return float(abs(effect) > relevant)
    found = _power_by_pure_error(df, critical, relevant / standard_error)
    return found(abs(effect) / standard_error)


def power_by_lenth(effect: float, standard_error: float, contrasts: int, critical: float, relevant: float) -> float:
    """The power for an effect in the unit of its error; the inverse of ``detectable_by_lenth``."""
    if standard_error <= _NOTHING * relevant:
        return float(abs(effect) > relevant)
    found = _power_by_lenth(contrasts, critical, relevant / standard_error)
    return found(abs(effect) / standard_error)


@lru_cache(maxsize=256)
def _by_pure_error(df: int, critical: float, relevant: float, wanted: float) -> float:
    """The detectable effect in standard errors, the unit of ``relevant``."""
    high = float(_limits_by_pure_error(df, critical, relevant).max())
    return _smallest(_power_by_pure_error(df, critical, relevant), high + _BEYOND, wanted)


@lru_cache(maxsize=256)
def _by_lenth(contrasts: int, critical: float, relevant: float, wanted: float) -> float:
    """The detectable effect in standard errors, the unit of ``relevant``."""
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
    """The effect at which the power reaches ``wanted``, by bisection."""
    return halved(0.0, high, lambda effect: power(effect) >= wanted, _HALVINGS)[1]


MOST_RUNS = 10_000
_LEVELS = 64
_PATHS = 2000
_LOOKS = 100
_SEED = 15


class BoundTest(Struct, frozen=True):
    """A bound that a mean is compared with: (mean - bound) / standard error, and the critical value of the statistic.

    The mean is shown to be above it where the statistic exceeds ``critical``, and below it where it is less than
    -``critical``. An infinite critical value shows nothing.
    """

    noncentrality: float
    critical: float

    @classmethod
    def of(cls, distance: float, standard_error: float, critical: float) -> BoundTest:
        """The test of a mean that far above the bound; without noise, a mean on the bound is never beyond it."""
        if standard_error > 0.0:
            return cls(distance / standard_error, critical)
        return cls(math.copysign(math.inf, distance), critical if distance else math.inf)

    def above(self, r: FloatArray) -> FloatArray:
        """The z beyond which the mean is shown to be above the bound."""
        return self.critical * r - self.noncentrality if self._shows else np.full_like(r, math.inf)

    def below(self, r: FloatArray) -> FloatArray:
        """The z under which the mean is shown to be below the bound."""
        return -self.critical * r - self.noncentrality if self._shows else np.full_like(r, -math.inf)

    @property
    def _shows(self) -> bool:
        return math.isfinite(self.critical)


class PlannedTest(Struct, frozen=True):
    """A test of n runs, which shows the mean to be below ``low``, above ``high``, or ``between`` two bounds.

    The variance has ``df`` degrees of freedom of these runs, and ``known`` ones that no run changes.
    """

    low: BoundTest
    high: BoundTest
    df: float
    between: tuple[BoundTest, BoundTest] | None = None
    known: float = 0.0

    @property
    def power(self) -> float:
        """The probability that the test decides."""
        r = _relative_errors(self.df, self.known)
        first, last = self.low.below(r), self.high.above(r)
        open_ = normal_tails(first) - normal_tails(np.maximum(first, last))
        if self.between is not None:
            start, end = self.between[0].above(r), self.between[1].below(r)
            start, end = np.clip(start, first, last), np.clip(end, first, last)
            open_ = open_ - np.maximum(normal_tails(start) - normal_tails(end), 0.0)
        return 1.0 - float(np.mean(open_))

    def decides(self, z: FloatArray, r: FloatArray) -> NDArray[np.bool_]:
        """Whether it decides, for each standardised error of the mean and each relative error of the deviation."""
        decided = (z < self.low.below(r)) | (z > self.high.above(r))
        if self.between is not None:
            decided |= (z > self.between[0].above(r)) & (z < self.between[1].below(r))
        return np.asarray(decided)


def runs_to_decide(test: Callable[[int], PlannedTest], fewest: int, power: float = POWER) -> int | None:
    """The number of runs with which a single test decides with that power; None where 10,000 do not suffice.

    Args:
        test: of a number of runs.
        fewest: the smallest number to consider.
        power: the probability of a decision.
    """
    return fewest_runs(lambda runs: test(runs).power >= power, fewest)


def fewest_runs(decides: Callable[[int], bool], fewest: int) -> int | None:
    """The smallest number of runs that decides, if larger ones do too; None where 10,000 do not."""
    least, most = fewest, max(fewest, MOST_RUNS)
    if not decides(most):
        return None
    while least < most:
        middle = math.isqrt(least * most)
        least, most = (least, middle) if decides(middle) else (middle + 1, most)
    return most


def looks_to_decide(test: Callable[[int], PlannedTest], fewest: int, power: float = POWER) -> int | None:
    """The number of runs for a test that is repeated after every run from ``fewest`` on, until it decides.

    By simulation of 2,000 campaigns, which are the same in every call, with up to 100 looks.
    """
    most = runs_to_decide(test, fewest, power)
    if most is None or most == fewest:
        return most
    sizes: list[int] = np.unique(np.geomspace(fewest, most, _LOOKS).round().astype(int)).tolist()
    rng, decided = generator(_SEED, "looks"), np.zeros(_PATHS, dtype=bool)
    size, means, squares = 0, np.zeros(_PATHS), np.zeros(_PATHS)
    for following in sizes:
        more = following - size
        block = rng.standard_normal(_PATHS) / math.sqrt(more)
        squares += 2.0 * rng.standard_gamma((more - 1) / 2.0, _PATHS) + (block - means) ** 2 * size * more / following
        means += (block - means) * more / following
        size = following
        decided |= test(size).decides(means * math.sqrt(size), np.sqrt(squares / (size - 1.0)))
        if np.mean(decided) >= power:
            return size
    return most


@lru_cache(maxsize=4096)
def _relative_errors(df: float, known: float) -> FloatArray:
    """Equally probable ratios of the estimated deviation to the true one."""
    if math.isinf(known) or math.isinf(df):
        return np.ones(1)
    levels = (np.arange(_LEVELS) + 0.5) / _LEVELS
    return np.asarray(np.sqrt((chi_square_quantiles(levels, df) + known) / (df + known)))
