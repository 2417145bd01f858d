"""Plan campaigns, find the one of a study to resume, number new ones, and run them."""

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import msgspec
from msgspec import Struct

from hati.campaign import Observer, campaign, silent
from hati.core import Benchmark, Budget, Evidence, Metric, Outcome, Plan, Run, Study, StudyId
from hati.document import duration
from hati.knowledge import Entry, Provenance, TimedRuns, by_cost
from hati.store import Selection
from hati.wiring.known.named import SUBJECT
from hati.wiring.workplace import Announce, Workplace, mute

if TYPE_CHECKING:
    from hati.studies.assertion import ExpectedRuns
    from hati.studies.screening import AnyChoice
    from hati.subject import Trees


class Expected(Struct, frozen=True):
    """The expected seconds of tasks, and the runs from which they are estimated."""

    seconds: float
    source: str


class PlannedCampaign(Struct, frozen=True):
    """The plan of a campaign: tasks in order, and their expected time if earlier runs allow an estimate.

    ``options`` are those of the space, in the order of the project file. ``choice`` is the design of a screening, and
    ``methods`` are the methods of formulas; both are None for other studies. ``notes`` say what else the plan means.
    """

    reason: str
    plan: Plan
    expected: Expected | None
    options: tuple[str, ...]
    choice: AnyChoice | None = None
    methods: tuple[ExpectedRuns, ...] | None = None
    notes: tuple[str, ...] = ()

    @property
    def seconds(self) -> float | None:
        """The expected seconds of the tasks; None if unknown."""
        return None if self.expected is None else self.expected.seconds


def run_cost(place: Workplace, benchmark: Benchmark, now: datetime | None = None) -> Entry[float] | None:
    """The cost of a run of a benchmark in seconds, from the successful runs in the store; None without any.

    ``now`` is the time at which its age is computed [default: the clock's].
    """
    runs: dict[str, list[Run]] = {}
    for run in place.store.runs(Selection(benchmark=benchmark.name)):
        runs.setdefault(run.task.study, []).append(run)
    known = by_cost(list(filter(None, (_timed(place, study, own) for study, own in runs.items()))))
    if known is None:
        return None
    timed, reason = known
    return Entry(timed.median, timed.provenance, (now or datetime.now(UTC)) - timed.provenance.measured, reason)


def _timed(place: Workplace, study: str, runs: list[Run]) -> TimedRuns | None:
    """The times of a study's successful runs; None without any."""
    done = [run for run in runs if run.outcome is Outcome.DONE]
    if not done:
        return None
    last = max(done, key=lambda run: run.started)
    machine = "" if last.machine in place.machine.fingerprints else last.machine
    provenance = Provenance(study, len(done), last.started, machine=machine, made=len(runs))
    return TimedRuns(provenance, tuple(run.seconds for run in done))


def estimate(place: Workplace, benchmark: Benchmark, runs: int) -> Expected | None:
    """The expected time of ``runs`` runs of a benchmark, from the runs in the store; None without any."""
    known = run_cost(place, benchmark)
    return (
        None if known is None else Expected(runs * known.value, f"a run takes {duration(known.value)} ({known.source})")
    )


def estimate_all(place: Workplace, benchmarks: Sequence[Benchmark], plan: Plan) -> Expected | None:
    """The expected time of a plan and its continuation; None if the time of a benchmark is unknown."""
    more = plan.expected_total / max(1, len(plan.tasks))
    counts = Counter(task.benchmark for task in plan.tasks)
    found = [estimate(place, each, round(more * counts[each.name])) for each in benchmarks]
    known = [each for each in found if each is not None]
    if len(known) < len(found):
        return None
    return Expected(sum(each.seconds for each in known), "; ".join(dict.fromkeys(each.source for each in known)))


_BYTES = 4


S = TypeVar("S", bound=Study[Any])
C = TypeVar("C")
S_co = TypeVar("S_co", covariant=True)
C_co = TypeVar("C_co", covariant=True)


class Resumable(Protocol):
    """A campaign that can be resumed."""

    @property
    def finished(self) -> bool:
        """Whether no task or no budget is left."""


class Prepared(Resumable, Protocol[S_co, C_co]):
    """A campaign, found or new, that can be planned, measured, resumed and concluded."""

    @property
    def place(self) -> Workplace:
        """Where it is measured."""

    @property
    def study(self) -> S_co:
        """Its study, as far as it is decided."""

    def evidence(self) -> Evidence:
        """The runs measured so far."""

    def planned(self) -> PlannedCampaign:
        """The tasks that may be run; nothing is run or stored."""

    def make(self, announce: Announce = mute, observe: Observer = silent, asked: Struct | None = None) -> C_co:
        """Run the campaign, or the rest of it, keep the request ``asked`` with it, and conclude.

        Raises:
            MeasurementError: where too few runs succeeded for a conclusion.
        """


