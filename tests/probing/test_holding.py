"""Settings are kept before they are changed, and restored however a holder ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from machine_root import BEFORE, GOVERNOR, HELD, SIBLINGS, TURBO, machine_root, values

from hati.core import InputError
from hati.probing import NotPermittedError
from hati.probing.holding import (
    hold,
    refuse_holder,
    reserve_of,
    restore,
    restore_abandoned,
    round_robin_slice_of,
    steady_settings,
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return machine_root(tmp_path)


def test_what_scatters_times_is_held_and_restored(root: Path) -> None:
    wanted = steady_settings(root)
    assert [each.before for each in wanted] == ["powersave", "powersave", "0", "on"]
    hold(wanted, root=root)
    assert values(root) == HELD
    assert not steady_settings(root)
    assert [each.file for each in restore(root)] == [each.file for each in reversed(wanted)]
    assert values(root) == BEFORE
    assert restore(root) == ()


def test_values_are_kept_before_anything_is_changed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = Path.write_text

    def checked(file: Path, text: str, *more: object) -> int:
        assert "powersave" in (root / "run/hati/held-settings.json").read_text()
        return write(file, text)

    monkeypatch.setattr(Path, "write_text", checked)
    hold(steady_settings(root), root=root)
    assert values(root) == HELD


def test_where_one_is_refused_all_are_as_before(root: Path) -> None:
    wanted = steady_settings(root)
    (root / SIBLINGS).unlink()
    (root / SIBLINGS).mkdir()  # which nobody can write to, not even root
    with pytest.raises(NotPermittedError, match="smt/control cannot be written"):
        hold(wanted, root=root)
    assert (root / GOVERNOR).read_text().strip() == "powersave"
    assert not (root / "run/hati/held-settings.json").exists()


def test_holding_twice_keeps_the_first_values(root: Path) -> None:
    hold(steady_settings(root)[:1], root=root)
    hold(steady_settings(root), root=root)
    restore(root)
    assert values(root) == BEFORE


def test_a_holder_restores_what_it_changed_itself(root: Path) -> None:
    hold(steady_settings(root)[:2], root=root)
    own = hold(steady_settings(root), os.getpid(), root)
    assert [each.file for each in own] == [TURBO, SIBLINGS]
    restore(root, own)
    assert values(root) == ("performance", "0", "on")
    assert len(restore(root)) == 2
    assert values(root) == BEFORE


def test_what_another_process_holds_meanwhile_stays_held(root: Path) -> None:
    own = hold(steady_settings(root), os.getpid(), root)
    restore(root)
    hold(steady_settings(root), os.getppid(), root)
    assert restore(root, own) == ()
    assert values(root) == HELD
    with pytest.raises(InputError, match=f"process {os.getppid()} holds the settings"):
        hold((), root=root)


def test_what_was_held_and_changed_since_is_restored_to_the_later_value(root: Path) -> None:
    hold(steady_settings(root), root=root)
    (root / GOVERNOR).write_text("schedutil\n")
    own = hold(steady_settings(root), os.getpid(), root)
    assert [each.file for each in own] == [GOVERNOR]
    restore(root, own)
    assert values(root) == ("schedutil", "1", "off")
    restore(root)
    assert values(root) == ("schedutil", "0", "on")


def test_what_somebody_else_changed_stays(root: Path) -> None:
    hold(steady_settings(root), root=root)
    (root / GOVERNOR).write_text("schedutil\n")
    restore(root)
    assert values(root) == ("schedutil", "0", "on")


def test_a_killed_holder_is_made_good_and_a_living_one_left_alone(root: Path) -> None:
    program = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom hati.probing.holding import hold, steady_settings\n"
        "root = Path(sys.argv[1])\nhold(steady_settings(root), os.getpid(), root)\nos.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", program, str(root)], check=False).returncode == -9
    assert values(root) == HELD
    assert len(restore_abandoned(root)) == 4
    assert values(root) == BEFORE
    hold(steady_settings(root), os.getpid(), root)
    assert restore_abandoned(root) == ()
    with pytest.raises(InputError, match=f"process {os.getpid()} holds the settings"):
        hold((), root=root)


def test_a_later_process_with_the_id_of_a_holder_holds_nothing(root: Path) -> None:
    hold(steady_settings(root), os.getpid(), root)
    file = root / "run/hati/held-settings.json"
    kept = json.loads(file.read_text())
    for each in kept["settings"]:
        each["holder_began"] -= 1
    file.write_text(json.dumps(kept))
    refuse_holder(root)
    assert len(restore_abandoned(root)) == 4
    assert values(root) == BEFORE


def test_a_holder_that_nobody_has_waited_for_holds_nothing(root: Path) -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as holder:
        hold(steady_settings(root), holder.pid, root)
        assert restore_abandoned(root) == ()
        holder.kill()
        os.waitid(os.P_PID, holder.pid, os.WEXITED | os.WNOWAIT)
        assert len(restore_abandoned(root)) == 4


def test_a_damaged_file_is_named(root: Path) -> None:
    (root / "run/hati").mkdir()
    (root / "run/hati/held-settings.json").write_text("{")
    with pytest.raises(InputError, match=r"held-settings\.json cannot be read"):
        restore(root)


def test_the_reserve_of_normal_processes_is_set_and_restored(root: Path) -> None:
    with pytest.raises(NotPermittedError, match="fair_server/cpu1/runtime cannot be read"), reserve_of(100, 1, root):
        pass
    file = root / "sys/kernel/debug/sched/fair_server/cpu1/runtime"
    file.parent.mkdir(parents=True)
    file.write_text("50000000\n")
    hold(steady_settings(root), root=root)
    with reserve_of(100, 1, root):
        assert file.read_text() == "100000000"
        with pytest.raises(NotPermittedError, match="holds the settings"), reserve_of(30, 1, root):
            pass
    assert file.read_text() == "50000000"
    assert values(root) == HELD, "what was held before still is"
    assert len(restore(root)) == 4
    assert values(root) == BEFORE


def test_the_slice_of_sched_rr_is_restored_after_a_kill(root: Path) -> None:
    file = root / "proc/sys/kernel/sched_rr_timeslice_ms"
    file.write_text("100\n")
    hold(steady_settings(root), root=root)
    program = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom hati.probing.holding import round_robin_slice_of\n"
        "with round_robin_slice_of(8, Path(sys.argv[1])): os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", program, str(root)], check=False).returncode == -9
    assert file.read_text() == "8"
    assert [each.before for each in restore_abandoned(root)] == ["100"]
    assert file.read_text() == "100"
    assert values(root) == HELD, "what was held before still is"
    assert len(restore(root)) == 4
    assert values(root) == BEFORE


def test_a_refused_slice_leaves_held_what_was_held_before(root: Path) -> None:
    file = root / "proc/sys/kernel/sched_rr_timeslice_ms"
    file.symlink_to("/proc/version")  # which can be read, and which nobody can write to, not even root
    hold(steady_settings(root), root=root)
    with (
        pytest.raises(NotPermittedError, match="sched_rr_timeslice_ms cannot be written"),
        round_robin_slice_of(8, root),
    ):
        pass
    assert values(root) == HELD
    assert len(restore(root)) == 4
    assert values(root) == BEFORE
