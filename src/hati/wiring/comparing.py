"""Comparing on this machine: two variants in pairs of runs, and commits of an interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from msgspec import Struct, field

from hati.core import Budget, Configuration, Evidence, InputError, Pairing, Plan, Revision, Stopping, StudyId
from hati.core.wording import counted
from hati.harness import RULES
from hati.studies.bisection import Bisection, BisectionConclusion, bisection_id
from hati.studies.comparison import Question
from hati.studies.paired import PairedComparison, PairedConclusion, PairedDesign, Variant, paired_id, shared_metrics
from hati.subject import Revisions, duet_cores
from hati.wiring.campaigns import Campaign, all_failed, campaign_of, never
from hati.wiring.finding import shown_in
from hati.wiring.screening import chosen_metric
from hati.wiring.statistics import statistics_of
from hati.wiring.workplace import Workplace


class PairedRequest(Struct, frozen=True):
    """What a user asks of two variants; ``metric`` None: all that they share."""

    before: Variant
    after: Variant
    budget: str
    seed: int
    metric: str | None = None
    question: Question = field(default_factory=Question)
    stopping: Stopping = Stopping.ANYTIME
    pairing: Pairing = Pairing.INTERLEAVED


def prepare_pairs(
    place: Workplace, request: PairedRequest, *, fresh: bool
) -> Campaign[PairedComparison, PairedConclusion]:
    """Find the campaign to go on with, or number a new one.

    An unfinished one is resumed, an anytime-valid one also with a larger budget or another level. A finished one is
    taken as it is, unless ``fresh`` or unless it had measured nothing.

    Raises:
        InputError: where the variants share no metric, the budget cannot decide, or they cannot be run at once.
    """
    metrics = shared_metrics(request.before, request.after, request.metric)
    machine = place.machine.fingerprint
    before, after, question = request.before, request.after, request.question
    if request.pairing is Pairing.DUET:
        duet_cores((before.benchmark, after.benchmark))
    rule = RULES[request.stopping]
    contest = PairedDesign(before, after, place.revision, machine, question, rule, request.pairing)
    first = paired_id(
        before, after, place.revision, request.stopping, request.budget, request.seed, machine, request.pairing
    )

    def prepared(study: StudyId) -> Campaign[PairedComparison, PairedConclusion]:
        own = contest._replace(choices=statistics_of(place, study, question, (before.benchmark,)))
        made = PairedComparison(study, own, metrics, Budget.parse(request.budget))
        benchmarks = tuple({each.name: each for each in (before.benchmark, after.benchmark)}.values())
        engine = partial(place.engine_of_pairs, benchmarks, request.pairing)
        kept = own.choices.to_json() if own.choices.rows else ""
        described, tasks = partial(_described, own), lambda: Plan(made.tasks(made.most_pairs(Evidence())))
        return Campaign(place, made, made.budget, benchmarks, engine, described, tasks, kept)

    return campaign_of(place, first, prepared, all_failed, fresh=fresh)


def _described(contest: PairedDesign) -> str:
    ending = "until it is decided" if contest.rule.kind is Stopping.ANYTIME else "all of them"
    return f"pairs of {contest.before} and {contest.after}, each in random order, {ending}"


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


def prepare_bisection(
    place: Workplace, request: BisectionRequest, *, fresh: bool
) -> Campaign[Bisection, BisectionConclusion]:
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

    def prepared(study: StudyId) -> Campaign[Bisection, BisectionConclusion]:
        made = Bisection(study, benchmark, configuration, metric, tuple(line), request.question, budget)
        engine = partial(place.engine_of_revisions, (benchmark,), revisions.trees(place.project.root))
        first_pair = partial(_first_pair, place, made)
        return Campaign(place, made, budget, (benchmark,), engine, partial(_described_line, made), first_pair)

    return campaign_of(place, first, prepared, never, fresh=fresh)


def _first_pair(place: Workplace, study: Bisection) -> Plan:
    """Which others follow depends on what it yields."""
    plan = study.plan(place.store.evidence(study.id))
    return Plan(plan.tasks, int(study.budget.runs) if math.isfinite(study.budget.runs) else 0)


def _described_line(study: Bisection) -> str:
    where = f", at {study.configuration}" if study.configuration else ""
    number, first, last = counted(len(study.revisions) - 1, "revision"), study.revisions[0], study.revisions[-1]
    return f"{number} from {first} to {last}{where}"


def _line(revisions: Revisions, request: BisectionRequest) -> Sequence[Revision]:
    good, bad = revisions.find(request.good), revisions.find(request.bad)
    if revisions.history is None:
        raise InputError("there is no repository to bisect", fix="compare two folders by hati check")
    return revisions.between(good, bad)
