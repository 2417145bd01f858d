"""One machine through a new kernel, and several machines, as people see them."""

from __future__ import annotations

import json
import platform
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from conftest import Hati
from hati.store import Selection, read_store

SCREEN = ("screen", "--metric", "latency", "--budget", "16", "--format", "json")


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Kernel:
    """Sets the kernel that this machine seems to have; the machine's record is the test's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return Kernel(monkeypatch)


class Kernel:
    """The kernel that this machine seems to have."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def boot(self, release: str) -> None:
        """Set it."""
        self._monkeypatch.setattr(platform, "release", lambda: release)


def forget_half(project: Path) -> None:
    """Remove every second run, as if the campaign had been interrupted."""
    with closing(read_store(str(project / ".hati" / "store.sqlite"))) as store:
        for run in store.runs(Selection())[::2]:
            store.forget(Selection(task=run.task.id))


def without_identities(file: Path) -> None:
    """Give a store the form that it had before it knew identities."""
    with closing(sqlite3.connect(file)) as store:
        for column in ("identity", "since", "checksum"):
            store.execute(f"ALTER TABLE machine DROP COLUMN {column}")
        later = "client", "report", "release", "artefact_part", "artefact", "volunteer"
        for table in (*later, "worker", "result", "lease", "attempt", "batch", "ledger"):
            store.execute(f"DROP TABLE {table}")
        store.execute("UPDATE alembic_version SET version_num = '0006'")
        store.commit()


@pytest.mark.acceptance
@pytest.mark.parametrize("record", ["kept", "lost"])
def test_a_campaign_is_resumed_after_an_upgrade_of_the_kernel(
    hati_here: Hati, fake_project: Path, kernel: Kernel, tmp_path: Path, record: str
) -> None:
    kernel.boot("5.10")
    first = hati_here(*SCREEN)
    assert first.status == 0, first.err
    before = first.json
    assert "measured_on" not in before
    forget_half(fake_project)
    if record == "lost":  # a Hati that knew no identities measured
        shutil.rmtree(tmp_path / "state")
        without_identities(fake_project / ".hati" / "store.sqlite")
    kernel.boot("6.8")
    resumed = hati_here(*SCREEN)
    after = resumed.json
    assert (resumed.status, after["study"]) == (0, before["study"])
    [machine] = after["measured_on"]
    assert [state["properties"]["kernel"] for state in machine["states"]] == ["5.10", "6.8"]
    assert sum(state["runs"] for state in machine["states"]) >= 16
    assert after["important"] == before["important"]
    said = hati_here("report").out
    assert "kernel changed from 5.10 to 6.8 on 20" in " ".join(said.split())
    assert hati_here(*SCREEN).json["study"] == before["study"]
    runs = hati_here("runs").out
    assert "machine" not in runs.splitlines()[2]


