"""Rates of simulated errors, judged as soon as they are clear: Wald's sequential probability ratio test.

A. Wald, Sequential Tests of Statistical Hypotheses, Ann. Math. Stat. 16 (1945), 117-186.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

MISTAKEN, MISSED = 0.01, 0.05
"""Probabilities at most, up to the overshoot: that a rate of ``level`` is refused; that one of ``too_high`` is kept."""


class Kept(NamedTuple):
    """Whether a rate is kept, and the errors among the trials that it took."""

    held: bool
    errors: int
    trials: int


def keeps(errors: Iterable[bool], level: float, too_high: float) -> Kept:
    """Whether errors are as rare as ``level``, rather than as frequent as ``too_high``; if unclear, they are not."""
    accept, refuse = math.log(MISSED / (1.0 - MISTAKEN)), math.log((1.0 - MISSED) / MISTAKEN)
    steps = math.log((1.0 - too_high) / (1.0 - level)), math.log(too_high / level)
    ratio, found, trials = 0.0, 0, 0
    for error in errors:
        found, trials = found + error, trials + 1
        ratio += steps[error]
        if ratio <= accept or ratio >= refuse:
            break
    return Kept(ratio <= accept, found, trials)
