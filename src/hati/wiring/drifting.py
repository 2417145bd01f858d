"""Effects at two revisions, on this machine."""

from __future__ import annotations

import math
from functools import partial

from msgspec import Struct, field

from hati.core import Benchmark, Budget, Configuration, Metric, Plan, StudyId
from hati.core.wording import counted
from hati.studies.comparison import Question
from hati.studies.effect_drift import EffectDrift, EffectDriftStudy, effect_drift_id
from hati.wiring.campaigns import Campaign, campaign_of, never
from hati.wiring.knowing import screened, working_space
from hati.wiring.screening import ScreeningRequest, chosen_metric, prepare_screening
from hati.wiring.workplace import Workplace

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


def prepare_drift(place: Workplace, request: DriftRequest, *, fresh: bool) -> Campaign[EffectDriftStudy, EffectDrift]:
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

    def prepared(study: StudyId) -> Campaign[EffectDriftStudy, EffectDrift]:
        made = EffectDriftStudy(study, benchmark, metric, cells, reference, revision, rounds, request.question)
        engine = partial(place.engine_of_revisions, (benchmark,), revisions.trees(place.project.root))
        described = partial(_described, made, source)
        return Campaign(place, made, budget, (benchmark,), engine, described, lambda: Plan(tuple(made.tasks())))

    return campaign_of(place, first, prepared, never, fresh=fresh)


def _described(study: EffectDriftStudy, source: str) -> str:
    cells, rounds = counted(len(study.configurations), "configuration"), counted(study.rounds, "round")
    return f"{study.revision} against {study.reference}: {cells} ({source}) in {rounds}"


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
