"""Comparing two variants on this machine, in pairs of runs measured now."""

from __future__ import annotations

from functools import partial

from msgspec import Struct, field

from hati.core import Budget, Evidence, Pairing, Plan, Stopping, StudyId
from hati.harness import RULES
from hati.studies.comparison import Question
from hati.studies.paired import Contest, PairedComparison, PairedConclusion, Variant, paired_id, shared_metrics
from hati.subject import duet_cores
from hati.wiring.campaigns import Campaign, campaign_of, in_vain
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
    contest = Contest(before, after, place.revision, machine, question, rule, request.pairing)
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

    return campaign_of(place, first, prepared, in_vain, fresh=fresh)


def _described(contest: Contest) -> str:
    ending = "until it is decided" if contest.rule.kind is Stopping.ANYTIME else "all of them"
    return f"pairs of {contest.before} and {contest.after}, each in random order, {ending}"
