"""Bisections on this machine."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field

from hati.campaign import Observer, campaign, silent
from hati.core import Budget, Configuration, Evidence, InputError, Plan, Revision, StudyId
from hati.core.wording import counted
from hati.studies.bisection import Bisection, BisectionConclusion, bisection_id
from hati.studies.comparison import Question
from hati.subject import Revisions
from hati.wiring.campaigns import campaign_of, never
from hati.wiring.finding import shown_in
from hati.wiring.rehearsal import Rehearsal, estimate
from hati.wiring.screening import chosen_metric
from hati.wiring.workplace import Announce, Workplace, mute

PAIRS = 24
"""So many pairs of each probe a bisection may cost in the mean, where nothing else is said."""


class BisectionRequest(Struct, frozen=True):
    """What a user asks: the good revision and the bad one, and where the change shows: None is where findings say."""

    good: str
    bad: str
    configuration: Configuration | None = None
    benchmark: str | None = None
    metric: str | None = None
    budget: str | None = None
    seed: int = 1
    question: Question = field(default_factory=Question)


class PreparedBisection(Struct, frozen=True):
    """A bisection that can be measured, resumed or concluded."""

    place: Workplace
    study: Bisection
    revisions: Revisions

    @property
    def finished(self) -> bool:
        """Whether nothing is left to be run, or to be spent."""
        evidence = self.evidence()
        return not self.study.plan(evidence).within(self.study.budget.left(evidence))

    def evidence(self) -> Evidence:
        """What the campaign has measured so far."""
        return self.place.store.evidence(self.study.id)


def prepare_bisection(place: Workplace, request: BisectionRequest, *, fresh: bool) -> PreparedBisection:
    """Find the campaign to go on with, or number a new one.

    Raises:
        InputError: where there are no such revisions, or the bad one does not come after the good one.
    """
    revisions = place.revisions()
    line = _line(revisions, request)
    benchmark = place.project.benchmark(request.benchmark)
    metric = chosen_metric(benchmark, request.metric)
    probes = 2 + len(line).bit_length()
    budget = Budget.parse(request.budget or str(2 * PAIRS * probes))
    machine = place.machine.fingerprint
    configuration = request.configuration or shown_in(place, line, benchmark, metric) or place.project.space.default
    first = bisection_id(benchmark, configuration, metric, line, request.question, request.seed, machine)

    def prepared(study: StudyId) -> PreparedBisection:
        made = Bisection(study, benchmark, configuration, metric, tuple(line), request.question, budget)
        return PreparedBisection(place, made, revisions)

    return campaign_of(place, first, prepared, never, fresh=fresh)


def bisect(prepared: PreparedBisection, announce: Announce = mute, observe: Observer = silent) -> BisectionConclusion:
    """Make the campaign, or what is left of it, and conclude.

    Raises:
        MeasurementError: where the good or the bad revision could not be measured.
    """
    place, study = prepared.place, prepared.study
    if prepared.finished:
        return study.conclude(prepared.evidence())
    place.store.begin(study.id, study.benchmark.metrics, place.machine)
    where = f", at {study.configuration}" if study.configuration else ""
    announce(
        f"{counted(len(study.revisions) - 1, 'revision')} from {study.revisions[0]} to {study.revisions[-1]}{where}"
    )
    trees = prepared.revisions.trees(place.project.root)
    with place.engine_of_revisions((study.benchmark,), trees, announce) as engine:
        return campaign(study, engine, place.store, study.budget, observe)


def rehearse_bisection(prepared: PreparedBisection) -> Rehearsal:
    """The first pair; which others follow depends on what it yields."""
    study, place = prepared.study, prepared.place
    plan: Plan = study.plan(prepared.evidence())
    number, good = counted(len(study.revisions) - 1, "revision"), study.revisions[0]
    reason = f"{number} after {good}, in pairs with it until it is decided"
    most = int(study.budget.runs) if study.budget.runs < float("inf") else len(plan)
    return Rehearsal(reason, plan, estimate(place, study.benchmark, most), place.project.space.names)


def _line(revisions: Revisions, request: BisectionRequest) -> Sequence[Revision]:
    good, bad = revisions.find(request.good), revisions.find(request.bad)
    if revisions.history is None:
        raise InputError("there is no repository to bisect", fix="compare two folders by hati check")
    return revisions.between(good, bad)
