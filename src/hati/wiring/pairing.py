"""Comparing two variants on this machine, in pairs of runs measured now."""

from __future__ import annotations

from msgspec import Struct, field

from hati.campaign import Observer, campaign, silent
from hati.core import Budget, Evidence, Pairing, Plan, Stopping, StudyId
from hati.harness import RULES
from hati.studies.comparison import Question
from hati.studies.paired import Contest, PairedComparison, PairedConclusion, Variant, paired_id, shared_metrics
from hati.subject import duet_cores
from hati.wiring.campaigns import campaign_of
from hati.wiring.rehearsal import Rehearsal, estimate
from hati.wiring.statistics import keep_statistics, statistics_of
from hati.wiring.workplace import Announce, Workplace, mute


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


class PreparedPairs(Struct, frozen=True):
    """A comparison of pairs that can be made, resumed or concluded."""

    place: Workplace
    study: PairedComparison

    @property
    def finished(self) -> bool:
        """Whether nothing is left to be run, or to be spent."""
        return not self._left(self.evidence())

    @property
    def in_vain(self) -> bool:
        """Whether it ended without a run that worked on either side."""
        evidence = self.evidence()
        return bool(evidence.failed) and not evidence.done and not self._left(evidence)

    def evidence(self) -> Evidence:
        """What the campaign has measured so far."""
        return self.place.store.evidence(self.study.id)

    def _left(self, evidence: Evidence) -> Plan:
        return self.study.plan(evidence).within(self.study.budget.left(evidence))


def prepare_pairs(place: Workplace, request: PairedRequest, *, fresh: bool) -> PreparedPairs:
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

    def prepared(study: StudyId) -> PreparedPairs:
        own = contest._replace(choices=statistics_of(place, study, question, (before.benchmark,)))
        return PreparedPairs(place, PairedComparison(study, own, metrics, Budget.parse(request.budget)))

    return campaign_of(place, first, prepared, lambda known: known.in_vain, fresh=fresh)


def compare_pairs(prepared: PreparedPairs, announce: Announce = mute, observe: Observer = silent) -> PairedConclusion:
    """Make the campaign, or what is left of it, and conclude.

    Raises:
        MeasurementError: where no pair could be measured.
    """
    place, study = prepared.place, prepared.study
    if prepared.finished:
        return study.conclude(prepared.evidence())
    place.store.begin(study.id, study.contest.before.benchmark.metrics, place.machine)
    keep_statistics(place, study.id, study.contest.choices)
    before, after = study.contest.before.benchmark, study.contest.after.benchmark
    benchmarks = (before,) if before.name == after.name else (before, after)
    with place.engine_of_pairs(benchmarks, study.contest.pairing, announce) as engine:
        return campaign(study, engine, place.store, study.budget, observe)


def rehearse_pairs(prepared: PreparedPairs) -> Rehearsal:
    """All tasks that there may be, without making or storing anything; the first ones of a budget in time."""
    study, place = prepared.study, prepared.place
    contest = study.contest
    plan = Plan(study.tasks(study.most_pairs(Evidence())))
    ending = "until it is decided" if contest.rule.kind is Stopping.ANYTIME else "all of them"
    reason = f"pairs of {contest.before} and {contest.after}, each in random order, {ending}"
    return Rehearsal(reason, plan, estimate(place, contest.before.benchmark, len(plan)), place.project.space.names)
