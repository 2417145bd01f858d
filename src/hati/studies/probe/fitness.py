"""The fitness of a machine for benchmarks: the smallest visible change, and disturbances, the largest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum

from msgspec import Struct

from hati.core.wording import ranges
from hati.studies.probe.finding import Neighbour, ProbeConclusion, ProbeVerdict, Property
from hati.studies.probe.noise import detectable

EXPERIMENTS = ("noise.gaps", "noise.repetition", "cpu.limit")
"""The experiments from which the fitness is derived."""
RUNS = (5, 10, 30)
_USUAL_RUNS, _MARGIN = 10, 0.05
"""The runs per side, and the default margin of a comparison, by which times are judged to be enough."""
_BUSY = 0.05
_BURST = 0.01
_STOLEN = 0.01
_MOST_OTHERS = 0.25
"""The fraction of a CPU taken by others from which on no burst is reported: a timer's process takes less."""


class DisturbanceKind(StrEnum):
    """The kind of a disturbance."""

    QUOTA = "CPU quota"
    NEIGHBOUR = "busy neighbour"
    BURST = "timer burst"
    STOLEN = "stolen time"
    GOVERNOR = "frequency governor"
    TURBO = "turbo"
    SMT = "SMT"
    ASLR = "ASLR"
    CLOCK = "slow clock"


class Conditions(Struct, frozen=True):
    """Settings of the machine; ``governor`` holds the names of governors in use, empty if the kernel shows none.

    ``turbo_file`` is the file that sets turbo, below ``/sys/devices/system/cpu``; ``quota_file`` holds this process's
    quota of ``quota`` cores (None: no limit). ``stolen`` is the fraction of the requested CPU time that the hypervisor
    gave to others since the machine's start. ``cpus`` are those that processes may use.
    """

    governor: str = ""
    turbo: bool = False
    turbo_file: str = "cpufreq/boost"
    smt: bool = False
    randomised: bool = False
    clocksource: str = ""
    quota_file: str = ""
    quota: float | None = None
    stolen: float = 0.0
    cpus: tuple[int, ...] = ()


class Disturbance(Struct, frozen=True):
    """One disturbance: ``share`` is the fraction of a CPU's time that it takes, None for a setting.

    ``remedy`` says what to do, ``command`` how.
    """

    kind: DisturbanceKind
    share: float | None
    evidence: str
    remedy: str
    command: str


class VisibleChange(Struct, frozen=True):
    """The smallest relative change that a number of interleaved runs per side shows: 1 % level, 80 % power."""

    runs: int
    change: float


class Fitness(Struct, frozen=True):
    """The answer to "can I benchmark here?"; ``visible`` is empty if the spread is unknown, for the ``reason``.

    ``counter`` says what counts instructions here, if times with 10 runs per side do not show changes of 5 %.
    """

    machine: str
    fingerprint: str
    visible: tuple[VisibleChange, ...]
    disturbances: tuple[Disturbance, ...]
    reason: str = ""
    counter: str = ""


def fitness(probe: ProbeConclusion, conditions: Conditions, counter: str = "") -> Fitness:
    """The fitness by the experiments of ``EXPERIMENTS``, the settings of the machine, and what counts instructions."""
    found = probe.properties
    measured = sorted(_measured(probe, conditions), key=lambda each: -(each.share or 0.0))
    spread = found.get("noise.spread")
    visible: tuple[VisibleChange, ...] = ()
    reason = "the spread of repetitions was not measured"
    if spread is not None and spread.value is not None:
        deviation = spread.value * 2.0**0.5
        visible, reason = tuple(VisibleChange(runs, detectable(deviation, runs)) for runs in RUNS), ""
    enough = any(each.change <= _MARGIN for each in visible if each.runs <= _USUAL_RUNS)
    disturbances = (*measured, *_settings(conditions))
    return Fitness(probe.machine, probe.fingerprint, visible, disturbances, reason, "" if enough else counter)


def _measured(probe: ProbeConclusion, conditions: Conditions) -> Iterator[Disturbance]:
    found = probe.properties
    quota, period = _sure(found.get("cpu.quota")), _sure(found.get("cpu.quota_period"))
    if quota and period:
        yield Disturbance(
            DisturbanceKind.QUOTA,
            1.0 - quota / period,
            f"{quota:.3g} ms of CPU time in {period:.3g} ms for all processes together",
            "raise or remove the quota of the control group or container",
            _quota_command(conditions),
        )
    gaps = next((each for each in probe.probed if each.experiment == "noise.gaps"), None)
    neighbours = gaps.neighbours if gaps is not None else ()
    burst, period = _sure(found.get("noise.burst")), _sure(found.get("noise.burst_period"))
    worst = _worst(neighbours)
    taken = _seen(found.get("noise.taken")) or 0.0
    others = min(taken, sum(each.share for each in worst))
    if burst and period and burst >= _BURST and others < _MOST_OTHERS:
        yield _burst(burst, period, worst)
    elif others >= _BUSY:
        yield _neighbour(worst, others, conditions.cpus)
    stolen = _seen(found.get("noise.stolen"))
    if stolen and stolen >= _STOLEN:
        yield _steal(stolen, "the hypervisor ran other machines on the CPU")


def _steal(share: float, evidence: str) -> Disturbance:
    return Disturbance(
        DisturbanceKind.STOLEN,
        share,
        evidence,
        "use a machine with CPUs of its own; meanwhile compare interleaved runs only",
        "vmstat 1",
    )


