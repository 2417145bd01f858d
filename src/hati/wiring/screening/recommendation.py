"""Recommend settings, from a known screening."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from msgspec import Struct

from hati.core import Budget, Evidence, HatiError, InputError, MeasurementError, Setting, StudyId, generator, replace
from hati.core.wording import counted
from hati.space import Space
from hati.studies.recommendation import (
    FEWEST_PAIRS,
    MOST_PAIRS,
    REPORTED_RULES,
    ChangeScale,
    Findings,
    Recommendation,
    RecommendationConclusion,
    RecommendationPlan,
    plan_recommendation,
    recommendation_command,
    recommendation_id,
    rules_of,
)
from hati.studies.screening import AnyScreening, ScreeningConclusion, isolated_of, read_choice
from hati.studies.screening.planning.pilot import with_losses
from hati.studies.screening.planning.tasks import RESERVE
from hati.studies.screening.runs import MeasuredDesign
from hati.wiring.campaigns import Campaign, campaign_of, never
from hati.wiring.kinds.screening import ScreeningRequest
from hati.wiring.known.screenings import screened
from hati.wiring.screening.campaign import ScreeningCampaign, prepare_screening
from hati.wiring.screening.stored import (
    described,
    prepare_recalibration,
    resumed_screening,
    study_over,
    subject_screenings,
)
from hati.wiring.templates import space_then, template_of
from hati.wiring.workplace import Workplace

KEPT = 0.2
"""The fraction of the budget kept for the confirmation; of runs, at least two configurations five times."""
_TIME_KEPT = 0.25
_LARGER = 1.25
"""A new screening is preferred to one of another revision or machine if it has more than this multiple of its runs."""
_HALF_THE_ERROR = 4.0
"""A new screening is preferred to one of this revision and machine if it has more than this multiple of its runs."""


class SplitBudget(Struct, frozen=True):
    """A budget as written, the part for the screening as a budget, and the part for confirmation in words."""

    whole: str
    screening: str
    kept: str


def split_budget(text: str) -> SplitBudget:
    """Keep a part of a budget for the confirmation: a fifth of the runs, at least ten, or a quarter of the time.

    Raises:
        InputError: where nothing would be left for the screening.
    """
    budget = Budget.parse(text)
    if math.isinf(budget.runs):
        left = (1.0 - _TIME_KEPT) * budget.seconds
        return SplitBudget(text, f"{left:.6g}s", f"{_TIME_KEPT:.0%} of the time")
    kept = max(2 * FEWEST_PAIRS, math.ceil(KEPT * budget.runs))
    if kept >= budget.runs:
        raise InputError(
            f"of {text} runs none is left to screen: {kept} are kept to confirm recommendations",
            fix="give a larger --budget, or leave out --recommend",
        )
    return SplitBudget(text, str(int(budget.runs) - kept), f"{kept} runs")


class KnownScreening(Struct, frozen=True):
    """A measured screening, its conclusion for the metric, and its source in words.

    ``spent`` are the runs that count against the budget, None if the screening was made before.
    """

    study: AnyScreening
    conclusion: ScreeningConclusion
    source: str
    spent: Evidence | None = None


class RecommendationCampaign(Campaign[Recommendation, RecommendationConclusion], frozen=True, kw_only=True):
    """The campaign that confirms recommendations from the ``known`` screening."""

    known: KnownScreening


def prepare_recommended(
    place: Workplace, request: ScreeningRequest, *, fresh: bool
) -> RecommendationCampaign | ScreeningCampaign:
    """The campaign of a recommendation if a screening is known; else, for a part of the budget, that of a screening.

    A known screening that is unfinished is finished first, where the budget buys more runs than it has.

    Raises:
        InputError: where the request does not fit the project.
    """
    for rule in request.rules:
        place.project.benchmark(request.benchmark).metric(rule.metric)
    split = split_budget(request.limit)
    screening = replace(request, budget=split.screening)
    prepared = (prepare_recalibration if request.recalibrate else prepare_screening)(place, screening, fresh=fresh)
    if not (fresh or request.recalibrate or request.detect or request.of_fraction):
        known = _known_screening(prepared)
        if isinstance(known, KnownScreening):
            place.announce(
                f"{known.source}; the budget of {request.limit} is for its follow-up and the comparison with the "
                "default; --fresh screens again"
            )
            return prepare_recommendation(place, known, request)
        prepared = known or prepared
    place.announce(
        f"{split.kept} of the budget, and the rest of the screening's part, are kept to confirm recommendations"
    )
    return prepared


def prepare_continued(
    prepared: ScreeningCampaign, found: ScreeningConclusion, request: ScreeningRequest
) -> RecommendationCampaign:
    """The campaign of recommendations from a screening that was measured for it.

    Raises:
        MeasurementError: where the screening has no design yet.
    """
    return prepare_recommendation(prepared.place, _made_screening(prepared, found), request)


def _known_screening(begun: ScreeningCampaign) -> KnownScreening | ScreeningCampaign | None:
    """The screening to continue: the most informative one of this revision, else of all; unfinished, its campaign.

    None without one, if the requested one is ``begun``, or if the budget buys a much larger one, which is announced.

    Raises:
        InputError: where the request does not fit the project.
    """
    place = begun.place
    if begun.evidence().runs and not begun.finished:
        return None
    asked = begun.benchmark, begun.metric
    known = screened(place, *asked, revision=place.revision) or screened(place, *asked)
    if known is None:
        _announce_other_space(begun)
        return None
    study, _, entry = known
    record = next(record for record in place.store.studies() if record.id == study.id)
    evidence, origin = place.store.evidence(study.id), entry.provenance
    limit = Budget.parse(begun.request.limit)
    bought, elsewhere = _bought(limit, evidence), bool(origin.revision or origin.machine)
    planned = origin.runs if elsewhere else max(origin.runs, read_choice(record.choice or "").runs)
    if planned * (_LARGER if elsewhere else _HALF_THE_ERROR) < bought:
        why = "the budget buys a larger one" if elsewhere else "the budget buys one with less than half its errors"
        place.announce(
            f"not continued: {entry.source}, as {why}, of {bought:,.0f} runs; "
            f"`{_continuing(begun, template_of(record), origin.runs)}` continues it"
        )
        return None
    resumed = None
    if not elsewhere and study.id != begun.id:
        resumed = resumed_screening(begun, record, begun.request.limit)
    if resumed is not None and len(resumed.earlier.runs) < bought and resumed.left:
        place.announce(f"continues {entry.source}: the runs of its plan that were not made come first")
        return resumed
    study = replace(study, relevant=begun.request.relevant)
    repeated = None if resumed is None else resumed.counted
    spent = evidence if study.id.family == begun.id.family else repeated
    conclusion = with_losses(study.conclude(evidence), evidence, study.metric, isolated_of(record.choice))
    return KnownScreening(study, conclusion, f"important options from {entry.source}", spent)


def _announce_other_space(begun: ScreeningCampaign) -> None:
    """Announce the last screening of other configurations of the subject, and the command that continues it."""
    place, spans = begun.place, begun.place.store.spans()
    others = [
        record
        for record in subject_screenings(place)
        if record.id.key in spans
        and json.loads(record.id.parameters)["benchmark"] == begun.benchmark.name
        and begun.metric.name in {metric.name for metric in record.metrics}
    ]
    own = list(map(str, place.project.space.template))
    if not others or template_of(others[-1]) == own:
        return
    last = others[-1]
    command = _continuing(begun, template_of(last), spans[last.id.key].runs)
    place.announce(f"not continued: {described(last)}, which is of other configurations; `{command}` continues it")


def _continuing(begun: ScreeningCampaign, template: Sequence[str], runs: int) -> str:
    """The command that recommends from a known screening with this template, whatever its revision is."""
    asked = begun.request
    return recommendation_command(
        begun.place.command(begun.benchmark.name),
        begun.metric.name,
        template,
        str(runs + 2 * FEWEST_PAIRS),  # with the part that is kept, a new screening would not be larger
        relevant=asked.relevant,
        seed=asked.seed,
        keep=asked.keep,
        alpha=asked.alpha,
    )


def _made_screening(prepared: ScreeningCampaign, conclusion: ScreeningConclusion) -> KnownScreening:
    """The screening that was measured for these recommendations.

    Raises:
        MeasurementError: where it has no design yet.
    """
    record = next(record for record in prepared.place.store.studies() if record.id == prepared.id)
    if not record.choice:
        raise MeasurementError("there is no design yet, and nothing to recommend", fix="give a larger budget")
    made = replace(prepared, choice=read_choice(record.choice), isolated=isolated_of(record.choice))
    study = made.designed(read_choice(record.choice))
    return KnownScreening(study, conclusion, "", prepared.counted)


def prepare_recommendation(
    place: Workplace, known: KnownScreening, request: ScreeningRequest
) -> RecommendationCampaign:
    """Find the campaign to resume, or plan a new one; rules are about metrics of the benchmark."""
    metric = known.conclusion.metric
    allowed = _allowed(place, known.study.space)
    first = recommendation_id(
        screening=known.study.id.key,
        metric=metric.name,
        relevant=request.relevant,
        budget=request.limit,
        seed=request.seed,
        machine=place.measured_on.id,
        revision=place.revision,
        keep=request.rules,
        allowed=allowed,
    )
    budget = Budget.parse(request.limit)
    left = budget if known.spent is None else budget.left(known.spent)
    first = _unfinished(place, known, request, first) or first
    choices = {
        record.id: record.choice
        for record in place.store.latest(first, place.measured_on.fingerprints)
        if record.choice
    }
    evidence = place.store.evidence(known.study.id)

    def planned() -> RecommendationPlan:
        screened = _at_default(known.study, evidence)
        return plan_recommendation(
            screened.space,
            as_findings(known.conclusion, screened.measured(evidence), screened.space),
            _affordable(left, evidence),
            generator(first.seed, "recommendation"),
            among=() if place.table is None else place.table.configurations,
            most_pairs=min(place.repetitions, MOST_PAIRS),
            allowed=allowed,
            seconds=left.seconds,
        )

    def prepared(study: StudyId) -> RecommendationCampaign:
        plan = RecommendationPlan.from_json(choices[study]) if study in choices else planned()
        plan = replace(plan, seconds=min(plan.seconds, left.seconds))  # for plans that were stored without it
        made = _study(place, known, study, plan, request)
        described, tasks = partial(_described, place, made), lambda: made.plan(place.store.evidence(study))
        return RecommendationCampaign(
            place, made, left, (made.benchmark,), described, tasks, plan.to_json(), known=known
        )

    return campaign_of(place, first, prepared, never, fresh=False)


def _unfinished(place: Workplace, known: KnownScreening, request: ScreeningRequest, asked: StudyId) -> StudyId | None:
    """The last recommendation that differs from this one in its budget alone and has runs left; else None."""
    wanted = {**json.loads(asked.parameters), "budget": ""}
    machines = {asked.machine, *place.measured_on.fingerprints}
    for record in reversed(place.store.studies()):
        own = record.id
        if (own.kind, own.seed) != (asked.kind, asked.seed) or own.machine not in machines or not record.choice:
            continue
        if {**json.loads(own.parameters), "budget": ""} == wanted:
            study = _study(place, known, own, RecommendationPlan.from_json(record.choice), request)
            evidence = place.store.evidence(own)
            begun = own.family != asked.family and evidence.seconds < study.wanted.seconds
            return own if begun and study.plan(evidence) else None
    return None


def _described(place: Workplace, study: Recommendation) -> str:
    evidence = place.store.evidence(study.id)
    source = f"recommendation from {study.screening}"
    rounds = list(study.rounds(evidence))
    if not rounds or not study.plan(evidence):
        return source
    others = counted(len(rounds[-1].configurations) - 1, "configuration")
    return f"{source}: {rounds[-1].stage}, {others} against the default, {counted(rounds[-1].runs, 'run')}"


def stored_recommendation(place: Workplace, found: ScreeningConclusion) -> RecommendationConclusion | None:
    """The last stored recommendation from a screening for its metric; None without one."""
    records = {record.id.key: record for record in place.store.studies()}
    screening = records[found.study]
    wanted = (found.study, found.metric.name)
    made = [record for record in records.values() if record.id.kind == "recommendation" and record.choice]
    asked_by = [(record, json.loads(record.id.parameters)) for record in made if rules_of(record.id) in REPORTED_RULES]
    own = [(record, asked) for record, asked in asked_by if (asked["screening"], asked["metric"]) == wanted]
    if not own:
        return None
    record, asked = own[-1]
    space = space_then(place.project.space, screening)
    try:
        study = study_over(place, screening, space, found.metric.name, asked["relevant"])
        known = KnownScreening(study, found, "")
        request = ScreeningRequest(
            budget=asked["budget"],
            seed=record.id.seed,
            relevant=asked["relevant"],
            recommend=True,
            keep=tuple(asked.get("keep", ())),
        )
        then = replace(place, revision=asked["revision"], project=replace(place.project, space=space))
        plan = RecommendationPlan.from_json(record.choice or "")
        return _study(then, known, record.id, plan, request).conclude(place.store.evidence(record.id))
    except HatiError:  # its options or metrics no longer exist
        return None


def _study(
    place: Workplace, known: KnownScreening, study: StudyId, plan: RecommendationPlan, request: ScreeningRequest
) -> Recommendation:
    asked, benchmark = known.conclusion.metric, known.study.benchmark
    others = (metric for metric in benchmark.metrics if metric.name != asked.name)
    return Recommendation(
        id=study,
        screening=known.study.id.key,
        subject=place.project.name,
        benchmark=benchmark,
        metrics=(asked, *others),
        revision=place.revision,
        space=known.study.space,
        wanted=plan,
        looked_up=math.isfinite(place.repetitions),
        relevant=request.relevant,
        keep=request.rules,
        screened_revision=known.study.revision,
        command=place.command(benchmark.name),
    )


def _allowed(place: Workplace, space: Space) -> dict[str, tuple[Setting, ...]]:
    """The settings that may be recommended, of the restricted options that are not fixed."""
    return {name: own for name, own in place.project.recommendable.items() if name in space.by_name}


def _at_default(study: AnyScreening, evidence: Evidence) -> AnyScreening:
    """The study at the better setting of a dominating option, if that is its default; else the study."""
    narrowed = study.narrowed(evidence)
    return narrowed if narrowed is not None and narrowed.space.default == study.space.default else study


def as_findings(found: ScreeningConclusion, measured: MeasuredDesign, space: Space) -> Findings:
    """A screening's findings and runs in a space in the form that a recommendation takes."""
    places = np.argsort(measured.order)
    effects = [effect for effect in found.effects if set(effect.options) <= set(space.names)]
    offered = found.model.terms if found.by_model else [effect.options for effect in effects]
    dominating = found.dominating.name if found.dominating and found.dominating.narrowed is None else ""
    return Findings(
        metric=found.metric,
        scale=ChangeScale(found.scale.value),
        configurations=tuple(measured.runs[place].task.configuration for place in places),
        values=measured.values[places],
        important=tuple(effect.options for effect in effects if effect.shown),
        offered=tuple(offered),
        relevant=found.relevant,
        blocks=measured.blocks[places],
        machines=measured.machines[places],
        order=None if measured.in_time is None else measured.in_time[places],
        dominating=dominating,
    )


def _bought(budget: Budget, evidence: Evidence) -> float:
    """The number of runs that a budget buys at the cost of earlier runs."""
    return budget.runs if math.isfinite(budget.runs) else budget.seconds / _cost(evidence)


def _affordable(left: Budget, evidence: Evidence) -> int:
    """The number of runs that are left; of a time, a twentieth is kept in reserve."""
    if math.isfinite(left.runs):
        return int(left.runs)
    return int((1.0 - RESERVE) * left.seconds / _cost(evidence))


def _cost(evidence: Evidence) -> float:
    return max(evidence.seconds_per_run if evidence.runs else 1.0, 1e-3)
