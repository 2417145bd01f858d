"""What the kernel shows of a machine, and what is warned of."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from machine_root import machine_root

from hati.core import replace
from hati.probing import NotPermittedError, conditions
from hati.probing.conditions import own_quota, read_conditions, stolen_ticks
from hati.probing.kernel import disk_bytes, listed_siblings, validate_hypervisor, validate_slice
from hati.studies.probe import Conditions, shown_disturbances, unfit_warning


def test_settings_and_stolen_time_are_read(tmp_path: Path) -> None:
    found = read_conditions(machine_root(tmp_path))
    own = tuple(sorted(os.sched_getaffinity(0)))
    assert found == Conditions("powersave", True, "intel_pstate/no_turbo", True, True, "tsc", "", None, 0.1, own)
    assert read_conditions(tmp_path / "nothing") == Conditions(cpus=own)


def test_the_line_has_each_disturbance_and_each_command_once(tmp_path: Path) -> None:
    conditions = replace(read_conditions(machine_root(tmp_path)), quota=1.5, quota_file="/sys/fs/cgroup/a/cpu.max")
    line = unfit_warning("vm", shown_disturbances(conditions, 2))
    assert line == (
        "vm disturbs measurements: CPU quota (1.5 of 2 CPUs for all processes together); stolen time (10.0% of the CPU "
        "time since the machine's start); frequency governor (the governor is powersave: the frequency follows the "
        "load); turbo (the frequency depends on temperature and on the load of other cores); "
        "`echo max > /sys/fs/cgroup/a/cpu.max`, `vmstat 1`, `hati probe --fit --apply`"
    )
    assert not shown_disturbances(replace(conditions, quota=2.0, stolen=0.0, governor="", turbo=False), 2)
    assert not unfit_warning("vm", ())


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({"cpu.max": "50000 100000"}, 0.5),
        ({"cpu.max": "max 100000"}, None),
        ({"cpu.cfs_quota_us": "30000", "cpu.cfs_period_us": "20000"}, 1.5),
        ({"cpu.cfs_quota_us": "-1", "cpu.cfs_period_us": "20000"}, None),
    ],
)
def test_the_tightest_quota_of_all_groups_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], cores: float | None
) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    for folder, texts in ((tmp_path, files), (inner, {"cpu.max": "400000 100000" if cores else "max 1"})):
        (folder / "cpu.stat").touch()
        for name, text in texts.items():
            (folder / name).write_text(text)
    monkeypatch.setattr(conditions, "own_group", lambda: inner)
    file, found = own_quota()
    assert found == cores
    assert cores is None or Path(file).parent == tmp_path


def test_before_eevdf_the_timeslice_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(release="5.10.0-9-amd64"))
    with pytest.raises(NotPermittedError, match=r"Linux 5\.10\.0-9-amd64 schedules by CFS; use Linux 6\.6 or newer"):
        validate_slice()


def test_siblings_are_as_the_kernel_lists_them(tmp_path: Path) -> None:
    assert listed_siblings([0], tmp_path) is None
    for cpu, text in ((0, "0,4"), (1, "1"), (2, "2-3")):
        folder = tmp_path / f"sys/devices/system/cpu/cpu{cpu}/topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(f"{text}\n")
    assert listed_siblings([0, 1, 2], tmp_path) == {0: {0, 4}, 1: {1}, 2: {2, 3}}
    assert listed_siblings([0, 3], tmp_path) is None


def test_the_bytes_of_a_disk_are_those_of_all_its_partitions(tmp_path: Path) -> None:
    number = tmp_path.stat().st_dev
    disk, devices = tmp_path / "vda", tmp_path / "devices"
    (disk / "vda1").mkdir(parents=True)
    devices.mkdir()
    (devices / f"{os.major(number)}:{os.minor(number)}").symlink_to(disk / "vda1")
    (disk / "vda1" / "partition").write_text("1\n")
    (disk / "vda1" / "stat").write_text("1 0 8 0 1 0 8 0\n")
    (disk / "stat").write_text("   9   0   100   0   9   0   20   0   0   0   0\n")
    assert disk_bytes(tmp_path, devices) == 120 * 512.0
    assert disk_bytes(tmp_path, tmp_path / "none") is None


@pytest.mark.parametrize(
    "flags", ["flags\t: fpu hypervisor lahf_lm", "Features\t: fp asimd", "flags\t: fpu lahf_lm", ""]
)
@pytest.mark.parametrize("stolen", [0, 7])
def test_a_hypervisor_is_known_by_its_flag_or_by_stolen_time(tmp_path: Path, flags: str, stolen: int) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cpuinfo").write_text(f"processor\t: 0\n{flags}\nvmx flags\t: vnmi\n\nprocessor\t: 1\n{flags}\n")
    (tmp_path / "proc/stat").write_text(f"cpu  1 2 3 4 5 6 7 {stolen} 0 0\ncpu0 1 2 3 4 5 6 7 {stolen} 0 0\n")
    assert stolen_ticks(tmp_path) == stolen
    if "lahf_lm" not in flags or "hypervisor" in flags or stolen:
        validate_hypervisor(tmp_path)
    else:
        with pytest.raises(
            NotPermittedError, match=r"no hypervisor runs this machine.*measure it in the virtual machine"
        ):
            validate_hypervisor(tmp_path)


def test_a_machine_that_shows_nothing_may_have_a_hypervisor(tmp_path: Path) -> None:
    assert stolen_ticks(tmp_path) == 0.0
    validate_hypervisor(tmp_path)
