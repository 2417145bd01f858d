"""What a campaign would do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from hati.core import Benchmark, Outcome, Plan, Run
from hati.knowledge import Entry, Provenance, TimedRuns, by_cost
from hati.report import duration
from hati.store import Selection
from hati.wiring.workplace import Workplace

if TYPE_CHECKING:
    from hati.studies.screening import AnyChoice


class Expected(Struct, frozen=True):
    """The seconds that tasks would take, and from which runs that is known."""

    seconds: float
    source: str


class Rehearsal(Struct, frozen=True):
    """What a campaign would do: tasks in order, and the time that they would take, where earlier runs tell.

    ``options`` are the space's, in the order of the project file; ``choice`` is a screening's design.
    """

    reason: str
    plan: Plan
    expected: Expected | None
    options: tuple[str, ...]
    choice: AnyChoice | None = None

    @property
    def seconds(self) -> float | None:
        """What the tasks would take; None where that is not known."""
        return None if self.expected is None else self.expected.seconds


def run_cost(place: Workplace, benchmark: Benchmark, now: datetime | None = None) -> Entry[float] | None:
    """What a run of a benchmark costs in seconds, by the runs in the store that worked; None without any.

    ``now`` is the time from which its age counts [default: the clock's].
    """
    runs: dict[str, list[Run]] = {}
    for run in place.store.runs(Selection(benchmark=benchmark.name)):
        if run.outcome is Outcome.DONE:
            runs.setdefault(run.task.study, []).append(run)
    known = by_cost([_timed(place, study, own) for study, own in runs.items()])
    if known is None:
        return None
    timed, reason = known
    return Entry(timed.median, timed.provenance, (now or datetime.now(UTC)) - timed.provenance.measured, reason)


def _timed(place: Workplace, study: str, runs: list[Run]) -> TimedRuns:
    last = max(runs, key=lambda run: run.started)
    machine = "" if last.machine == place.machine.fingerprint else last.machine
    return TimedRuns(Provenance(study, len(runs), last.started, machine=machine), tuple(run.seconds for run in runs))


def estimate(place: Workplace, benchmark: Benchmark, runs: int) -> Expected | None:
    """What so many runs of a benchmark would take, by those in the store; None where there are none."""
    known = run_cost(place, benchmark)
    return (
        None if known is None else Expected(runs * known.value, f"a run takes {duration(known.value)} ({known.source})")
    )


def estimate_all(place: Workplace, benchmarks: Sequence[Benchmark], plan: Plan) -> Expected | None:
    """What a plan, and what is foreseen after it, would take; None where that of one of the benchmarks is not known."""
    more = plan.foreseen / max(1, len(plan.tasks))
    counts = Counter(task.benchmark for task in plan.tasks)
    found = [estimate(place, each, round(more * counts[each.name])) for each in benchmarks]
    known = [each for each in found if each is not None]
    if len(known) < len(found):
        return None
    return Expected(sum(each.seconds for each in known), "; ".join(dict.fromkeys(each.source for each in known)))
