"""Which kind of design suits a space, and the study that goes with it."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import numpy as np

from hati.core import Benchmark, InputError, Metric, StudyId
from hati.design import check_two_level
from hati.studies.screening.choice import Choice, choose
from hati.studies.screening.choice import repeated_from as fraction_repeated_from
from hati.studies.screening.forecast import RELEVANT
from hati.studies.screening.model_choice import ModelChoice, choose_optimal
from hati.studies.screening.model_study import ModelScreening
from hati.studies.screening.remedies import OF_PROGRAMS, Remedies
from hati.studies.screening.study import Screening

if TYPE_CHECKING:
    from hati.space import Space

AnyChoice = Choice | ModelChoice
AnyScreening = Screening | ModelScreening

_MUCH = 0.75
"""A fraction that cannot be repeated has to use this part of the runs."""


def choose_design(space: Space, runs: int, rng: np.random.Generator, most: float = math.inf) -> AnyChoice:
    """The design and the repetitions that so many runs buy on a space.

    Where all options have two settings and all combinations are valid, a fraction of minimum aberration; else a
    Bayesian D-optimal design. So too where configurations have at ``most`` one run (in a table) and the largest
    fraction would leave more than a quarter of the runs unused.

    Raises:
        InputError: where the runs are too few.
    """
    if not space.options:
        raise InputError("there is no option to screen", fix="add options with two or more settings each")
    if not suits_two_levels(space):
        return choose_optimal(space, runs, rng, most)
    fraction = choose(len(space.options), runs, most)
    everything = 2 ** len(space.options)
    if fraction.runs >= _MUCH * min(runs, everything) or most > 1:
        return fraction
    return choose_optimal(space, runs, rng, most)


def repeated_from(space: Space, most: float = math.inf) -> int | None:
    """The budget from which on `choose_design` repeats every configuration of a two-level fraction; None if none."""
    return fraction_repeated_from(len(space.options), most) if suits_two_levels(space) else None


def suits_two_levels(space: Space) -> bool:
    """Whether a two-level design fits the space as it is."""
    try:
        check_two_level(space)
    except InputError:
        return False
    return True


def read_choice(text: str) -> AnyChoice:
    """Read what ``to_json`` of a choice wrote.

    Raises:
        InputError: for anything else.
    """
    try:
        optimal = "rows" in json.loads(text)
    except (ValueError, TypeError) as error:
        raise InputError(f"no stored choice of a design: {text[:60]!r}", fix="start afresh with --fresh") from error
    return ModelChoice.from_json(text) if optimal else Choice.from_json(text)


def screening(
    *,
    study: StudyId,
    subject: str,
    benchmark: Benchmark,
    metric: Metric,
    revision: str,
    space: Space,
    choice: AnyChoice,
    relevant: float = RELEVANT,
    remedies: Remedies = OF_PROGRAMS,
) -> AnyScreening:
    """The study of a choice."""
    if isinstance(choice, ModelChoice):
        return ModelScreening(
            study, subject, benchmark, metric, revision, space, choice, relevant=relevant, remedies=remedies
        )
    return Screening(study, subject, benchmark, metric, revision, space, choice, relevant=relevant, remedies=remedies)
