"""One of many looks at runs."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from hati.core import FloatArray


class Path(Protocol):
    """The p-values of looks from ``fewest`` runs on."""

    @property
    def fewest(self) -> int:
        """Runs of a side before the first look."""
        ...

    def path(self, bound: float, direction: int) -> FloatArray:
        """Up to each look, shape (looks,): of a left mean of at most bound right (1), or of at least (-1)."""
        ...


class Look(Struct, frozen=True):
    """After ``size`` runs of a side: the p-values of all looks up to it together, 1 before the first."""

    runs: Path
    size: int

    def above(self, bound: float) -> float:
        """The p-value of left <= bound right."""
        return self._p_value(bound, 1)

    def below(self, bound: float) -> float:
        """The p-value of left >= bound right."""
        return self._p_value(bound, -1)

    def _p_value(self, bound: float, direction: int) -> float:
        look = self.size - self.runs.fewest
        return float(self.runs.path(bound, direction)[look]) if look >= 0 else 1.0
