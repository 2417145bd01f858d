"""``hati grid status``: what a ledger shows of workers and of what they run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from conftest import Hati
from hati.core import replace
from hati.steering import Client, Requirements, choose
from hati.store import ATTEMPTS, AttemptOutcome, Lease, Ledger, open_store
from hati.testing.conformance import a_run, a_study
from ledgers import ANY, a_batch, a_client

DAY_SECONDS = 86400.0
COUNTS = ("waiting", "leased", "done", "withdrawn", "quarantined", "results", "failures")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the store is."""
    return tmp_path / "shared.sqlite"


@pytest.fixture
def ledger(file: Path) -> Iterator[Ledger]:
    """Its ledger."""
    with closing(open_store(str(file))) as store:
        yield store.ledger


def claimed(ledger: Ledger, client: Client) -> Lease:
    """What a machine is given, for a day."""
    lease = ledger.claim(f"worker-{client.name}", client, choose, DAY_SECONDS)
    assert lease is not None
    return lease


def hand_in(ledger: Ledger, lease: Lease, place: int = 0) -> None:
    """Hand in the result of one job of a lease."""
    ledger.accept(lease, replace(a_run(a_study()), task=lease.batch.members[place].task))


def shown(hati: Hati, file: Path) -> Any:
    """The status as JSON."""
    done = hati("grid", "status", "--store", str(file), "--format", "json")
    assert done.status == 0, done.err
    return done.json


def counts(status: Any, study: str = "study-1") -> dict[str, int]:
    """The numbers of a study that are not 0."""
    [found] = [each for each in status["studies"] if each["study"] == study]
    return {name: found[name] for name in COUNTS if found[name]}


def test_an_empty_ledger_is_a_sentence(hati: Hati, ledger: Ledger, file: Path) -> None:
    done = hati("grid", "status", "--store", str(file))
    assert (done.status, done.out) == (0, "Nothing was released to workers, and no worker is there.\n")
    status = shown(hati, file)
    assert [status[name] for name in ("results", "machines", "studies", "waiting", "failed")] == [0, [], [], [], []]


def test_a_store_that_is_not_there_is_an_error(hati: Hati, file: Path) -> None:
    done = hati("grid", "status", "--store", str(file))
    assert done.status == 2
    assert str(file) in done.err
    assert not file.exists()


def test_machines_are_shown_with_their_leases(hati: Hati, ledger: Ledger, file: Path) -> None:
    number = ledger.release(a_batch(0), ANY)
    claimed(ledger, a_client("two"))
    ledger.enter("worker-one", a_client("one"), DAY_SECONDS)
    ledger.enter("worker-gone", a_client("gone"), -1.0)
    one, two = shown(hati, file)["machines"]
    assert (one["name"], one["cpus"], one["lease"]) == ("one", 2, None)
    lease = two["lease"]
    assert (two["name"], lease["batch"], lease["study"], lease["attempt"]) == ("two", number, "study-1", 1)
    since, until = (datetime.fromisoformat(lease[name]) for name in ("since", "until"))
    assert (until - since).total_seconds() == pytest.approx(DAY_SECONDS, abs=0.01)


def test_a_machine_that_left_long_ago_is_listed_until_it_is_forgotten(hati: Hati, ledger: Ledger, file: Path) -> None:
    now = time.time()
    for name, days in (("old", 40), ("late", 3), ("today", 0.5), ("here", 0)):
        then = ledger.at(lambda days=days: now - days * DAY_SECONDS)
        then.record_client(a_client(name))
        then.enter(f"worker-{name}", a_client(name), 60.0)
    ledger.at(lambda: now - 2 * DAY_SECONDS).leave("worker-late")
    ledger.expire()  # the worker of the first one gave no sign for longer than is waited for
    assert ledger.workers() == {"worker-here"}
    away = shown(hati, file)["away"]
    assert [each["name"] for each in away] == ["old", "late", "today"]
    seen = [now - datetime.fromisoformat(each["seen"]).timestamp() for each in away]
    assert seen == pytest.approx([40 * DAY_SECONDS, 3 * DAY_SECONDS, DAY_SECONDS / 2], abs=1.0)
    text = hati("grid", "status", "--store", str(file)).out
    assert "Machines without a worker" in text
    assert [word in text for word in ("40 days", "3 days", "today")] == [True, True, False]
    assert "To end that: `hati grid forget NAME`." in " ".join(text.split())
    assert hati("grid", "forget", "old", "--store", str(file)).status == 0
    assert [each["name"] for each in shown(hati, file)["away"]] == ["late", "today"]


