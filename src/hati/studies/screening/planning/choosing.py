"""Which design a budget buys by default, the study that goes with it, and what it will find as its runs come in."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from hati.core import (
    Benchmark,
    Configuration,
    Evidence,
    InputError,
    MeasurementError,
    Metric,
    Run,
    StudyId,
    canonical_json,
    conversion,
    replace,
)
from hati.design import check_two_level
from hati.knowledge import FEWEST_LEFT, SumsOfSquares, Variation, variation
from hati.stats import FEWEST_SUSPECTED
from hati.studies.screening.follow_up import runs_aside
from hati.studies.screening.model_study import ModelScreening
from hati.studies.screening.planning.fractions import Choice, full_factorial_of
from hati.studies.screening.planning.isolation import NOTHING_ISOLATED, Isolated
from hati.studies.screening.planning.models import (
    ALPHA,
    PARTIAL,
    RELEVANT,
    ModelChoice,
    choose_optimal,
    expected_detectable,
)
from hati.studies.screening.planning.tasks import STAGE
from hati.studies.screening.reruns import FRESH, runs_again
from hati.studies.screening.study import Screening
from hati.studies.screening.warnings import OF_PROGRAMS, Remedies

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
