"""The interpretations that the SPL paper prints: a relation holds unless it is rejected. They know no margin."""

from __future__ import annotations

import math

import numpy as np

from hati.core import FloatArray
from hati.formula import Comparator
from hati.logic.interpret.bootstrap import resampled
from hati.logic.interpret.contrast import (
    Contrast,
    SideMean,
    Test,
    detectable_of,
    estimate_of,
    interval_of,
    limit_mean,
    scale_of,
)
from hati.logic.interpret.relation import AskedRelation, FormulaVerdict, Limit, MeasuredSample, RelationEvidence

DRAWS = 10_000
"""Of the distribution of a difference of means."""


def welch(left: MeasuredSample, right: MeasuredSample | Limit, relation: AskedRelation) -> RelationEvidence:
    """Definition 4.5: Welch's t-test on all observations, whatever their run."""
    sides = [_observed(side) for side in (left, right)]
    if any(side.size == 1 for side in sides):
        return _undefined(left, right, "Welch's test needs two observations of each side")
    contrast = Contrast(*sides)
    return _printed_evidence(contrast, contrast.left.mean, contrast.right.mean, left, right, relation)


def parametric(left: MeasuredSample, right: MeasuredSample | Limit, relation: AskedRelation) -> RelationEvidence:
    """Definition 4.8 as printed, where S^2 counts twice and z stands for t.

    Of one run, or of one observation of each, it is not defined.
    """
    if any(isinstance(side, MeasuredSample) and not _nested(side) for side in (left, right)):
        return _undefined(left, right, "Definition 4.8 needs two runs of each side, and two observations of each run")
    contrast = Contrast(*(_two_level(side) for side in (left, right)))
    return _printed_evidence(contrast, contrast.left.mean, contrast.right.mean, left, right, relation)


def nonparametric(
    left: MeasuredSample,
    right: MeasuredSample | Limit,
    relation: AskedRelation,
    rng: np.random.Generator,
    draws: int = DRAWS,
) -> RelationEvidence:
    """Definition 4.10: beyond the quantiles of means of resampled runs of the histories, shifted to one mean.

    Of a side without a history its own runs are resampled.
    """
    test = resampled(left, right, rng, draws)
    return _printed_evidence(test, test.left, test.right, left, right, relation)


def _printed_evidence(
    test: Test,
    left: float,
    right: float,
    first: MeasuredSample,
    second: MeasuredSample | Limit,
    relation: AskedRelation,
) -> RelationEvidence:
    """``>=`` is ``<=`` with the sides exchanged (axiom 5); ``<`` holds where ``>=`` is rejected, as the original
    tool has it.

    Equality is rejected where either is: at 2 alpha in all.
    """
    sizes = len(first.runs), 0 if isinstance(second, Limit) else len(second.runs)
    scale = scale_of(left, right, sizes)
    above, below = test.above(1.0), test.below(1.0)
    holds, violated = {
        Comparator.AT_MOST: (below, above),
        Comparator.LESS: (below, above),
        Comparator.AT_LEAST: (above, below),
        Comparator.MORE: (above, below),
        Comparator.EQUAL: (1.0, min(1.0, 2.0 * min(above, below))),
    }[relation.sign]
    level = printed_level(relation.sign, relation.alpha)
    kept = holds <= level if relation.sign.strict else violated > level
    return RelationEvidence(
        verdict=FormulaVerdict.HOLDS if kept else FormulaVerdict.VIOLATED,
        scale=scale,
        estimate=estimate_of(left, right, scale),
        runs=sizes,
        p_holds=holds,
        p_violated=violated,
        interval=interval_of(test, left, right, scale, relation.alpha),
        detectable=detectable_of(test, AskedRelation(Comparator.AT_MOST, alpha=relation.alpha), right, scale),
        remembered=sum(len(side.history) for side in (first, second) if isinstance(side, MeasuredSample)),
    )


def printed_level(sign: Comparator, alpha: float) -> float:
    """The level at which a relation is rejected: twice alpha for equality, which is two relations."""
    return 2.0 * alpha if sign is Comparator.EQUAL else alpha


def _observed(side: MeasuredSample | Limit) -> SideMean:
    """Of all observations."""
    if isinstance(side, Limit):
        return limit_mean(side.value)
    values: FloatArray = np.concatenate(side.runs)
    variance = float(values.var(ddof=1)) if len(values) > 1 else 0.0
    return SideMean(float(values.mean()) + side.offset, variance, len(values), len(values) - 1.0)


def _two_level(side: MeasuredSample | Limit) -> SideMean:
    """With the variance (o R^2 + S^2) / o of a run, known: (o R^2 + S^2) / (r o) is that of the mean.

    For runs of several sizes S^2 / o is the mean of each run's.
    """
    if isinstance(side, Limit):
        return limit_mean(side.value)
    within = float(np.mean([run.var(ddof=1) / len(run) for run in side.runs]))
    return SideMean(float(side.means.mean()), float(side.means.var(ddof=1)) + within, len(side.runs), math.inf)


def _nested(side: MeasuredSample) -> bool:
    return len(side.runs) > 1 and all(len(run) > 1 for run in side.runs)


def _mean(side: MeasuredSample | Limit) -> float:
    return side.value if isinstance(side, Limit) else float(side.means.mean())


def _undefined(left: MeasuredSample, right: MeasuredSample | Limit, why: str) -> RelationEvidence:
    sizes = len(left.runs), 0 if isinstance(right, Limit) else len(right.runs)
    means = _mean(left), _mean(right)
    scale = scale_of(*means, sizes)
    return RelationEvidence(FormulaVerdict.INCONCLUSIVE, scale, estimate_of(*means, scale), sizes, remark=why)
