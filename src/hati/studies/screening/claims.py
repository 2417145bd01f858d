"""What a design's rows say of single options, which flips may refute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from hati.core import Evidence
from hati.stats import PERMUTATIONS, f_above
from hati.studies.screening.flips import Ends
from hati.studies.screening.model_analysis import ModelAnalysis, ModelEffect
from hati.studies.screening.model_fit import Contrast

if TYPE_CHECKING:
    from hati.space import Space

_TWO_LEVEL = 2
_LEAST = 1.0 / (1.0 + PERMUTATIONS)
"""The smallest p-value that permutations give."""


class Claim(Struct, frozen=True):
    """What a design's rows say of an option: the change between its ``ends``, on the deciding scale.

    ``p_value`` is that of the option's effect, study-wise: by permutations, and where it is the smallest that these
    give by the distribution of F (Scheffe 1953), times the number of options.
    """

    option: str
    ends: Ends
    change: Contrast
    p_value: float

    @property
    def certainty(self) -> float:
        """The change in its standard errors."""
        error = self.change.standard_error
        return abs(self.change.estimate) / error if error else float("inf")


Claims = Callable[[Evidence], Sequence[Claim]]
"""The claims of a design's rows, which are looked for only where they are needed."""


def claim_of(found: ModelEffect, analysis: ModelAnalysis, space: Space) -> Claim | None:
    """What an effect claims; None for interactions, and where the rows do not distinguish the settings."""
    if len(found.term) > 1 or found.decided.standard_error is None or found.p_value is None:
        return None
    option = space.options[found.term[0]]
    means = analysis.judged.settings(found.term[0])
    low, high = 0, 1
    if len(option.settings) > _TWO_LEVEL:
        ordered = sorted(means, key=lambda place: means[place].estimate)
        low, high = ordered[0], ordered[-1]
    ends = option.settings[low], option.settings[high]
    smallest = len(space.names) * _by_f(found.decided, len(option.settings) - 1, analysis.judged.df)
    p_value = found.p_value if found.p_value > _LEAST else min(found.p_value, smallest)
    return Claim(option.name, ends, found.decided, p_value)


def _by_f(change: Contrast, freedom: int, df: int) -> float:
    """The p-value of a difference of the extremes among one setting more than ``freedom``."""
    if not change.standard_error or df < 1:
        return 0.0
    squares = (change.estimate / change.standard_error) ** 2
    return float(f_above(np.array([squares / freedom]), freedom, df)[0])
