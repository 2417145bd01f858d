"""What two samples of run values say, for many benchmarks at once: arrays in, decisions out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hati.core import Better, FloatArray
from hati.stats import (
    Difference,
    VariancePrior,
    adaptive_benjamini_hochberg,
    difference,
    earlier_variances,
    variance_prior,
)
from hati.studies.comparison.conclusion import Change, Verdict
from hati.studies.comparison.question import Question
from hati.studies.comparison.statistic import RunValues

POWER = 0.8


class Sides(NamedTuple):
    """The run values of two samples, and of earlier ones of the same, all in one unit."""

    before: RunValues
    after: RunValues
    earlier: tuple[RunValues, ...] = ()


class Decision(NamedTuple):
    """The difference of a pair with what all pairs say of its noise.

    It is of logarithms, or where ``scale`` is given of values divided by that, the size of the first mean. ``q_value``
    is the p-value corrected for all pairs; None where nothing is known of the noise, or the first mean is zero.
    """

    decided: Difference
    scale: float | None
    q_value: float | None

    def change(self, question: Question, better: Better) -> Change:
        """What is told of it."""
        decided, known = self.decided, self.q_value is not None
        width = decided.half_width(1.0 - question.alpha)
        detectable = decided.detectable(question.alpha, POWER) if known else math.inf
        return Change(
            verdict=self.verdict(question, better),
            ratio=None if self.scale == 0.0 else self._ratio(decided.estimate),
            interval=(self._ratio(decided.estimate - width), self._ratio(decided.estimate + width)) if known else None,
            p_value=decided.p_value if known else None,
            q_value=self.q_value,
            detectable=self._ratio(detectable) - 1.0 if math.isfinite(detectable) else None,
            runs_needed=decided.runs_needed(question.alpha, -question.limit, question.limit) if known else None,
        )

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

    def _ratio(self, size: float) -> float:
        return ratio_of(size, self.scale)


def decide(sides: Sequence[Sides]) -> tuple[list[Decision], VariancePrior]:
    """The decisions of pairs that are compared together, and what they say of each other's noise."""
    differences = _remembering(sides, [_difference(each) for each in sides])
    prior = _prior(sides, [own for own, _ in differences])
    decided = [own.borrowing(prior, place) for place, (own, _) in enumerate(differences)]
    scales = [scale for _, scale in differences]
    q_values = corrected([None if scale == 0.0 else one for one, scale in zip(decided, scales, strict=True)])
    return [Decision(*each) for each in zip(decided, scales, q_values, strict=True)], prior


def corrected(decided: Sequence[Difference | None]) -> list[float | None]:
    """The p-values of differences corrected for their number; None where nothing is known of one or of its noise."""
    told = [place for place, one in enumerate(decided) if one is not None and one.told]
    p_values = [one.p_value for one in decided if one is not None and one.told]
    found = dict(zip(told, adaptive_benjamini_hochberg(np.array(p_values)).tolist(), strict=True))
    return [found.get(place) for place in range(len(decided))]


def on_scale(sides: Sides) -> tuple[FloatArray, FloatArray, float | None]:
    """The values of both as they are compared: logarithms, or divided by the scale, which is None for logarithms."""
    before, after = sides.before.values, sides.after.values
    if min(before.min(), after.min()) > 0.0:
        return np.log(before), np.log(after), None
    scale = abs(float(before.mean()))
    return before / (scale or 1.0), after / (scale or 1.0), scale


def ratio_of(size: float, scale: float | None) -> float:
    """The ratio of the second to the first that a difference on that scale is."""
    return math.exp(size) if scale is None else 1.0 + size


def _difference(sides: Sides) -> tuple[Difference, float | None]:
    before, after, scale = on_scale(sides)
    return difference(before, after), scale


def _prior(sides: Sequence[Sides], differences: Sequence[Difference]) -> VariancePrior:
    """Along how unsteady a pair's runs are within, on average, where all runs are long enough to tell."""
    unsteady = np.array([np.mean([*each.before.unsteady, *each.after.unsteady]) for each in sides])
    related = [] if np.isnan(unsteady).any() else [np.log(unsteady)]
    variances = np.array([each.variance for each in differences])
    return variance_prior(variances, np.array([each.df for each in differences]), related)


def _remembering(
    sides: Sequence[Sides], differences: Sequence[tuple[Difference, float | None]]
) -> list[tuple[Difference, float | None]]:
    """The differences with what earlier samples say of their noise, each about its own mean."""
    if not any(each.earlier for each in sides):
        return list(differences)
    known = [_earlier(each, scale) for each, (_, scale) in zip(sides, differences, strict=True)]
    variances, df = (np.array([getattr(own, name) for own, _ in differences]) for name in ("variance", "own"))
    found = earlier_variances(variances, df, *(np.array(part) for part in zip(*known, strict=True)))
    return [
        (own.remembering(float(variance), float(worth)), scale)
        for (own, scale), variance, worth in zip(differences, *found, strict=True)
    ]


def _earlier(sides: Sides, scale: float | None) -> tuple[float, float]:
    """The pooled variance of earlier samples, on the scale of the difference, and its degrees of freedom."""
    values = [each.values for each in sides.earlier if scale is not None or each.values.min() > 0.0]
    scaled = [np.log(each) if scale is None else each / (scale or 1.0) for each in values]
    df = sum(len(each) - 1 for each in scaled)
    squares = sum(float(((each - each.mean()) ** 2).sum()) for each in scaled)
    return (squares / df, float(df)) if df else (0.0, 0.0)
