"""Effects at two revisions, on this machine."""

from __future__ import annotations

import math

from msgspec import Struct, field

from hati.campaign import Observer, campaign, silent
from hati.core import Benchmark, Budget, Configuration, Evidence, Metric, Plan, StudyId
from hati.core.wording import counted
from hati.studies.comparison import Question
from hati.studies.effect_drift import EffectDrift, EffectDriftStudy, effect_drift_id
from hati.subject import Revisions
from hati.wiring.campaigns import campaign_of, never
from hati.wiring.knowing import screened, working_space
from hati.wiring.rehearsal import Rehearsal, estimate
from hati.wiring.screening import ScreeningRequest, chosen_metric, prepare_screening
from hati.wiring.workplace import Announce, Workplace, mute

ROUNDS = 4
_SIDES = 2
_DESIGN_RUNS = 4
"""Runs for each option of a design that is made for this."""


class DriftRequest(Struct, frozen=True):
    """What a user asks: two revisions, and the metric whose effects are compared."""

    reference: str
    revision: str
    benchmark: str | None = None
    metric: str | None = None
    budget: str | None = None
    seed: int = 1
    question: Question = field(default_factory=Question)


class PreparedDrift(Struct, frozen=True):
    """A study of effect drift that can be measured, resumed or concluded; ``source`` says where its design is from."""

    place: Workplace
    study: EffectDriftStudy
    budget: Budget
    revisions: Revisions
    source: str

    @property
    def finished(self) -> bool:
        """Whether nothing is left to be run, or to be spent."""
        evidence = self.evidence()
        return not self.study.plan(evidence).within(self.budget.left(evidence))

    def evidence(self) -> Evidence:
        """What the campaign has measured so far."""
        return self.place.store.evidence(self.study.id)


def prepare_drift(place: Workplace, request: DriftRequest, *, fresh: bool) -> PreparedDrift:
    """Find the campaign to go on with, or number a new one.

    The design is that of the most informative screening, without what is known not to work; else one made for this.

    Raises:
        InputError: where there are no such revisions, or the budget has not two rounds.
    """
    revisions = place.revisions()
    reference, revision = revisions.find(request.reference), revisions.find(request.revision)
    benchmark = place.project.benchmark(request.benchmark)
    metric = chosen_metric(benchmark, request.metric)
    cells, source = _design(place, benchmark, metric, request.seed)
    budget = Budget.parse(request.budget or str(_SIDES * ROUNDS * len(cells)))
    rounds = int(budget.runs // (_SIDES * len(cells))) if math.isfinite(budget.runs) else ROUNDS
    machine = place.machine.fingerprint
    first = effect_drift_id(benchmark, cells, reference, revision, rounds, request.seed, machine)

    def prepared(study: StudyId) -> PreparedDrift:
        made = EffectDriftStudy(study, benchmark, metric, cells, reference, revision, rounds, request.question)
        return PreparedDrift(place, made, budget, revisions, source)

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
    announce(_described(prepared))
    trees = prepared.revisions.trees(place.project.root)
    with place.engine_of_revisions((study.benchmark,), trees, announce) as engine:
        return campaign(study, engine, place.store, prepared.budget, observe)


def rehearse_drift(prepared: PreparedDrift) -> Rehearsal:
    """All tasks, without making or storing anything."""
    study, place = prepared.study, prepared.place
    plan = Plan(tuple(study.tasks()))
    return Rehearsal(_described(prepared), plan, estimate(place, study.benchmark, len(plan)), place.project.space.names)


def _described(prepared: PreparedDrift) -> str:
    study, cells = prepared.study, counted(len(prepared.study.configurations), "configuration")
    rounds = counted(study.rounds, "round")
    return f"{study.revision} against {study.reference}: {cells} ({prepared.source}) in {rounds}"


def _design(place: Workplace, benchmark: Benchmark, metric: Metric, seed: int) -> tuple[tuple[Configuration, ...], str]:
    """The configurations, and where they are from."""
    known = screened(place, benchmark, metric)
    if known is not None:
        study, _, entry = known
        space, left_out = working_space(place, benchmark)
        cells = tuple(dict.fromkeys(each for each in study.configurations if space.valid(each)))
        return cells, "; ".join(filter(None, (f"the design of {entry.source}", left_out)))
    runs = _DESIGN_RUNS * max(1, len(place.project.space.names))
    prepared = prepare_screening(place, ScreeningRequest(metric.name, str(runs), seed, benchmark.name), fresh=True)
    made = prepared.study(prepared.choice or prepared.chosen(runs)).configurations
    return tuple(dict.fromkeys(made)), f"a design made for this: {benchmark.name} is not screened"
