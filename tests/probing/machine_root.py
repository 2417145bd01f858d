"""A folder with the files of a kernel that has governors, turbo and siblings."""

from __future__ import annotations

from pathlib import Path

CPUS = "sys/devices/system/cpu"
FILES = {
    f"{CPUS}/cpu0/cpufreq/scaling_governor": "powersave",
    f"{CPUS}/cpu0/cpufreq/scaling_available_governors": "performance powersave",
    f"{CPUS}/cpu1/cpufreq/scaling_governor": "powersave",
    f"{CPUS}/intel_pstate/no_turbo": "0",
    f"{CPUS}/smt/control": "on",
    f"{CPUS}/smt/active": "1",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc",
    "sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet",
    "proc/sys/kernel/randomize_va_space": "2",
    "proc/stat": "cpu  600 0 300 5000 100 0 0 100 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10",
}
GOVERNOR, TURBO, SIBLINGS = (
    f"{CPUS}/cpu0/cpufreq/scaling_governor",
    f"{CPUS}/intel_pstate/no_turbo",
    f"{CPUS}/smt/control",
)


def machine_root(folder: Path) -> Path:
    """Write the files below a folder."""
    for name, text in FILES.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
    (folder / "run").mkdir()
    return folder


def values(root: Path) -> tuple[str, ...]:
    """The governor, turbo and siblings."""
    return tuple((root / name).read_text().strip() for name in (GOVERNOR, TURBO, SIBLINGS))


BEFORE, HELD = ("powersave", "0", "on"), ("performance", "1", "off")
