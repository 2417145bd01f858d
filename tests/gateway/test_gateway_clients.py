"""The server with the clients that it hands out: processes of plain Python, which have no Hati."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from volunteers import HATI, INVITATION, Served, hati

from hati.core import Outcome
from hati.store import EntryKind, Selection, read_store

pytest.importorskip("hati.volunteer")


@pytest.mark.acceptance
def test_three_clients_do_a_screening_each_task_once(project: Path, store: Path, tmp_path: Path) -> None:
    place = tmp_path / "store.sqlite"
    signed = hati("grid", "sign", str(project), "--key", str(store.parent / "owner"), "--store", str(place))
    assert signed.returncode == 0, signed.stderr
    public = (store.parent / "owner.pub").read_text().strip()
    with closing(Served(project, place)) as served:
        words = ["screen", str(project), "--engine", "volunteers", "--budget", "12", "--store", str(place)]
        campaign = subprocess.Popen([*HATI, *words, "--format", "json"], stdout=-1, stderr=-1, text=True)
        with served.http() as http:
            program = tmp_path / "hati-join.pyz"
            program.write_bytes(http.get("/v1/client.pyz").content)
        own = ["--key", public, "--ca", str(served.certificate), "--invitation", INVITATION, "--without-sandbox"]
        command = [sys.executable, "-I", str(program), served.url, *own]
        bare = {"PATH": os.environ["PATH"]}
        clients = [
            subprocess.Popen(
                [*command, "--name", name, "--home", str(tmp_path / name)], env=bare, stdout=-1, stderr=-1, text=True
            )
            for name in ("one", "two", "three")
        ]
        try:
            out, err = campaign.communicate(timeout=240)
        finally:
            campaign.kill()
            for each in clients:
                each.terminate()
            said = [each.communicate(timeout=60) for each in clients]
    assert campaign.returncode == 0, (err, said)
    found = json.loads(out)
    with closing(read_store(str(place))) as kept:
        runs = kept.runs(Selection())
        history = kept.ledger.history()
        names = {each.fingerprint: each.name for machine in kept.machines() for each in machine.states}
    counted = Counter(each.content["run"]["task"] for each in history if each.what is EntryKind.ACCEPTED)
    assert set(counted) == {run.task.id for run in runs}
    assert set(counted.values()) == {1}
    assert {run.outcome for run in runs} == {Outcome.DONE}, [run.detail for run in runs]
    assert {names[run.machine] for run in runs} <= {"one", "two", "three"}
    if "measured_on" in found:  # where more than one of them was in time
        assert {names[run.machine] for run in runs} == {each["name"] for each in found["measured_on"]}
