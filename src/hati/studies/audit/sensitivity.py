"""The change that it takes for an alarm."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hati.core import FloatArray
from hati.stats import t_quantile
from hati.studies.comparison import Decision, Question, ratio_of

POWER = 0.8


def smallest_changes(decisions: Sequence[Decision], question: Question) -> FloatArray:
    """For each pair the change of its second sample, as a fraction, from which on it is called larger than the first.

    It alone is changed, the others staying as they are; every run by the same factor, or where values are compared as
    they are by the same part of the first mean. Infinite where nothing is known of the noise. Shape (pairs,).
    """
    found = [_smallest(each, question) for each in decisions]
    return np.array(found, dtype=np.float64)


def found_mostly(changes: FloatArray, power: float = POWER) -> float | None:
    """The smallest change that is found in that share of cases; None where none is."""
    least = float(np.sort(changes, axis=None)[math.ceil(power * changes.size) - 1])
    return least if math.isfinite(least) else None


def same_though_changed(decision: Decision, question: Question) -> bool:
    """Whether two are called the same where the second is larger by the margin than it is."""
    if decision.q_value is None or decision.scale == 0.0:
        return False
    return decision.shifted(question.limit).within(question) <= question.alpha


def _smallest(decision: Decision, question: Question) -> float:
    if decision.q_value is None or decision.scale == 0.0:
        return math.inf
    decided = decision.decided
    not_the_same = min(
        question.limit - t_quantile(1.0 - question.alpha, part.df) * part.standard_error - part.estimate
        for part in decision.levels
    )
    shift = max(-decided.estimate, decided.significant(decision.own_level) - decided.estimate, not_the_same)
    return max(0.0, ratio_of(shift, decision.scale) - 1.0)
