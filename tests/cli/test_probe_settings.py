"""`hati probe --fit --apply`, `--undo` and `--fingerprint`, and warnings of studies, on files of another machine."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import psutil
import pytest

from hati.probing import Executed, Setting
from hati.probing.holding import hold, steady_settings
from hati.store import open_store
from hati.studies.probe import Conditions, Inputs, Neighbour, ProbeConclusion, Probed, Property
from hati.subject import this_machine
from hati.wiring.probes import disturbances, experiments, results, settings
from interrupts import still_running

if TYPE_CHECKING:
    from conftest import Hati

CPUS = "sys/devices/system/cpu"
GOVERNOR, TURBO = f"{CPUS}/cpu0/cpufreq/scaling_governor", f"{CPUS}/cpufreq/boost"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of a machine with a governor and turbo."""
    folder = tmp_path / "system"
    for name, text in ((GOVERNOR, "schedutil"), (TURBO, "1"), ("run/README", "")):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(text)
    monkeypatch.setenv("HATI_SYSTEM_ROOT", str(folder))
    return folder


def values(root: Path) -> list[str]:
    return [(root / name).read_text() for name in (GOVERNOR, TURBO)]


def test_settings_are_held_until_they_are_undone(hati_here: Hati, root: Path) -> None:
    done = hati_here("probe", "--fit", "--apply")
    assert done.status == 0
    assert f"set /{GOVERNOR}: schedutil -> performance" in done.err
    assert values(root) == ["performance", "0"]
    assert "no setting has to be changed" in hati_here("probe", "apply").err
    assert "restored 2 settings" in hati_here("probe", "--undo").err
    assert values(root) == ["schedutil", "1"]
    assert "no setting is held" in hati_here("probe", "--fit", "--undo").err


def test_settings_are_held_while_a_command_runs(hati_here: Hati, root: Path) -> None:
    program = "import sys; print(*(open(name).read() for name in sys.argv[2:])); sys.exit(7)"
    files = [str(root / name) for name in (GOVERNOR, TURBO)]
    done = hati_here("probe", "--fit", "--apply", "--", sys.executable, "-c", program, "--fit", *files)
    assert done.out == "performance 0\n"
    assert done.status == 7
    assert values(root) == ["schedutil", "1"]
    assert hati_here("probe", "--fit", "--apply", "--", "no-such-program").status == 2


