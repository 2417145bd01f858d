"""The default design for a budget, the study of a design, and the forecast of what it will find."""

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
)
from hati.design import check_two_level
from hati.knowledge import FEWEST_LEFT, SumsOfSquares, Variation, variation
from hati.stats.threads import on_one_thread
from hati.studies.screening.dominance import PlannedDesigns
from hati.studies.screening.follow_up import runs_aside
from hati.studies.screening.model_study import ModelScreening
from hati.studies.screening.planning.fractions import Choice, full_factorial_of
from hati.studies.screening.planning.isolation import NOTHING_ISOLATED, Isolated
from hati.studies.screening.planning.models import (
    ALPHA,
    RELEVANT,
    ModelChoice,
    choose_optimal,
    expected_detectable,
)
from hati.studies.screening.planning.tasks import STAGE, drawable, followed, with_look, with_reruns
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

    The full factorial if all options have two settings, all combinations are valid and the runs suffice; otherwise
    the result of ``choose_optimal``. Regular fractions are used only on request (``asked_fraction``): in them an
    interaction beyond pairs biases a main effect by its full size, and no repetition shows it.

    Raises:
        InputError: if the runs are too few.
    """
    if all(len(option.settings) < _TWO for option in space.options):
        raise InputError("there is no option to screen", fix="add options with two or more settings each")
    if suits_two_levels(space) and 2 ** len(space.options) <= runs + len(known):
        return full_factorial_of(len(space.options), runs + len(known), most)
    return choose_optimal(space, runs, rng, most, known)


def choose_followed(
    space: Space, runs: int, rng: np.random.Generator, known: Sequence[Configuration] = (), seconds: float = 0.0
) -> AnyChoice:
    """The default design with runs set aside for a follow-up, together with a run of each ``known`` configuration.

    No runs are set aside if they suffice for all valid configurations: then nothing is aliased. Otherwise an interim
    look follows a quarter of the design; if the whole campaign has a time of ``seconds``, it plans the rest again.

    Raises:
        InputError: if the runs are too few.
    """
    aside = runs_aside(runs, 1 + sum(len(option.settings) - 1 for option in space.options))
    whole = runs + len(known)
    if drawable(space) <= whole:
        return with_reruns(choose_design(space, runs, rng, known=known), whole)
    if not aside:
        return with_look(with_reruns(choose_design(space, runs, rng, known=known), whole), seconds)
    choice = choose_design(space, runs - aside, rng, known=known)
    assert isinstance(choice, ModelChoice)
    return with_look(with_reruns(followed(choice, aside), whole), seconds)


def repeated_from(space: Space, most: float = math.inf) -> int | None:
    """The smallest budget that repeats a full factorial; None without one, or if a configuration has only one run."""
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
    designs: PlannedDesigns = (),
) -> AnyScreening:
    """The screening study of a choice; ``designs`` are those that its interim look planned before."""
    if isinstance(choice, ModelChoice):
        return ModelScreening(
            study,
            subject,
            benchmark,
            metric,
            revision,
            space,
            choice,
            alpha,
            relevant=relevant,
            remedies=remedies,
            designs=designs,
        )
    return Screening(
        study, subject, benchmark, metric, revision, space, choice, alpha, relevant=relevant, remedies=remedies
    )


_ISOLATED = "isolated"
_DESIGNS = "designs"
_METRIC = "metric"
_OF_CALLERS = frozenset({"asked", "given", "continued"})
"""Keys that callers add to a stored choice."""
_APART = frozenset({_ISOLATED, _DESIGNS, _METRIC}) | _OF_CALLERS


def stored_choice(choice: AnyChoice, isolated: Isolated, metric: str, designs: PlannedDesigns = ()) -> str:
    """The choice as canonical JSON, with what was isolated, the metric and the designs that an interim look planned.

    The functions below read it.
    """
    fields = {**json.loads(choice.to_json()), _METRIC: metric}
    if isolated.formulas:
        fields[_ISOLATED] = {
            "formulas": list(map(str, isolated.formulas)),
            "described": isolated.described,
            "messages": isolated.messages,
        }
    if designs:
        fields[_DESIGNS] = {key: json.loads(each.to_json()) for key, each in designs}
    return canonical_json(fields)


def with_kept(choice: str, stored: str | None) -> str:
    """The stored form of a choice with the values that callers added to the one that it replaces."""
    kept = {key: value for key, value in _fields(stored).items() if key in _OF_CALLERS} if stored else {}
    return canonical_json({**kept, **_fields(choice)})


def read_choice(text: str) -> AnyChoice:
    """The choice of a design in a stored choice, or in the text that its ``to_json`` wrote.

    Raises:
        InputError: for anything else.
    """
    fields = {key: value for key, value in _fields(text).items() if key not in _APART}
    own = canonical_json(fields)
    return ModelChoice.from_json(own) if "rows" in fields else Choice.from_json(own)


def isolated_of(text: str | None) -> Isolated:
    """The settings that did not work when a choice was stored; none without a stored choice.

    Raises:
        InputError: for anything else than a stored choice.
    """
    found = _fields(text).get(_ISOLATED) if text else None
    if not found:
        return NOTHING_ISOLATED
    from hati.space import parse_formula

    return Isolated(tuple(map(parse_formula, found["formulas"])), tuple(found["described"]), tuple(found["messages"]))


def designs_of(text: str | None) -> PlannedDesigns:
    """The designs that an interim look planned, by their keys; none without a stored choice.

    Raises:
        InputError: for anything else than a stored choice.
    """
    found = _fields(text).get(_DESIGNS, {}) if text else {}
    return tuple((key, ModelChoice.from_json(canonical_json(each))) for key, each in found.items())


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
"""The fractions of a design's runs after which the screening reports what it will find."""
MISSED = 1.5
"""A promise is missed where the detectable effect is this multiple of it."""


