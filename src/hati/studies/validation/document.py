"""The conclusion of a validation: tables, sentences and published values."""

from __future__ import annotations

import math
from collections import Counter
from typing import Annotated

from msgspec import Struct

from hati.core.wording import counted, effect_name, runs_of_study
from hati.document.document import Align, Column, Document, Facts, Prose, Shown, Table, change_number, fixed, percent
from hati.document.publishing import Of, RunsJson, StudyJson
from hati.studies.validation import (
    FollowUpRound,
    Mode,
    PredictionCheck,
    Result,
    RivalModel,
    ValidatedEffect,
    ValidationConclusion,
    ValidationOutcome,
    of_share,
)
from hati.studies.validation.conclusion import PREDICTED

_SHOWN = 8
_ALIASES = 2
SIGNIFICANT = 0.05


def validation_facts(conclusion: ValidationConclusion) -> tuple[tuple[str, str], ...]:
    """The validated claims, the method and its cost, as pairs of a name and a sentence."""
    rivals = "model" if conclusion.mode is Mode.DISCRIMINATE else "effect"
    rounds = [f"{r.done} of {len(r.configurations)} runs for {counted(r.rivals, rivals)}" for r in conclusion.rounds]
    return (
        ("subject", f"{conclusion.subject} ({conclusion.revision}), benchmark {conclusion.benchmark}"),
        ("screening", runs_of_study(conclusion.screening, conclusion.screening_made, conclusion.screening_runs)),
        ("validated", _asked(conclusion)),
        *_predicted(conclusion),
        ("runs", f"{conclusion.done} done, {conclusion.failed} failed, of at most {conclusion.budget}"),
        *((("follow-ups", "; ".join(rounds)),) if rounds else ()),
    )


def validation_answer(conclusion: ValidationConclusion) -> str:
    """The answer in one sentence; if undecided, with the runs that would decide, or why their number is not known."""
    needed = conclusion.needed
    if conclusion.outcome is ValidationOutcome.DECIDED:
        return _answer(conclusion)
    if needed.impossible:
        return f"{_answer(conclusion)}; more runs cannot decide: {needed.impossible}"
    if needed.number is None:
        return f"{_answer(conclusion)}; how many runs would decide is not known, because {needed.unknown}"
    return f"{_answer(conclusion)}; about {needed.number:,} runs would decide: --budget {needed.number}"


def _answer(conclusion: ValidationConclusion) -> str:
    if conclusion.mode is Mode.CONFIRM:
        return _answer_of_confirmation(conclusion)
    if conclusion.mode is not Mode.DISCRIMINATE:
        return _answer_of_terms(conclusion)
    best = effects_text(conclusion.models[0].effects)
    if conclusion.outcome is ValidationOutcome.DECIDED:
        return f"decided: one model is left, of {best}"
    if len(conclusion.models) == 1:
        return f"undecided: one model is left, of {best}{_doubt(conclusion)}"
    least = conclusion.models[1].odds
    return (
        f"undecided: {counted(len(conclusion.models), 'model')} are left; the most probable, of {best}, "
        f"has odds of {least:.3g} to 1 against the next"
    )


def validation_tables(conclusion: ValidationConclusion) -> tuple[Table, ...]:
    """The models that are left, where there are several, and the effects."""
    models = (_models_table(conclusion),) if len(conclusion.models) > 1 else ()
    return (*models, _effects_table(conclusion))


def validation_assumptions(conclusion: ValidationConclusion) -> tuple[tuple[str, str], ...]:
    """The screening's assumptions: pairs of the result and a sentence."""
    return tuple((a.result.value, f"{a.statement}: {a.detail}") for a in conclusion.assumptions)


class AssumptionJson(Struct, frozen=True):
    """What the screening took for granted."""

    statement: str
    result: Result
    detail: str


class ValidationRunsJson(RunsJson, frozen=True):
    """Runs of the screening and of its validation: ``screening`` are analysed, of ``screening_made``."""

    screening: Annotated[int, Of("screening_runs")]
    screening_made: int
    budget: int


class ValidationJson(StudyJson, frozen=True, tag_field="format", tag="hati-validate-1"):
    """A validation of a screening."""

    study: str
    screening: str
    subject: str
    benchmark: str
    revision: str
    metric: Annotated[str, Of("metric.name")]
    unit: Annotated[str, Of("metric.unit")]
    scale: str
    mode: Mode
    order: int
    bound: float | None
    gamma: float | None
    outcome: ValidationOutcome
    model: Annotated[list[list[str]], Of(lambda found: [effect.options for effect in found.effects])]
    models: list[RivalModel]
    effects: list[ValidatedEffect]
    not_estimated: Annotated[list[list[str]], Of(lambda found: [each.effect or () for each in found.unsized])]
    prediction: PredictionCheck | None
    rounds: list[FollowUpRound]
    assumptions: list[AssumptionJson]
    runs: Annotated[ValidationRunsJson, Of()]
    failures: list[str]
    seconds: float
    warnings: list[str]
    runs_needed: int | None
    runs_needed_unknown: Annotated[str | None, Of(lambda found: found.needed.reason or None)]


