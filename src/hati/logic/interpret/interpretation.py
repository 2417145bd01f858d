"""The interpretations of relations by name.

The default has the run as the unit, and an unproven relation is INCONCLUSIVE. The SPL paper's interpretations accept
a relation unless it is rejected, without margins; they resample (section 4.4 and Definition 4.10), or estimate the
variance of run means from earlier runs too.
"""

from __future__ import annotations

import math
from enum import StrEnum

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, InputError, replace
from hati.formula import Comparator
from hati.logic.interpret.contrast import (
    BesideLimit,
    Contrast,
    SideMean,
    Test,
    detectable_of,
    estimate_of,
    fewest_alone,
    interval_of,
    limit_mean,
    p_values,
    runs_needed,
    scale_of,
    side_mean,
    verdict_of,
)
from hati.logic.interpret.historical_variance import history_of, remembering, resampled
from hati.logic.interpret.relation import (
    AskedRelation,
    FormulaVerdict,
    Limit,
    MeasuredSample,
    RelationEvidence,
)

DRAWS = 10_000
"""Draws of the distribution of a difference of means."""


def welch(left: MeasuredSample, right: MeasuredSample | Limit, relation: AskedRelation) -> RelationEvidence:
    """Definition 4.5: Welch's t-test on all observations, ignoring runs."""
    sides = [_observed(side) for side in (left, right)]
    if any(side.size == 1 for side in sides):
        return _undefined(left, right, "Welch's test needs two observations of each side")
    contrast = Contrast(*sides)
    return _printed_evidence(contrast, contrast.left.mean, contrast.right.mean, left, right, relation)


def parametric(left: MeasuredSample, right: MeasuredSample | Limit, relation: AskedRelation) -> RelationEvidence:
    """Definition 4.8 as printed, where S^2 counts twice and z stands for t.

    It is undefined for one run, or for runs of one observation.
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
    """Definition 4.10: rejection beyond the quantiles of resampled means of the histories, shifted to one mean.

    A side without a history resamples its own runs.
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
    """The evidence by an interpretation of the paper.

    ``>=`` is ``<=`` with the sides exchanged (axiom 5); ``<`` holds if ``>=`` is rejected, as in the original tool.
    Equality is rejected if either is: at 2 alpha in all.
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
    """The level of rejection of a relation: twice alpha for equality, which is two relations."""
    return 2.0 * alpha if sign is Comparator.EQUAL else alpha


def _observed(side: MeasuredSample | Limit) -> SideMean:
    """The mean of all observations."""
    if isinstance(side, Limit):
        return limit_mean(side.value)
    values: FloatArray = np.concatenate(side.runs)
    variance = float(values.var(ddof=1)) if len(values) > 1 else 0.0
    return SideMean(float(values.mean()) + side.offset, variance, len(values), len(values) - 1.0)


def _two_level(side: MeasuredSample | Limit) -> SideMean:
    """The mean with a run's variance (o R^2 + S^2) / o, taken as known; the mean's is (o R^2 + S^2) / (r o).

    For runs of several sizes S^2 / o is averaged over the runs.
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


FEWEST_RUNS = 5
"""For a side without a history: t on fewer run means errs too often if they have two modes."""
_SHORTEST_HISTORY = 10
"""A shorter history determines the distribution of run means too poorly."""
_ALONE = 100
"""With a history of at least this length one run of a side is enough, else two."""
_LEVEL = 0.01
"""At smaller levels the history must be longer in proportion, and saves no runs."""
_ROUNDING = 1e-9


def decide(
    left: MeasuredSample, right: MeasuredSample | Limit, relation: AskedRelation, rng: np.random.Generator
) -> RelationEvidence:
    """The verdict on a relation by run means, with its evidence.

    ``<=`` HOLDS if left < right (1 + margin) is shown at alpha, and is VIOLATED if left > right (1 + margin) is shown:
    with the truth on the bound each has at most probability alpha. ``>=`` is ``<=`` with the sides exchanged. ``=``
    HOLDS if both are shown (Schuirmann 1987), and is VIOLATED if either is shown at alpha to be violated. ``<`` and
    ``>`` have their bound at 1.

    The test is Student's t with Welch's degrees of freedom, and from ten earlier runs on that of ``remembering``. Fewer
    than five runs of a side show nothing; with a history two suffice, and from 100 earlier runs on one. At an alpha
    below 1 % a history must be longer in proportion, and saves no runs. The generator is for randomised
    interpretations. Against a limit runs may be skewed, fewer than ``fewest_alone`` show nothing, and a history is not
    used: it does not show events rarer than one of its runs, and skewness cancels only between two sides.

    Raises:
        InputError: for ``=`` without a margin.
    """
    if relation.sign is Comparator.EQUAL and not relation.margin:
        raise InputError("equality can be shown only with a margin", fix="write a = b +- 2%")
    found = tested(left, right, relation.alpha, rng)
    if found is None:
        return _too_few(left, right, relation.alpha)
    remark = _why(found.fewest, left, right, relation.alpha) if len(left.runs) < found.fewest else ""
    return replace(_evidence(found, relation), remark=remark)


