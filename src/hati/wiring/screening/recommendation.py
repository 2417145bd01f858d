"""Recommend settings, from a known screening."""

from __future__ import annotations

import json
import math
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
    recommendation_id,
    rules_of,
)
from hati.studies.screening import AnyScreening, ScreeningConclusion, isolated_of, read_choice
from hati.studies.screening.planning.costs import RESERVE
from hati.studies.screening.planning.pilot import with_losses
from hati.studies.screening.runs import MeasuredDesign
from hati.wiring.campaigns import Campaign, campaign_of, never
from hati.wiring.kinds.screening import ScreeningRequest
from hati.wiring.known.screenings import screened
from hati.wiring.screening.campaign import ScreeningCampaign, prepare_screening
from hati.wiring.screening.stored import prepare_recalibration, study_over
from hati.wiring.templates import space_then
from hati.wiring.workplace import Workplace

KEPT = 0.2
"""The fraction of the budget kept for the confirmation; of runs, at least two configurations five times."""
_TIME_KEPT = 0.25
_LARGER = 1.25
"""A new screening is preferred to a known one if it has more than this multiple of the known one's runs."""


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

    Raises:
        InputError: where the request does not fit the project.
    """
    for rule in request.rules:
        place.project.benchmark(request.benchmark).metric(rule.metric)
    split = split_budget(request.limit)
    screening = replace(request, budget=split.screening)
    if not (fresh or request.recalibrate or request.detect or request.of_fraction):
        known = _known_screening(place, screening)
        if known is not None:
            place.announce(known.source)
            return prepare_recommendation(place, known, request)
    prepared = (prepare_recalibration if request.recalibrate else prepare_screening)(place, screening, fresh=fresh)
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


def _known_screening(place: Workplace, request: ScreeningRequest) -> KnownScreening | None:
    """The most informative screening; None without one, or if the budget buys a larger one or has begun one.

    Raises:
        InputError: where the request does not fit the project.
    """
    begun = prepare_screening(place, request, fresh=False)
    if begun.evidence().runs and not begun.finished:
        return None
    known = screened(place, begun.benchmark, begun.metric)
    if known is None:
        return None
    study, _, entry = known
    runs = place.store.evidence(study.id).runs
    if entry.provenance.runs * _LARGER < _bought(Budget.parse(request.limit), Evidence(runs)):
        return None
    study = replace(study, relevant=request.relevant)
    spent = place.store.evidence(study.id) if study.id.family == begun.id.family else None
    evidence = place.store.evidence(study.id)
    choice = next(record.choice for record in place.store.studies() if record.id == study.id)
    conclusion = with_losses(study.conclude(evidence), evidence, study.metric, isolated_of(choice))
    return KnownScreening(study, conclusion, f"important options from {entry.source}", spent)


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
    return KnownScreening(study, conclusion, "", prepared.evidence())


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
