"""What a screening will find, corrected as its runs come in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hati.core import InputError, Metric, Run, conversion
from hati.knowledge import FEWEST_LEFT, SumsOfSquares, Variation, variation
from hati.studies.screening.choosing import AnyChoice
from hati.studies.screening.forecast import RELEVANT, expected_detectable
from hati.studies.screening.tasks import STAGE

CHECKED = (0.25, 0.5, 0.75)
"""After these fractions of a design's runs it is said what the screening will find."""
MISSED = 1.5
"""A promise is missed where what will be found is so many times as large."""


@dataclass(frozen=True)
class Outlook:
    """After so many ``runs`` of ``planned`` the smallest effect that will be found with 80 % power, a fraction.

    ``deviation`` is that of a configuration about the main effects, a fraction.
    """

    runs: int
    planned: int
    detectable: float
    deviation: float

    def misses(self, promised: float) -> bool:
        """Whether an effect of the promised size will not be found."""
        return self.detectable > MISSED * promised


def is_checked(runs: int, planned: int) -> bool:
    """Whether it is time to say what a screening will find."""
    return runs in {round(part * planned) for part in CHECKED}


def outlook(choice: AnyChoice, runs: Sequence[Run], metric: Metric, relevant: float = RELEVANT) -> Outlook | None:
    """What the runs of a design that are made let expect of all; None where they are too few to tell.

    By what main effects leave of the variance between configurations: an effect is told from that.
    """
    made = [run for run in runs if run.task.stage == STAGE]
    values = [(run.task.configuration, own) for run in made if (own := run.of(metric.name)) is not None]
    if not values:
        return None
    try:
        numbers = np.array([own.mean * conversion(own.unit, metric.unit) for _, own in values])
    except InputError:
        return None
    found = variation([SumsOfSquares.of([configuration for configuration, _ in values], numbers)], FEWEST_LEFT)
    if found is None:
        return None
    detectable = promised(choice, found, relevant)
    if detectable is None:
        return None
    return Outlook(len(made), choice.runs, detectable, found.deviation(1))


def promised(choice: AnyChoice, known: Variation, relevant: float = RELEVANT) -> float | None:
    """The smallest main effect that a design finds with 80 % power, where the metric varies as known."""
    return expected_detectable(choice, known.deviation(choice.repetitions), relevant=relevant)