class Campaign(Struct, Generic[S, C], frozen=True):
    """The campaign of a study whose tasks follow from its evidence.

    ``described`` returns a description of what it will do, empty if that is obvious. ``dry_run_plan`` returns the
    tasks that may be run. ``kept`` is the text that the store keeps with the campaign; empty for none. ``trees`` has
    the files of its revisions [default: those in the folder].
    """

    place: Workplace
    study: S
    budget: Budget
    benchmarks: tuple[Benchmark, ...]
    described: Callable[[], str]
    dry_run_plan: Callable[[], Plan]
    kept: str = ""
    trees: Trees | None = None

    @property
    def finished(self) -> bool:
        """Whether no task or no budget is left."""
        evidence = self.evidence()
        return not self.study.plan(evidence).within(self.budget.left(evidence))

    def evidence(self) -> Evidence:
        """The runs measured so far."""
        return self.place.store.evidence(self.study.id)

    def planned(self) -> PlannedCampaign:
        """The tasks that may be run; nothing is run or stored."""
        plan = self.dry_run_plan()
        expected = estimate_all(self.place, self.benchmarks, plan)
        return PlannedCampaign(self.described(), plan, expected, self.place.project.space.names)

    def make(self, announce: Announce = mute, observe: Observer = silent, asked: Struct | None = None) -> C:
        """Run the campaign, or the rest of it, keep the request ``asked`` with it, and conclude.

        Raises:
            MeasurementError: where too few runs succeeded for a conclusion.
        """
        place, study = self.place, self.study
        finished, evidence = self.finished, self.evidence()
        known: list[C] = [study.conclude(evidence)] if finished else []
        if not finished or not evidence.runs:  # a campaign that needs no run is stored too
            place.begin(study.id, _metrics(self.benchmarks))
            if described := self.described():
                announce(described)
        keep(place, study.id, {**json.loads(self.kept or "{}"), **as_kept(asked), SUBJECT: place.project.name})
        if known:
            return known[0]
        with place.engine(self.benchmarks, announce, self.trees) as engine:
            made: C = campaign(study, engine, place.store, self.budget, observe)
        return made


def all_failed(known: Campaign[S, C]) -> bool:
    """Whether a campaign ended without a successful run."""
    evidence = known.evidence()
    return bool(evidence.failed) and not evidence.done and known.finished


ASKED = "asked"
"""The key of the request among the values that a store keeps with a campaign."""


def as_kept(asked: Struct | None) -> dict[str, Any]:
    """The request as a store keeps it; empty for None."""
    return {} if asked is None else {ASKED: msgspec.to_builtins(asked, enc_hook=str)}


GIVEN = "given"
"""The key of the words that name a table, which a later report of its study does not have."""


def table_given(place: Workplace) -> dict[str, Any]:
    """The words that name the workplace's table as a store keeps them; empty without a table."""
    return {} if place.table is None else {GIVEN: list(place.given)}


def keep(place: Workplace, study: StudyId, kept: Mapping[str, Any]) -> None:
    """Store values with a campaign, in addition to those that it has."""
    if not kept:
        return
    known = json.loads(place.store.choice(study) or "{}")
    if {**known, **kept} != known:
        place.store.change_choice(study, lambda stored: json.dumps({**json.loads(stored or "{}"), **kept}))


def _metrics(benchmarks: Sequence[Benchmark]) -> tuple[Metric, ...]:
    """The metrics of all benchmarks; of several with one name, the first."""
    known: dict[str, Metric] = {}
    for benchmark in benchmarks:
        for metric in benchmark.metrics:
            known.setdefault(metric.name, metric)
    return tuple(known.values())


P = TypeVar("P", bound=Resumable)


def campaign_of(
    place: Workplace,
    study: StudyId,
    prepared: Callable[[StudyId], P],
    over: Callable[[P], bool],
    *,
    fresh: bool,
) -> P:
    """The newest campaign of a study that is not ``over``; a new one if there is none, or if ``fresh``.

    Merged stores may have several campaigns of the highest number: an unfinished one is preferred, then the one
    with the most runs, then the last one.
    """
    latest = place.store.latest(study, place.measured_on.fingerprints)
    if len(latest) > 1:
        latest = tuple(sorted(latest, key=lambda record: -len(place.store.evidence(record.id).runs)))
    known = [] if fresh else [each for each in map(prepared, (record.id for record in latest)) if not over(each)]
    if known:
        return known[0] if len(known) == 1 else min(known, key=lambda each: each.finished)
    return prepared(study.numbered(max((record.id.campaign for record in latest), default=0) + 1, _token(place)))


def never(_: Resumable) -> bool:
    """False: a finished campaign is used as it is."""
    return False


def _token(place: Workplace) -> str:
    """A random token; empty if runs are looked up in a table, because a task's runs are the same in every store."""
    return "" if place.table is not None else secrets.token_hex(_BYTES)
