"""The default interpretation: the run is the unit, and what is not shown is INCONCLUSIVE; and all interpretations
by their names.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np
from msgspec import Struct

from hati.core import InputError, replace
from hati.formula import Comparator
from hati.logic.interpret.contrast import (
    BesideLimit,
    Contrast,
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
from hati.logic.interpret.historical_variance import history_of, remembering
from hati.logic.interpret.printed import nonparametric, parametric, welch
from hati.logic.interpret.relation import AskedRelation, FormulaVerdict, Limit, MeasuredSample, RelationEvidence

FEWEST_RUNS = 5
"""Of a side without a history: t on fewer run means errs too often where they have two modes."""
_SHORTEST_HISTORY = 10
"""A history of fewer runs tells too little of how run means are distributed."""
_ALONE = 100
"""From as long a history on one run of a side is enough, else two."""
_LEVEL = 0.01
"""At smaller ones it takes a longer history in proportion, as what is rarer is in fewer, and spares none of now."""
_ROUNDING = 1e-9


def decide(
    left: MeasuredSample, right: MeasuredSample | Limit, relation: AskedRelation, rng: np.random.Generator
) -> RelationEvidence:
    """What run means show of a relation.

    ``<=`` HOLDS where it is shown at alpha that left < right (1 + margin), and is VIOLATED where it is shown that
    left > right (1 + margin): with the truth there each is told in at most alpha of all cases. ``>=`` is ``<=`` with
    the sides exchanged. ``=`` HOLDS where both are shown (Schuirmann 1987), and is VIOLATED where it is shown at alpha
    that either is violated. ``<`` and ``>`` have their bound at 1.

    By Student's t with Welch's degrees of freedom, and from ten earlier runs on by ``remembering``. Fewer than five
    runs of a side show nothing; with a history two suffice, and one from 100 earlier runs on. At an alpha below 1 % a
    history has to be longer in proportion, and spares no runs. The generator is for what is drawn with it. Beside a
    limit runs may be skewed, fewer than ``fewest_alone`` show nothing, and a history is not used: it tells nothing of
    what is rarer than one of its runs, and skewness cancels only between two sides.

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
    """The test of two sides, with what more runs would make of it, from how many, and what else tells of the noise."""

    test: Test
    contrast: Contrast
    fewest: int
    remembered: int


def tested(
    left: MeasuredSample, right: MeasuredSample | Limit, alpha: float, rng: np.random.Generator
) -> Tested | None:
    """What the default interpretation rests on; None where there are too few runs."""
    if isinstance(right, Limit):
        return _beside_limit(left, right, alpha)
    fewest = min(len(left.runs), len(right.runs))
    remembered = history_of(left, right)
    least = _fewest_beside(remembered, alpha)
    if remembered * min(alpha / _LEVEL, 1.0) >= _SHORTEST_HISTORY - _ROUNDING and fewest >= least:
        return Tested(*remembering(left, right, alpha, rng), least, remembered)
    if fewest < FEWEST_RUNS:
        return None
    contrast = Contrast(side_mean(left.means), side_mean(right.means))
    return Tested(contrast, contrast, FEWEST_RUNS, 0)


def _fewest_beside(history: int, alpha: float) -> int:
    if alpha < _LEVEL:
        return FEWEST_RUNS
    return 1 if history >= _ALONE else 2


def _beside_limit(left: MeasuredSample, right: Limit, alpha: float) -> Tested | None:
    """Of fewer runs than decide anything, too: what they tell is how many more it takes."""
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
    """The runs needed are then the fewest that decide anything: little is known of how runs vary."""
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
    """What an interpretation says of a relation.

    Raises:
        InputError: where the default is asked for equality without a margin.
    """
    if by is Interpretation.WELCH:
        return welch(left, right, relation)
    if by is Interpretation.PARAMETRIC:
        return parametric(left, right, relation)
    if by is Interpretation.NONPARAMETRIC:
        return nonparametric(left, right, relation, rng)
    return decide(left, right, relation, rng)
