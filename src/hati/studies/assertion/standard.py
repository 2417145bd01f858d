"""By what formulas are judged."""

from __future__ import annotations

from msgspec import Struct

from hati.core import InputError, Stopping
from hati.logic.interpret import ALPHA, MARGIN, Interpretation


class Standard(Struct, frozen=True):
    """An interpretation, the level of each relation and of alarms together, and the margin of what is not strict.

    ``stopping`` is ``ANYTIME`` where runs were made in rounds and looked at after each: both sides of a relation then
    are paired by their rounds. ``seed`` is of the draws that interpretations with histories make.

    Raises:
        InputError: for a level or a margin that is none.
    """

    interpretation: Interpretation = Interpretation.DEFAULT
    alpha: float = ALPHA
    margin: float = MARGIN
    seed: int = 1
    stopping: Stopping = Stopping.FIXED

    def __post_init__(self) -> None:
        if not 0.0 < self.alpha < 0.5:
            raise InputError(
                f"--alpha {self.alpha:g} is not a valid level", fix="write one such as 1% or 0.01, below 50%"
            )
        if not 0.0 <= self.margin < 1.0:
            raise InputError(
                f"--margin {self.margin:g} is not a valid margin", fix="write one such as 2% or 0.02, below 100%"
            )
