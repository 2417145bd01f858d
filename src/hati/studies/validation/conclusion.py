"""What a validation concludes, as plain values."""

from __future__ import annotations

from enum import StrEnum
from math import floor

from msgspec import Struct, field

from hati.core import Configuration, Metric

Options = tuple[str, ...]
"""The options of an effect: one for a main effect, two for an interaction."""


CONFOUNDED = "confounded with the order of runs"
"""In words, why nothing is decided of an effect that may be drift."""
ORDER_UNKNOWN = "{} may be drift over the order of runs"
"""In words, why no number of runs is known that decides about such effects."""


class Mode(StrEnum):
    """The subject of a validation.

    CONFIRM: whether a model predicts new configurations, and its effects hold with these; DISCRIMINATE: which model is
    right; DEALIAS: what important effects may be instead; CHECK: what else there is.
    """

    CONFIRM = "confirm"
    DISCRIMINATE = "discriminate"
    DEALIAS = "dealias"
    CHECK = "check"


class ValidationOutcome(StrEnum):
    """How it ended."""

    DECIDED = "decided"
    UNDECIDED = "undecided"


class Result(StrEnum):
    """What became of an assumption.

    NOT_REFUTED: a refutation was looked for and not found; the size that it would have found is reported
    with it.
    """

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    NOT_REFUTED = "not refuted"
    UNDECIDED = "undecided"
    ASSUMED = "still assumed"


class RivalModel(Struct, frozen=True):
    """A model that is left: its effects, its probability among those that are left, the odds of the best against it."""

    effects: tuple[Options, ...]
    probability: float
    odds: float = field(name="odds_against")


class ValidatedEffect(Struct, frozen=True):
    """An effect of the most probable model, on the scale that decides.

    ``contrast`` is the second setting's mean minus the first's (of an option with more settings: the largest
    difference of settings' means), ``relative`` the same as a fraction; ``important`` whether it is larger than what
    matters; ``in_all`` whether all remaining models have it; ``screened`` whether the screening called it
    important; ``result`` what became of that, None where it had not. Where all effects up to an order were estimated,
    ``sum_of_squares`` is that of type III, on the scale that decides, and ``aliases`` are the others of them that the
    screening's runs could not distinguish from it, found for effects that the screening or the validation shows.
    """

    options: Options
    contrast: float
    standard_error: float | None
    relative: float
    important: bool
    in_all: bool = field(name="in_all_models")
    screened: bool
    result: Result | None = None
    sum_of_squares: float | None = None
    aliases: tuple[Options, ...] = ()


def of_share(share: float) -> str:
    """In words, of which configurations random ones are drawn; nothing where it is all that were not run before."""
    if share == 1.0:
        return ""
    return f" of the {floor(1000.0 * share) / 10.0:g} % of the valid ones not run before that the model can predict"


class PredictionCheck(Struct, frozen=True):
    """How well the screening's model predicts random configurations that it had not seen.

    A model says nothing of combinations of settings that its runs had not, if it has them: ``share`` is of the valid
    configurations not run before that which it can predict. The ``random`` ones that were run are drawn from these, and
    ``runs`` is the number of them that it predicted. ``p_value`` is of the test that the errors are no larger than
    noise and the model's own uncertainty make them, ``df`` its degrees of freedom, ``noise`` what the noise is known
    from; ``ratio`` the mean squared error as a multiple of the expected one. ``median`` and ``largest`` are sizes of
    errors as fractions, ``deviation`` the noise's standard deviation as one. ``unseen`` is that, over configurations,
    of the unmodelled part that is found with 80 % power: where repetitions estimate the noise, as else the noise
    includes it. None where there are too few runs.
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
    """A follow-up: the number of models before it, and its measurements. ``done`` of ``configurations``."""

    stage: str
    rivals: int = field(name="models")
    configurations: tuple[Configuration, ...]
    done: int


class Assumption(Struct, frozen=True):
    """An assumption of a screening, its result, and the evidence in words.

    ``effect`` is the important effect of the screening that it is about, if it is about one.
    """

    statement: str
    result: Result
    detail: str
    effect: Options | None = None


class RunsNeeded(Struct, frozen=True):
    """The approximate number of runs of a validation that would decide the undecided.

    None where nothing is undecided, or where no ``number`` is known; then ``unknown`` says why, in words that follow
    "because".
    """

    number: int | None = None
    unknown: str = ""


NONE_NEEDED = RunsNeeded()


class ValidationConclusion(Struct, frozen=True):
    """The result of a validation campaign, complete or not.

    ``models`` are those that are left, the most probable first; ``effects`` those of the first, the largest first.
    ``screening_runs`` had been made before; ``done`` and ``failed`` count the runs made for the validation, which cost
    ``seconds``. ``bound`` is the odds at which a model is given up, ``gamma`` the size of coefficients in standard
    deviations of a run. Only where models were discriminated are there ``models``, ``bound`` and ``gamma``; only where
    effects were confirmed is there a ``prediction``. ``needed`` are the runs that would
    decide the undecided.
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
    budget: int
    done: int
    failed: int
    failures: tuple[str, ...]
    seconds: float
    warnings: tuple[str, ...]
    prediction: PredictionCheck | None = None
    needed: RunsNeeded = NONE_NEEDED

    @property
    def runs_needed(self) -> int | None:
        """About how many runs would decide; None where all is decided, or no number is known."""
        return self.needed.number

    @property
    def in_doubt(self) -> tuple[Options, ...]:
        """The important effects of the screening of which nothing was decided."""
        return tuple(a.effect for a in self.assumptions if a.effect and a.result is Result.UNDECIDED)

    @property
    def unsized(self) -> tuple[Assumption, ...]:
        """What became of the important effects of the screening that are not among ``effects``."""
        sized = {frozenset(effect.options) for effect in self.effects}
        return tuple(a for a in self.assumptions if a.effect and frozenset(a.effect) not in sized)