def effects_text(effects: tuple[tuple[str, ...], ...]) -> str:
    """The effects of a model in one line."""
    return ", ".join(effect_name(effect) for effect in effects) or "no effect"


def _predicted(conclusion: ValidationConclusion) -> tuple[tuple[str, str], ...]:
    found = conclusion.prediction
    if found is None or found.median is None or found.largest is None:
        return ()
    text = (
        f"{_predictions(conclusion).value}: errors of the predictions, median {percent(found.median, 2)}, "
        f"largest {percent(found.largest, 2)}, in {found.runs} of {found.random} random "
        f"configurations{of_share(found.share)}; noise from {found.noise}"
    )
    return (("predictions", text),)


_HOLD = {
    Result.REFUTED: "the predictions do not hold",
    Result.UNDECIDED: "whether the predictions hold is not decided, as many runs were disturbed",
    Result.NOT_REFUTED: "the predictions hold",
}


def _predictions(conclusion: ValidationConclusion) -> Result:
    """Whether the predictions are refuted: undecided where disturbed runs may explain their errors."""
    found = conclusion.prediction
    if found is None or found.p_value is None or found.p_value > SIGNIFICANT:
        return Result.NOT_REFUTED
    results = (each.result for each in conclusion.assumptions if each.statement.startswith(PREDICTED))
    return next(results, Result.REFUTED)


def _answer_of_confirmation(conclusion: ValidationConclusion) -> str:
    found = conclusion.prediction
    if found is None or found.p_value is None:
        untested = found is not None and not found.random and not found.share
        holds = "no predictions were tested" if untested else "too few runs to say whether the predictions hold"
    else:
        holds = _HOLD[_predictions(conclusion)]
        holds += f" for random ones{of_share(found.share)}" if found.share < 1.0 else ""
    claims = [effect for effect in conclusion.effects if effect.result is not None]
    counts = Counter(effect.result for effect in claims)
    said = [f"{counts[result]} {result.value}{_only(conclusion, result)}" for result in Result if counts[result]]
    many = "1 important effect" if len(claims) == 1 else f"{len(claims)} important effects"
    claimed = f"of {many} {', '.join(said)}" if claims else "no important effect to confirm"
    new = tuple(effect.options for effect in conclusion.effects if effect.important and not effect.screened)
    return f"{conclusion.outcome.value}: {holds}; {claimed}" + (f"; new: {effects_text(new)}" if new else "")


def _only(conclusion: ValidationConclusion, result: Result) -> str:
    """Of which shown effects the sign or the size alone is in doubt, in parentheses; empty without any."""
    alike = [a for a in conclusion.assumptions if a.result is result and a.differs and a.effect]
    return (
        f" ({', '.join(f'{effect_name(a.effect or ())}: shown, of another {a.differs}' for a in alike)})"
        if alike
        else ""
    )


def _asked(conclusion: ValidationConclusion) -> str:
    if conclusion.mode is Mode.CONFIRM:
        return f"predictions of new configurations, and the effects up to order {conclusion.order} with these"
    if conclusion.mode is Mode.DEALIAS:
        return f"important effects against their aliases up to order {conclusion.order}"
    if conclusion.mode is Mode.CHECK:
        return f"all effects up to order {conclusion.order}"
    return f"models of effects up to order {conclusion.order}, given up at odds of {conclusion.bound or 0:g} to 1"


def _answer_of_terms(conclusion: ValidationConclusion) -> str:
    if not conclusion.effects:
        return "undecided: the runs cannot distinguish the effects"
    real = tuple(effect.options for effect in conclusion.effects if effect.important)
    doubt = f"{effects_text(conclusion.in_doubt)} in doubt; " if conclusion.in_doubt else ""
    return f"{conclusion.outcome.value}: {doubt}important are {effects_text(real)}"


def _doubt(conclusion: ValidationConclusion) -> str:
    """Why a single remaining model decides nothing."""
    if conclusion.in_doubt:
        was, is_ = ("was", "is") if len(conclusion.in_doubt) == 1 else ("were", "are")
        names = effects_text(conclusion.in_doubt)
        return f", and {names} {was} important in the screening, and {is_} neither in the model nor refuted"
    if not conclusion.models[0].effects:
        return ", but small effects could have been missed"
    return ", but effects as large as its smallest could have been missed"


