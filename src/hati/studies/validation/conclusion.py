"""The conclusion of a validation, as plain values."""

from __future__ import annotations

from enum import StrEnum
from math import floor

from msgspec import Struct, field

from hati.core import Configuration, Metric

Options = tuple[str, ...]
"""The options of an effect: one for a main effect, two for an interaction."""


CONFOUNDED = "confounded with the order of runs"
"""The reason why an effect that may be drift is not decided."""
ORDER_UNKNOWN = "{} may be drift over the order of runs"
"""The reason why the number of runs that decides on such effects is unknown."""


class Mode(StrEnum):
    """The subject of a validation.

    CONFIRM: whether a model predicts new configurations, and its effects hold with these; DISCRIMINATE: which model is
    right; DEALIAS: which aliases important effects may be instead; CHECK: which other effects are active.
    """

    CONFIRM = "confirm"
    DISCRIMINATE = "discriminate"
    DEALIAS = "dealias"
    CHECK = "check"


class ValidationOutcome(StrEnum):
    """The outcome of a validation."""

    DECIDED = "decided"
    UNDECIDED = "undecided"


class Result(StrEnum):
    """The result for an assumption.

    NOT_REFUTED: a test did not refute it; the size that the test would have found is reported with it.
    """

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    NOT_REFUTED = "not refuted"
    UNDECIDED = "undecided"
    ASSUMED = "still assumed"


class RivalModel(Struct, frozen=True):
    """A remaining model: its effects, its probability among those remaining, and the odds of the best against it."""

    effects: tuple[Options, ...]
    probability: float
    odds: float = field(name="odds_against")


class ValidatedEffect(Struct, frozen=True):
    """An effect of the most probable model, on the scale that decides.

    ``contrast`` is the second setting's mean minus the first's (for an option with more settings: the largest
    difference of settings' means), ``relative`` the same as a fraction; ``important`` is true if it is larger than the
    relevant size; ``in_all`` if all remaining models have it; ``screened`` if the screening called it important.
    ``result`` is the result for that claim, None without one. ``relative`` is None if the difference is from a mean of
    zero. If all effects up to an order were estimated, ``sum_of_squares`` is that of type III, on the deciding scale,
    and ``aliases`` are the other effects that the screening's runs could not distinguish from it, given for effects
    that the screening or the validation shows.
    """

    options: Options
    contrast: float
    standard_error: float | None
    relative: float | None
    important: bool
    in_all: bool = field(name="in_all_models")
    screened: bool
    result: Result | None = None
    sum_of_squares: float | None = None
    aliases: tuple[Options, ...] = ()


def of_share(share: float) -> str:
    """The population of random configurations in words; empty if it is all or none that were not run before."""
    if share in {0.0, 1.0}:
        return ""
    return f" of the {floor(1000.0 * share) / 10.0:g} % of the valid ones not run before that the model can predict"


PREDICTED = "the model predicts"
"""The beginning of the assumption on predictions."""


class PredictionCheck(Struct, frozen=True):
    """The test of the screening model's predictions for random configurations that it had not seen.

    A model cannot predict combinations of settings in its terms that its runs did not have: ``share`` is the fraction
    of the valid configurations not run before that it can predict. The ``random`` ones that were run are drawn from
    these, and ``runs`` is the number of them that it predicted. ``p_value`` is that of the test that errors are no
    larger than noise and the model's own uncertainty explain, ``df`` its degrees of freedom, ``noise`` the source of
    the noise estimate; ``ratio`` is the mean squared error as a multiple of the expected one. ``median`` and
    ``largest`` are sizes of errors as fractions, ``deviation`` is the noise's standard deviation as a fraction.
    ``unseen`` is the standard deviation, over configurations, of the unmodelled part that is found with 80 % power. It
    is given if repetitions estimate the noise: otherwise the noise includes it. Values are None with too few runs.
    """

    runs: int
    random: int
    p_value: float | None
    df: tuple[int, int] | None
    noise: str
    ratio: float | None
    median: float | None
    largest: float | None
    deviation: float | None
    unseen: float | None
    share: float = 1.0


class FollowUpRound(Struct, frozen=True):
    """A follow-up: the number of models before it, its ``configurations``, and how many of their runs were ``done``."""

    stage: str
    rivals: int = field(name="models")
    configurations: tuple[Configuration, ...]
    done: int


class Assumption(Struct, frozen=True):
    """An assumption of a screening, its result, and the evidence in words.

    ``effect`` is the important effect of the screening to which it refers, if any; ``differs`` names what alone is in
    doubt about an effect that is shown, such as its size.
    """

    statement: str
    result: Result
    detail: str
    effect: Options | None = None
    differs: str = ""


class RunsNeeded(Struct, frozen=True):
    """The approximate number of runs of a validation that would decide the undecided assumptions.

    ``number`` is None if nothing is undecided, if it is unknown, or if more runs cannot decide. Then ``unknown`` gives
    the reason in words that follow "because", or ``impossible`` in words that follow "more runs cannot decide".
    """

    number: int | None = None
    unknown: str = ""
    impossible: str = ""

    @property
    def reason(self) -> str:
        """Why there is no number; empty if there is one, or if nothing is undecided."""
        return self.unknown or self.impossible


NONE_NEEDED = RunsNeeded()


class ValidationConclusion(Struct, frozen=True):
    """The result of a validation campaign, complete or not.

    ``models`` are the remaining models, the most probable first; ``effects`` are those of the first, the largest first.
    ``screening_runs`` of the ``screening_made`` runs of the screening are analysed; ``done`` and ``failed`` count the
    runs of the validation, which took ``seconds``. ``bound`` is the odds at which a model is given up, ``gamma`` the
    size of coefficients in standard deviations of a run. ``models``, ``bound`` and ``gamma`` are given only if models
    were discriminated, ``prediction`` only if effects were confirmed. ``needed`` is the number of runs that would
    decide what is undecided.
    ``compared`` has the settings between which effects of single options are, in words, as far as they are known.
    """

    study: str
    screening: str
    subject: str
    benchmark: str
    revision: str
    metric: Metric
    scale: str
    mode: Mode
    order: int
    bound: float | None
    gamma: float | None
    outcome: ValidationOutcome
    models: tuple[RivalModel, ...]
    effects: tuple[ValidatedEffect, ...]
    rounds: tuple[FollowUpRound, ...]
    assumptions: tuple[Assumption, ...]
    screening_runs: int
    screening_made: int
    budget: int
    done: int
    failed: int
    failures: tuple[str, ...]
    seconds: float
    warnings: tuple[str, ...]
    prediction: PredictionCheck | None = None
    needed: RunsNeeded = NONE_NEEDED
    compared: tuple[tuple[Options, str], ...] = ()

    @property
    def runs_needed(self) -> int | None:
        """The approximate number of runs that would decide; None if all is decided, or the number is unknown."""
        return self.needed.number

    @property
    def in_doubt(self) -> tuple[Options, ...]:
        """The important effects of the screening that are undecided."""
        return tuple(a.effect for a in self.assumptions if a.effect and a.result is Result.UNDECIDED)

    @property
    def unsized(self) -> tuple[Assumption, ...]:
        """The assumptions on important effects of the screening that are not among ``effects``."""
        sized = {frozenset(effect.options) for effect in self.effects}
        return tuple(a for a in self.assumptions if a.effect and frozenset(a.effect) not in sized)
