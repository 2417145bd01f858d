"""What a difference says, once its noise and the other differences are known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hati.core import Better
from hati.stats import Difference, adaptive_benjamini_hochberg
from hati.studies.comparison.conclusion import Change, Verdict
from hati.studies.comparison.question import Question

POWER = 0.8


@dataclass(frozen=True)
class Scale:
    """How a difference is a ratio: of logarithms where ``unit`` is None, else of values divided by a ``unit``.

    A unit of zero makes no ratio.
    """

    unit: float | None

    def ratio(self, size: float) -> float:
        """The second over the first."""
        return math.exp(size) if self.unit is None else 1.0 + size


def p_value(decided: Difference) -> float | None:
    """That of no difference; None where nothing is known of the noise."""
    return decided.p_value if decided.told else None


def corrected(p_values: Sequence[float | None]) -> list[float | None]:
    """The p-values corrected for their number (false discovery rate); None, where nothing is known, stays None."""
    told = [place for place, p_value in enumerate(p_values) if p_value is not None]
    adjusted = adaptive_benjamini_hochberg(np.array([p_values[place] for place in told], dtype=np.float64))
    found = dict(zip(told, adjusted.tolist(), strict=True))
    return [found.get(place) for place in range(len(p_values))]


def judged(decided: Difference, q_value: float | None, question: Question, scale: Scale, better: Better) -> Change:
    """The change of one pair; ``q_value`` is None where nothing is known of its noise."""
    known = q_value is not None
    width = decided.half_width(1.0 - question.alpha)
    detectable = decided.detectable(question.alpha, POWER) if known else math.inf
    return Change(
        verdict=_verdict(decided, q_value, question, better),
        ratio=None if scale.unit == 0.0 else scale.ratio(decided.estimate),
        interval=(scale.ratio(decided.estimate - width), scale.ratio(decided.estimate + width)) if known else None,
        p_value=decided.p_value if known else None,
        q_value=q_value,
        detectable=scale.ratio(detectable) - 1.0 if math.isfinite(detectable) else None,
        runs_needed=decided.runs_needed(question.alpha, -question.limit, question.limit) if known else None,
    )


def _verdict(decided: Difference, q_value: float | None, question: Question, better: Better) -> Verdict:
    if q_value is None:
        return Verdict.INCONCLUSIVE
    if decided.within(-question.limit, question.limit) <= question.alpha:
        return Verdict.SAME
    if q_value > question.alpha:
        return Verdict.INCONCLUSIVE
    worse = decided.estimate > 0.0 if better is Better.LOWER else decided.estimate < 0.0
    return Verdict.SLOWER if worse else Verdict.FASTER
