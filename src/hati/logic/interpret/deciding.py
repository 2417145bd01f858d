"""The default interpretation: the run is the unit, and what is not shown is INCONCLUSIVE."""

from __future__ import annotations

import numpy as np

from hati.core import InputError
from hati.logic.interpret.contrast import Contrast, SideMean, limit_mean, side_mean
from hati.logic.interpret.evidence import Evidence
from hati.logic.interpret.judging import (
    Test,
    detectable_of,
    estimate_of,
    interval_of,
    p_values,
    runs_needed,
    scale_of,
    verdict_of,
)
from hati.logic.interpret.measured import Measured
from hati.logic.interpret.relation import Limit, Relation, Sign
from hati.logic.interpret.remembering import history_of, remembering
from hati.logic.interpret.verdict import Verdict

FEWEST_RUNS = 5
"""Of a side without a history: t on fewer run means errs too often where they have two modes."""
FEWEST_REMEMBERED = 2
"""Of a side with one."""
SHORTEST_HISTORY = 30
"""A history of fewer runs tells too little of the tails of the distribution of run means."""


def decide(left: Measured, right: Measured | Limit, relation: Relation, rng: np.random.Generator) -> Evidence:
    """What run means show of a relation.

    ``<=`` HOLDS where it is shown at alpha that left < right (1 + margin), and is VIOLATED where it is shown that
    left > right (1 + margin): with the truth there each is told in at most alpha of all cases. ``>=`` is ``<=`` with
    the sides exchanged. ``=`` HOLDS where both are shown (Schuirmann 1987), and is VIOLATED where it is shown at alpha
    that either is violated. ``<`` and ``>`` have their bound at 1.

    By Student's t with Welch's degrees of freedom, and from 30 earlier runs on by ``remembering``. With fewer than five
    runs of a side, two with a history, nothing is shown. The generator is for what is drawn with a history.

    Raises:
        InputError: for ``=`` without a margin.
    """
    if relation.sign is Sign.EQUAL and not relation.margin:
        raise InputError("equality can be shown only with a margin", fix="write a = b +- 2%")
    sizes = len(left.runs), 0 if isinstance(right, Limit) else len(right.runs)
    fewest, remembered = min(size for size in sizes if size), history_of(left, right)
    if remembered >= SHORTEST_HISTORY and fewest >= FEWEST_REMEMBERED:
        test, contrast = remembering(left, right, relation.alpha, rng)
        return told(test, contrast, relation, FEWEST_REMEMBERED, remembered)
    if fewest < FEWEST_RUNS:
        return _too_few(left, right, sizes)
    contrast = Contrast(side_mean(left.means), _right(right))
    return told(contrast, contrast, relation)


def told(
    test: Test, contrast: Contrast, relation: Relation, fewest: int = FEWEST_RUNS, remembered: int = 0
) -> Evidence:
    """The evidence of a test; the contrast has the means and says how runs would change them."""
    left, right = contrast.left.mean, contrast.right.mean
    sizes = contrast.left.size, contrast.right.size
    scale = scale_of(left, right, sizes)
    holds, violated = p_values(test, relation.bounds(right))
    verdict = verdict_of(holds, violated, relation.alpha)
    needed = runs_needed(contrast, relation, fewest)
    if verdict is Verdict.INCONCLUSIVE and needed is not None:
        needed = max(needed, min(size for size in sizes if size) + 1)
    return Evidence(
        verdict=verdict,
        scale=scale,
        estimate=estimate_of(left, right, scale),
        runs=sizes,
        p_holds=holds,
        p_violated=violated,
        interval=interval_of(test, left, right, scale, relation.alpha),
        detectable=detectable_of(test, relation, right, scale),
        runs_needed=needed,
        remembered=remembered,
    )


def _right(right: Measured | Limit) -> SideMean:
    return limit_mean(right.value) if isinstance(right, Limit) else side_mean(right.means)


def _too_few(left: Measured, right: Measured | Limit, sizes: tuple[int, int]) -> Evidence:
    """The runs needed are then the fewest that decide anything: little is known of how runs vary."""
    means = float(left.means.mean()), right.value if isinstance(right, Limit) else float(right.means.mean())
    scale = scale_of(*means, sizes)
    return Evidence(
        verdict=Verdict.INCONCLUSIVE,
        scale=scale,
        estimate=estimate_of(*means, scale),
        runs=sizes,
        runs_needed=FEWEST_RUNS,
        remark=f"fewer than {FEWEST_RUNS} runs of a side, and no history of {SHORTEST_HISTORY} runs",
    )