def test_a_command_ends_with_the_hati_that_was_killed(hati_here: Hati, root: Path) -> None:
    sleeping = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
    words = ("probe", "--fit", "--apply", "--", sys.executable, "-c", sleeping)
    with subprocess.Popen([sys.executable, "-m", "hati", *words], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        command = psutil.Process(int(holder.stdout.readline()))
        assert values(root) == ["performance", "0"]
        holder.kill()
        assert not still_running([command])
    assert "restored 2 settings" in hati_here("probe", "--undo").err
    assert values(root) == ["schedutil", "1"]


def test_what_was_held_before_a_command_stays_held(hati_here: Hati, root: Path) -> None:
    hati_here("probe", "--fit", "--apply")
    (root / TURBO).write_text("1")
    done = hati_here("probe", "--fit", "--apply", "--", sys.executable, "-c", "pass")
    assert f"restored 1 setting: {TURBO}" in done.err
    assert values(root) == ["performance", "1"]
    assert f"restored 1 setting: {GOVERNOR}" in hati_here("probe", "--undo").err
    assert values(root) == ["schedutil", "1"]


def test_what_a_living_process_holds_is_neither_relied_on_nor_undone(hati_here: Hati, root: Path) -> None:
    hold(steady_settings(), os.getppid())
    for words in (("--fit", "--apply", "--", sys.executable, "-c", "print(1)"), ("--fit", "--apply"), ("--undo",)):
        done = hati_here("probe", *words)
        assert done.status == 2
        assert f"process {os.getppid()} holds the settings of this machine; wait until it has ended" in done.err
        assert not done.out
        assert values(root) == ["performance", "0"]


def test_what_a_process_that_ended_held_is_undone(hati_here: Hati, root: Path) -> None:
    with subprocess.Popen(["true"]) as ended:
        pass
    hold(steady_settings(), ended.pid)
    assert "restored 2 settings" in hati_here("probe", "--undo").err
    assert values(root) == ["schedutil", "1"]


def test_who_may_not_change_them_sees_what_would_be_changed(
    hati_here: Hati, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "writable", lambda _: False)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    done = hati_here("probe", "--fit", "--apply")
    assert done.status == 2
    assert f"would set /{TURBO}: 1 -> 0\n" in done.err
    assert "this process may not change these settings; sudo hati probe --fit --apply" in done.err
    assert values(root) == ["schedutil", "1"]


def test_the_fingerprint_is_that_of_runs(hati_here: Hati, root: Path) -> None:
    found = hati_here("probe", "--fingerprint", "--format", "json").json
    assert found["format"] == "hati-probe-fingerprint-1"
    assert found["conditions"]["governor"] == "schedutil"
    probed = hati_here("probe", "clock.reading", "--quick", "--format", "json", "--store", "s.sqlite").json
    assert probed["fingerprint"] == found["fingerprint"]
    assert f"carry {found['fingerprint']}." in hati_here("probe", "--fingerprint").out


@pytest.mark.usefixtures("root")
def test_studies_warn_of_a_machine_that_is_not_fit(hati_here: Hati, fake_project: Path) -> None:
    done = hati_here("run", str(fake_project), "--budget", "3")
    assert done.status == 0, done.err
    (line,) = [line for line in done.err.splitlines() if line.startswith("warning: ") and "disturbs" in line]
    assert line.endswith(
        "turbo (the frequency depends on temperature and on the load of other cores); `hati probe --fit --apply`"
    )
    assert "disturbs measurements: frequency governor" in " ".join(done.out.split())
    done = hati_here("run", str(fake_project), "--budget", "3", "--dry-run")
    assert "disturbs" not in done.err + done.out


@pytest.mark.acceptance
@pytest.mark.usefixtures("root")
def test_the_machine_of_today_is_not_warned_of_where_nothing_is_measured(hati_here: Hati, fake_project: Path) -> None:
    words = "screen", str(fake_project), "--metric", "latency", "--budget", "16"
    assert "disturbs measurements: frequency governor" in " ".join(hati_here(*words).out.split())
    again = hati_here(*words)
    assert "was measured before" in again.err
    assert "disturbs" not in again.err + again.out


def test_probes_of_the_last_hour_are_warned_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A quota that the process is stopped by for half of every 100 ms."""
    monkeypatch.setattr(disturbances, "system_root", lambda: Path("/"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("HATI_LOCK", str(tmp_path / "lock"))
    machine = this_machine(datetime.now(UTC), lambda _: None)
    store = tmp_path / "hati" / "probe.sqlite"
    assert not disturbances.unfit(machine)
    assert not store.parent.exists() or not store.exists()
    starts = np.arange(50.0, 3000.0, 100.0) * 1e6
    window = np.array([0.0, 3e9, 1.5e9])
    raw = {"window_ns": window, "gap_start_ns": starts, "gap_ns": np.full(starts.size, 5e7), "unused": np.array([0.5])}
    execute = experiments.execute

    def executed(name: str, setting: Setting, inputs: Inputs) -> Executed:
        return Executed(raw, ()) if name == "cpu.limit" else execute(name, setting, inputs)

    monkeypatch.setattr(experiments, "execute", executed)
    experiments.measure_probe(experiments.ProbeRequest(names=("cpu.limit",), quick=True), None, lambda _: None)
    assert "disturbs measurements: CPU quota (50 ms of CPU time in 100 ms" in disturbances.unfit(machine)
    store.write_text("damaged")
    assert not disturbances.unfit(machine)


def test_a_neighbour_of_the_last_hour_is_kept_on_other_cpus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The warning has the CPUs that this process may use, and the file of its quota."""
    monkeypatch.setattr(disturbances, "system_root", lambda: Path("/"))
    monkeypatch.setattr(disturbances, "read_conditions", lambda: Conditions(cpus=tuple(range(64)), quota_file="/q"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    now = datetime.now(UTC)
    machine = this_machine(now, lambda _: None)
    measured = (
        Property("noise.taken", 0.5, "1"),
        Property("cpu.quota", 50.0, "ms"),
        Property("cpu.quota_period", 100.0, "ms"),
    )
    gaps = Probed("noise.gaps", "", "1", at=now, properties=measured, neighbours=(Neighbour("busy", 4242, 0, 0.5),))
    monkeypatch.setattr(results, "newest_conclusion", lambda *_: ProbeConclusion("m", "f", (gaps,)))
    disturbances.default_file().parent.mkdir(parents=True, exist_ok=True)
    open_store(str(disturbances.default_file())).close()
    warning = disturbances.unfit(machine)
    assert "busy neighbour (on CPU 0: busy (process 4242, 50 %))" in warning
    assert warning.endswith("; `echo max > /q`, `taskset -cp 1-63 4242`")
