"""What is asked of two means."""

from __future__ import annotations

import math
from enum import StrEnum

from msgspec import Struct

from hati.core import InputError

ALPHA = 0.01
"""Each way of being wrong, of each relation."""
MARGIN = 0.02
"""Within it a relation that is not strict holds all the same; a fraction of the right mean."""


class Sign(StrEnum):
    """How the left mean is to be to the right one."""

    AT_MOST = "<="
    AT_LEAST = ">="
    BELOW = "<"
    ABOVE = ">"
    EQUAL = "="

    @property
    def strict(self) -> bool:
        """Whether a margin has no meaning."""
        return self in {Sign.BELOW, Sign.ABOVE}


class Bounds(Struct, frozen=True):
    """Where a relation ends, as factors of the right mean: it is that the left is above ``low`` and below ``high``."""

    low: float | None
    high: float | None


class Relation(Struct, frozen=True):
    """A performance relation (SPL paper, Definition 3.4) with its level and its margin.

    ``alpha`` is what HOLDS and VIOLATED each may be wrong in, in (0, 0.5). ``margin`` is relative: ``<=`` is that left
    <= right (1 + margin), ``>=`` the same with the sides exchanged, and ``=`` both. A strict relation has the margin 0.

    Raises:
        InputError: for a level or a margin out of range, and for ``<`` or ``>`` with a margin.
    """

    sign: Sign
    margin: float = 0.0
    alpha: float = ALPHA

    def __post_init__(self) -> None:
        if not 0.0 < self.alpha < 0.5:
            raise InputError(f"a level is between 0 and 0.5, not {self.alpha}", fix="0.01 is usual")
        if not 0.0 <= self.margin < 1.0:
            raise InputError(f"a margin is at least 0 and below 1, not {self.margin}", fix="0.02 is 2 %")
        if self.sign.strict and self.margin:
            raise InputError(f"{self.sign} has no margin", fix=f"use {self.sign}= for one")

    def bounds(self, right: float) -> Bounds:
        """For a right mean, of which only the sign counts: a margin makes room on the far side of what is negative."""
        room = 1.0 + math.copysign(self.margin, right)
        low = None if self.sign in {Sign.AT_MOST, Sign.BELOW} else 1.0 / room
        high = None if self.sign in {Sign.AT_LEAST, Sign.ABOVE} else room
        return Bounds(low, high)


class Limit(Struct, frozen=True):
    """A right side that is no measurement: an absolute limit, in the left side's unit.

    Raises:
        InputError: where it is not finite.
    """

    value: float

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise InputError(f"a limit is a finite number, not {self.value}")