class Outlook(Struct, frozen=True):
    """The smallest effect, a fraction, that will be found with 80 % power, as expected after ``runs`` of ``planned``.

    ``deviation`` is the standard deviation of a configuration about the effects found so far, a fraction.
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
    """Whether a screening reports its outlook after ``runs`` runs."""
    return runs in {round(part * planned) for part in CHECKED}


def first_check(choice: AnyChoice) -> int:
    """The runs after which the outlook is first reported: all if fewer leave too few degrees of freedom."""
    mains = choice.parameters - 1 if isinstance(choice, ModelChoice) else choice.factors
    checks = (round(part * choice.runs) for part in CHECKED)
    return next((runs for runs in checks if runs > mains + FEWEST_LEFT), choice.runs)


@on_one_thread
def outlook(study: AnyScreening, runs: Sequence[Run]) -> Outlook | None:
    """What all runs of a design will find, as expected from the runs so far; None if they are too few.

    It is based on the variance between configurations that main effects leave, or, if less is detectable by it, on the
    residual variance of the model that the runs so far support: later runs may distinguish more interactions from
    noise.
    """
    own = study.as_run(Evidence(tuple(runs))) if isinstance(study, ModelScreening) else study
    made = tuple(run for run in runs if run.task.stage == STAGE and own.space.valid(run.task.configuration))
    mains = _by_main_effects(own, made)
    model = None if mains is None else _by_model(own, made)
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
    detectable = promised(study.choice, found, study.relevant, study.alpha)
    if detectable is None:
        return None
    return Outlook(len(made), study.choice.runs, detectable, found.deviation(1))


def _by_model(study: AnyScreening, made: tuple[Run, ...]) -> Outlook | None:
    """The outlook by the model; standard errors fall with the square root of the number of runs."""
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


def promised(choice: AnyChoice, known: Variation, relevant: float = RELEVANT, alpha: float = ALPHA) -> float | None:
    """The smallest main effect that a design finds with 80 % power, given the known variation of the metric."""
    return expected_detectable(choice, known.deviation(choice.repetitions), alpha=alpha, relevant=relevant)