def test_batches_are_counted_by_study_and_state(hati: Hati, ledger: Ledger, file: Path) -> None:
    for each in range(4):
        ledger.release(a_batch(each), ANY)
    ledger.withdraw(ledger.release(a_batch(4), ANY))
    ledger.release(a_batch(0, study="study-2"), ANY)
    hand_in(ledger, claimed(ledger, a_client("one")))
    claimed(ledger, a_client("one"))
    status = shown(hati, file)
    assert counts(status) == {"waiting": 2, "leased": 1, "done": 1, "withdrawn": 1, "results": 1}
    assert counts(status, "study-2") == {"waiting": 1}
    assert [each["study"] for each in status["studies"]] == ["study-1", "study-2"]


def test_results_of_the_last_hour_are_counted(hati: Hati, ledger: Ledger, file: Path) -> None:
    now = time.time()
    for ago, repetition in ((3700.0, 0), (3500.0, 1), (10.0, 2)):
        then = ledger.at(lambda ago=ago: now - ago)
        then.release(a_batch(repetition), ANY)
        hand_in(then, claimed(then, a_client("one")))
    status = shown(hati, file)
    assert status["results"] == 2
    assert counts(status) == {"done": 3, "results": 2}


def test_failures_are_shown_with_the_last_error(hati: Hati, ledger: Ledger, file: Path) -> None:
    given_up, failing = ledger.release(a_batch(0), ANY), 0
    for attempt in range(ATTEMPTS):
        ledger.end(claimed(ledger, a_client("one")), AttemptOutcome.FAILED, f"one: no space ({attempt})")
    failing = ledger.release(a_batch(1), ANY)
    ledger.end(claimed(ledger, a_client("two")), AttemptOutcome.FAILED, "two: no compiler")
    ledger.end(claimed(ledger, a_client("two")), AttemptOutcome.RETURNED, "the worker on two ended")
    status = shown(hati, file)
    found = [(each["batch"], each["state"], each["failures"], each["error"]) for each in status["failed"]]
    assert found == [
        (given_up, "quarantined", ATTEMPTS, f"one: no space ({ATTEMPTS - 1})"),
        (failing, "open", 1, "two: no compiler"),
    ]
    assert counts(status) == {"waiting": 1, "quarantined": 1, "failures": ATTEMPTS + 1}
    text = hati("grid", "status", "--store", str(file)).out
    assert "quarantined" in text
    assert "two: no compiler" in text


def test_what_waits_has_a_reason(hati: Hati, ledger: Ledger, file: Path) -> None:
    ledger.release(a_batch(0), Requirements(machines=("three",)))
    ledger.release(a_batch(1), Requirements(machines=("three",)))
    ledger.release(a_batch(2), Requirements(cpus=64))
    ledger.release(a_batch(0, study="study-2"), ANY)
    assert {each["reason"] for each in shown(hati, file)["waiting"]} == {"no worker is there"}
    ledger.enter("worker-one", a_client("one"), DAY_SECONDS)
    assert shown(hati, file)["waiting"] == [
        {"study": "study-1", "batches": 2, "reason": "runs on three only"},
        {"study": "study-1", "batches": 1, "reason": "needs 64 CPUs"},
        {"study": "study-2", "batches": 1, "reason": ""},
    ]
    text = hati("grid", "status", "--store", str(file)).out
    assert "runs on three only" in text
    assert "waits for its turn" in text


def test_what_began_on_a_machine_that_has_gone_waits_for_it(hati: Hati, ledger: Ledger, file: Path) -> None:
    ledger.release(a_batch(0, 1), ANY)
    lease = claimed(ledger, a_client("one"))
    hand_in(ledger, lease)
    ledger.end(lease, AttemptOutcome.RETURNED, "the worker on one ended")
    ledger.leave(lease.worker)
    ledger.enter("worker-two", a_client("two"), DAY_SECONDS)
    [waiting] = shown(hati, file)["waiting"]
    assert waiting["reason"] == "begun on a machine that has no worker now"
