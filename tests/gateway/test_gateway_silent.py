"""Machines that never answer, or that send more than is wanted: others do the work, and the store does not grow."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import Executable, delete, func, update
from volunteers import PRINTED, describe, release, result

from hati.core import InputError, replace
from hati.engine import VolunteersEngine
from hati.gateway import Gateway, Setup
from hati.gateway import gateway as gateway_module
from hati.gateway.gateway import Refusal
from hati.gateway.messages import (
    AttemptReference,
    ClaimMessage,
    ClientDescription,
    ClientTemplate,
    End,
    EndOutcome,
    LeasedBatch,
    Registration,
    ResultMessage,
)
from hati.steering import Client, ClientKind, Queue, Requirements, SteeringDecision, choose
from hati.store import BatchState, EntryKind, SqlStore, ledger_reports, open_store, schema
from hati.store.ledger_batches import VOLUNTEERS_ATTEMPTS
from hati.store.ledger_claims import ELSEWHERE_SECONDS
from ledgers import statements

LEASE = 60.0


class Place:
    """A gateway with a clock that tests set, and a store with a signed release."""

    def __init__(self, project: Path, file: Path, store: SqlStore) -> None:
        self.project, self.file, self.store, self.now = project, file, store, 1e9
        store.ledger = store.ledger.at(lambda: self.now)
        self.gateway = Gateway(store, Setup(lease=LEASE), lambda: self.now)
        self._keys = map("key-{:06}".format, itertools.count())

    def register(self, name: str) -> str:
        return self.gateway.register(msgspec.convert(describe(name), Registration)).token

    def claim(self, token: str, template: ClientTemplate | None = None) -> LeasedBatch | float | None:
        """The lease that a machine gets, or the seconds that it is to wait, or None where there is no batch for it."""
        volunteer = self.gateway.holder(token)
        client = replace(msgspec.convert(describe(volunteer.name), ClientDescription), template=template)
        try:
            found = self.gateway.claim(volunteer, ClaimMessage(next(self._keys), client))
        except Refusal as refusal:
            assert refusal.status == 429
            assert refusal.retry is not None
            return refusal.retry
        return found and found.lease

    def leased(self, token: str) -> LeasedBatch:
        found = self.claim(token)
        assert isinstance(found, LeasedBatch)
        return found

    def answer(
        self, token: str, lease: LeasedBatch, tasks: int | None = None, printed: bytes = PRINTED, began: float = 0.0
    ) -> list[str]:
        about, volunteer = msgspec.to_builtins(lease), self.gateway.holder(token)
        messages = [result(about, job.task, printed, began or self.now) for job in lease.envelope.jobs[:tasks]]
        return [self.gateway.result(volunteer, msgspec.convert(each, ResultMessage)).accepted for each in messages]

    def states(self) -> list[BatchState]:
        numbers = [entry.number for entry in self.store.ledger.history() if entry.what is EntryKind.RELEASED]
        return list(self.store.ledger.states(numbers).values())


@pytest.fixture
def place(project: Path, store: Path, tmp_path: Path) -> Iterator[Place]:
    """A gateway of its own."""
    file = tmp_path / "store.sqlite"
    with closing(open_store(str(store))) as signed, closing(open_store(str(file))) as own:
        for name in {each.artefact for each in signed.volunteers.releases().values()}:
            size = signed.volunteers.artefact_size(name) or 0
            own.volunteers.keep_artefact(b"".join(signed.volunteers.artefact(name, 0, size)))
        for each in signed.volunteers.releases().values():
            own.volunteers.keep_release(each)
        yield Place(project, file, own)


def test_a_claim_and_a_result_take_few_statements(place: Place) -> None:
    release(place.project, place.file, 2)
    token = place.register("one")
    place.answer(token, place.leased(token))
    with statements(place.store.ledger.engine) as claim:
        lease = place.leased(token)
    with statements(place.store.ledger.engine) as answer:
        place.answer(token, lease)
    assert len(claim) <= 12, claim
    assert len(answer) <= 9, answer


def test_a_result_is_accepted_again_where_its_lease_was_sent_again(place: Place) -> None:
    release(place.project, place.file, 1, each=2)
    token, place._keys = place.register("one"), itertools.repeat("key-of-one-claim")
    whole = place.leased(token)
    assert place.answer(token, whole, 1) == ["accepted"]
    place.gateway = Gateway(place.store, Setup(lease=LEASE), lambda: place.now)
    assert len(place.leased(token).envelope.jobs) == 1
    assert place.answer(token, whole, 1) == ["accepted"]


def test_a_result_of_a_study_that_was_forgotten_is_refused(place: Place) -> None:
    release(place.project, place.file, 1)
    token = place.register("one")
    lease = place.leased(token)
    [study] = [record.id.key for record in place.store.studies()]
    assert place.store.forget_study(study)
    with pytest.raises(Refusal) as refused:
        place.answer(token, lease)
    assert refused.value.status == 410


@pytest.mark.parametrize("name", ["one", "two"])
def test_a_lease_has_the_number_of_one_that_was_forgotten(place: Place, name: str) -> None:
    release(place.project, place.file, 1)
    tokens = {each: place.register(each) for each in ("one", "two")}
    before = place.leased(tokens["one"])
    [study] = [record.id.key for record in place.store.studies()]
    assert place.store.forget_study(study)
    [task] = release(place.project, place.file, 1)
    lease, volunteer = place.leased(tokens[name]), place.gateway.holder(tokens[name])
    assert (lease.batch, lease.attempt) == (before.batch, before.attempt)
    place.now += LEASE / 2
    assert place.gateway.renew(volunteer, AttemptReference(lease.batch, lease.attempt)).until == place.now + LEASE
    assert place.answer(tokens[name], lease) == ["accepted"]
    assert set(place.store.ledger.results([task])) == {task}


def test_the_leases_in_memory_are_bounded(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway_module, "MOST_KEPT", 1)
    release(place.project, place.file, 3)
    tokens = [place.register(name) for name in ("one", "two", "three")]
    leases = [place.leased(token) for token in tokens]
    assert len(place.gateway._given) == 1
    assert [place.answer(token, lease) for token, lease in zip(tokens, leases, strict=True)] == [["accepted"]] * 3


def test_one_silent_and_one_working_machine_make_all_runs(place: Place) -> None:
    """The silent one asks before the other each time, and its batches are always the oldest."""
    tasks = release(place.project, place.file, 4)
    silent, working = place.register("silent"), place.register("working")
    for _ in range(200):
        place.claim(silent)
        lease = place.claim(working)
        if isinstance(lease, LeasedBatch):
            assert place.answer(working, lease) == ["accepted"]
        place.now += LEASE / 2
        if set(place.states()) == {BatchState.DONE}:
            break
    assert set(place.states()) == {BatchState.DONE}
    assert set(place.store.ledger.results(tasks)) == set(tasks)


def test_machines_of_one_silent_owner_do_not_end_a_campaign(place: Place) -> None:
    """As many batches are out as machines are there, so that the working one gets its first."""
    tasks = release(place.project, place.file, 5)
    silent, working = [place.register(f"silent-{number}") for number in range(4)], place.register("working")
    for _ in range(60):
        for token in silent:
            place.claim(token)
        lease = place.claim(working)
        if isinstance(lease, LeasedBatch):
            place.answer(working, lease)
        place.now += LEASE / 2
        if set(place.states()) == {BatchState.DONE}:
            break
    assert set(place.states()) == {BatchState.DONE}
    assert set(place.store.ledger.results(tasks)) == set(tasks)


def test_any_number_of_machines_that_never_answer_leaves_a_batch_to_others(place: Place) -> None:
    tasks = release(place.project, place.file, 1)
    for number in range(2 * VOLUNTEERS_ATTEMPTS):
        place.leased(place.register(f"silent-{number}"))
        place.now += LEASE + 1.0
        place.store.ledger.expire()
    assert place.states() == [BatchState.OPEN]
    (failed,) = place.store.ledger.status().failed
    assert failed.failures == 2 * VOLUNTEERS_ATTEMPTS
    working = place.register("working")
    assert place.answer(working, place.leased(working)) == ["accepted"]
    assert set(place.store.ledger.results(tasks)) == set(tasks)


def test_machines_that_have_answered_before_end_a_campaign_by_their_failures(place: Place) -> None:
    release(place.project, place.file, VOLUNTEERS_ATTEMPTS + 1)
    machines = [place.register(f"machine-{number}") for number in range(VOLUNTEERS_ATTEMPTS)]
    for token in machines:
        assert place.answer(token, place.leased(token)) == ["accepted"]
    for number, token in enumerate(machines):
        assert [each for each in place.states() if each is not BatchState.DONE] == [BatchState.OPEN]
        lease = place.leased(token)
        reason = f"{number} has no space"
        place.gateway.end(place.gateway.holder(token), End(lease.batch, lease.attempt, EndOutcome.FAILED, reason))
    assert place.states()[-1] is BatchState.QUARANTINED
    place.store.ledger.rebuild()
    assert place.states()[-1] is BatchState.QUARANTINED


def test_the_wait_of_a_silent_machine_doubles_and_ends_with_a_completed_batch(place: Place) -> None:
    release(place.project, place.file, 3)
    silent, waits = place.register("silent"), list[float]()
    for _ in range(4):
        place.leased(silent)
        place.now += LEASE + 1.0
        wait = place.claim(silent)
        assert isinstance(wait, float)
        waits.append(wait)
        place.now += wait
    assert waits == [20.0, 40.0, 80.0, 160.0]
    assert place.answer(silent, place.leased(silent)) == ["accepted"]
    place.leased(silent)


def test_a_silent_machine_waits_also_after_the_server_was_restarted(place: Place) -> None:
    release(place.project, place.file, 1)
    silent = place.register("silent")
    place.leased(silent)
    place.now += LEASE + 1.0
    place.gateway = Gateway(place.store, Setup(lease=LEASE), lambda: place.now)
    assert place.claim(silent) == 20.0


def test_a_batch_goes_to_another_machine_first(place: Place) -> None:
    release(place.project, place.file, 2)
    silent, working = place.register("silent"), place.register("working")
    first, second = place.leased(silent), place.leased(working)
    place.now += LEASE / 2
    place.gateway.renew(place.gateway.holder(working), AttemptReference(second.batch, second.attempt))
    place.now += LEASE / 2
    assert place.claim(silent) == 20.0
    place.now += 20.0
    assert place.claim(silent) is None  # the other machine, which is there, did not fail it
    assert place.answer(working, second) == ["accepted"]
    assert place.leased(working).batch == first.batch


def test_a_batch_waits_for_a_better_machine_for_a_time_only(place: Place) -> None:
    release(place.project, place.file, 2)
    silent, working = place.register("silent"), place.register("working")
    first, busy = place.leased(silent), place.leased(working)
    found = list[int]()
    for _ in range(8):
        place.now += LEASE - 1.0
        place.gateway.renew(place.gateway.holder(working), AttemptReference(busy.batch, busy.attempt))
        if isinstance(lease := place.claim(silent), LeasedBatch):
            found.append(lease.batch)
    assert set(found) == {first.batch}
    assert place.now - 1e9 >= LEASE + ELSEWHERE_SECONDS


class Bounded:
    """The rule of choice, or a batch that is always chosen; a claim that asks it again and again fails."""

    def __init__(self, always: int | None = None) -> None:
        self._always, self._left = always, 20

    def __call__(self, queues: Sequence[Queue], under_way: Mapping[str, int], client: Client) -> SteeringDecision:
        self._left -= 1
        assert self._left, "the claim does not end"
        return choose(queues, under_way, client) if self._always is None else SteeringDecision(self._always, "always")


@pytest.fixture
def failed(place: Place) -> tuple[str, int]:
    """A machine whose wait is over, and the batch that it has failed, which another present machine tries first."""
    release(place.project, place.file, 1)
    token = place.register("silent")
    number = place.leased(token).batch
    place.now += LEASE + 1.0
    assert place.claim(token) == 20.0
    place.now += 20.0
    other = Client("machine-other", "other", 2, (), ClientKind.VOLUNTEER)
    place.store.ledger.enter("other/1", other, LEASE)
    return token, number


@pytest.mark.parametrize("template", [None, ClientTemplate(settings={"level": ["1", "2", "3"]})])
def test_a_failed_batch_that_an_earlier_version_kept_for_its_machine_is_resumed_there(
    place: Place, failed: tuple[str, int], template: ClientTemplate | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    token, number = failed
    with place.store.ledger.engine.begin() as connection:
        connection.execute(update(schema.batch).values(machine=place.gateway.holder(token).machine))
    monkeypatch.setattr(gateway_module, "choose", Bounded())
    lease = place.claim(token, template)
    assert isinstance(lease, LeasedBatch)
    assert lease.batch == number


def test_a_claim_ends_where_the_choice_is_a_batch_that_others_try_first(place: Place, failed: tuple[str, int]) -> None:
    token, number = failed
    client = Client(place.gateway.holder(token).machine, "silent", 2, (), ClientKind.VOLUNTEER)
    assert place.store.ledger.claim("silent/1", client, Bounded(number)) is None
    place.now += ELSEWHERE_SECONDS
    lease = place.store.ledger.claim("silent/1", client, Bounded(number))
    assert lease is not None
    assert lease.number == number


def test_a_batch_does_not_wait_for_a_machine_that_gets_none_now(place: Place) -> None:
    release(place.project, place.file, 2)
    silent, failing = place.register("silent"), place.register("failing")
    first, second = place.leased(silent), place.leased(failing)
    volunteer = place.gateway.holder(failing)
    place.now += LEASE / 2
    place.gateway.renew(volunteer, AttemptReference(second.batch, second.attempt))
    place.now += LEASE / 2
    assert place.claim(silent) == 20.0
    place.now += 20.0
    place.gateway.end(volunteer, End(second.batch, second.attempt, EndOutcome.FAILED, "no space"))
    assert place.claim(failing) == 20.0
    assert place.leased(silent).batch == first.batch


def test_the_rest_of_a_batch_that_a_machine_has_begun_goes_to_another(place: Place) -> None:
    (first, second) = release(place.project, place.file, 1, each=2)
    silent, working = place.register("silent"), place.register("working")
    assert place.answer(silent, place.leased(silent), 1) == ["accepted"]
    place.now += LEASE + 1.0
    lease = place.leased(working)
    assert [job.task for job in lease.envelope.jobs] == [second]
    assert place.answer(working, lease) == ["accepted"]
    assert set(place.store.ledger.results([first, second])) == {first, second}


def test_the_rest_of_a_batch_that_a_machine_gives_back_goes_to_another(place: Place) -> None:
    (_, second) = release(place.project, place.file, 1, each=2)
    leaving, working = place.register("leaving"), place.register("working")
    lease = place.leased(leaving)
    assert place.answer(leaving, lease, 1) == ["accepted"]
    place.gateway.end(place.gateway.holder(leaving), End(lease.batch, lease.attempt, EndOutcome.RETURNED))
    assert [job.task for job in place.leased(working).envelope.jobs] == [second]


def test_the_rest_of_a_batch_that_is_released_again_goes_to_any_machine(place: Place) -> None:
    (_, second) = release(place.project, place.file, 1, each=2)
    silent, working = place.register("silent"), place.register("working")
    lease = place.leased(silent)
    assert place.answer(silent, lease, 1) == ["accepted"]
    begun = place.store.ledger.leased(lease.batch, lease.attempt)
    assert begun is not None
    place.store.ledger.withdraw(lease.batch)
    place.gateway.end(place.gateway.holder(silent), End(lease.batch, lease.attempt, EndOutcome.RETURNED))
    place.store.ledger.release(begun.batch, Requirements(kind=ClientKind.VOLUNTEER))
    assert [job.task for job in place.leased(working).envelope.jobs] == [second]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (delete(schema.release), "has no signed release"),
        (
            update(schema.release).values(
                statement=func.replace(schema.release.c.statement, '"level":["1"', '"level":["9"')
            ),
            "does not allow level=1",
        ),
    ],
)
def test_a_batch_that_is_signed_no_more_goes_back_to_its_campaign_and_no_machine_waits(
    place: Place, change: Executable, said: str
) -> None:
    release(place.project, place.file, 1)
    ((number, batch),) = place.store.ledger.waiting(1, 0).items()
    engine = VolunteersEngine(place.store.ledger, place.store.volunteers, [batch.members[0].benchmark], print)
    engine.submit(batch)
    token = place.register("one")
    releases = place.store.volunteers.releases().values()
    with place.store.ledger.engine.begin() as connection:
        assert connection.execute(change).rowcount == 1
    assert place.claim(token) is None
    assert place.store.ledger.backoff(place.gateway.holder(token).machine) == 0.0
    assert place.store.ledger.states([number]) == {number: BatchState.WITHDRAWN}
    with pytest.raises(InputError, match=said) as raised:
        engine._look()
    assert "hati grid sign" in str(raised.value.fix)
    for each in releases:
        place.store.volunteers.keep_release(each)
    engine._look()
    assert place.answer(token, place.leased(token)) == ["accepted"]


def test_results_that_do_not_count_are_bounded(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_reports, "MACHINE_ASIDE", 3)
    monkeypatch.setattr(ledger_reports, "ALL_ASIDE", 5)
    release(place.project, place.file, 3)
    names = ["one", "two", "three"]
    tokens = [place.register(name) for name in names]
    leases = [place.leased(token) for token in tokens]
    for token, lease in zip(tokens, leases, strict=True):
        assert place.answer(token, lease) == ["accepted"]
    sent = [(0, 9), (1, 2), (2, 2)]
    for machine, number in sent:
        for _ in range(number):
            place.now += 1.0
            assert place.answer(tokens[machine], leases[machine], began=place.now) == ["duplicate"]
    aside = [entry.batch for entry in place.store.ledger.history() if entry.what is EntryKind.DUPLICATE]
    assert aside == [leases[machine].batch for machine in (0, 1, 1, 2, 2)]
    place.store.ledger.rebuild()
    assert place.states() == [BatchState.DONE] * 3


def test_a_large_result_that_does_not_count_is_kept_without_its_values(place: Place) -> None:
    release(place.project, place.file, 1)
    token = place.register("one")
    lease = place.leased(token)
    assert place.answer(token, lease) == ["accepted"]
    drawn = random.Random(1)
    large = json.dumps({"metric": "latency", "values": [drawn.random() for _ in range(20_000)]}).encode()
    assert place.answer(token, lease, printed=large) == ["duplicate"]
    (aside,) = [entry for entry in place.store.ledger.history() if entry.what is EntryKind.DUPLICATE]
    assert aside.content["run"] == {"task": lease.envelope.jobs[0].task}


def test_renewals_and_claims_of_one_machine_do_not_fill_the_history(place: Place) -> None:
    release(place.project, place.file, 1)
    token = place.register("one")
    volunteer, lease = place.gateway.holder(token), place.leased(token)
    before = len(place.store.ledger.history())
    for _ in range(100):
        place.gateway.renew(volunteer, AttemptReference(lease.batch, lease.attempt))
    assert len(place.store.ledger.history()) == before
    given_back = 0
    while isinstance(lease := place.claim(token) if given_back else lease, LeasedBatch):
        place.gateway.end(volunteer, End(lease.batch, lease.attempt, EndOutcome.RETURNED))
        given_back += 1
        assert given_back < 10
    assert lease == 20.0


def test_a_machine_that_describes_itself_anew_each_time_is_refused(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateway_module, "MOST_STATES", 3)
    token = place.register("one")
    about = describe("one")
    for kernel, known in (("1", True), ("2", True), ("3", False), ("1", True)):
        client = msgspec.convert({**about, "properties": {"kernel": kernel}}, ClientDescription)
        message = ClaimMessage(f"key-{kernel:>06}".replace(" ", "0"), client)
        if known:
            assert place.gateway.claim(place.gateway.holder(token), message) is None
        else:
            with pytest.raises(Refusal, match="3 states"):
                place.gateway.claim(place.gateway.holder(token), message)


def test_the_number_of_machines_is_bounded(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway_module, "MOST_MACHINES", 2)
    place.register("one")
    place.register("two")
    with pytest.raises(Refusal, match="2 machines are registered"):
        place.register("three")
    place.store.volunteers.revoke("one")
    place.register("three")


def test_a_machine_that_has_just_worked_asks_again_soon_and_then_less_often(place: Place) -> None:
    release(place.project, place.file, 1)
    token = place.register("one")
    volunteer = place.gateway.holder(token)
    assert place.gateway.retry_after(volunteer) == 10.0
    place.answer(token, place.leased(token))
    asked = []
    for _ in range(6):
        assert place.claim(token) is None
        asked.append(place.gateway.retry_after(volunteer))
        place.now += asked[-1]
    assert asked == [1.0, 1.0, 2.0, 4.0, 8.0, 10.0]
