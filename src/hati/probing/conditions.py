"""Settings of the machine that change or scatter times, as the kernel shows them."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from hati.probing.groups import own_quota
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
    )


def _stolen(text: str) -> float:
    """The stolen fraction of the CPU time that the machine asked for since its start."""
    line = next((each for each in text.splitlines() if each.startswith("cpu ")), "cpu")
    ticks = [int(word) for word in line.split()[1 : _STEAL + 2]]
    asked = sum(ticks) - sum(ticks[index] for index in _IDLE if index < len(ticks))
    return ticks[_STEAL] / asked if len(ticks) > _STEAL and asked else 0.0
