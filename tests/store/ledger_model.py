"""A model of the ledger that a state machine of Hypothesis drives beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, MultipleResults, RuleBasedStateMachine, invariant, multiple, precondition, rule

from hati.core import Job, Outcome, replace
from hati.steering import ClientKind, Requirements, choose, reports_needed
from hati.store import ATTEMPTS, AttemptOutcome, BatchState, EntryKind, Lease, Ledger
from hati.store import ledger_batches as batches_module
from hati.store.ledger import PATIENCE_SECONDS
from hati.store.ledger_claims import BACKOFF_SECONDS, ELSEWHERE_SECONDS, LONGEST_BACKOFF_SECONDS, RETURNS
from hati.testing.conformance import a_run, a_study
from ledgers import ANY, SECONDS, a_batch, a_client, a_job, a_volunteer

WORKERS, VOLUNTEERS = ("one", "two"), ("ada", "bob", "eve")
"""The names of the machines that drive a ledger and its model."""
STUDIES = ("study-1", "study-2")
LENT = Requirements(kind=ClientKind.VOLUNTEER)
REPLICATED = Requirements(kind=ClientKind.VOLUNTEER, replicas=2)


@dataclass
class _ModelBatch:
    """The model's state of a batch."""

    jobs: tuple[Job, ...]
    needed: Requirements = ANY
    state: BatchState = BatchState.OPEN
    machine: str | None = None
    attempts: int = 0
    until: float = 0.0

    @property
    def study(self) -> str:
        return self.jobs[0].task.study


@dataclass
class _Held:
    """A lease, and the name of its machine."""

    lease: Lease
    name: str


@dataclass
class _Report:
    """A machine's report of a task, until a verdict whether others agree."""

    name: str
    outcome: Outcome
    seconds: float
    verdict: str = ""


@dataclass(frozen=True)
class _Ended:
    """An attempt that has ended."""

    name: str
    batch: int
    outcome: AttemptOutcome
    at: float


