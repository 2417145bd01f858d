"""Results that count once several machines agree, through the server."""

from __future__ import annotations

import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest
from volunteers import HATI, PRINTED, Served, Volunteer, release, result

from hati.core import Batch, MeasurementError, replace
from hati.engine import VolunteersEngine, WorkersEngine
from hati.engine.workers import Released
from hati.steering import Requirements, choose
from hati.store import AttemptOutcome, EntryKind, Selection, open_store, read_store
from hati.testing.conformance import a_run, a_study
from ledgers import a_job, a_volunteer

INVENTED = b'{"metric": "latency", "values": [0.0001, 0.0002]}\n'


def sent(machine: Volunteer, stdout: bytes) -> str:
    """What becomes of a machine's result of the next batch; "" where it gets none."""
    answer = machine.claim()
    if answer.status_code == 204:
        return ""
    lease = answer.json()["lease"]
    [job] = lease["envelope"]["jobs"]
    accepted: str = machine.post("result", result(lease, job["task"], stdout)).json()["accepted"]
    return accepted


def test_invented_times_do_not_count_beside_machines_of_the_same_class(served: Served) -> None:
    [task] = release(served.project, served.store, 1, replicas=2)
    with served.http() as http, closing(read_store(str(served.store))) as store:
        liar, honest, other = (Volunteer(http, name) for name in ("liar", "honest", "other"))
        assert sent(liar, INVENTED) == "reported"
        assert sent(liar, INVENTED) == "", "no machine confirms itself"
        assert sent(honest, PRINTED) == "reported"
        assert store.ledger.results([task]) == {}
        assert sent(other, PRINTED) == "accepted"
        [content] = store.ledger.results([task]).values()
        accepted = store.ledger.history()[-2].content
        assert accepted["verdicts"] == {"agreed": [honest.machine, other.machine], "outlier": [liar.machine]}
        assert content["output"] == PRINTED.decode()


def test_a_campaign_asks_two_machines_for_each_run(
    project: Path, store: Path, served: Served, public: str, tmp_path: Path
) -> None:
    words = [*HATI, "run", str(project), "--engine", "volunteers", "--replicate", "2", "--budget", "2"]
    campaign = subprocess.Popen([*words, "--store", str(store), "--format", "json"], stdout=-1, stderr=-1, text=True)
    with served.http() as http:
        machines = [Volunteer(http, name) for name in ("anna", "bert")]
        until = time.monotonic() + 60
        done = [list[str](), list[str]()]
        while campaign.poll() is None and time.monotonic() < until:
            for machine, own in zip(machines, done, strict=True):
                own.extend(machine.work(tmp_path, public))
            time.sleep(0.05)
    out, err = campaign.communicate(timeout=60)
    assert campaign.returncode == 0, err
    assert "latency" in out
    assert sorted(done[0]) == sorted(done[1])
    with closing(read_store(str(store))) as kept:
        runs = [run for run in kept.runs(Selection()) if run.task.id in done[0]]
    assert sorted(run.task.id for run in runs) == sorted(done[0])


def test_what_is_asked_of_batches_is_in_their_requirements(tmp_path: Path) -> None:
    with closing(open_store(str(tmp_path / "store.sqlite"))) as store:
        engine = WorkersEngine(store.ledger, (), print, Requirements(priority=3, due=5.0))
        engine.submit(Batch((a_job(0),)))
        [needed] = store.ledger.wanted("any")
        assert (needed.priority, needed.due, needed.sources) == (3, 5.0, ("files",))
        engine.close()


def test_a_campaign_says_that_the_machines_disagree(tmp_path: Path) -> None:
    with closing(open_store(str(tmp_path / "store.sqlite"))) as store:
        said, batch = list[str](), Batch((a_job(0), a_job(1)))
        engine = VolunteersEngine(store.ledger, store.volunteers, [], said.append, Requirements(replicas=2))
        number = store.ledger.release(batch, engine._requirements(batch))
        engine._out.append(Released(batch, number, {job.task.id: job.task for job in batch.members}))
        for power, name in enumerate(("ada", "bob")):
            lease = store.ledger.claim(name, replace(a_volunteer(name), hardware="pc"), choose)
            assert lease is not None
            for job in batch.members:
                run = replace(a_run(a_study()), task=job.task)
                wrong = 3.0**power if job == batch.members[1] else 1.0
                levels = tuple(replace(each, values=wrong * each.values) for each in run.observations)
                store.ledger.accept(lease, replace(run, observations=levels))
        engine._say_why()
        reason = "has results on which the machines that are there disagree; another one has to report"
        assert said == [f"waiting for another worker: the next batch {reason}"]
        [waiting] = store.ledger.status().waiting
        assert (waiting.batches, waiting.reason) == (1, reason)
        store.ledger.enter("eve", replace(a_volunteer("eve"), hardware="pc"))
        [waiting] = store.ledger.status().waiting
        assert (waiting.batches, waiting.reason) == (1, "")


def test_volunteers_that_never_agree_end_the_campaign(tmp_path: Path) -> None:
    with closing(open_store(str(tmp_path / "store.sqlite"))) as store:
        engine, batch = (
            VolunteersEngine(store.ledger, store.volunteers, [], print, Requirements(replicas=2)),
            Batch((a_job(0),)),
        )
        number = store.ledger.release(batch, engine._requirements(batch))
        engine._out.append(Released(batch, number, {job.task.id: job.task for job in batch.members}))
        for power, name in enumerate(("ada", "bob", "eve", "joe", "kim")):
            lease = store.ledger.claim(name, replace(a_volunteer(name), hardware="pc"), choose)
            assert lease is not None
            run = replace(a_run(a_study()), task=a_job(0).task)
            levels = tuple(replace(each, values=3.0**power * each.values) for each in run.observations)
            assert store.ledger.accept(lease, replace(run, observations=levels)) is EntryKind.REPORTED
        assert [each.outcome for each in store.ledger.attempts(number)] == [AttemptOutcome.DONE] * 5
        with pytest.raises(MeasurementError, match="no 2 volunteers agree") as refused:
            list(engine.completed())
        assert "--engine local or workers" in (refused.value.fix or "")
        assert store.ledger.results([a_job(0).task.id]) == {}
