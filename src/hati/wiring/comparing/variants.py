"""Comparing on this machine: two variants in pairs of runs, and commits of an interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from hati.core import (
    Benchmark,
    Budget,
    Configuration,
    Evidence,
    InputError,
    Metric,
    Pairing,
    Plan,
    Revision,
    Stopping,
    StudyId,
)
from hati.core.wording import counted, suggestion
from hati.harness import RULES
from hati.project import Project
from hati.studies.bisection import Bisection, BisectionConclusion, bisection_id
from hati.studies.comparison import Question
from hati.studies.paired import PairedComparison, PairedConclusion, PairedDesign, Variant, paired_id, shared_metrics
from hati.subject import Revisions, duet_cores
from hati.wiring.campaigns import Campaign, all_failed, campaign_of, never
from hati.wiring.kinds.bisection import BisectionRequest
from hati.wiring.kinds.paired import CompareRequest
from hati.wiring.known.benchmarks import shown_in, statistics_of
from hati.wiring.screening.campaign import chosen_metric
from hati.wiring.templates import parse_configuration
from hati.wiring.workplace import Workplace


def prepare_pairs(
    place: Workplace, request: CompareRequest, *, fresh: bool
) -> Campaign[PairedComparison, PairedConclusion]:
    """Find the campaign to resume, or number a new one.

    An unfinished campaign is resumed, an anytime-valid one also with a larger budget or another level. A finished one
    is used as it is, unless ``fresh`` or unless it measured nothing.

    Raises:
        InputError: where the variants share no metric, the budget cannot decide, or they cannot run at the same time.
    """
    Budget.parse(request.budget)
    question, (names_before, names_after) = request.question, request.sides
    before = _variant(place.project, names_before[0], request.settings_of(request.set_before))
    after = _variant(place.project, names_after[0], request.settings_of(request.set_after))
    metrics = shared_metrics(before, after, request.metric)
    machine = place.measured_on.id
    if request.pairing is Pairing.DUET:
        duet_cores((before.benchmark, after.benchmark))
    rule = RULES[request.stopping]
    design = PairedDesign(before, after, place.revision, machine, question, rule, request.pairing)
    first = paired_id(
        before, after, place.revision, request.stopping, request.budget, request.seed, machine, request.pairing
    )

    def prepared(study: StudyId) -> Campaign[PairedComparison, PairedConclusion]:
        own = design._replace(machine=study.machine, choices=statistics_of(place, study, question, (before.benchmark,)))
        made = PairedComparison(study, own, metrics, Budget.parse(request.budget))
        benchmarks = tuple({each.name: each for each in (before.benchmark, after.benchmark)}.values())
        engine = partial(place.engine, benchmarks)
        kept = own.choices.to_json() if own.choices.rows else ""
        described, tasks = partial(_described, own), lambda: Plan.of(made.tasks(made.most_pairs(Evidence())))
        return Campaign(place, made, made.budget, benchmarks, engine, described, tasks, kept)

    return campaign_of(place, first, prepared, all_failed, fresh=fresh)


def _variant(project: Project, name: str, settings: str) -> Variant:
    known = [benchmark.name for benchmark in project.benchmarks]
    if name not in known:
        raise InputError(f"{name!r} is neither a file nor a benchmark of {project.file}", fix=suggestion(name, known))
    return Variant(project.benchmark(name), parse_configuration(project.space, settings))


def _described(design: PairedDesign) -> str:
    ending = "until it is decided" if design.rule.kind is Stopping.ANYTIME else "all of them"
    return f"pairs of {design.before} and {design.after}, each in random order, {ending}"


PER_COMMIT = "pairs per commit"
PAIRS = 24
"""The default budget of a bisection: pairs of each probe, on average."""


def prepare_bisection(
    place: Workplace, request: BisectionRequest, *, fresh: bool
) -> Campaign[Bisection, BisectionConclusion]:
    """Find the campaign to resume, or number a new one.

    Raises:
        InputError: for an unknown revision, or where the bad one does not come after the good one.
    """
    revisions = place.revisions()
    line = _line(revisions, request)
    benchmark = place.project.benchmark(request.benchmark)
    metric = chosen_metric(benchmark, request.metric)
    probes = 2 + len(line).bit_length()
    budget = Budget.parse(request.budget or f"{PAIRS} {PER_COMMIT}", {PER_COMMIT: 2 * probes})
    machine, question = place.measured_on.id, Question(request.alpha, request.margin)
    configuration = _configuration(place, request.settings, line, benchmark, metric)
    first = bisection_id(benchmark, configuration, metric, line, question, request.seed, machine)

    def prepared(study: StudyId) -> Campaign[Bisection, BisectionConclusion]:
        made = Bisection(study, benchmark, configuration, metric, tuple(line), question, budget)
        engine = partial(place.engine, (benchmark,), trees=revisions.trees(place.project.root))
        first_pair = partial(_first_pair, place, made)
        return Campaign(place, made, budget, (benchmark,), engine, partial(_described_line, made), first_pair)

    return campaign_of(place, first, prepared, never, fresh=fresh)


def _configuration(
    place: Workplace, settings: str | None, line: Sequence[Revision], benchmark: Benchmark, metric: Metric
) -> Configuration:
    if settings is not None:
        return parse_configuration(place.project.space, settings)
    return shown_in(place, line, benchmark, metric) or place.project.space.default


def _first_pair(place: Workplace, study: Bisection) -> Plan:
    """The first pair; its result determines which pairs follow."""
    plan = study.plan(place.store.evidence(study.id))
    return Plan(plan.batches, int(study.budget.runs) if math.isfinite(study.budget.runs) else 0)


def _described_line(study: Bisection) -> str:
    where = f", at {study.configuration}" if study.configuration else ""
    number, first, last = counted(len(study.revisions) - 1, "revision"), study.revisions[0], study.revisions[-1]
    return f"{number} from {first} to {last}{where}"


def _line(revisions: Revisions, request: BisectionRequest) -> Sequence[Revision]:
    good, bad = revisions.find(request.good), revisions.find(request.bad)
    if revisions.history is None:
        raise InputError("there is no repository to bisect", fix="compare two folders by hati check")
    return revisions.between(good, bad)
