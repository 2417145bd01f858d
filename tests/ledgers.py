"""The conformance suite of a ledger in any database, to be inherited."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import msgspec
import pytest
from sqlalchemy import Engine, event
from sqlalchemy.pool import PoolProxiedConnection

from hati.core import (
    Batch,
    Benchmark,
    Configuration,
    InputError,
    Job,
    Metric,
    Outcome,
    Reader,
    ReaderKind,
    Task,
    Workload,
    replace,
)
from hati.steering import (
    Client,
    ClientKind,
    Queue,
    Requirements,
    StudyStatus,
    choose,
)
from hati.steering.agreement import TRUSTED_AFTER
from hati.store import (
    ATTEMPTS,
    DISAGREE,
    AttemptOutcome,
    BatchState,
    EntryKind,
    Lease,
    Ledger,
    LedgerEntry,
    Selection,
    SqlStore,
    Volunteers,
    run_of,
)
from hati.store.databases import driver_of
from hati.store.ledger import PATIENCE_SECONDS
from hati.store.ledger_status import HOUR_SECONDS
from hati.testing.conformance import MACHINE, METRICS, a_run, a_study

BENCHMARK = Benchmark("b", ("true",), Reader(ReaderKind.PROCESS), (Metric("wall_time", "s"),))
ANY = Requirements()
SECONDS = 10.0
T = TypeVar("T")


def a_job(repetition: int = 0, study: str = "study-1") -> Job:
    """A job of a study."""
    task = Task(study, "design", "b", Configuration({"o": 1}), "r1", Workload(), repetition)
    return Job(task, BENCHMARK, "files")


def a_batch(*repetitions: int, study: str = "study-1") -> Batch[Job]:
    """A batch of jobs in sequence."""
    return Batch(tuple(a_job(each, study) for each in repetitions))


def a_client(name: str) -> Client:
    """A machine with a name, which has all files."""
    return Client(f"machine-{name}", name, 2, ("files",))


def a_volunteer(name: str) -> Client:
    """A volunteer's machine with a name."""
    return Client(f"machine-{name}", name, 2, (), ClientKind.VOLUNTEER)


