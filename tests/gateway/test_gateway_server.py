"""Volunteers and a real server over HTTPS: from a campaign's task to its recorded run."""

from __future__ import annotations

import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest
from volunteers import HATI, Served, Volunteer

from hati.core import Outcome
from hati.store import Selection, read_store


@pytest.mark.acceptance
def test_a_campaign_gets_its_runs_from_volunteers(served: Served, store: Path, public: str, tmp_path: Path) -> None:
    words = ["run", str(served.project), "--engine", "volunteers", "--budget", "4", "--store", str(store)]
    campaign = subprocess.Popen([*HATI, *words, "--format", "json"], stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    done: list[str] = []
    with served.http() as http:
        machines = [Volunteer(http, name) for name in ("one", "two")]
        while campaign.poll() is None:
            for machine in machines:
                done += machine.work(tmp_path, public)
            time.sleep(0.05)
    _, err = campaign.communicate()
    assert campaign.returncode == 0, err.decode()
    with closing(read_store(str(store))) as kept:
        runs = [run for run in kept.runs(Selection()) if run.task.id in done]
        machines_of = {each.fingerprint: dict(each.properties) for each in kept.machines()}
    assert len(runs) == 4
    assert len(set(done)) == len(done)
    assert {run.outcome for run in runs} == {Outcome.DONE}
    assert {machines_of[run.machine]["class"] for run in runs} == {"volunteer"}
    assert all(run.observations[0].values.size == 3 for run in runs)
