"""What a design can detect, said before it starts."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from hati.stats import (
    contrasts,
    degrees_of_freedom,
    detectable_by_lenth,
    detectable_by_pure_error,
    lenth_reference,
    step_critical,
)
from hati.studies.screening.choice import Choice
from hati.studies.screening.judgement import FEWEST_CONTRASTS

ALPHA = 0.05
RELEVANT = 0.01


def expected_detectable(
    choice: Choice, noise: float, *, alpha: float = ALPHA, relevant: float = RELEVANT
) -> float | None:
    """The smallest main effect, as a fraction, that the design will find with 80 % power.

    None where the design is too small to tell effects from noise at all. Supposes that all runs work, that effects
    multiply, and without repetitions that most effects do nothing.

    Args:
        choice: the design and its repetitions.
        noise: the standard deviation of a run as a fraction of the mean, as a pilot finds it.
        alpha: the study-wise error.
        relevant: the fraction below which no effect is important.
    """
    effect = _detectable(choice, noise, alpha, math.log1p(relevant))
    return None if effect is None else math.expm1(effect)


def expected_detectable_deviations(choice: Choice, *, alpha: float = ALPHA) -> float | None:
    """The same in standard deviations of a run, for when nothing is known of the noise yet."""
    return _detectable(choice, 1.0, alpha, 0.0)


def _detectable(choice: Choice, noise: float, alpha: float, least: float) -> float | None:
    """The effect that is found with 80 % power, in the unit of ``noise``; none below ``least`` is important."""
    total, reported = _sizes(choice)
    error = noise * 2.0 / math.sqrt(choice.runs)
    df = (choice.configurations - 1) * (choice.repetitions - 1)
    if df and df >= degrees_of_freedom(total):
        return detectable_by_pure_error(error, df, step_critical(alpha, reported, df), least)
    if total < FEWEST_CONTRASTS:
        return None
    return detectable_by_lenth(error, total, lenth_reference(total).critical(alpha), least)


@lru_cache(maxsize=16)
def _sizes(choice: Choice) -> tuple[int, int]:
    """The numbers of all contrasts, and of those that are reported."""
    names = tuple(f"x{i}" for i in range(1, choice.factors + 1))
    found = contrasts(np.asarray(choice.design(names).matrix, dtype=np.int8))
    return len(found.terms), sum(len(term) <= 2 for term in found.terms)
