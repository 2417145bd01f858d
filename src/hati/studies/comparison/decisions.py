"""What two samples of run values say, for many benchmarks at once: arrays in, decisions out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hati.core import Better, InputError
from hati.stats import Difference, VariancePrior, adaptive_benjamini_hochberg, difference, variance_prior
from hati.studies.comparison.conclusion import Verdict
from hati.studies.comparison.statistic import MEAN, RunValues, Statistic

ALPHA = 0.01
MARGIN = 0.05


@dataclass(frozen=True)
class Question:
    """What is asked: changes at the level ``alpha``, equality within a ``margin``, of a ``statistic`` of runs.

    Raises:
        InputError: for an alpha or a margin that is not between 0 and 1.
    """

    alpha: float = ALPHA
    margin: float = MARGIN
    statistic: Statistic = MEAN

    def __post_init__(self) -> None:
        if not 0.0 < self.alpha < 1.0:
            raise InputError(f"alpha is a probability between 0 and 1, not {self.alpha:g}")
        if not 0.0 < self.margin < 1.0:
            raise InputError(f"the margin is between 0 and 100 %, not {self.margin:g}", fix="write 5%")

    @property
    def limit(self) -> float:
        """The margin on the logarithmic scale: slower by it and faster by it are as far from the same."""
        return math.log1p(self.margin)


class Sides(NamedTuple):
    """The run values of two samples, in one unit."""

    before: RunValues
    after: RunValues


class Decision(NamedTuple):
    """The difference of a pair with what all pairs say of its noise.

    It is of logarithms, or where ``scale`` is given of values divided by that, the size of the first mean. ``q_value``
    is the p-value corrected for all pairs; None where nothing is known of the noise, or the first mean is zero.
    """

    decided: Difference
    scale: float | None
    q_value: float | None

    def verdict(self, question: Question, better: Better) -> Verdict:
        """The same where two one-sided tests say so, else a change where it is significant over all pairs."""
        if self.q_value is None:
            return Verdict.INCONCLUSIVE
        if self.decided.within(-question.limit, question.limit) <= question.alpha:
            return Verdict.SAME
        if self.q_value > question.alpha:
            return Verdict.INCONCLUSIVE
        worse = self.decided.estimate > 0.0 if better is Better.LOWER else self.decided.estimate < 0.0
        return Verdict.SLOWER if worse else Verdict.FASTER


def decide(sides: Sequence[Sides]) -> tuple[list[Decision], VariancePrior]:
    """The decisions of pairs that are compared together, and what they say of each other's noise."""
    differences = [_difference(each) for each in sides]
    prior = _prior(sides, [own for own, _ in differences])
    decided = [own.borrowing(prior, place) for place, (own, _) in enumerate(differences)]
    told = [place for place, each in enumerate(decided) if each.told and differences[place][1] != 0.0]
    adjusted = adaptive_benjamini_hochberg(np.array([decided[place].p_value for place in told]))
    q_values = dict(zip(told, adjusted.tolist(), strict=True))
    scales = [scale for _, scale in differences]
    return [Decision(each, scales[place], q_values.get(place)) for place, each in enumerate(decided)], prior


def _difference(sides: Sides) -> tuple[Difference, float | None]:
    before, after = sides.before.values, sides.after.values
    if min(before.min(), after.min()) > 0.0:
        return difference(np.log(before), np.log(after)), None
    scale = abs(float(before.mean()))
    return difference(before / (scale or 1.0), after / (scale or 1.0)), scale


def _prior(sides: Sequence[Sides], differences: Sequence[Difference]) -> VariancePrior:
    """Along how unsteady a pair's runs are within, on average, where all runs are long enough to tell."""
    unsteady = np.array([np.mean([*each.before.unsteady, *each.after.unsteady]) for each in sides])
    related = [] if np.isnan(unsteady).any() else [np.log(unsteady)]
    variances = np.array([each.variance for each in differences])
    return variance_prior(variances, np.array([each.own for each in differences]), related)
