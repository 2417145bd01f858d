"""The alarms of a whole set of formulas."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hati.logic.interpret.evidence import Judged
from hati.logic.interpret.verdict import Verdict
from hati.stats import benjamini_hochberg


def alarms(found: Sequence[Judged], alpha: float) -> list[Verdict]:
    """The verdicts of formulas that are judged together, at one level.

    Of those that stay VIOLATED at most a share alpha is so falsely, on average (Benjamini and Hochberg 1995); where the
    p-value does not suffice among so many, a formula is INCONCLUSIVE. What holds is left as it is.
    """
    if not found:
        return []
    adjusted = benjamini_hochberg(np.array([each.p_violated for each in found]))
    return [
        Verdict.INCONCLUSIVE if each.verdict is Verdict.VIOLATED and not q <= alpha else each.verdict
        for each, q in zip(found, adjusted.tolist(), strict=True)
    ]
