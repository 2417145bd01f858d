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
    critical_p_value,
    difference,
    earlier_variances,
    t_quantile,
    variance_prior,
)
from hati.studies.comparison.conclusion import Change, Verdict
from hati.studies.comparison.question import Question
from hati.studies.comparison.statistic import RunValues

POWER = 0.8
_LARGEST = 700.0
"""The logarithm of the largest ratio."""


class Sides(NamedTuple):
    """The run values of two samples, and of earlier ones of the same, all in one unit."""

    before: RunValues
    after: RunValues
    earlier: tuple[RunValues, ...] = ()


class Decision(NamedTuple):
    """The difference of a pair with what all pairs say of its noise.

    It is of logarithms, or where ``scale`` is given of values divided by that, the size of the first mean, unless
    that is zero. ``q_value`` is the p-value corrected for all pairs, None where nothing is known of the noise;
    ``level`` is the largest p-value that would be told beside the others.
    """

    decided: Difference
    scale: float | None
    q_value: float | None
    level: float

    def change(self, question: Question, better: Better) -> Change:
        """What is told of it; ratios of a first mean of zero are None."""
        decided, verdict = self.decided, self.verdict(question, better)
        if self.q_value is None:
            return Change(verdict, None if self.scale == 0.0 else _finite(self._ratio(decided.estimate)))
        if self.scale == 0.0:
            return Change(verdict, p_value=decided.p_value, q_value=self.q_value)
        width = decided.half_width(1.0 - question.alpha)
        low, high = self._ratio(decided.estimate - width), self._ratio(decided.estimate + width)
        return Change(
            verdict=verdict,
            ratio=_finite(self._ratio(decided.estimate)),
            interval=(low, high) if math.isfinite(high) else None,
            p_value=decided.p_value,
            q_value=self.q_value,
            detectable=_finite(self._ratio(self._detectable(question)) - 1.0),
            runs_needed=decided.runs_needed(question.alpha, -question.limit, question.limit, self.level),
        )

    def verdict(self, question: Question, better: Better) -> Verdict:
        """The same where two one-sided tests say so, else a change where it is significant over all pairs."""
        if self.q_value is None:
            return Verdict.INCONCLUSIVE
        if self._same(question):
            return Verdict.SAME
        if self.q_value > question.alpha:
            return Verdict.INCONCLUSIVE
        worse = self.decided.estimate > 0.0 if better is Better.LOWER else self.decided.estimate < 0.0
        return Verdict.SLOWER if worse else Verdict.FASTER

    def _same(self, question: Question) -> bool:
        """No margin is a share of a mean of zero: only what never differs is the same as that."""
        if self.scale == 0.0:
            return self.decided.estimate == self.decided.standard_error == 0.0
        return self.decided.within(-question.limit, question.limit) <= question.alpha

    def _detectable(self, question: Question) -> float:
        """What is significant with the power, and not shown to be within the margin."""
        decided = self.decided
        apart = t_quantile(1.0 - question.alpha, decided.df) - t_quantile(POWER, decided.df)
        return max(decided.detectable(self.level, POWER), question.limit - apart * decided.standard_error)

    def _ratio(self, size: float) -> float:
        return ratio_of(size, self.scale)


def decide(sides: Sequence[Sides], question: Question) -> tuple[list[Decision], VariancePrior]:
    """The decisions of pairs that are compared together, and what they say of each other's noise."""
    differences = _remembering(sides, [_difference(each) for each in sides])
    prior = _prior(sides, [own for own, _ in differences])
    decided = [own.borrowing(prior, place) for place, (own, _) in enumerate(differences)]
    corrections = corrected(decided, question.alpha)
    scales = [scale for _, scale in differences]
    return [Decision(own, scale, *rest) for own, scale, rest in zip(decided, scales, corrections, strict=True)], prior


def corrected(decided: Sequence[Difference | None], alpha: float) -> list[tuple[float | None, float]]:
    """The p-values of differences corrected for their number, and the largest that each could have to be told at alpha.

    None where nothing is known of a difference or of its noise.
    """
    told = [place for place, one in enumerate(decided) if one is not None and one.told]
    p_values = np.array([one.p_value for one in decided if one is not None and one.told])
    adjusted = adaptive_benjamini_hochberg(p_values).tolist()
    levels = [critical_p_value(np.delete(p_values, place), alpha) for place in range(len(told))]
    found = dict(zip(told, zip(adjusted, levels, strict=True), strict=True))
    return [found.get(place, (None, alpha)) for place in range(len(decided))]


def on_scale(sides: Sides) -> tuple[FloatArray, FloatArray, float | None]:
    """The values of both as they are compared: logarithms, or divided by the scale, which is None for logarithms."""
    before, after = sides.before.values, sides.after.values
    if min(before.min(), after.min()) > 0.0:
        return np.log(before), np.log(after), None
    scale = abs(float(before.mean()))
    return before / (scale or 1.0), after / (scale or 1.0), scale


def ratio_of(size: float, scale: float | None) -> float:
    """The ratio of the second to the first that a difference on that scale is; infinite beyond what numbers hold."""
    if scale is not None:
        return 1.0 + size
    return math.exp(size) if size < _LARGEST else math.inf


def spread_of(width: float, mean: float, scale: float | None) -> float | None:
    """The half-width of a mean's interval on that scale as a fraction of it; None where there is none."""
    if not math.isfinite(width) or (scale is not None and mean == 0.0):
        return None
    return width if scale is None else width * (scale or 1.0) / abs(mean)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


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
