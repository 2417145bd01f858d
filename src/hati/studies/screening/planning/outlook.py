"""What a screening will find, corrected as its runs come in."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from hati.core import Evidence, InputError, MeasurementError, Run, conversion
from hati.knowledge import FEWEST_LEFT, SumsOfSquares, Variation, variation
from hati.studies.screening.model_study import ModelScreening
from hati.studies.screening.planning.choosing import AnyChoice, AnyScreening
from hati.studies.screening.planning.forecast import RELEVANT, expected_detectable
from hati.studies.screening.planning.models import ModelChoice
from hati.studies.screening.planning.tasks import STAGE

CHECKED = (0.25, 0.5, 0.75)
"""After these fractions of a design's runs it is said what the screening will find."""
MISSED = 1.5
"""A promise is missed where the detectable effect is this multiple of it."""


class Outlook(Struct, frozen=True):
    """After ``runs`` runs of ``planned`` the smallest effect that will be found with 80 % power, a fraction.

    ``deviation`` is that of a configuration about the effects found so far, a fraction.
    """

    runs: int
    planned: int
    detectable: float
    deviation: float

    def misses(self, promised: float) -> bool:
        """Whether an effect of the promised size will not be found."""
        return self.detectable > MISSED * promised

    def surpasses(self, promised: float) -> bool:
        """Whether effects much smaller than the promised size will be found."""
        return MISSED * self.detectable < promised


def is_checked(runs: int, planned: int) -> bool:
    """Whether it is time to say what a screening will find."""
    return runs in {round(part * planned) for part in CHECKED}


def first_check(choice: AnyChoice) -> int:
    """The runs after which it is first announced: all, where main effects leave no degrees of freedom before."""
    mains = choice.parameters - 1 if isinstance(choice, ModelChoice) else choice.factors
    checks = (round(part * choice.runs) for part in CHECKED)
    return next((runs for runs in checks if runs > mains + FEWEST_LEFT), choice.runs)


def outlook(study: AnyScreening, runs: Sequence[Run]) -> Outlook | None:
    """What the runs of a design that are made let expect of all; None where they are too few.

    By what main effects leave of the variance between configurations, or, where that is less, by what the model does
    that the runs so far support: later ones may distinguish more interactions from noise.
    """
    made = tuple(run for run in runs if run.task.stage == STAGE)
    mains = _by_main_effects(study, made)
    model = None if mains is None else _by_model(study, made)
    return mains if mains is None or model is None else min(mains, model, key=lambda each: each.detectable)


def _by_main_effects(study: AnyScreening, made: Sequence[Run]) -> Outlook | None:
    values = [(run, own) for run in made if (own := run.of(study.metric.name)) is not None]
    if not values:
        return None
    try:
        numbers = np.array([own.mean * conversion(own.unit, study.metric.unit) for _, own in values])
    except InputError:
        return None
    runs = [run for run, _ in values]
    sums = SumsOfSquares.by_machine([run.task.configuration for run in runs], numbers, [run.machine for run in runs])
    found = variation(sums, FEWEST_LEFT)
    if found is None:
        return None
    detectable = promised(study.choice, found, study.relevant)
    if detectable is None:
        return None
    return Outlook(len(made), study.choice.runs, detectable, found.deviation(1))


def _by_model(study: AnyScreening, made: tuple[Run, ...]) -> Outlook | None:
    """Standard errors fall with the square root of the runs that are to come."""
    if not isinstance(study, ModelScreening):
        return None
    try:
        analysis = study.analysis(study.measured(Evidence(made)))
    except (InputError, MeasurementError):
        return None
    if analysis.detectable is None or analysis.judged.df < FEWEST_LEFT:
        return None
    shrinks = math.sqrt(len(made) / study.choice.runs)
    detectable = math.expm1(math.log1p(analysis.detectable[1]) * shrinks)
    deviation = analysis.readable.relative(math.sqrt(analysis.judged.variance or 0.0))
    return Outlook(len(made), study.choice.runs, detectable, deviation)


def promised(choice: AnyChoice, known: Variation, relevant: float = RELEVANT) -> float | None:
    """The smallest main effect that a design finds with 80 % power, where the metric varies as known."""
    return expected_detectable(choice, known.deviation(choice.repetitions), relevant=relevant)
