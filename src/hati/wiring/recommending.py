"""Recommending what to set, after a screening."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from hati.campaign import Observer, campaign, silent
from hati.core import Budget, Configuration, Evidence, InputError, MeasurementError, Metric, StudyId, generator
from hati.studies.recommendation import (
    FEWEST_PAIRS,
    MOST_PAIRS,
    ChangeScale,
    Findings,
    Recommendation,
    RecommendationConclusion,
    RecommendationPlan,
    plan_recommendation,
    recommendation_id,
)
from hati.studies.screening import ScreeningConclusion
from hati.wiring.campaigns import campaign_of, never
from hati.wiring.screening import PreparedScreening
from hati.wiring.workplace import Announce, Workplace, mute

KEPT = 0.2
"""This part of the budget is kept for the confirmation: of runs at least two configurations five times."""
_TIME_KEPT = 0.25
_RESERVE = 0.05
_PAIR = 2


@dataclass(frozen=True)
class SplitBudget:
    """A budget as it was written, the part for the screening, and what is kept to confirm, in words."""

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
            f"of {text} runs none is left to screen: {kept} are kept to confirm what is recommended",
            fix="give a larger --budget, or leave out --recommend",
        )
    return SplitBudget(text, str(int(budget.runs) - kept), f"{kept} runs")


def recommend(
    prepared: PreparedScreening, budget: SplitBudget, announce: Announce = mute, observe: Observer = silent
) -> RecommendationConclusion:
    """Confirm what a finished screening recommends, by what its budget has left; resumed where it was begun.

    Raises:
        MeasurementError: where the screening measured nothing.
    """
    place = prepared.place
    screening = _resumed(prepared)
    benchmark, evidence = prepared.benchmark, screening.evidence()
    metrics = (prepared.metric, *(metric for metric in benchmark.metrics if metric != prepared.metric))
    first = recommendation_id(
        screening=screening.id.key,
        metric=prepared.metric.name,
        relevant=prepared.request.relevant,
        budget=budget.whole,
        seed=prepared.id.seed,
        machine=place.machine.fingerprint,
    )
    left = Budget.parse(budget.whole).left(evidence)
    choices = {record.id: record.choice for record in place.store.latest(first) if record.choice}

    def prepared_confirmation(study: StudyId) -> _Confirmation:
        made = Recommendation(
            id=study,
            screening=screening.id.key,
            subject=place.project.name,
            benchmark=benchmark,
            metrics=metrics,
            revision=place.revision,
            space=place.project.space,
            wanted=RecommendationPlan.from_json(choices[study]) if study in choices else planned(),
            looked_up=math.isfinite(place.repetitions),
        )
        return _Confirmation(place, made, left)

    def planned() -> RecommendationPlan:
        return plan_recommendation(
            place.project.space,
            _findings(screening, metrics, evidence),
            _affordable(left, evidence),
            generator(first.seed, "recommendation"),
            among=_among(place),
            most_pairs=min(place.repetitions, MOST_PAIRS),
        )

    return _confirmed(campaign_of(place, first, prepared_confirmation, never, fresh=False), announce, observe)


@dataclass(frozen=True)
class _Confirmation:
    """A confirmation that can be made, resumed or concluded, with what may be spent on it."""

    place: Workplace
    study: Recommendation
    left: Budget

    @property
    def finished(self) -> bool:
        """Whether nothing is left to be run, or to be spent."""
        evidence = self.place.store.evidence(self.study.id)
        return not self.study.plan(evidence).within(self.left.left(evidence))


def _confirmed(prepared: _Confirmation, announce: Announce, observe: Observer) -> RecommendationConclusion:
    place, study, plan = prepared.place, prepared.study, prepared.study.wanted
    if prepared.finished:
        return study.conclude(place.store.evidence(study.id))
    place.store.begin(study.id, study.benchmark.metrics, place.machine)
    place.store.keep_choice(study.id, plan.to_json())
    runs = len(study.tasks)
    announce(f"confirmation: {len(plan.recommended)} recommended beside the default, {plan.pairs} times: {runs} runs")
    with place.engine(study.benchmark, announce) as engine:
        return campaign(study, engine, place.store, prepared.left, observe)


def _resumed(prepared: PreparedScreening) -> PreparedScreening:
    """The screening with the choice that it made meanwhile."""
    from hati.studies.screening import read_choice

    record = next(record for record in prepared.place.store.studies() if record.id == prepared.id)
    if not record.choice:
        raise MeasurementError("there is no design yet, and nothing to recommend", fix="give a larger budget")
    return replace(prepared, choice=read_choice(record.choice))


def _findings(screening: PreparedScreening, metrics: tuple[Metric, ...], evidence: Evidence) -> tuple[Findings, ...]:
    """What was found for each metric that has values."""
    assert screening.choice is not None
    study = screening.study(screening.choice)
    concluded = []
    for metric in metrics:
        try:
            concluded.append(replace(study, metric=metric).conclude(evidence))
        except MeasurementError:
            if metric == metrics[0]:
                raise
    return tuple(map(_as_findings, concluded))


def _as_findings(found: ScreeningConclusion) -> Findings:
    points = sorted(found.points, key=lambda point: point.order)
    offered = found.model.terms if found.by_model else [effect.options for effect in found.effects]
    return Findings(
        metric=found.metric,
        scale=ChangeScale(found.scale.value),
        configurations=tuple(point.configuration for point in points),
        values=np.array([point.value for point in points]),
        important=tuple(effect.options for effect in found.effects if effect.important),
        offered=tuple(offered),
        relevant=found.relevant,
    )


def _affordable(left: Budget, evidence: Evidence) -> int:
    """How many runs are left; of time a twentieth is kept in reserve."""
    if math.isfinite(left.runs):
        return int(left.runs)
    costs = [run.seconds for run in evidence.runs]
    cost = sum(costs) / len(costs) if costs else 0.0
    return int((1.0 - _RESERVE) * left.seconds / cost) if cost > 0.0 else _PAIR * MOST_PAIRS


def _among(place: Workplace) -> tuple[Configuration, ...]:
    """The configurations that a table has; any from a program."""
    return () if place.table is None else place.table.configurations
