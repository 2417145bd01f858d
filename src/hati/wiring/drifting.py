"""Effects at two revisions, on this machine."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from hati.campaign import Observer, campaign, silent
from hati.core import Benchmark, Budget, Configuration, Evidence, InputError, Plan, StudyId
from hati.report import counted
from hati.studies.comparison import Question
from hati.studies.effect_drift import EffectDrift, EffectDriftStudy, effect_drift_id
from hati.subject import Revisions
from hati.wiring.campaigns import campaign_of, never
from hati.wiring.rehearsal import Rehearsal, estimate
from hati.wiring.screening import ScreeningRequest, chosen_metric, prepare_screening
from hati.wiring.stored import stored_screening
from hati.wiring.workplace import Announce, Workplace, mute

ROUNDS = 4
_SIDES = 2
_DESIGN_RUNS = 4
"""Runs for each option of a design that is made for this."""


@dataclass(frozen=True)
class DriftRequest:
    """What a user asks: two revisions, and the metric whose effects are compared."""

    reference: str
    revision: str
    benchmark: str | None = None
    metric: str | None = None
    budget: str | None = None
    seed: int = 1
    question: Question = field(default_factory=Question)


@dataclass(frozen=True)
class PreparedDrift:
    """A study of effect drift that can be measured, resumed or concluded."""

    place: Workplace
    study: EffectDriftStudy
    budget: Budget
    revisions: Revisions

    @property
    def finished(self) -> bool:
        """Whether nothing is left to be run, or to be spent."""
        evidence = self.evidence()
        return not self.study.plan(evidence).within(self.budget.left(evidence))

    def evidence(self) -> Evidence:
        """What the campaign has measured so far."""
        return self.place.store.evidence(self.study.id)


def prepare_drift(place: Workplace, request: DriftRequest, *, fresh: bool) -> PreparedDrift:
    """Find the campaign to go on with, or number a new one; the design is the last screening's, else one made for this.

    Raises:
        InputError: where there are no such revisions, or the budget has not two rounds.
    """
    revisions = Revisions(place.project.root)
    reference, revision = revisions.find(request.reference), revisions.find(request.revision)
    benchmark = place.project.benchmark(request.benchmark)
    metric = chosen_metric(benchmark, request.metric)
    cells = _design(place, benchmark, metric.name, request.seed)
    budget = Budget.parse(request.budget or str(_SIDES * ROUNDS * len(cells)))
    rounds = int(budget.runs // (_SIDES * len(cells))) if math.isfinite(budget.runs) else ROUNDS
    machine = place.machine.fingerprint
    first = effect_drift_id(benchmark, cells, reference, revision, rounds, request.seed, machine)

    def prepared(study: StudyId) -> PreparedDrift:
        made = EffectDriftStudy(study, benchmark, metric, cells, reference, revision, rounds, request.question)
        return PreparedDrift(place, made, budget, revisions)

    return campaign_of(place, first, prepared, never, fresh=fresh)


def compare_effects(prepared: PreparedDrift, announce: Announce = mute, observe: Observer = silent) -> EffectDrift:
    """Make the campaign, or what is left of it, and conclude.

    Raises:
        MeasurementError: where fewer than two rounds could be measured.
    """
    place, study = prepared.place, prepared.study
    if prepared.finished:
        return study.conclude(prepared.evidence())
    place.store.begin(study.id, study.benchmark.metrics, place.machine)
    announce(_described(study))
    trees = prepared.revisions.trees(place.project.root)
    with place.engine_of_revisions((study.benchmark,), trees, announce) as engine:
        return campaign(study, engine, place.store, prepared.budget, observe)


def rehearse_drift(prepared: PreparedDrift) -> Rehearsal:
    """All tasks, without making or storing anything."""
    study, place = prepared.study, prepared.place
    plan = Plan(tuple(study.tasks()))
    return Rehearsal(_described(study), plan, estimate(place, study.benchmark, len(plan)), place.project.space.names)


def _described(study: EffectDriftStudy) -> str:
    cells = counted(len(study.configurations), "configuration")
    return f"{study.revision} against {study.reference}: {cells} in {counted(study.rounds, 'round')}"


def _design(place: Workplace, benchmark: Benchmark, metric: str, seed: int) -> tuple[Configuration, ...]:
    try:
        known = stored_screening(place, None, metric, 0.0)
        if known.benchmark.name == benchmark.name:
            return tuple(dict.fromkeys(known.configurations))
    except InputError:
        pass
    runs = _DESIGN_RUNS * max(1, len(place.project.space.names))
    prepared = prepare_screening(place, ScreeningRequest(metric, str(runs), seed, benchmark.name), fresh=True)
    return tuple(dict.fromkeys(prepared.study(prepared.choice or prepared.chosen(runs)).configurations))