def shown_disturbances(conditions: Conditions, cpus: int) -> tuple[Disturbance, ...]:
    """The disturbances that the kernel shows without a measurement: a quota below ``cpus``, stolen time, settings."""
    found: list[Disturbance] = []
    if conditions.quota is not None and conditions.quota < cpus:
        found.append(
            Disturbance(
                DisturbanceKind.QUOTA,
                1.0 - conditions.quota / cpus,
                f"{conditions.quota:.3g} of {cpus} CPUs for all processes together",
                "raise or remove the quota of the control group or container",
                _quota_command(conditions),
            )
        )
    if conditions.stolen >= _STOLEN:
        found.append(_steal(conditions.stolen, f"{conditions.stolen:.1%} of the CPU time since the machine's start"))
    return (*found, *(each for each in _settings(conditions) if each.kind not in _LASTING))


_LASTING = {DisturbanceKind.SMT, DisturbanceKind.ASLR}
"""Disturbances that several runs average out, and that nearly every machine has."""
HELD = (DisturbanceKind.GOVERNOR, DisturbanceKind.TURBO, DisturbanceKind.SMT, DisturbanceKind.CLOCK)
"""The settings that ``hati probe --fit --apply`` changes."""


def unfit_warning(machine: str, found: Sequence[Disturbance]) -> str:
    """A line with the disturbances of a machine and the commands against them; empty if there are none."""
    if not found:
        return ""
    commands = dict.fromkeys("hati probe --fit --apply" if each.kind in HELD else each.command for each in found)
    disturbances = "; ".join(f"{each.kind} ({each.evidence})" for each in found)
    return f"{machine} disturbs measurements: {disturbances}; {', '.join(f'`{each}`' for each in commands)}"


def _sure(found: Property | None) -> float | None:
    """The value of a property that is measured."""
    return found.value if found is not None and found.verdict is ProbeVerdict.MEASURED else None


def _seen(found: Property | None) -> float | None:
    """The value of a property that occurred, even if too seldom for an interval."""
    return found.value if found is not None else None


def _worst(neighbours: Sequence[Neighbour]) -> list[Neighbour]:
    """The neighbours on the CPU where they take most time."""
    by_cpu: dict[int, list[Neighbour]] = {}
    for each in neighbours:
        by_cpu.setdefault(each.cpu, []).append(each)
    return max(by_cpu.values(), key=lambda own: sum(each.share for each in own), default=[])


def _neighbour(worst: Sequence[Neighbour], share: float, cpus: Sequence[int]) -> Disturbance:
    """A neighbour, with the command that keeps it on the other CPUs; where there are none, the one that shows it."""
    others, process = ",".join(ranges(cpu for cpu in cpus if cpu != worst[0].cpu)), worst[0].pid
    names = ", ".join(f"{each.name} (process {each.pid}, {100 * each.share:.0f} %)" for each in worst[:3])
    return Disturbance(
        DisturbanceKind.NEIGHBOUR,
        share,
        f"on CPU {worst[0].cpu}: {names}",
        "end it, or keep it on other CPUs than the benchmark's (`cpus` in hati.toml)"
        if others
        else "end it, or move it to another machine",
        f"taskset -cp {others} {process}" if others else f"ps -o pid,user,args -p {process}",
    )


def _burst(share: float, period: float, worst: Sequence[Neighbour]) -> Disturbance:
    by = f", by {worst[0].name} (process {worst[0].pid})" if worst else ""
    command = f"ps -o pid,ppid,args -p {worst[0].pid}" if worst else "systemctl list-timers --all"
    return Disturbance(
        DisturbanceKind.BURST,
        share,
        f"{1000.0 / period:.3g} times a second{by}",
        "stop the timer, cron job or poller while benchmarks run",
        command,
    )


def _quota_command(conditions: Conditions) -> str:
    if conditions.quota_file.endswith("cpu.cfs_quota_us"):
        return f"echo -1 > {conditions.quota_file}"
    return f"echo max > {conditions.quota_file}" if conditions.quota_file else "docker update --cpus 0 CONTAINER"


def _settings(conditions: Conditions) -> Iterator[Disturbance]:
    cpus = "/sys/devices/system/cpu"
    if conditions.governor not in {"", "performance"}:
        yield Disturbance(
            DisturbanceKind.GOVERNOR,
            None,
            f"the governor is {conditions.governor}: the frequency follows the load",
            "hold the frequency",
            "cpupower frequency-set -g performance",
        )
    if conditions.turbo:
        off = "1" if conditions.turbo_file.endswith("no_turbo") else "0"
        yield Disturbance(
            DisturbanceKind.TURBO,
            None,
            "the frequency depends on temperature and on the load of other cores",
            "switch it off while benchmarks run",
            f"echo {off} > {cpus}/{conditions.turbo_file}",
        )
    if conditions.smt:
        yield Disturbance(
            DisturbanceKind.SMT,
            None,
            "CPUs share cores",
            "switch it off, or leave the siblings of the benchmark's CPUs idle",
            f"echo off > {cpus}/smt/control",
        )
    if conditions.randomised:
        yield Disturbance(
            DisturbanceKind.ASLR,
            None,
            "addresses differ from run to run, and with them cache conflicts",
            "measure several runs; where single runs are compared, switch it off for the command",
            "setarch -R COMMAND",
        )
    if conditions.clocksource not in {"", "tsc", "arch_sys_counter"}:
        yield Disturbance(
            DisturbanceKind.CLOCK,
            None,
            f"the clock source is {conditions.clocksource}: each reading of the clock is slow",
            "use the processor's counter",
            "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource",
        )