def test_two_machines_of_a_pool_share_a_screening(
    hati_here: Hati, fake_project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    pool(fake_project, "one", "two")
    words = ("screen", "--metric", "latency", "--budget", "34", "--runs", "16", "--format", "json")
    monkeypatch.setenv("HATI_MACHINE", "one")
    first = hati_here(*words)
    assert first.status == 0, first.err
    left = 32 - first.json["runs"]["done"]
    assert f"{left} runs left for the other machines of the pool: run the same command there" in first.err
    monkeypatch.setenv("HATI_MACHINE", "two")
    second = hati_here(*words)
    assert second.json["study"] == first.json["study"]
    assert second.json["runs"]["done"] == 32
    assert [each["name"] for each in second.json["measured_on"]] == ["one", "two"]
    assert [each["runs"] for each in second.json["machine_blocks"]["machines"]] == [16, 16]
    assert second.json["machine_blocks"]["differing"] == []
    header = next(line for line in hati_here("runs").out.splitlines() if "outcome" in line)
    assert "machine" in header
    one = hati_here("runs", "--task", hati_here("runs", "--format", "json").json[0]["task"]).out
    assert "machine's kernel" in one
    monkeypatch.setenv("HATI_MACHINE", "three")
    refused = hati_here(*words)
    assert refused.status == 2
    assert "three is not one of the machines of" in refused.err
    assert "HATI_MACHINE" in refused.err


def pool(project: Path, *names: str) -> None:
    """Make the project that of a pool."""
    file = project / "hati.toml"
    file.write_text(file.read_text().replace('name = "fake"', f'name = "fake"\nmachines = {json.dumps(names)}'))


@pytest.mark.parametrize(("machines", "runs"), [(2, [8, 8]), (4, [4, 4, 4, 4])])
def test_one_repetition_is_divided_equally(
    hati_here: Hati,
    fake_project: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    machines: int,
    runs: list[int],
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    names = [f"m{number}" for number in range(machines)]
    pool(fake_project, *names)
    for name in names:
        monkeypatch.setenv("HATI_MACHINE", name)
        last = hati_here("screen", "--metric", "latency", "--budget", "16", "--runs", "16", "--format", "json")
        assert last.status == 0, last.err
    assert [each["runs"] for each in last.json["machine_blocks"]["machines"]] == runs


def test_a_pool_may_have_more_machines_than_a_small_design_has_blocks(
    hati_here: Hati, fake_project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    names = [f"m{number}" for number in range(5)]
    pool(fake_project, *names)
    words = ("screen", "--metric", "latency", "--budget", "8", "--runs", "8", "--format", "json")
    monkeypatch.setenv("HATI_MACHINE", "m0")
    assert hati_here(*words).status == 0
    monkeypatch.setenv("HATI_MACHINE", "m4")
    spare = hati_here(*words)
    assert spare.status == 0, spare.err
    assert "m4 runs none of them: the design has enough runs for 3 machines of the 5" in spare.err
    for name in names[1:4]:
        monkeypatch.setenv("HATI_MACHINE", name)
        last = hati_here(*words)
        assert last.status == 0, last.err
    assert last.json["runs"]["done"] == 8


@pytest.mark.parametrize("names", ['["one"]', "[]", '["one", "one"]'])
def test_a_pool_has_two_machines_or_more(hati_here: Hati, fake_project: Path, names: str) -> None:
    file = fake_project / "hati.toml"
    file.write_text(file.read_text().replace('name = "fake"', f'name = "fake"\nmachines = {names}'))
    refused = hati_here(*SCREEN)
    assert refused.status == 2
    assert "a pool has two machines or more, each once" in refused.err


def test_assertions_are_measured_on_the_machines_of_the_pool_only(
    hati_here: Hati, fake_project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    pool(fake_project, "one", "two")
    formula = ("assert", "--formula", "latency of main() < 1 s", "--budget", "20")
    monkeypatch.setenv("HATI_MACHINE", "three")
    refused = hati_here(*formula)
    assert refused.status == 2
    assert "three is not one of the machines of" in refused.err
    assert hati_here(*formula, "--dry-run").status == 0
    monkeypatch.setenv("HATI_MACHINE", "one")
    assert "three is not one" not in hati_here(*formula).err


def test_a_dry_run_shows_what_this_machine_would_run(
    hati_here: Hati, fake_project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    pool(fake_project, "one", "two")
    words = ("screen", "--metric", "latency", "--budget", "16", "--runs", "16", "--format", "json")
    configurations: list[str] = []
    for name in ("one", "two"):
        monkeypatch.setenv("HATI_MACHINE", name)
        planned = hati_here(*words, "--dry-run").json
        assert planned["runs"] == 8
        configurations += [json.dumps(task, sort_keys=True) for task in planned["tasks"]]
    assert len(configurations) == 16
    monkeypatch.setenv("HATI_MACHINE", "one")
    assert hati_here(*words).json["runs"]["done"] == 8
    assert hati_here(*words, "--dry-run").json["runs"] == 0
    monkeypatch.setenv("HATI_MACHINE", "two")
    assert hati_here(*words, "--dry-run").json["runs"] == 8
