"""What the kernel shows of a machine that changes times: settings, the quota of control groups, stolen time."""

from __future__ import annotations

import math
import os
from contextlib import suppress
from pathlib import Path

from hati.studies.probe import Conditions

_CPUS = Path("/sys/devices/system/cpu")
_IDLE = (3, 4)
_STEAL = 7


def system_root() -> Path:
    """The root of the kernel's files: ``HATI_SYSTEM_ROOT`` if it is set, else ``/``."""
    return Path(os.environ.get("HATI_SYSTEM_ROOT") or "/")


def read_conditions(root: Path | None = None) -> Conditions:
    """The conditions that the kernel shows; those that it does not show are empty."""
    top = root or system_root()

    def read(path: Path | str) -> str:
        with suppress(OSError):
            return (top / str(path).lstrip("/")).read_text().strip()
        return ""

    files = (top / "sys/devices/system/cpu").glob("cpu*/cpufreq/scaling_governor")
    governors = {read(file.relative_to(top)) for file in files}
    no_turbo, boost = read(_CPUS / "intel_pstate/no_turbo"), read(_CPUS / "cpufreq/boost")
    quota_file, quota = own_quota(top)
    return Conditions(
        governor=" ".join(sorted(governors - {""})),
        turbo=no_turbo == "0" or boost == "1",
        turbo_file="intel_pstate/no_turbo" if no_turbo else "cpufreq/boost",
        smt=read(_CPUS / "smt/active") == "1",
        randomised=read("/proc/sys/kernel/randomize_va_space") not in {"", "0"},
        clocksource=read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        quota_file=quota_file,
        quota=quota,
        stolen=_stolen(read("/proc/stat")),
        cpus=tuple(sorted(os.sched_getaffinity(0))),
    )


def _stolen(text: str) -> float:
    """The stolen fraction of the CPU time that the machine asked for since its start."""
    ticks = _all_ticks(text)
    asked = sum(ticks) - sum(ticks[index] for index in _IDLE if index < len(ticks))
    return ticks[_STEAL] / asked if len(ticks) > _STEAL and asked else 0.0


def _all_ticks(text: str) -> list[int]:
    """The ticks of all CPUs up to the stolen ones, by the text of ``/proc/stat``; none where it has none."""
    line = next((each for each in text.splitlines() if each.startswith("cpu ")), "cpu")
    return [int(word) for word in line.split()[1 : _STEAL + 2]]


def stolen_ticks(root: Path | None = None) -> float:
    """The stolen time of all CPUs since the start, in ticks."""
    ticks = list[int]()
    with suppress(OSError, ValueError):
        ticks = _all_ticks(((root or system_root()) / "proc/stat").read_text())
    return float(ticks[_STEAL]) if len(ticks) > _STEAL else 0.0


def own_quota(root: Path = Path("/")) -> tuple[str, float | None]:
    """The file with the strictest quota for this process, and its cores; None if there is no limit.

    The enclosing groups limit a group, too. Under a root other than ``/`` there is no process of this system.
    """
    group = own_group() if root == Path("/") else None
    found: list[tuple[str, float | None]] = []
    while group is not None and (group / "cpu.stat").exists():
        files = [group / name for name in ("cpu.max", "cpu.cfs_quota_us")]
        found += [(str(file), _cores_of(file)) for file in files if file.exists()]
        group = group.parent
    return min(found, key=lambda each: math.inf if each[1] is None else each[1], default=("", None))


def _cores_of(file: Path) -> float | None:
    """The cores that a file of a quota permits; None: all."""
    with suppress(OSError, ValueError):
        words = file.read_text().split()
        period = words[1] if words[1:] else file.with_name("cpu.cfs_period_us").read_text()
        return float(words[0]) / float(period) if words[0] not in {"max", "-1"} else None
    return None


def own_group() -> Path | None:
    """The folder of this process's control group for CPU time; None if there is none."""
    found = dict[str, str]()
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            found |= dict.fromkeys(controllers.split(","), path)
    for controller in ("cpu", ""):
        mount, own = mount_point(controller), found.get(controller)
        if mount is not None and own is not None:
            for folder in (mount / own.lstrip("/"), mount):  # in a container the path may be that of the host
                if (folder / "cpu.stat").exists():
                    return folder
    return None


def mount_point(controller: str) -> Path | None:
    """The mount point of a version 1 controller's hierarchy, or that of version 2 if ``controller`` is empty."""
    with suppress(OSError):
        for line in Path("/proc/self/mounts").read_text().splitlines():
            _, place, kind, options, *_ = line.split()
            if kind == "cgroup2" if not controller else kind == "cgroup" and controller in options.split(","):
                return Path(place)
    return None