class LedgerConformance(ABC):
    """The tests of a ledger: inherit, implement ``open``, and let pytest run them."""

    @abstractmethod
    def open(self) -> SqlStore:
        """The store under test; each call opens the same place again."""

    @pytest.fixture
    def ledger(self) -> Ledger:
        """The store's ledger, with a clock that tests set."""
        self.now = 1000.0
        return self.open().ledger.at(lambda: self.now)

    def claimed(self, ledger: Ledger, name: str = "one") -> Lease:
        """The lease that a machine gets, which must not be None."""
        lease = ledger.claim(f"worker-{name}", a_client(name), choose, SECONDS)
        assert lease is not None
        return lease

    def test_a_batch_comes_back_as_it_was(self, ledger: Ledger) -> None:
        number = ledger.release(a_batch(2, 0, 1), ANY)
        lease = self.claimed(ledger)
        assert (lease.number, lease.attempt, lease.batch) == (number, 1, a_batch(2, 0, 1))
        assert ledger.states([number]) == {number: BatchState.LEASED}

    def test_batches_are_given_in_the_order_of_their_release(self, ledger: Ledger) -> None:
        numbers = [ledger.release(a_batch(each), ANY) for each in (2, 0, 1)]
        assert [self.claimed(ledger, name).number for name in ("a", "b", "c")] == numbers

    def test_an_equal_batch_that_is_out_is_the_same(self, ledger: Ledger) -> None:
        number = ledger.release(a_batch(0), ANY)
        assert ledger.release(a_batch(0), ANY) == number
        self.claimed(ledger)
        assert ledger.release(a_batch(0), ANY) == number

    def test_a_machine_has_one_lease(self, ledger: Ledger) -> None:
        ledger.release(a_batch(0), ANY)
        ledger.release(a_batch(1), ANY)
        lease = self.claimed(ledger)
        assert ledger.claim("worker-other", a_client("one"), choose, SECONDS) is None
        assert self.claimed(ledger) == lease

    def test_a_result_comes_back_as_it_was(self, ledger: Ledger) -> None:
        number = ledger.release(a_batch(0), ANY)
        lease = self.claimed(ledger)
        task = lease.batch.members[0].task
        for outcome in (Outcome.DONE, Outcome.FAILED):
            made = replace(a_run(a_study(), outcome=outcome), task=task, output="a\0b\n")
            again = [task.id] if outcome is Outcome.FAILED else []
            if again:
                ledger.release(a_batch(0), ANY, again)
                lease = self.claimed(ledger)
            assert ledger.accept(lease, made) is EntryKind.ACCEPTED
            [content] = ledger.results([task.id]).values()
            assert run_of(content, task) == made
        assert ledger.states([number]) == {number: BatchState.DONE}

    def test_a_second_result_is_kept_aside(self, ledger: Ledger) -> None:
        ledger.release(a_batch(0), ANY)
        lease = self.claimed(ledger)
        assert self.hand_in(ledger, lease) is EntryKind.ACCEPTED
        assert self.hand_in(ledger, lease, 7.0) is EntryKind.DUPLICATE
        assert [content["seconds"] for content in ledger.results([a_job(0).task.id]).values()] == [0.25]
        assert [entry.content["run"]["seconds"] for entry in ledger.history() if entry.what is EntryKind.DUPLICATE] == [
            7.0
        ]

    def test_the_status_counts_batches_failures_and_results(self, ledger: Ledger) -> None:
        for each in range(4):
            ledger.release(a_batch(each), ANY)
        self.hand_in(ledger, self.claimed(ledger))
        ledger.end(self.claimed(ledger), AttemptOutcome.FAILED, "no space")
        lease = self.claimed(ledger, "two")
        status = ledger.status()
        assert status.studies == (StudyStatus("study-1", 2, 1, 1, 0, 0, 1, 1),)
        assert [(each.study, each.batches) for each in status.waiting] == [("study-1", 2)]
        assert [(each.batch, each.error) for each in status.failed] == [(lease.number, "no space")]
        assert [machine.lease and machine.lease.batch for machine in status.machines] == [None, lease.number]
        self.now += HOUR_SECONDS
        assert ledger.status().results == 0

    def hand_in(self, ledger: Ledger, lease: Lease, seconds: float = 0.25, place: int = 0) -> EntryKind:
        """Hand in a run of one of the jobs of a lease."""
        task = lease.batch.members[place].task
        return ledger.accept(lease, replace(a_run(a_study()), task=task, seconds=seconds))

    def test_a_lease_ends_with_its_time_and_a_late_result_is_kept_aside(self, ledger: Ledger) -> None:
        number = ledger.release(a_batch(0), ANY)
        late = self.claimed(ledger)
        self.now += SECONDS - 1
        assert ledger.renew(late, SECONDS) is BatchState.LEASED
        self.now += SECONDS - 1
        ledger.expire()
        assert ledger.standing(late) is BatchState.LEASED
        self.now += 1
        ledger.expire()
        assert ledger.renew(late, SECONDS) is None
        assert ledger.states([number]) == {number: BatchState.OPEN}
        assert self.hand_in(ledger, late) is EntryKind.LATE
        again = self.claimed(ledger, "two")
        assert (again.number, again.attempt) == (number, 2)
        assert self.hand_in(ledger, late) is EntryKind.LATE
        assert self.hand_in(ledger, again) is EntryKind.ACCEPTED

    def test_a_lost_worker_loses_its_lease_at_once(self, ledger: Ledger) -> None:
        number = ledger.release(a_batch(0), ANY)
        lost = self.claimed(ledger)
        other = ledger.claim("worker-two", a_client("two"), choose, SECONDS)
        assert other is None
        assert ledger.workers() == {"worker-one", "worker-two"}
        ledger.lose("worker-one", "its host is off")
        assert ledger.workers() == {"worker-two"}
        assert ledger.states([number]) == {number: BatchState.OPEN}
        assert [(each.outcome, each.reason) for each in ledger.attempts(number)] == [
            (AttemptOutcome.EXPIRED, "its host is off")
        ]
        assert self.hand_in(ledger, lost) is EntryKind.LATE
        ledger.lose("worker-nobody", "it was never there")
        assert self.hand_in(ledger, self.claimed(ledger, "two")) is EntryKind.ACCEPTED

    def test_failures_of_machines_are_bounded_and_kept(self, ledger: Ledger) -> None:
        number = ledger.release(a_batch(0), ANY)
        for attempt in range(ATTEMPTS):
            assert ledger.states([number]) == {number: BatchState.OPEN}
            assert ledger.end(self.claimed(ledger, "one"), AttemptOutcome.FAILED, f"disk {attempt} is full")
        assert ledger.states([number]) == {number: BatchState.QUARANTINED}
        assert [each.reason for each in ledger.attempts(number)] == [f"disk {n} is full" for n in range(ATTEMPTS)]
        assert ledger.claim("worker-one", a_client("one"), choose, SECONDS) is None

    def test_what_is_given_back_is_no_failure(self, ledger: Ledger) -> None:
        number = ledger.release(a_batch(0), ANY)
        for _ in range(2 * ATTEMPTS):
            assert ledger.end(self.claimed(ledger), AttemptOutcome.RETURNED, "asked to end")
        assert ledger.states([number]) == {number: BatchState.OPEN}

    def test_what_has_begun_on_a_machine_stays_there(self, ledger: Ledger) -> None:
        ledger.release(a_batch(0, 1), ANY)
        later = ledger.release(a_batch(5), ANY)
        lease = self.claimed(ledger, "one")
        assert self.hand_in(ledger, lease) is EntryKind.ACCEPTED
        ledger.end(lease, AttemptOutcome.RETURNED, "asked to end")
        assert self.claimed(ledger, "two").number == later
        rest = self.claimed(ledger, "one")
        assert rest.batch == a_batch(1)

    def test_what_began_on_a_machine_that_is_gone_for_long_is_resumed_elsewhere(self, ledger: Ledger) -> None:
        number = ledger.release(a_batch(0, 1), ANY)
        lease = self.claimed(ledger, "one")
        self.hand_in(ledger, lease)
        ledger.end(lease, AttemptOutcome.RETURNED, "asked to end")
        ledger.expire()
        assert ledger.states([number]) == {number: BatchState.OPEN}
        assert ledger.claim("worker-two", a_client("two"), choose, SECONDS) is None
        self.now += PATIENCE_SECONDS + SECONDS
        ledger.expire()
        ledger.rebuild()
        rest = self.claimed(ledger, "two")
        assert (rest.number, rest.batch) == (number, a_batch(1))

    def test_what_waits_can_be_withdrawn(self, ledger: Ledger) -> None:
        number = ledger.release(a_batch(0), ANY)
        assert ledger.withdraw(number)
        assert ledger.claim("worker-one", a_client("one"), choose, SECONDS) is None
        assert ledger.release(a_batch(0), ANY) > number

    def test_what_is_under_way_ends(self, ledger: Ledger) -> None:
        number = ledger.release(a_batch(0, 1), ANY)
        lease = self.claimed(ledger)
        assert not ledger.withdraw(number)
        assert ledger.standing(lease) is BatchState.ENDING
        assert self.hand_in(ledger, lease) is EntryKind.ACCEPTED
        ledger.end(lease, AttemptOutcome.RETURNED, "withdrawn")
        assert ledger.states([number]) == {number: BatchState.WITHDRAWN}

    def test_known_results_are_not_made_again(self, ledger: Ledger) -> None:
        ledger.release(a_batch(0), ANY)
        self.hand_in(ledger, self.claimed(ledger))
        number = ledger.release(a_batch(0, 1), ANY)
        assert self.claimed(ledger).batch == a_batch(1)
        done = ledger.release(a_batch(0), ANY)
        assert done != number
        assert ledger.states([done]) == {done: BatchState.DONE}

    def test_forgotten_runs_are_made_again(self, ledger: Ledger) -> None:
        store, study = self.open(), a_study()
        store.begin(study, METRICS, MACHINE)
        job = a_job(0, study.key)
        ledger.release(Batch((job,)), ANY)
        self.hand_in(ledger, self.claimed(ledger))
        assert store.record(replace(a_run(study), task=job.task))
        assert store.forget(Selection(study=study.key)) == 1
        ledger.release(Batch((job,)), ANY)
        assert self.claimed(ledger).batch == Batch((job,))

    def test_studies_share_the_machines(self, ledger: Ledger) -> None:
        first = [ledger.release(a_batch(each), ANY) for each in range(3)]
        second = [ledger.release(a_batch(each, study="study-2"), ANY) for each in range(3)]
        given = [self.claimed(ledger, name).number for name in "abcd"]
        assert given == [first[0], second[0], first[1], second[1]]

    def test_requirements_decide_who_gets_a_batch(self, ledger: Ledger) -> None:
        number = ledger.release(a_batch(0), Requirements(("files",), ("r1",), ("two",), 2))
        assert ledger.wanted("machine-one") == (Requirements(("files",), ("r1",), ("two",), 2),)
        assert ledger.claim("worker-one", a_client("one"), choose, SECONDS) is None
        assert self.claimed(ledger, "two").number == number

    def test_workers_are_there_until_their_time_is_over_or_they_leave(self, ledger: Ledger) -> None:
        for name in ("one", "two"):
            ledger.enter(f"worker-{name}", a_client(name), SECONDS)
        assert [client.name for client in ledger.present()] == ["one", "two"]
        ledger.leave("worker-one")
        assert [client.name for client in ledger.present()] == ["two"]
        self.now += SECONDS
        assert ledger.present() == ()

    def test_why_a_machine_got_a_batch_is_kept(self, ledger: Ledger) -> None:
        first = ledger.release(a_batch(0), ANY)
        ledger.release(a_batch(0, study="study-2"), ANY)
        ledger.end(self.claimed(ledger), AttemptOutcome.RETURNED, "asked to end")
        [attempt] = ledger.attempts(first)
        assert (attempt.choice, attempt.reason) == ("study with fewest under way", "asked to end")

    def test_a_replayed_history_gives_the_same_decisions(self, ledger: Ledger) -> None:
        for each in range(6):
            ledger.release(
                a_batch(each, study=f"study-{each % 2}"), ANY if each % 3 else Requirements(machines=("two",))
            )
        for name in ("one", "two", "three"):
            lease = self.claimed(ledger, name)
            if name != "two":
                self.hand_in(ledger, lease)
        self.claimed(ledger, "one")
        assert decisions(ledger.history()) == [
            (entry.batch, entry.content["reason"]) for entry in ledger.history() if entry.what is EntryKind.LEASED
        ]

    def test_a_batch_goes_to_a_machine_with_its_attributes(self, ledger: Ledger) -> None:
        needed = (("class", "arm"), ("compiler", "gcc"))
        number = ledger.release(a_batch(0), Requirements(attributes=needed))
        one = replace(a_client("one"), hardware="arm", attributes=(("compiler", ("clang", "gcc")),))
        for other in (replace(one, hardware="x86"), replace(one, attributes=(("compiler", ("clang",)),))):
            assert ledger.claim("other", other, choose) is None
        lease = ledger.claim("one", one, choose)
        assert lease is not None
        assert [each.choice for each in ledger.attempts(number)] == ["released first; needs class=arm, compiler=gcc"]
        assert decisions(ledger.history()) == [(number, "released first; needs class=arm, compiler=gcc")]

    def test_what_a_machine_has_is_known_after_it_left(self, ledger: Ledger) -> None:
        for compilers in (("gcc",), ("clang", "gcc")):
            ledger.record_client(replace(a_client("one"), attributes=(("compiler", compilers),)))
        assert [each.attributes for each in ledger.clients()] == [(("compiler", ("clang", "gcc")),)]
        ledger.rebuild()
        assert len(ledger.clients()) == 1
        ledger.forget_client(a_client("one").machine)
        assert ledger.clients() == ()

    def test_a_lost_reply_changes_nothing(self, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
        lost = LostReplies(ledger, monkeypatch)
        number = lost(lambda: ledger.release(a_batch(0, 1), ANY))
        assert [entry.number for entry in ledger.history()] == [number]
        lease = lost(lambda: self.claimed(ledger))
        assert lost(lambda: self.hand_in(ledger, lease)) is EntryKind.ACCEPTED
        lost(lambda: ledger.end(lease, AttemptOutcome.FAILED, "no space"))
        assert [attempt.outcome for attempt in ledger.attempts(number)] == [AttemptOutcome.FAILED]
        again = lost(lambda: self.claimed(ledger))
        assert lost(lambda: self.hand_in(ledger, again)) is EntryKind.ACCEPTED
        assert ledger.states([number]) == {number: BatchState.DONE}
        kinds = [entry.what for entry in ledger.history()]
        assert (kinds.count(EntryKind.ACCEPTED), kinds.count(EntryKind.ENDED), len(kinds)) == (2, 2, 7)

    def test_a_lost_reply_of_a_withdrawal_keeps_that_it_is_under_way(
        self, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        number = ledger.release(a_batch(0), ANY)
        self.claimed(ledger)
        assert not LostReplies(ledger, monkeypatch)(lambda: ledger.withdraw(number))

    def test_a_batch_whose_tasks_got_their_results_in_others_is_done(self, ledger: Ledger) -> None:
        whole = ledger.release(a_batch(0, 1), Requirements(machines=("two",)))
        for each in (0, 1):
            ledger.release(a_batch(each), ANY)
            self.hand_in(ledger, self.claimed(ledger))
        assert ledger.claim("worker-two", a_client("two"), choose, SECONDS) is None
        assert ledger.states([whole]) == {whole: BatchState.DONE}

    def test_a_lease_whose_tasks_got_their_results_in_others_ends_with_the_next_claim(self, ledger: Ledger) -> None:
        whole = ledger.release(a_batch(0, 1), ANY)
        self.claimed(ledger, "two")
        for each in (0, 1):
            ledger.release(a_batch(each), ANY)
            self.hand_in(ledger, self.claimed(ledger))
        later = ledger.release(a_batch(2), ANY)
        assert self.claimed(ledger, "two").number == later
        assert ledger.states([whole]) == {whole: BatchState.DONE}

    def test_a_forgotten_study_leaves_nothing(self, ledger: Ledger) -> None:
        store, study = self.open(), a_study()
        store.begin(study, METRICS, MACHINE)
        batches = [Batch((a_job(each, study.key),)) for each in range(3)]
        numbers = [ledger.release(batch, ANY) for batch in batches]
        kept = ledger.release(a_batch(0), ANY)
        self.hand_in(ledger, self.claimed(ledger))
        store.record(replace(a_run(study), task=batches[0].members[0].task))
        begun = self.claimed(ledger, "two")
        if begun.number == kept:
            begun = self.claimed(ledger, "three")
        assert store.forget(Selection(study=study.key)) == 1
        assert set(ledger.states([*numbers, kept])) == {kept}
        assert {entry.batch for entry in ledger.history()} == {kept}
        assert self.hand_in(ledger, begun) is EntryKind.LATE
        assert ledger.renew(begun, SECONDS) is None
        assert ledger.withdraw(numbers[2])
        assert {entry.batch for entry in ledger.history()} == {kept}

    def test_of_a_forgotten_run_the_history_has_no_values(self, ledger: Ledger) -> None:
        store, study = self.open(), a_study()
        store.begin(study, METRICS, MACHINE)
        batch = Batch((a_job(0, study.key), a_job(1, study.key)))
        ledger.release(batch, ANY)
        lease = self.claimed(ledger)
        for place in (0, 1):
            self.hand_in(ledger, lease, place=place)
            store.record(replace(a_run(study), task=batch.members[place].task))
        assert store.forget(Selection(task=batch.members[0].task.id)) == 1
        accepted = [entry.content["run"] for entry in ledger.history() if entry.what is EntryKind.ACCEPTED]
        assert ["output" in run for run in accepted] == [False, True]
        ledger.rebuild()
        assert set(ledger.results(job.task.id for job in batch.members)) == {batch.members[1].task.id}

    def test_of_a_forgotten_run_the_history_has_no_reports(self, ledger: Ledger) -> None:
        store, study = self.open(), a_study()
        store.begin(study, METRICS, MACHINE)
        batch = Batch((a_job(0, study.key), a_job(1, study.key)))
        ledger.release(batch, Requirements(kind=ClientKind.VOLUNTEER, replicas=2))
        for name, places in (("ada", (0, 1)), ("bob", (0,))):  # of the second task a report waits
            lease = self.lent(ledger, name)
            for place in places:
                self.report(ledger, lease, place=place)
        ledger.end(lease, AttemptOutcome.RETURNED, "asked to end")
        for task in [*(job.task for job in batch.members), a_job(2, study.key).task]:
            store.record(replace(a_run(study), task=task))
        before = [set(entry.content) for entry in ledger.history() if entry.what is EntryKind.REPORTED]
        assert before == [{"attempt", "run", "machine", "report"}] * 3
        assert [store.forget(Selection(task=job.task.id)) for job in batch.members] == [1, 1]
        reported = [entry.content for entry in ledger.history() if entry.what is EntryKind.REPORTED]
        assert [set(content) for content in reported] == [{"attempt", "run", "machine"}] * 3
        assert {tuple(content["run"]) for content in reported} == {("task",)}
        ledger.rebuild()
        assert ledger.results(job.task.id for job in batch.members) == {}
        ledger.release(batch, Requirements(kind=ClientKind.VOLUNTEER, replicas=2))
        whole = self.lent(ledger, "eve")
        assert {self.report(ledger, whole, place=place) for place in (0, 1)} == {EntryKind.REPORTED}

    def test_a_later_campaign_withdraws_what_an_earlier_one_left(self, ledger: Ledger) -> None:
        store, study = self.open(), a_study()
        later = study.numbered(study.campaign + 1, "t")
        for each in (study, later):
            store.begin(each, METRICS, MACHINE)
        numbers = [ledger.release(Batch((a_job(each, study.key),)), ANY) for each in range(2)]
        own = ledger.release(Batch((a_job(0, later.key),)), ANY)
        self.claimed(ledger)
        ledger.withdraw_earlier(later)
        states = [BatchState.ENDING, BatchState.WITHDRAWN, BatchState.OPEN]
        expected = dict(zip([*numbers, own], states, strict=True))
        assert ledger.states(expected) == expected
        ledger.withdraw_earlier(study)
        assert ledger.states(expected) == expected

    def replicated(self, ledger: Ledger, *tasks: int, replicas: int = 2) -> int:
        """The number of a batch on which volunteers have to agree."""
        return ledger.release(a_batch(*tasks), Requirements(kind=ClientKind.VOLUNTEER, replicas=replicas))

    def lent(self, ledger: Ledger, name: str, hardware: str = "pc") -> Lease:
        """The lease that a volunteer gets, which must not be None."""
        lease = ledger.claim(name, replace(a_volunteer(name), hardware=hardware), choose, SECONDS)
        assert lease is not None
        return lease

    def report(
        self, ledger: Ledger, lease: Lease, level: float = 1.0, outcome: Outcome = Outcome.DONE, place: int = 0
    ) -> EntryKind:
        """Hand in a run of a lease with values at a level."""
        made = replace(a_run(a_study(), outcome=outcome), task=lease.batch.members[place].task, seconds=level)
        observed = tuple(replace(each, values=level * each.values) for each in made.observations)
        return ledger.accept(lease, replace(made, observations=observed))

    def test_a_result_counts_once_two_machines_agree(self, ledger: Ledger) -> None:
        number = self.replicated(ledger, 0)
        first = self.lent(ledger, "ada")
        assert self.report(ledger, first) is EntryKind.REPORTED
        assert (ledger.states([number]), ledger.results([a_job(0).task.id])) == ({number: BatchState.OPEN}, {})
        assert ledger.claim("ada", a_volunteer("ada"), choose, SECONDS) is None
        second = self.lent(ledger, "bob")
        assert (second.number, second.attempt) == (number, 2)
        assert self.report(ledger, second, 1.5) is EntryKind.ACCEPTED
        assert ledger.states([number]) == {number: BatchState.DONE}
        [content] = ledger.results([a_job(0).task.id]).values()
        assert content["seconds"] == 1.0
        assert self.report(ledger, first) is EntryKind.ACCEPTED
        assert self.report(ledger, first, 9.0) is EntryKind.DUPLICATE

    def test_times_are_compared_within_a_class_of_machines_only(self, ledger: Ledger) -> None:
        self.replicated(ledger, 0)
        self.report(ledger, self.lent(ledger, "ada", "pc"))
        assert self.report(ledger, self.lent(ledger, "bob", "pc"), 9.0) is EntryKind.REPORTED
        assert self.report(ledger, self.lent(ledger, "eve", "phone"), 40.0) is EntryKind.ACCEPTED
        [accepted] = [entry.content for entry in ledger.history() if entry.what is EntryKind.ACCEPTED]
        assert accepted["verdicts"] == {"agreed": ["machine-ada", "machine-eve"], "outlier": ["machine-bob"]}

    def test_machines_of_any_class_agree_on_how_a_run_ends(self, ledger: Ledger) -> None:
        self.replicated(ledger, 0)
        self.report(ledger, self.lent(ledger, "ada", "pc"))
        failed = self.report(ledger, self.lent(ledger, "bob", "phone"), outcome=Outcome.FAILED)
        assert failed is EntryKind.REPORTED
        assert self.report(ledger, self.lent(ledger, "eve", "tv"), outcome=Outcome.FAILED) is EntryKind.ACCEPTED
        [content] = ledger.results([a_job(0).task.id]).values()
        assert content["outcome"] == "failed"

    def test_machines_that_never_agree_end_a_batch(self, ledger: Ledger) -> None:
        number = self.replicated(ledger, 0)
        for power, name in enumerate(("ada", "bob", "eve", "joe", "kim")):
            assert ledger.states([number]) == {number: BatchState.OPEN}
            assert self.report(ledger, self.lent(ledger, name), 3.0**power) is EntryKind.REPORTED
        assert ledger.states([number]) == {number: BatchState.QUARANTINED}
        assert ledger.attempts(number)[-1].reason == DISAGREE

    def test_a_machine_that_agreed_often_is_only_sampled(self, ledger: Ledger) -> None:
        drawn = [0.0]
        sampling = ledger.at(lambda: self.now, lambda: drawn[0])
        for each in range(TRUSTED_AFTER):
            self.replicated(sampling, each)
            assert self.report(sampling, self.lent(sampling, "ada")) is EntryKind.REPORTED
            assert self.report(sampling, self.lent(sampling, "bob")) is EntryKind.ACCEPTED
        drawn[0] = 1 / TRUSTED_AFTER
        self.replicated(sampling, 20)
        assert self.report(sampling, self.lent(sampling, "ada")) is EntryKind.ACCEPTED
        drawn[0] = 0.9 / TRUSTED_AFTER
        self.replicated(sampling, 21)
        assert self.report(sampling, self.lent(sampling, "ada")) is EntryKind.REPORTED
        assert self.report(sampling, self.lent(sampling, "bob"), 9.0) is EntryKind.REPORTED
        assert self.report(sampling, self.lent(sampling, "eve"), 9.0) is EntryKind.ACCEPTED
        drawn[0] = 0.99
        self.replicated(sampling, 22)
        assert self.report(sampling, self.lent(sampling, "ada")) is EntryKind.REPORTED, "it was an outlier"

    def test_an_outlier_has_no_agreements_from_before_its_verdict(self, ledger: Ledger) -> None:
        sampling = ledger.at(lambda: self.now, lambda: 0.99)
        for task in range(TRUSTED_AFTER + 1):
            self.replicated(sampling, task)
            assert self.report(sampling, self.lent(sampling, "ada"), 1.0 if task else 9.0) is EntryKind.REPORTED
        kinds = [self.report(sampling, self.lent(sampling, "bob")) for _ in range(TRUSTED_AFTER + 1)]
        assert kinds == [EntryKind.REPORTED] + [EntryKind.ACCEPTED] * TRUSTED_AFTER
        assert self.report(sampling, self.lent(sampling, "eve")) is EntryKind.ACCEPTED
        sampling.rebuild()
        self.replicated(sampling, 20)
        assert self.report(sampling, self.lent(sampling, "ada")) is EntryKind.REPORTED

    def test_a_report_of_a_revoked_machine_confirms_nothing(self, ledger: Ledger) -> None:
        number, volunteers = self.replicated(ledger, 0), self.open().volunteers
        for name in ("ada", "bob"):
            assert volunteers.register(name, f"machine-{name}", f"token of {name}", {})
        assert self.report(ledger, self.lent(ledger, "ada"), 9.0) is EntryKind.REPORTED
        assert volunteers.revoke("ada")
        assert self.report(ledger, self.lent(ledger, "bob"), 9.0) is EntryKind.REPORTED
        ledger.rebuild()
        assert ledger.results([a_job(0).task.id]) == {}
        assert self.report(ledger, self.lent(ledger, "eve"), 9.0) is EntryKind.ACCEPTED
        assert volunteers.revoke("bob")
        assert ledger.states([number]) == {number: BatchState.DONE}
        [accepted] = [entry.content for entry in ledger.history() if entry.what is EntryKind.ACCEPTED]
        assert accepted["verdicts"] == {"agreed": ["machine-bob", "machine-eve"], "outlier": []}
        assert set(ledger.results([a_job(0).task.id])) == {a_job(0).task.id}

    def test_a_batch_that_is_released_again_keeps_its_reports(self, ledger: Ledger) -> None:
        number = self.replicated(ledger, 0, 1)
        lease = self.lent(ledger, "ada")
        assert self.report(ledger, lease) is EntryKind.REPORTED
        assert not ledger.withdraw(number)
        ledger.end(lease, AttemptOutcome.RETURNED, "asked to end")
        again = self.replicated(ledger, 0, 1)
        assert again != number
        rest = self.lent(ledger, "ada")
        assert rest.batch == a_batch(1)
        assert self.report(ledger, rest) is EntryKind.REPORTED
        whole = self.lent(ledger, "bob")
        assert whole.batch == a_batch(0, 1)
        assert {self.report(ledger, whole, place=place) for place in (0, 1)} == {EntryKind.ACCEPTED}
        ledger.rebuild()
        assert ledger.states([again]) == {again: BatchState.DONE}

    def test_more_machines_have_to_agree_once_a_batch_is_released_for_more(self, ledger: Ledger) -> None:
        number = self.replicated(ledger, 0, replicas=1)
        more = self.replicated(ledger, 0, replicas=3)
        assert ledger.states([number, more]) == {number: BatchState.WITHDRAWN, more: BatchState.OPEN}
        assert self.replicated(ledger, 0, replicas=2) == more
        kinds = [self.report(ledger, self.lent(ledger, name)) for name in ("ada", "bob", "eve")]
        assert kinds == [EntryKind.REPORTED, EntryKind.REPORTED, EntryKind.ACCEPTED]

    @pytest.mark.parametrize("urgent", [replace(ANY, priority=1), replace(ANY, due=5.0)])
    def test_an_open_batch_becomes_more_urgent_and_never_less(self, ledger: Ledger, urgent: Requirements) -> None:
        first = ledger.release(a_batch(0), ANY)
        more = ledger.release(a_batch(0), urgent)
        assert ledger.states([first, more]) == {first: BatchState.WITHDRAWN, more: BatchState.OPEN}
        assert ledger.wanted("any") == (urgent,)
        assert ledger.release(a_batch(0), ANY) == more
        assert self.claimed(ledger).number == more
        assert ledger.release(a_batch(0), replace(urgent, priority=9)) == more, "a machine runs it"

    def test_a_claim_and_a_result_take_few_statements(self) -> None:
        ledger = self.open().ledger
        for each in range(2):
            ledger.release(a_batch(each), ANY)
        self.hand_in(ledger, self.claimed(ledger))
        with statements(ledger.engine) as claim:
            lease = self.claimed(ledger)
        with statements(ledger.engine) as result:
            self.hand_in(ledger, lease)
        assert len(claim) <= 10, claim
        assert len(result) <= 8, result

    def test_calls_at_once_are_one_transaction(self, monkeypatch: pytest.MonkeyPatch) -> None:
        store = self.open()
        lost = LostReplies(store.ledger, monkeypatch)
        store.ledger.release(a_batch(0), ANY)
        lease = lost(lambda: store.at_once(lambda ledger, _: self.claimed(ledger)))
        assert lost(lambda: store.at_once(lambda ledger, _: self.hand_in(ledger, lease))) is EntryKind.ACCEPTED

        def fail(ledger: Ledger, _: Volunteers) -> None:
            assert ledger.states([ledger.release(a_batch(1), ANY)]).values(), "it sees its own changes"
            raise InputError("not this one")

        with pytest.raises(InputError):
            store.at_once(fail)
        kinds = [entry.what for entry in store.ledger.history()]
        assert kinds == [EntryKind.RELEASED, EntryKind.LEASED, EntryKind.ACCEPTED, EntryKind.ENDED]

    def test_the_database_has_the_time(self) -> None:
        ledger = self.open().ledger
        ledger.release(a_batch(0), ANY)
        [first] = ledger.history()
        ledger.release(a_batch(1), ANY)
        assert 1.7e9 < first.at <= ledger.history()[-1].at


class LostReplies:
    """Calls a ledger with the reply to the first commit lost."""

    def __init__(self, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
        self._engine = ledger.engine
        self._monkeypatch = monkeypatch

    def __call__(self, call: Callable[[], T]) -> T:
        """The result of the call."""
        dialect = self._engine.dialect
        commit, left = dialect.do_commit, [True]

        def committed(connection: PoolProxiedConnection) -> None:
            commit(connection)
            if left.pop() if left else False:
                raise dialect.loaded_dbapi.OperationalError("the connection was closed")

        with self._monkeypatch.context() as patched:
            patched.setattr(dialect, "do_commit", committed)
            patched.setattr(dialect, "is_disconnect", lambda *_: True)
            result = call()
        assert not left
        return result


@contextmanager
def statements(engine: Engine) -> Iterator[list[str]]:
    """The statements that an engine executes in the block, on SQLite also those that its driver executes itself."""
    found = list[str]()
    if engine.dialect.name == "sqlite":
        with engine.connect() as connection:
            driver = driver_of(connection)
        driver.set_trace_callback(found.append)
        yield found
        driver.set_trace_callback(None)
        found[:] = [each for each in found if each not in {"COMMIT", "ROLLBACK"}]
        return

    def note(_: object, __: object, statement: str, *___: object) -> None:
        found.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(engine, "before_cursor_execute", note)


def decisions(history: Iterable[LedgerEntry]) -> list[tuple[int | None, str]]:
    """The decisions of the steering if a history of leases is replayed: batches and reasons."""
    queued: dict[int, Queue] = {}
    leased: dict[int, str] = {}
    found = []
    for entry in history:
        if entry.what is EntryKind.RELEASED:
            needed = msgspec.convert(entry.content["requirements"], Requirements)
            queued[entry.batch] = Queue(entry.batch, entry.content["study"], needed, entry.content["machine"])
        elif entry.what is EntryKind.LEASED:
            client = msgspec.convert(entry.content["client"], Client)
            decision = choose(tuple(queued.values()), Counter(leased.values()), client)
            found.append((decision.batch, decision.reason))
            leased[entry.batch] = queued.pop(entry.batch).study
        elif entry.what is EntryKind.ENDED:
            del leased[entry.batch]
    return found
