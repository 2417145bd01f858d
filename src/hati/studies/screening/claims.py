"""What a design's rows say of single options, which flips may refute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hati.core import Evidence
from hati.studies.screening.flips import Ends
from hati.studies.screening.model_analysis import ModelAnalysis, ModelEffect
from hati.studies.screening.model_fit import Contrast

if TYPE_CHECKING:
    from hati.space import Space

_TWO_LEVEL = 2


@dataclass(frozen=True)
class Claim:
    """What a design's rows say of an option: the change between its ``ends``, on the deciding scale.

    ``p_value`` is that of the option's effect, study-wise.
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
    return Claim(option.name, (option.settings[low], option.settings[high]), found.decided, found.p_value)
