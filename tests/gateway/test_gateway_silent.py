"""Machines that lease batches and never answer: they wait longer each time, and others do the work."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from volunteers import PRINTED, describe, release, result

from hati.gateway import Gateway, Setup
from hati.gateway.gateway import Refusal
from hati.gateway.messages import (
    AttemptReference,
    ClaimMessage,
    ClientDescription,
    LeasedBatch,
    Registration,
    ResultMessage,
)
from hati.store import BatchState, EntryKind, SqlStore, open_store
from hati.store.ledger_machines import ELSEWHERE_SECONDS

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

    def claim(self, token: str) -> LeasedBatch | float | None:
        """The lease that a machine gets, or the seconds that it is to wait, or None where there is no batch for it."""
        volunteer = self.gateway.holder(token)
        client = msgspec.convert(describe(volunteer.name), ClientDescription)
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

    def answer(self, token: str, lease: LeasedBatch, tasks: int | None = None) -> list[str]:
        about = msgspec.to_builtins(lease)
        return [
            self.gateway.result(
                self.gateway.holder(token), msgspec.convert(result(about, job.task, PRINTED), ResultMessage)
            ).accepted
            for job in lease.envelope.jobs[:tasks]
        ]

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


def test_one_silent_and_one_working_machine_make_all_runs(place: Place) -> None:
    """The silent one asks before the other each time, and its batches are always the oldest."""
    tasks = release(place.project, place.file, 8)
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
    tasks = release(place.project, place.file, 6)
    silent, working = [place.register(f"silent-{number}") for number in range(12)], place.register("working")
    for _ in range(200):
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


def test_the_rest_of_a_batch_that_a_machine_has_begun_goes_to_another(place: Place) -> None:
    (first, second) = release(place.project, place.file, 1, each=2)
    silent, working = place.register("silent"), place.register("working")
    assert place.answer(silent, place.leased(silent), 1) == ["accepted"]
    place.now += LEASE + 1.0
    lease = place.leased(working)
    assert [job.task for job in lease.envelope.jobs] == [second]
    assert place.answer(working, lease) == ["accepted"]
    assert set(place.store.ledger.results([first, second])) == {first, second}
