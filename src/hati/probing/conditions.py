"""Settings of the machine that change or scatter times, as the kernel shows them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from hati.studies.probe import Conditions

_CPUS = Path("/sys/devices/system/cpu")


def read_conditions(root: Path = Path("/")) -> Conditions:
    """What the kernel shows; what it does not show is empty."""

    def read(path: Path | str) -> str:
        with suppress(OSError):
            return (root / str(path).lstrip("/")).read_text().strip()
        return ""

    governors = {read(file) for file in sorted((root / "sys/devices/system/cpu").glob("cpu*/cpufreq/scaling_governor"))}
    no_turbo, boost = read(_CPUS / "intel_pstate/no_turbo"), read(_CPUS / "cpufreq/boost")
    return Conditions(
        governor=" ".join(sorted(governors - {""})),
        turbo=no_turbo == "0" or boost == "1",
        turbo_file="intel_pstate/no_turbo" if no_turbo else "cpufreq/boost",
        smt=read(_CPUS / "smt/active") == "1",
        randomised=read("/proc/sys/kernel/randomize_va_space") not in {"", "0"},
        clocksource=read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        quota_file=_quota_file(),
    )


def _quota_file() -> str:
    from hati.probing.groups import own_group

    group = own_group()
    names = () if group is None else ("cpu.max", "cpu.cfs_quota_us")
    return next((str(group / name) for name in names if group is not None and (group / name).exists()), "")