class LedgerMachine(RuleBasedStateMachine):
    """Drives a ledger and a model in parallel; the caller sets ``ledger_of``, which opens an empty one with a clock."""

    ledger_of: Callable[[Callable[[], float]], Ledger]
    leases: Bundle[_Held] = Bundle("leases")

    def __init__(self) -> None:
        super().__init__()
        self.now, self.draw = 1000.0, 0.0
        self.ledger = type(self).ledger_of(lambda: self.now).at(lambda: self.now, lambda: self.draw)
        self.batches: dict[int, _ModelBatch] = {}
        self.held: dict[str, tuple[int, int, str]] = {}
        self.present: dict[str, float] = {}
        self.ended: list[_Ended] = []
        self.results: dict[str, float] = {}
        self.reports: dict[str, list[_Report]] = {}
        self.answered: set[str] = set()
        self.handed_in = 0

    @rule(
        tasks=st.lists(st.integers(0, 5), min_size=1, max_size=3, unique=True),
        needed=st.sampled_from([ANY, LENT, REPLICATED]),
        study=st.sampled_from(STUDIES),
    )
    def release(self, tasks: list[int], needed: Requirements, study: str) -> None:
        batch, kind = a_batch(*tasks, study=study), needed.kind
        number = self.ledger.release(batch, needed)
        out = {BatchState.OPEN, BatchState.LEASED}
        same = [n for n, each in self.batches.items() if each.jobs == batch.members and each.state in out]
        for fewer in [n for n in same if self.batches[n].needed.replicas < needed.replicas]:
            same.remove(fewer)
            self._withdraw(fewer)
        assert [number] == same or (not same and number not in self.batches)
        if not same:
            done = all(job.task.id in self.results for job in batch.members)
            state = BatchState.DONE if done else BatchState.OPEN
            [row] = [entry for entry in self.ledger.history() if entry.number == number]
            machine: str | None = row.content["machine"]
            able = {f"machine-{name}" for name in WORKERS if kind is ClientKind.WORKER}
            assert machine is None or machine in able
            self.batches[number] = _ModelBatch(batch.members, needed, state, machine)

    @rule(target=leases, name=st.sampled_from(WORKERS + VOLUNTEERS), key=st.sampled_from(["k1", "k2"]))
    def claim(self, name: str, key: str) -> _Held | MultipleResults[_Held]:
        self.now += 0.01  # attempts of a machine end at different times
        client = a_volunteer(name) if name in VOLUNTEERS else a_client(name)
        worker = f"{name}/{key}" if name in VOLUNTEERS else f"worker-{name}"
        lease = self.ledger.claim(worker, client, choose, SECONDS)
        self._expire()
        self.present[name] = self.now + SECONDS
        if name in self.held:
            number, attempt, holder = self.held[name]
            if holder != worker or self._left(number, name):
                assert (lease and (lease.number, lease.attempt)) == ((number, attempt) if holder == worker else None)
                return multiple()
            self._end(name, AttemptOutcome.DONE)
        chosen = self._chosen(name)
        if lease is None:
            assert chosen is None
            return multiple()
        assert lease.number == chosen
        known = self.batches[lease.number]
        known.state, known.attempts, known.until = BatchState.LEASED, known.attempts + 1, self.now + SECONDS
        assert lease.attempt == known.attempts
        assert list(lease.batch.members) == self._left(lease.number, name)
        self.held[name] = (lease.number, lease.attempt, worker)
        return _Held(lease, name)

    @rule(name=st.sampled_from(VOLUNTEERS))
    def enter(self, name: str) -> None:
        self.ledger.enter(name, a_volunteer(name), SECONDS)
        self.present[name] = self.now + SECONDS

    @rule(
        held=leases,
        place=st.integers(0, 2),
        outcome=st.sampled_from([Outcome.DONE, Outcome.DONE, Outcome.FAILED]),
        draw=st.sampled_from([0.0, 0.6, 0.9]),
    )
    def hand_in(self, held: _Held, place: int, outcome: Outcome, draw: float) -> None:
        job = held.lease.batch.members[place % len(held.lease.batch.members)]
        self.handed_in, self.draw = self.handed_in + 1, draw
        made = replace(a_run(a_study(), outcome=outcome), task=job.task, seconds=float(self.handed_in))
        what = self.ledger.accept(held.lease, made)
        if self.batches[held.lease.number].needed.replicas > 1:
            assert what is self._reported(held, job.task.id, outcome)
        elif job.task.id in self.results:
            assert what is EntryKind.DUPLICATE
        elif self._holds(held):
            assert what is EntryKind.ACCEPTED
            self.results[job.task.id] = made.seconds
            self.answered.add(held.name)
            if not self._left(held.lease.number):
                self._end(held.name, AttemptOutcome.DONE)
        else:
            assert what is EntryKind.LATE

    def _reported(self, held: _Held, task: str, outcome: Outcome) -> EntryKind:
        """What becomes of a result on which machines have to agree; no machine repeats one."""
        known = self.reports.get(task, [])
        if task in self.results or any(each.name == held.name for each in known):
            return EntryKind.DUPLICATE
        if not self._holds(held):
            return EntryKind.LATE
        needed = reports_needed(REPLICATED.replicas, 0 if known else self._agreements(held.name), self.draw)
        self.reports[task] = known = [*known, _Report(held.name, outcome, float(self.handed_in))]
        alike = [each for each in known if each.outcome is outcome]
        accepted = len(alike) >= needed
        if accepted:
            self.results[task] = alike[0].seconds
            self.answered |= {each.name for each in alike}
            for each in known:
                agreed = "trusted" if needed == 1 else f"agreed {self.handed_in}"
                each.verdict = agreed if each in alike else f"outlier {self.handed_in}"
        if not self._left(held.lease.number, held.name):
            self._end(held.name, AttemptOutcome.DONE)
        return EntryKind.ACCEPTED if accepted else EntryKind.REPORTED

    def _agreements(self, name: str) -> int:
        """A machine's agreements with others since it was an outlier, by the times of its reports."""
        own = [each for reports in self.reports.values() for each in reports if each.name == name]
        judged = [float(each.verdict.split()[1]) for each in own if each.verdict.startswith("outlier")]
        last = max(judged, default=0.0)
        return sum(each.verdict.startswith("agreed") and each.seconds > last for each in own)

    @rule(
        names=st.permutations(VOLUNTEERS),
        enters=st.integers(0, 2),
        seconds=st.sampled_from([25.0, 25.0, 310.0]),
        order=st.sampled_from([1, -1]),
        proves=st.integers(0, 1),
        task=st.integers(0, 3),
        study=st.sampled_from(STUDIES),
    )
    def come_back(
        self, names: list[str], enters: int, seconds: float, order: int, proves: int, task: int, study: str
    ) -> None:
        """Fail the first of two batches, and ask again after a wait, with other volunteers present: it may be withheld.

        One of these may have completed a batch before. Random steps combine so seldom.
        """
        for name in names[1 : 1 + proves]:
            self.release([5], LENT, study)
            done = self.claim(name, "k1")
            for place in range(3 if isinstance(done, _Held) else 0):
                self.hand_in(done, place, Outcome.DONE, 0.0)
        for each in (task, task + 1):
            self.release([each], LENT, study)
        held = self.claim(names[0], "k1")
        if isinstance(held, _Held) and self._holds(held):
            self.end(held, AttemptOutcome.FAILED)
        self.pass_time(seconds)
        for name in names[1 : 1 + enters]:
            self.enter(name)
        for name in names[: 1 + enters][::order]:
            self.claim(name, "k1")

    @rule(held=leases, outcome=st.sampled_from([AttemptOutcome.RETURNED, AttemptOutcome.FAILED, AttemptOutcome.FAILED]))
    def end(self, held: _Held, outcome: AttemptOutcome) -> None:
        holds = self._holds(held)
        assert self.ledger.end(held.lease, outcome, "why") is holds
        if holds:
            self._end(held.name, outcome)

    @rule(held=leases)
    def renew(self, held: _Held) -> None:
        state = self.ledger.renew(held.lease, SECONDS)
        assert (state is not None) is self._holds(held)
        if state is not None:
            assert state is self.batches[held.lease.number].state
            self.batches[held.lease.number].until = self.present[held.name] = self.now + SECONDS

    @precondition(lambda self: self.batches)
    @rule(place=st.integers(0, 20))
    def withdraw(self, place: int) -> None:
        number = sorted(self.batches)[place % len(self.batches)]
        known = self.batches[number]
        begun = known.state is BatchState.LEASED or any(job.task.id in self.results for job in known.jobs)
        unbegun = self.ledger.withdraw(number)
        if known.state in {BatchState.OPEN, BatchState.LEASED}:
            assert unbegun is not begun
        self._withdraw(number)

    def _withdraw(self, number: int) -> None:
        after = {BatchState.OPEN: BatchState.WITHDRAWN, BatchState.LEASED: BatchState.ENDING}
        known = self.batches[number]
        known.state = after.get(known.state, known.state)

    @rule(seconds=st.sampled_from([1.0, 4.0, 11.0, 25.0]))
    def pass_time(self, seconds: float) -> None:
        if self.now + seconds < 1000.0 + PATIENCE_SECONDS:  # no machine is away for so long
            self.now += seconds
        self.ledger.expire()
        self._expire()

    @invariant()
    def agrees(self) -> None:
        assert self.ledger.states(self.batches) == {n: each.state for n, each in self.batches.items()}
        tasks = [a_job(each, study).task.id for each in range(6) for study in STUDIES]
        assert {task: each["seconds"] for task, each in self.ledger.results(tasks).items()} == self.results
        waits = {name: max(0.0, self._backoff(name) - self.now) for name in VOLUNTEERS}
        assert {name: self.ledger.backoff(f"machine-{name}") for name in VOLUNTEERS} == pytest.approx(waits)

    def teardown(self) -> None:
        before = self._state()
        self.ledger.rebuild()
        assert self._state() == before
        self.agrees()

    def _state(self) -> object:
        return [(n, self.ledger.states([n]), self.ledger.attempts(n)) for n in self.batches]

    def _chosen(self, name: str) -> int | None:
        """The batch that a machine gets; batches with all results are marked as done."""
        volunteer = name in VOLUNTEERS
        if volunteer and self._backoff(name) > self.now:
            return None
        kind = ClientKind.VOLUNTEER if volunteer else ClientKind.WORKER
        open_ = [n for n, b in self.batches.items() if b.state is BatchState.OPEN and b.needed.kind is kind]
        fit = [n for n in open_ if not (volunteer and self._withheld(name, n))]
        busy = Counter(self.batches[number].study for number, _, _ in self.held.values())
        while True:
            own = [n for n in fit if self.batches[n].machine == f"machine-{name}"]
            free = [(busy[self.batches[n].study], n) for n in fit if self.batches[n].machine is None]
            found = min(own) if own else min(free)[1] if free else None
            if found is None or self._left(found, name):
                return found
            if not self._left(found):
                self.batches[found].state = BatchState.DONE
            fit.remove(found)

    def _left(self, number: int, name: str = "") -> list[Job]:
        """The jobs without a result, and without a report of a machine where several have to agree."""
        known = self.batches[number]
        own = {task for task, reports in self.reports.items() if any(each.name == name for each in reports)}
        done = set(self.results) | (own if known.needed.replicas > 1 else set())
        return [job for job in known.jobs if job.task.id not in done]

    def _backoff(self, name: str) -> float:
        """The time before which a volunteer gets no batch."""
        failed = returned = 0
        ended = [each for each in self.ended if each.name == name and not self._asked_to_end(each)]
        for each in reversed(ended):
            if each.outcome is AttemptOutcome.DONE:
                break
            failed, returned = failed + each.outcome.counted, returned + (not each.outcome.counted)
        number = failed + max(0, returned - RETURNS)
        return ended[-1].at + min(BACKOFF_SECONDS * 2.0**number, LONGEST_BACKOFF_SECONDS) if number else 0.0

    def _asked_to_end(self, attempt: _Ended) -> bool:
        withdrawn = self.batches[attempt.batch].state is BatchState.WITHDRAWN
        return attempt.outcome is AttemptOutcome.RETURNED and withdrawn

    def _withheld(self, name: str, number: int) -> bool:
        """Whether a batch that failed lately waits for another volunteer."""
        failed = [each for each in self._failures(number) if each.at > self.now - ELSEWHERE_SECONDS]
        others = [each for each in VOLUNTEERS if self.present.get(each, 0.0) > self.now]
        return bool(failed) and any(
            self._rank(each, number) < self._rank(name, number) and self._backoff(each) <= self.now for each in others
        )

    def _rank(self, name: str, number: int) -> tuple[int, bool]:
        failed = sum(each.name == name for each in self._failures(number))
        return failed, all(each.name != name or each.outcome is not AttemptOutcome.DONE for each in self.ended)

    def _failures(self, number: int) -> list[_Ended]:
        return [each for each in self.ended if each.batch == number and each.outcome.counted]

    def _holds(self, held: _Held) -> bool:
        lease = held.lease
        return self.held.get(held.name) == (lease.number, lease.attempt, lease.worker)

    def _end(self, name: str, outcome: AttemptOutcome) -> None:
        number, _, _ = self.held.pop(name)
        self.ended.append(_Ended(name, number, outcome, self.now))
        known, volunteer = self.batches[number], name in VOLUNTEERS
        if not volunteer and any(job.task.id in self.results for job in known.jobs):
            known.machine = f"machine-{name}"
        failed = [each for each in self._failures(number) if each.name in self.answered or not volunteer]
        most = batches_module.VOLUNTEERS_ATTEMPTS if volunteer else ATTEMPTS
        if outcome is AttemptOutcome.DONE and not self._left(number):
            known.state = BatchState.DONE
        elif known.state is BatchState.ENDING:
            known.state = BatchState.WITHDRAWN
        elif outcome.counted and len(failed) >= most:
            known.state = BatchState.QUARANTINED
        else:
            known.state = BatchState.OPEN

    def _expire(self) -> None:
        for name, (number, _, _) in sorted(self.held.items(), key=lambda each: each[1]):
            if self.batches[number].until <= self.now:
                self._end(name, AttemptOutcome.EXPIRED)
