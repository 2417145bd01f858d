"""Which design a budget buys by default, and the study that goes with it."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hati.core import Benchmark, Configuration, InputError, Metric, StudyId, canonical_json, replace
from hati.design import check_two_level
from hati.stats import FEWEST_SUSPECTED
from hati.studies.screening.conclusions.remedies import OF_PROGRAMS, Remedies
from hati.studies.screening.follow_up.follow_up import runs_aside
from hati.studies.screening.follow_up.reruns import FRESH, runs_again
from hati.studies.screening.model_study import ModelScreening
from hati.studies.screening.planning.forecast import ALPHA, RELEVANT
from hati.studies.screening.planning.fractions import Choice, full_factorial_of
from hati.studies.screening.planning.isolation import NOTHING_ISOLATED, Isolated
from hati.studies.screening.planning.models import PARTIAL, ModelChoice, choose_optimal
from hati.studies.screening.study import Screening

if TYPE_CHECKING:
    from hati.space import Space


_TWO = 2
AnyChoice = Choice | ModelChoice
AnyScreening = Screening | ModelScreening


def choose_design(
    space: Space, runs: int, rng: np.random.Generator, most: float = math.inf, known: Sequence[Configuration] = ()
) -> AnyChoice:
    """The design and the repetitions that a number of runs buys on a space.

    The full factorial where all options have two settings, all combinations are valid and the runs suffice; otherwise
    what ``choose_optimal`` finds. Regular fractions are for those who ask for them (``asked_fraction``): in them an
    interaction beyond pairs biases a main effect by its full size, and no repetition shows it.

    Raises:
        InputError: where the runs are too few.
    """
    if all(len(option.settings) < _TWO for option in space.options):
        raise InputError("there is no option to screen", fix="add options with two or more settings each")
    if suits_two_levels(space) and 2 ** len(space.options) <= runs + len(known):
        return full_factorial_of(len(space.options), runs + len(known), most)
    return choose_optimal(space, runs, rng, most, known)


_SPARE = 3
"""The runs, in addition to one for each parameter, without which no main effect is tested."""


def choose_followed(
    space: Space, runs: int, rng: np.random.Generator, known: Sequence[Configuration] = ()
) -> AnyChoice:
    """The default design with the runs that are set aside to follow it up, together with a run of each ``known`` one.

    None are where the runs suffice for all valid configurations, of which nothing is aliased.

    Raises:
        InputError: where the runs are too few.
    """
    aside = runs_aside(runs, 1 + sum(len(option.settings) - 1 for option in space.options))
    whole = runs + len(known)
    if not aside or _drawable(space) <= whole:
        return with_reruns(choose_design(space, runs, rng, known=known), whole)
    choice = choose_design(space, runs - aside, rng, known=known)
    assert isinstance(choice, ModelChoice)
    return with_reruns(followed(choice, aside), whole)


def with_reruns(choice: AnyChoice, runs: int) -> AnyChoice:
    """The choice with the part of ``runs`` for suspect ones: what the design leaves, and half of a follow-up's.

    Where nothing is left, the last runs of a design that is judged by a model are held back for one suspect run: on
    clean data they are made after all, and nothing is lost. So are the last of a follow-up, for suspect flips.
    """
    spare = runs - choice.runs
    if isinstance(choice, Choice):
        return replace(choice, again=runs_again(choice.runs, spare))
    again = runs_again(choice.runs, spare // 2 if choice.follow_up else spare)
    enough = max(FEWEST_SUSPECTED, choice.parameters + _SPARE) + FRESH
    if not again and choice.repetitions == 1 and choice.runs >= enough and choice.kind != PARTIAL:
        return replace(choice, again=FRESH, held_back=FRESH)
    flips = runs_again(choice.follow_up, choice.follow_up) if choice.follow_up else 0
    return replace(choice, again=again, flips_held_back=flips)


def followed(choice: ModelChoice, aside: int) -> ModelChoice:
    """The choice with that many runs to follow it up."""
    return replace(choice, follow_up=aside, reason=f"{choice.reason}; then up to {aside} runs to refute what is found")


def _drawable(space: Space) -> int:
    """How many valid configurations there are; 0 where constraints are too entangled to draw them uniformly."""
    from hati.space import count

    try:
        return count(space)
    except InputError:
        return 0


def repeated_from(space: Space, most: float = math.inf) -> int | None:
    """The budget from which on a full factorial is repeated; None where there is none, or its runs are one each."""
    return 2 * 2 ** len(space.options) if suits_two_levels(space) and most > 1 else None


def suits_two_levels(space: Space) -> bool:
    """Whether a two-level design fits the space as it is."""
    try:
        check_two_level(space)
    except InputError:
        return False
    return True


def screening(
    *,
    study: StudyId,
    subject: str,
    benchmark: Benchmark,
    metric: Metric,
    revision: str,
    space: Space,
    choice: AnyChoice,
    alpha: float = ALPHA,
    relevant: float = RELEVANT,
    remedies: Remedies = OF_PROGRAMS,
) -> AnyScreening:
    """The study of a choice."""
    if isinstance(choice, ModelChoice):
        return ModelScreening(
            study, subject, benchmark, metric, revision, space, choice, alpha, relevant=relevant, remedies=remedies
        )
    return Screening(
        study, subject, benchmark, metric, revision, space, choice, alpha, relevant=relevant, remedies=remedies
    )


_ISOLATED = "isolated"
_METRIC = "metric"
_ASKED = "asked"
"""Kept with a choice by callers."""


def stored_choice(choice: AnyChoice, isolated: Isolated, metric: str) -> str:
    """The choice as canonical JSON, from which the functions below read their parts."""
    fields = {**json.loads(choice.to_json()), _METRIC: metric}
    if isolated.formulas:
        fields[_ISOLATED] = {
            "formulas": list(map(str, isolated.formulas)),
            "described": isolated.described,
            "messages": isolated.messages,
        }
    return canonical_json(fields)


def read_choice(text: str) -> AnyChoice:
    """The choice of a design in a stored choice, or in what ``to_json`` of one wrote.

    Raises:
        InputError: for anything else.
    """
    fields = {key: value for key, value in _fields(text).items() if key not in {_ISOLATED, _METRIC, _ASKED}}
    own = canonical_json(fields)
    return ModelChoice.from_json(own) if "rows" in fields else Choice.from_json(own)


def isolated_of(text: str | None) -> Isolated:
    """What did not work when a choice was made; nothing where there is none yet.

    Raises:
        InputError: for anything else than a stored choice.
    """
    found = _fields(text).get(_ISOLATED) if text else None
    if not found:
        return NOTHING_ISOLATED
    from hati.space import parse_formula

    return Isolated(tuple(map(parse_formula, found["formulas"])), tuple(found["described"]), tuple(found["messages"]))


def metric_of(text: str | None) -> str | None:
    """The metric that was last screened with a choice; None in stores that do not have it.

    Raises:
        InputError: for anything else than a stored choice.
    """
    return _fields(text).get(_METRIC) if text else None


def _fields(text: str) -> dict[str, Any]:
    try:
        fields = json.loads(text)
    except ValueError:
        fields = None
    if not isinstance(fields, dict):
        raise InputError(f"no stored choice of a design: {text[:60]!r}", fix="start afresh with --fresh")
    return fields
