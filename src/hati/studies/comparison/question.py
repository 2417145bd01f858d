"""What is asked of two samples."""

from __future__ import annotations

import math

from msgspec import Struct

from hati.core import InputError
from hati.studies.comparison.statistic import MEAN, Automatic, Statistic

ALPHA = 0.01
MARGIN = 0.05


class Question(Struct, frozen=True):
    """What is asked: changes at the level ``alpha``, equality within a ``margin``, of a ``statistic`` of runs.

    ``AUTO`` chooses a statistic for each benchmark and metric.

    Raises:
        InputError: for an alpha or a margin that is not between 0 and 1.
    """

    alpha: float = ALPHA
    margin: float = MARGIN
    statistic: Statistic | Automatic = MEAN

    def __post_init__(self) -> None:
        if not 0.0 < self.alpha < 1.0:
            raise InputError(f"alpha is a probability between 0 and 1, not {self.alpha:g}", fix="write 0.01")
        if not 0.0 < self.margin < 1.0:
            raise InputError(f"the margin is between 0 and 100 %, not {self.margin:g}", fix="write 5%")

    @property
    def fixed(self) -> Statistic:
        """The statistic of a study that chooses none: the mean where none is asked for."""
        return self.statistic if isinstance(self.statistic, Statistic) else MEAN

    @property
    def limit(self) -> float:
        """The margin on the logarithmic scale: slower by it and faster by it are as far from the same."""
        return math.log1p(self.margin)
