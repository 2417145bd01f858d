"""The interpretations by their names."""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from hati.logic.interpret.deciding import decide
from hati.logic.interpret.evidence import Evidence
from hati.logic.interpret.measured import Measured
from hati.logic.interpret.printed import nonparametric, parametric, welch
from hati.logic.interpret.relation import Limit, Relation


class Interpretation(StrEnum):
    """How measurements decide a relation; the last three as printed in the SPL paper, two-valued, without margins."""

    DEFAULT = "default"
    WELCH = "welch"
    PARAMETRIC = "parametric"
    NONPARAMETRIC = "nonparametric"


def interpret(
    by: Interpretation, left: Measured, right: Measured | Limit, relation: Relation, rng: np.random.Generator
) -> Evidence:
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