class Tested(Struct, frozen=True, eq=False):
    """The test of two sides, the effect of more runs on it, the minimal runs, and the history behind it."""

    test: Test
    contrast: Contrast
    fewest: int
    remembered: int


def tested(
    left: MeasuredSample, right: MeasuredSample | Limit, alpha: float, rng: np.random.Generator
) -> Tested | None:
    """The test of the default interpretation; None if there are too few runs."""
    if isinstance(right, Limit):
        return _against_limit(left, right, alpha)
    fewest = min(len(left.runs), len(right.runs))
    remembered = history_of(left, right)
    least = _fewest_against(remembered, alpha)
    if remembered * min(alpha / _LEVEL, 1.0) >= _SHORTEST_HISTORY - _ROUNDING and fewest >= least:
        return Tested(*remembering(left, right, alpha, rng), least, remembered)
    if fewest < FEWEST_RUNS:
        return None
    contrast = Contrast(side_mean(left.means), side_mean(right.means))
    return Tested(contrast, contrast, FEWEST_RUNS, 0)


def _fewest_against(history: int, alpha: float) -> int:
    if alpha < _LEVEL:
        return FEWEST_RUNS
    return 1 if history >= _ALONE else 2


def _against_limit(left: MeasuredSample, right: Limit, alpha: float) -> Tested | None:
    """The test against a limit, also for too few runs to decide: these estimate how many more are needed."""
    if len(left.runs) == 1:
        return None
    contrast = BesideLimit(side_mean(left.means), limit_mean(right.value))
    return Tested(contrast, contrast, fewest_alone(alpha), 0)


def _evidence(found: Tested, relation: AskedRelation) -> RelationEvidence:
    left, right = found.contrast.left, found.contrast.right
    scale = scale_of(left.mean, right.mean, (left.size, right.size))
    holds, violated = p_values(found.test, relation.bounds(right.mean))
    verdict = verdict_of(holds, violated, relation.alpha)
    needed = runs_needed(found.contrast, relation, found.fewest)
    if verdict is FormulaVerdict.INCONCLUSIVE and needed is not None:
        needed = max(needed, min(side.size for side in (left, right) if side.size) + 1)
    return RelationEvidence(
        verdict=verdict,
        scale=scale,
        estimate=estimate_of(left.mean, right.mean, scale),
        runs=(left.size, right.size),
        p_holds=holds,
        p_violated=violated,
        interval=interval_of(found.test, left.mean, right.mean, scale, relation.alpha),
        detectable=detectable_of(found.test, relation, right.mean, scale),
        runs_needed=needed,
        remembered=found.remembered,
    )


def _too_few(left: MeasuredSample, right: MeasuredSample | Limit, alpha: float) -> RelationEvidence:
    """The evidence of too few runs: the runs needed are the fewest that decide anything, as the noise is unknown."""
    sizes = len(left.runs), 0 if isinstance(right, Limit) else len(right.runs)
    means = float(left.means.mean()), right.value if isinstance(right, Limit) else float(right.means.mean())
    scale = scale_of(*means, sizes)
    needed = fewest_alone(alpha) if isinstance(right, Limit) else FEWEST_RUNS
    return RelationEvidence(
        verdict=FormulaVerdict.INCONCLUSIVE,
        scale=scale,
        estimate=estimate_of(*means, scale),
        runs=sizes,
        runs_needed=needed,
        remark=_why(needed, left, right, alpha),
    )


def _why(needed: int, left: MeasuredSample, right: MeasuredSample | Limit, alpha: float) -> str:
    if isinstance(right, Limit):
        return f"fewer than {needed} runs{', and an absolute limit uses no history' if left.history else ''}"
    lacking = f", and no history of {_SHORTEST_HISTORY} runs that would do" if alpha >= _LEVEL else ""
    return f"fewer than {needed} runs of a side{lacking}"


class Interpretation(StrEnum):
    """How measurements decide a relation; the last three as printed in the SPL paper, two-valued, without margins."""

    DEFAULT = "default"
    WELCH = "welch"
    PARAMETRIC = "parametric"
    NONPARAMETRIC = "nonparametric"


def interpret(
    by: Interpretation,
    left: MeasuredSample,
    right: MeasuredSample | Limit,
    relation: AskedRelation,
    rng: np.random.Generator,
) -> RelationEvidence:
    """The verdict of an interpretation on a relation, with its evidence.

    Raises:
        InputError: for equality without a margin under the default interpretation.
    """
    if by is Interpretation.WELCH:
        return welch(left, right, relation)
    if by is Interpretation.PARAMETRIC:
        return parametric(left, right, relation)
    if by is Interpretation.NONPARAMETRIC:
        return nonparametric(left, right, relation, rng)
    return decide(left, right, relation, rng)