def _models_table(conclusion: ValidationConclusion) -> Table:
    shown = conclusion.models[:_SHOWN]
    more = len(conclusion.models) - len(shown)
    every = set(shown[0].effects).intersection(*(model.effects for model in shown))

    def own(model: RivalModel) -> str:
        return effects_text(tuple(effect for effect in model.effects if effect not in every))

    return Table(
        "Models that are left",
        (Column("effects"), Column("probability", None, Align.RIGHT), Column("odds against", None, Align.RIGHT)),
        tuple(
            (own(model), Shown(fixed(model.probability, 3), model.probability), Shown(f"{model.odds:.3g}", model.odds))
            for model in shown
        ),
        (
            f"All of them have {effects_text(tuple(e for e in shown[0].effects if e in every))}.",
            *((f"{more} more are not listed.",) if more else ()),
        ),
    )


def _effects_table(conclusion: ValidationConclusion) -> Table:
    if any(effect.sum_of_squares is not None for effect in conclusion.effects):
        return _estimated_table(conclusion)
    shown = [effect for effect in conclusion.effects if effect.important or effect.screened]
    rows = (*(_row(effect, conclusion) for effect in shown), *_unsized(conclusion))
    return Table(
        f"Effects on {conclusion.metric.name}",
        (Column("effect of"), Column("change", "%", Align.RIGHT), Column("verdict")),
        rows,
        (_CHANGES,) if rows else ("No effect is important, by the screening or by all runs.",),
    )


_CHANGES = (
    "Changes are from the first setting to the second; of options with more, from the lowest to the highest mean."
)
_TESTS = (
    "Intervals are 95 %, for each effect individually; p-values of effects are corrected for all that are tested "
    "together."
)


def _row(effect: ValidatedEffect, conclusion: ValidationConclusion) -> tuple[str | Shown, ...]:
    verdicts = {(True, True): "confirmed", (False, True): "new", (True, False): "in some models"}
    known = (effect.screened, effect.in_all and effect.important)
    verdict = effect.result.value if effect.result is not None else verdicts.get(known, "not shown")
    differs = next((a.differs for a in conclusion.assumptions if a.effect == effect.options), "")
    verdict = f"shown, of another {differs}" if differs else verdict
    relative = math.inf if effect.relative is None else effect.relative
    settings = dict(conclusion.compared).get(effect.options)
    name = f"{effect_name(effect.options)}={settings}" if settings else effect_name(effect.options)
    return name, Shown(change_number(relative), 100 * relative), verdict


def _estimated_table(conclusion: ValidationConclusion) -> Table:
    """The effects that explain most, and those of the screening (RES paper, figures 8 and 9)."""
    ordered = sorted(conclusion.effects, key=lambda effect: -(effect.sum_of_squares or 0.0))
    shown = [effect for place, effect in enumerate(ordered) if place < _SHOWN or effect.important or effect.screened]
    more = len(ordered) - len(shown)
    columns = (
        Column("effect of"),
        Column("type III SS", None, Align.RIGHT),
        Column("change", "%", Align.RIGHT),
        Column("verdict"),
        Column("aliases among these"),
    )
    rows = []
    for effect in shown:
        name, change, verdict = _row(effect, conclusion)
        squares = effect.sum_of_squares or 0.0
        rows.append((name, Shown(f"{squares:.3g}", squares), change, verdict, _aliases(effect)))
    return Table(
        f"Effects on {conclusion.metric.name}",
        columns,
        (*rows, *((name, Shown("-", None), change, verdict, "-") for name, change, verdict in _unsized(conclusion))),
        (*((f"{counted(more, 'effect')} that explain less are not listed.",) if more else ()), _CHANGES),
    )


def _aliases(effect: ValidatedEffect) -> str:
    more = f" and {len(effect.aliases) - _ALIASES} more" if len(effect.aliases) > _ALIASES else ""
    return f"{effects_text(effect.aliases[:_ALIASES])}{more}" if effect.aliases else "-"


def _unsized(conclusion: ValidationConclusion) -> tuple[tuple[str, Shown, str], ...]:
    return tuple((effect_name(a.effect or ()), Shown("-", None), a.result.value) for a in conclusion.unsized)


def validation_document(conclusion: ValidationConclusion) -> Document:
    """The validated claims, models, effects and assumptions."""
    tests = (Prose((_TESTS,)),) if conclusion.mode is Mode.CONFIRM else ()
    return Document(
        f"{conclusion.subject}: do the findings about {conclusion.metric.name} hold?",
        validation_answer(conclusion),
        facts=validation_facts(conclusion),
        sections=(*validation_tables(conclusion), Facts("Assumptions", validation_assumptions(conclusion)), *tests),
        failures=conclusion.failures,
        warnings=conclusion.warnings,
        study=conclusion.study,
    )
