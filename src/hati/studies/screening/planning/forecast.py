"""What a design can detect, said before it starts."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from msgspec import Struct

from hati.core import replace
from hati.stats import (
    POWER,
    Shares,
    contrasts,
    degrees_of_freedom,
    detectable_by_lenth,
    detectable_by_pure_error,
    detectable_contrast,
    lenth_reference,
    power_by_lenth,
    power_by_pure_error,
    power_of_contrast,
    step_critical,
)
from hati.stats.distributions import t_cdf
from hati.studies.screening.analysis.contrasts import FEWEST_CONTRASTS
from hati.studies.screening.analysis.runs import configurations_are_units
from hati.studies.screening.planning.fractions import Choice
from hati.studies.screening.planning.models import ModelChoice

ALPHA = 0.05
RELEVANT = 0.01


class Precision(Struct, frozen=True):
    """How well a design knows main effects, and by what they are judged.

    ``error`` is the standard error of a main effect in standard deviations of a run, ``critical`` the statistic that is
    needed; judged with ``df`` degrees of freedom, or by the adaptive standard error of ``contrasts`` where ``df`` is 0.
    An option has up to ``settings``; of more than two the effect is the largest difference between any of them.
    """

    error: float
    critical: float
    df: int
    contrasts: int = 0
    settings: int = 2

    def detectable(self, noise: float, least: float, power: float = POWER) -> float:
        """The effect that is found with that power, in the unit of ``noise``; none below ``least`` is important."""
        if self.df:
            found = detectable_by_pure_error(noise * self.error, self.df, self.critical, least, power)
            if self.settings == 2:
                return found
            return max(
                found, detectable_contrast(noise * self._widest, self.settings - 1, self.df, self._p_value, power)
            )
        return detectable_by_lenth(noise * self.error, self.contrasts, self.critical, least, power)

    def power(self, effect: float, noise: float, least: float) -> float:
        """The probability that an effect is found."""
        if self.df:
            found = power_by_pure_error(effect, noise * self.error, self.df, self.critical, least)
            if self.settings == 2 or noise == 0.0:
                return found
            return min(
                found, power_of_contrast(effect, noise * self._widest, self.settings - 1, self.df, self._p_value)
            )
        return power_by_lenth(effect, noise * self.error, self.contrasts, self.critical, least)

    @property
    def _widest(self) -> float:
        """The standard error of a difference of two settings, all being equally frequent."""
        return self.error * math.sqrt(self.settings / 2.0)

    @property
    def _p_value(self) -> float:
        return 2.0 * (1.0 - t_cdf(self.critical, self.df))


def expected_detectable(
    choice: Choice | ModelChoice,
    noise: float,
    *,
    alpha: float = ALPHA,
    relevant: float = RELEVANT,
    power: float = POWER,
) -> float | None:
    """The smallest main effect, as a fraction, that the design will find with 80 % power, or another.

    None where the design is too small to distinguish effects from noise. Supposes that all runs work, that effects
    multiply, and without repetitions that most effects do nothing.

    Args:
        choice: the design and its repetitions.
        noise: the standard deviation of a run as a fraction of the mean, as a pilot finds it.
        alpha: the study-wise error.
        relevant: the fraction below which no effect is important.
        power: the probability of finding it.
    """
    found = precision(choice, alpha=alpha)
    return None if found is None else math.expm1(found.detectable(noise, math.log1p(relevant), power))


def expected_detectable_deviations(
    choice: Choice | ModelChoice, *, alpha: float = ALPHA, power: float = POWER
) -> float | None:
    """The same in standard deviations of a run, for when nothing is known of the noise yet."""
    found = precision(choice, alpha=alpha)
    return None if found is None else found.detectable(1.0, 0.0, power)


def precision(choice: Choice | ModelChoice, *, alpha: float = ALPHA) -> Precision | None:
    """How well the design will know main effects; None where it is too small to distinguish them from noise."""
    if isinstance(choice, ModelChoice):
        if not choice.d_efficiency:
            return None
        known_better = 1.0 - choice.replicated / (2.0 * choice.configurations)  # the mean variance of their means
        error = choice.standard_error * math.sqrt(known_better)
        return model_precision(
            choice.configurations, choice.repetitions, choice.parameters, error, choice.settings, alpha
        )
    total, shares = _sizes(replace(choice, repetitions=1, reason=""))
    first = alpha * shares.main_effects(choice.factors)
    error = 2.0 / math.sqrt(choice.runs)
    df = (choice.configurations - 1) * (choice.repetitions - 1)
    if df and df >= degrees_of_freedom(total):
        return Precision(error, step_critical(first, choice.factors, df), df)
    if total < FEWEST_CONTRASTS:
        return None
    return Precision(error, lenth_reference(total).critical(first, choice.factors), 0, total)


def model_precision(
    configurations: int, repetitions: int, parameters: int, standard_error: float, settings: int, alpha: float = ALPHA
) -> Precision | None:
    """That of an optimal design: of the main effect with the largest error, supposing no interactions.

    ``standard_error`` is the largest of their coefficients', were every configuration run once; ``settings`` the most
    that an option has.
    """
    if configurations_are_units(configurations, parameters):
        df = configurations - parameters
    else:
        df = configurations * repetitions - parameters - (repetitions - 1)
    if df < 1:
        return None
    tests = max(1, parameters - 1)
    critical = step_critical(alpha * Shares(tests, 1).main_effects(tests), tests, df)
    return Precision(2.0 * standard_error / math.sqrt(repetitions), critical, df, settings=settings)


@lru_cache(maxsize=64)
def _sizes(choice: Choice) -> tuple[int, Shares]:
    """The number of all contrasts, and how the study-wise error is shared between those that are reported."""
    names = tuple(f"x{i}" for i in range(1, choice.factors + 1))
    found = contrasts(np.asarray(choice.design(names).matrix, dtype=np.int8))
    return len(found.terms), Shares.of([(term,) for term in found.terms if len(term) <= 2])
