"""What a worker does with its lease where the machine is busy, an engine fails, or a fault ends it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hati.core import Batch, Job, MeasurementError, Outcome, Run, replace
from hati.engine import LocalEngine, Worker, WorkersEngine
from hati.engine.locks import FileLock
from hati.engine.serial import SerialEngine
from hati.steering import choose
from hati.store import ATTEMPTS, AttemptOutcome, BatchState, Ledger, open_store
from hati.store.ledger import PATIENCE_SECONDS
from hati.subject import machine
from hati.testing.conformance import a_run, a_study
from ledgers import ANY, BENCHMARK, a_batch, a_client

Wait = Callable[[str], None]
LEASE_SECONDS = 60.0


class Faulty(SerialEngine[Job]):
    """Raises an error in place of each run, or makes runs where there is none."""

    def __init__(self, error: BaseException | None = None) -> None:
        super().__init__()
        self.error = error

    def execute(self, work: Job, /) -> Run:
        if self.error is not None:
            raise self.error
        return replace(a_run(a_study()), task=work.task)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """That of an empty store."""
    with closing(open_store(str(tmp_path / "store.sqlite"))) as store:
        yield store.ledger


def worker(ledger: Ledger, engine: Callable[[Batch[Job], Wait], SerialEngine[Job]], said: list[str]) -> Worker:
    """One on a machine that has all files."""
    return Worker(ledger, a_client("one"), lambda _, __: True, engine, announce=said.append)


def test_a_batch_goes_back_while_the_machine_is_waited_for(ledger: Ledger, tmp_path: Path) -> None:
    number, said, elsewhere = ledger.release(a_batch(0), ANY), list[str](), list[BatchState | None]()
    other = FileLock(tmp_path / "lock")
    other.acquire("study-of-another", said.append)
    FileLock._ours.clear()  # as if another process held it

    def waited(sentence: str, back: Wait) -> None:
        back(sentence)
        elsewhere.append(ledger.states([number])[number])
        lease = ledger.claim("worker-two", a_client("two"), choose, LEASE_SECONDS)
        assert lease is not None
        ledger.accept(lease, replace(a_run(a_study()), task=lease.batch.members[0].task))
        FileLock._ours.append(other._identity())
        other.release()

    def make(_: Batch[Job], back: Wait) -> LocalEngine:
        about = (tmp_path, [BENCHMARK], machine("one"), lambda sentence: waited(sentence, back))
        return LocalEngine(*about, lock=tmp_path / "lock")

    worker(ledger, make, said).serve(0.0)
    assert elsewhere == [BatchState.OPEN]
    assert ledger.states([number]) == {number: BatchState.DONE}
    first, second = ledger.attempts(number)
    assert (first.outcome, second.machine) == (AttemptOutcome.RETURNED, "machine-two")
    assert "waiting for another hati" in first.reason
    assert any("study-of-another" in sentence for sentence in said)


def test_a_batch_at_which_each_worker_crashes_becomes_a_failed_run(ledger: Ledger) -> None:
    with WorkersEngine(ledger, (), print) as engine:
        engine.submit(a_batch(0))
        for _ in range(ATTEMPTS):
            with pytest.raises(RuntimeError):
                worker(ledger, lambda _, __: Faulty(RuntimeError("a fault")), []).serve(0.0)
        [run] = engine.completed()
    assert run.outcome is Outcome.NOT_STARTED
    assert run.detail.count("one: the worker ended by RuntimeError: a fault") == ATTEMPTS


def test_a_begun_batch_whose_job_ends_each_machine_becomes_a_failed_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1e9
    monkeypatch.setattr("hati.engine.workers._EXPIRE_SECONDS", -1.0)
    with closing(open_store(str(tmp_path / "store.sqlite"))) as store:
        ledger = store.ledger.at(lambda: now)
        engine = WorkersEngine(ledger, (), print)
        engine.submit(a_batch(0, 1))
        for number in range(ATTEMPTS):
            lease = ledger.claim(f"worker-{number}", a_client(f"machine-{number}"), choose, LEASE_SECONDS)
            assert lease is not None
            if not number:
                ledger.accept(lease, replace(a_run(a_study()), task=lease.batch.members[0].task))
            for seconds in (LEASE_SECONDS, PATIENCE_SECONDS):
                now += seconds
                engine._look()
        assert not engine._out
        assert [run.outcome for run in engine.completed()] == [Outcome.DONE, Outcome.NOT_STARTED]


def test_what_machines_failed_is_an_error_and_no_result(ledger: Ledger) -> None:
    said = list[str]()
    error = MeasurementError("no space left in /var", fix="free some")
    with WorkersEngine(ledger, (), print) as engine:
        engine.submit(a_batch(0, 1))
        with pytest.raises(MeasurementError):
            worker(ledger, lambda _, __: Faulty(error), said).serve(0.0)
        with pytest.raises(MeasurementError, match="attempt 3: one: no space left in /var") as raised:
            list(engine.completed())
    assert "start the campaign again" in str(raised.value.fix)
    assert len(said) == ATTEMPTS
    assert "was not run: no space left in /var" in said[0]
    with WorkersEngine(ledger, (), print) as engine:
        engine.submit(a_batch(0, 1))
        worker(ledger, lambda _, __: Faulty(), said).serve(0.0)
        assert [run.task.repetition for run in engine.completed()] == [0, 1]


def test_the_campaign_shows_what_went_wrong_with_its_next_batch(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = list[str]()
    monkeypatch.setattr("hati.engine.workers._SILENT_SECONDS", -1.0)
    with WorkersEngine(ledger, (), said.append) as engine:
        engine.submit(a_batch(0))
        lease = ledger.claim("worker-one", a_client("one"), choose, LEASE_SECONDS)
        assert lease is not None
        ledger.end(lease, AttemptOutcome.FAILED, "one: no compiler")
        lease = ledger.claim("worker-one", a_client("one"), choose, LEASE_SECONDS)
        assert lease is not None
        monkeypatch.setattr(
            "time.sleep", lambda _: engine.withdraw(a_batch(0)) or ledger.end(lease, AttemptOutcome.RETURNED, "")
        )
        assert list(engine.completed()) == []
    assert said[0] == "attempt 1 at the next batch failed: one: no compiler"
