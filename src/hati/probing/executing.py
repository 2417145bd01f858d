"""The execution of each experiment: its kernels, CPUs and durations, the other load meanwhile, and given inputs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike

from hati.core import FloatArray, InputError, MeasurementError, decode
from hati.probing.accounts import Accounts, Watch
from hati.probing.conditions import own_group, stolen_ticks
from hati.probing.kernel import (
    KernelProgram,
    NotPermittedError,
    Series,
    disk_bytes,
    listed_siblings,
    requested_slice_ns,
    throttled_seconds,
    validate_hypervisor,
)
from hati.studies.probe import DEMAND_MS, SIBLING_ROUNDS, WEIGHT_STEPS, Experiment, Inputs, Neighbour, sibling_pairs
from hati.studies.probe.library import LINK, MOST_GAPS_CPUS, SHORTEST_KERNEL, TIMINGS

_MS = 1_000_000
_SECOND = 1000 * _MS
_MOST_PROCESSES = 64
_MOST_GAPS = 200_000
_MEBIBYTE = 2**20
_UNITS, _BETWEEN_BURSTS = 200_000, 0.5
"""Units of work in a repetition; the seconds between bursts of repetitions."""
_WINDOWS, _BETWEEN_WINDOWS = 8, 0.25
_SMALL = (4, 8, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96)
"""Regions in KiB for caches of the first level, small enough for the TLB not to matter."""
_PAGES = 16 * 1024
_STEPS, _PAUSE = 4, 0.25
"""Rounds of a pause and of work, and the pause's share of a round."""
_SPREAD_LIMIT = 100 * _MS
_BURST_NS, _BATCHES, _FACTOR = 20 * _MS, 24, 10.0
CHECKED = frozenset({"cpu.rate", "clock.cost"})
"""The given inputs that a burst shows: a wrong one makes experiments end late, or blind."""


class Executed(NamedTuple):
    """Raw observations by name, and the other processes that ran."""

    raw: dict[str, FloatArray]
    neighbours: tuple[Neighbour, ...]


class Setting(Struct, frozen=True):
    """How an experiment is executed: ``scale`` multiplies its durations; files are created in ``folder``.

    ``prefix`` is a command that starts the kernels; ``group`` their control group [default: that of this process].
    ``lock`` identifies the lock that is held meanwhile, for agents of other machines.
    """

    program: KernelProgram
    folder: Path
    scale: float = 1.0
    prefix: tuple[str, ...] = ()
    group: Path | None = None
    lock: str = ""

    @property
    def cpus(self) -> tuple[int, ...]:
        """The CPUs that this process may use."""
        return tuple(sorted(os.sched_getaffinity(0)))

    def duration(self, seconds: float) -> int:
        """The scaled duration in ns."""
        return round(seconds * self.scale * _SECOND)

    def run(self, *arguments: object) -> Series:
        """Run a kernel, and return its arrays."""
        return self.program.run(*arguments, timeout=60.0 + 20.0 * self.scale, prefix=self.prefix)


class AddedExperiment(Struct, frozen=True):
    """An experiment that a package adds, by the four templates of Ginpex: declare, prepare, execute, clean up.

    ``prepare`` is not measured; what it returns is the last argument of ``execute``, which returns raw observations,
    and of ``clean_up``, which is called whatever ``execute`` raises.
    """

    declared: Experiment
    execute: Callable[[Setting, Inputs, Any], Mapping[str, FloatArray]]
    prepare: Callable[[Setting, Inputs], Any] = lambda _setting, _inputs: None
    clean_up: Callable[[Setting, Any], None] = lambda _setting, _prepared: None

    def executed(self, setting: Setting, inputs: Inputs) -> Executed:
        """Prepare, execute and clean up; the other processes are those that ran during ``execute``."""
        prepared = self.prepare(setting, inputs)
        try:
            watch = Watch(setting.cpus)
            raw = self.execute(setting, inputs, prepared)
            neighbours = watch.accounts().neighbours
        finally:
            self.clean_up(setting, prepared)
        return Executed(_arrays(raw), neighbours)


def execute(name: str, setting: Setting, inputs: Inputs) -> Executed:
    """Execute the experiment of that name.

    Raises:
        NotPermittedError: if this machine does not permit it.
        MeasurementError: if it cannot be measured.
    """
    raw, accounts = _EXECUTIONS[name](setting, inputs)
    seen = sorted((each for account in accounts for each in account.neighbours), key=lambda each: each.share)
    found = {each.pid: each for each in seen}
    return Executed(dict(raw), tuple(sorted(found.values(), key=lambda each: -each.share)))


def neighbours_json(neighbours: Sequence[Neighbour]) -> str:
    """The JSON of other processes, as it is stored with a run."""
    return msgspec.json.encode(neighbours).decode()


def read_neighbours(text: str) -> tuple[Neighbour, ...]:
    """Read the output of ``neighbours_json``."""
    return decode(text, tuple[Neighbour, ...]) if text else ()


Execution = tuple[Mapping[str, FloatArray], Sequence[Accounts]]


def _clock(setting: Setting, _: Inputs) -> Execution:
    watch, raw = Watch(setting.cpus), Series()
    for window in range(_WINDOWS):
        if window:
            time.sleep(setting.duration(_BETWEEN_WINDOWS) / _SECOND)  # a shared machine's speed changes in seconds
        found = setting.run("clock", int(24 * setting.scale))
        raw |= {f"{name}/{window}": values for name, values in found.items()}
    accounts = watch.accounts()
    _, wall, cpu = np.sum([raw[f"window_ns/{window}"] for window in range(_WINDOWS)], axis=0)
    return {**raw, "others": np.array([max(0.0, 1.0 - cpu / wall)])}, (accounts,)


def _work(setting: Setting, _: Inputs) -> Execution:
    cpu, raw = setting.cpus[0], Series({"units": np.array([float(_UNITS)])})
    seconds, bursts = TIMINGS["cpu.work"].seconds, TIMINGS["cpu.work"].kernels
    working = setting.duration((seconds - (bursts - 1) * _BETWEEN_BURSTS) / bursts)
    watch = Watch([cpu])
    for burst in range(bursts):
        if burst:
            time.sleep(setting.duration(_BETWEEN_BURSTS) / _SECOND)  # adjacent bursts vary less than the machine does
        found = setting.run("work", working, _UNITS, "other", cpu)
        raw |= {f"{name}/{burst}": values for name, values in found.items()}
    return _with_others(raw, watch.accounts())


def _usable(setting: Setting, inputs: Inputs) -> Execution:
    raw: Series = {}
    watched, seconds = [], TIMINGS["cpu.usable"].seconds / 2
    for group, processes in (("1", 1), ("n", len(setting.cpus) + 1)):
        watch = Watch(setting.cpus)
        found = _spin(setting, inputs, seconds, cpu=-1, processes=min(_MOST_PROCESSES, processes))
        watched.append(watch.accounts())
        raw |= _prefixed(found, group)
    return {**raw, "others": np.array([watched[-1].taken])}, watched


def _limit(setting: Setting, inputs: Inputs) -> Execution:
    cpu = setting.cpus[0]
    group = setting.group or own_group()
    watch, before = Watch([cpu]), throttled_seconds(group)
    found = _spin(setting, inputs, TIMINGS["cpu.limit"].seconds, cpu=cpu, least_ns=200_000)
    accounts, after = watch.accounts(), throttled_seconds(group)
    throttled = {} if before is None or after is None else {"throttled": np.array([(after - before) / accounts.wall])}
    return {**found, **throttled, "unused": np.array([accounts.unused / accounts.wall])}, (accounts,)


def _pair(setting: Setting, inputs: Inputs) -> Execution:
    first, second = _several_cpus(setting)[:2]
    units = max(1, int(0.5 * inputs["cpu.rate"]))
    raw: Series = {}
    timing = TIMINGS["cpu.pair"]
    watch = Watch([first, second])
    for burst in range(timing.kernels // 3):
        a, b, both = (
            setting.run("wide", setting.duration(timing.each), units, "other", *cpus)
            for cpus in ([first], [second], [first, second])
        )
        raw |= {f"a_alone_ns/{burst}": a["work_cpu_ns"], f"b_alone_ns/{burst}": b["work_cpu_ns"]}
        raw |= {f"{cpu}_both_ns/{burst}": both[f"work_cpu_ns/{number}"] for number, cpu in enumerate("ab")}
    return _with_others(raw, watch.accounts(), 2)


def execute_steps(setting: Setting, inputs: Inputs, every_ns: int = 0, percent: int = 100) -> Execution:
    """Rounds of a pause and of work, which may alternate; raw observations as in ``cpu.frequency``."""
    cpu = setting.cpus[0]
    round_seconds, units = TIMINGS["cpu.frequency"].seconds / _STEPS, int(inputs["cpu.rate"])
    pause, working = setting.duration(_PAUSE * round_seconds), setting.duration((1.0 - _PAUSE) * round_seconds)
    watch = Watch([cpu])
    found = setting.run("steps", _STEPS, pause, working, units, cpu, every_ns, percent)
    return found, (watch.accounts(),)


def _siblings(setting: Setting, inputs: Inputs) -> Execution:
    cpus = _several_cpus(setting)
    pairs = sibling_pairs(cpus)
    used = tuple(sorted({cpu for pair in pairs for cpu in pair}))
    runs = SIBLING_ROUNDS * (len(used) + len(pairs))
    duration = setting.duration(max(SHORTEST_KERNEL, TIMINGS["cpu.siblings"].seconds / runs))
    units = max(1, int(0.1 * inputs["cpu.rate"]))

    def medians(*chosen: int) -> list[float]:
        found = setting.run("wide", duration, units, "other", *chosen)
        names = [f"work_cpu_ns/{number}" for number in range(len(chosen))] if chosen[1:] else ["work_cpu_ns"]
        return [float(np.median(found[name])) for name in names]

    watch = Watch(used)
    alone, both = list[float](), list[float]()
    for _ in range(SIBLING_ROUNDS):
        alone += [time for cpu in used for time in medians(cpu)]
        both += [time for pair in pairs for time in medians(*pair)]
    raw = {"cpus": used, "pairs": [cpu for pair in pairs for cpu in pair], "alone_ns": alone, "both_ns": both}
    siblings = listed_siblings(used)
    if siblings is not None:
        raw["listed"] = [float(second in siblings[first]) for first, second in pairs]
    return _with_others(_arrays(raw), watch.accounts())


def _gaps(setting: Setting, inputs: Inputs) -> Execution:
    raw: Series = {}
    watched = []
    cpus = _spread(setting.cpus)
    for number, cpu in enumerate(cpus):
        watch = Watch([cpu])
        found = _spin(setting, inputs, TIMINGS["noise.gaps"].seconds, cpu=cpu, least_ns=10_000)
        watched.append(watch.accounts())
        raw |= {f"{name}/{number}": values for name, values in found.items()}
    return {
        **raw,
        "cpu": np.array(cpus, dtype=np.float64),
        "unused": np.array([each.unused / each.wall for each in watched]),
        "stolen": np.array([each.stolen / each.wall for each in watched]),
    }, watched


def _repetition(setting: Setting, inputs: Inputs) -> Execution:
    cpu, units = setting.cpus[0], int(2.0 * inputs["cpu.rate"])
    duration = setting.duration(TIMINGS["noise.repetition"].seconds)
    watch = Watch([cpu])
    return _with_others(setting.run("work", duration, units, "other", cpu), watch.accounts())


def _timeslice(setting: Setting, inputs: Inputs) -> Execution:
    raw: Series = {}
    watched, cpu, numbers = [], setting.cpus[0], (2, 3, 4)
    seconds = TIMINGS["sched.timeslice"].seconds / len(numbers)
    for processes in numbers:
        watch = Watch([cpu])
        raw |= _prefixed(_spin(setting, inputs, seconds, cpu=cpu, processes=processes), str(processes))
        watched.append(watch.accounts())
    requested = requested_slice_ns()
    return raw if requested is None else {**raw, "requested_ns": np.array([requested])}, watched


def _demand(setting: Setting, inputs: Inputs) -> Execution:
    cpu = setting.cpus[0]
    units = int(DEMAND_MS * inputs["cpu.rate"])
    watch = Watch([cpu])
    found = setting.run("work", setting.duration(TIMINGS["sched.demand"].seconds), units, "other", cpu, cpu)
    return _with_others({"response_ns": found["work_wall_ns/0"]}, watch.accounts())


def execute_wakeups(setting: Setting, slack_ns: int = 1) -> Execution:
    """Wake-ups by timers that may be late by ``slack_ns``; raw observations as in ``sched.wakeups``."""
    cpu = setting.cpus[0]
    watch = Watch([cpu])
    wakeups = setting.duration(TIMINGS["sched.wakeups"].seconds) // _MS
    return _with_others(setting.run("wake", wakeups, _MS, cpu, slack_ns), watch.accounts())


def _switching(setting: Setting, _: Inputs) -> Execution:
    watch = Watch([setting.cpus[0]])
    return setting.run("switch", int(100 * setting.scale), 500, setting.cpus[0]), (watch.accounts(),)


def execute_weights(setting: Setting, inputs: Inputs, steps: int = WEIGHT_STEPS) -> Execution:
    """Two processes on one core, the second nicer by ``steps``; raw observations as in ``sched.weights``."""
    cpu, raw = setting.cpus[0], Series()
    timing = TIMINGS["sched.weights"]
    watch = Watch([cpu])
    for repetition in range(timing.kernels):
        found = _spin(setting, inputs, timing.each, cpu=cpu, processes=2, policy=f"other/nice{steps}")
        raw |= _prefixed(found, str(repetition))
    return raw, (watch.accounts(),)


def _real_time(setting: Setting, inputs: Inputs, name: str, policy: str) -> Execution:
    watch = Watch([setting.cpus[-1]])
    found = _spin(setting, inputs, TIMINGS[name].seconds, cpu=setting.cpus[-1], processes=2, policy=policy)
    return found, (watch.accounts(),)


def _balance(setting: Setting, inputs: Inputs) -> Execution:
    cpus, raw = _several_cpus(setting), Series()
    if len(cpus) >= _MOST_PROCESSES:
        raise NotPermittedError(
            f"it has no more than {_MOST_PROCESSES} processes, for {len(cpus)} CPUs",
            fix="permit fewer, as by `taskset`",
        )
    watch = Watch(cpus)
    for repetition in range(TIMINGS["sched.balance"].kernels):
        raw |= _prefixed(_spin(setting, inputs, 0.3, cpu=-1, processes=len(cpus) + 1), str(repetition))
    found = setting.run("spread", int(9 * setting.scale), _SPREAD_LIMIT, cpus[0])
    known = _arrays({"limit_ns": [_SPREAD_LIMIT], "cpus": [len(cpus)]})
    return _with_others({**raw, **found, **known}, watch.accounts())


def _steal(setting: Setting, _: Inputs) -> Execution:
    validate_hypervisor()
    cpus = setting.cpus[:_MOST_PROCESSES]
    watched, timing = [], TIMINGS["virt.steal"]
    for _window in range(timing.kernels):
        watch = Watch(cpus)
        setting.run("work", setting.duration(timing.each), _UNITS, "other", *cpus)
        watched.append(watch.accounts())
    asked = [len(cpus) * each.wall - each.unused for each in watched]
    known = {
        "stolen": [each.stolen / own for each, own in zip(watched, asked, strict=True)],
        "tick": [len(cpus) / os.sysconf("SC_CLK_TCK") / sum(asked)],
        "before": [stolen_ticks()],
    }
    return _arrays(known), watched


def _levels(setting: Setting, _: Inputs) -> Execution:
    most = 128 * _MEBIBYTE if setting.scale > 1.0 else 64 * _MEBIBYTE
    steps = np.arange(np.log2(128 * 1024), np.log2(most) + 0.01, 1 / 3)
    large = [round(2**step / _PAGES) * _PAGES for step in steps]
    small = [kibibytes * 1024 for kibibytes in _SMALL]
    loads, cpu = int(100_000 * setting.scale), setting.cpus[0]
    watch = Watch(setting.cpus)
    parts = [setting.run("chase", loads, 9, 0, cpu, *small), setting.run("chase", loads, 5, _PAGES, cpu, *large)]
    raw: Series = {}
    for first, part in zip((0, len(small)), parts, strict=True):
        for name, values in part.items():
            kind, number = name.split("/")
            raw[f"{kind}/{first + int(number)}"] = values
    accounts, cpus = watch.accounts(), float(len(setting.cpus))
    return {**raw, "others": np.array([accounts.taken]), "cpus": np.array([cpus])}, (accounts,)


def _stream(setting: Setting, inputs: Inputs) -> Execution:
    size = int(np.clip(4.0 * inputs["mem.caches"], 32 * _MEBIBYTE, 256 * _MEBIBYTE)) // 4096 * 4096
    cpus = setting.cpus[:_MOST_PROCESSES]
    needed, free = 3 * size * len(cpus), os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > 0.5 * free:
        cpus = cpus[: max(1, int(0.5 * free / (3 * size)))]
    watch = Watch(cpus)
    found = setting.run("triad", size, int(10 * setting.scale), *cpus)
    return _with_others(found, watch.accounts(), len(cpus))


def _disk(setting: Setting, _: Inputs) -> Execution:
    file = setting.folder / f".hati-probe-{os.getpid()}"
    watch, before = Watch(setting.cpus), disk_bytes(setting.folder)
    try:
        found = setting.run("disk", file, int(32 * setting.scale), int(100 * setting.scale), int(200 * setting.scale))
    finally:
        file.unlink(missing_ok=True)
    accounts, after = watch.accounts(), disk_bytes(setting.folder)
    moved = {} if before is None or after is None else {"moved_bytes": np.array([after - before])}
    return {**found, **moved, "others": np.array([accounts.beside_kernel / len(setting.cpus)])}, (accounts,)


def execute_link(setting: Setting, address: str, namespace: str, rounds: int = 500) -> Series:
    """Round trips and a stream to an address of a network namespace; raw observations as in ``net.loopback``."""
    return _streamed(setting, address, namespace, rounds, setting.duration(LINK.seconds), 200 * _MS)[0]


def _loopback(setting: Setting, _: Inputs) -> Execution:
    duration = setting.duration(TIMINGS["net.loopback"].seconds)
    found, accounts = _streamed(setting, "127.0.0.1", "-", 1000, duration, 50 * _MS)
    return found, (accounts,)


def _streamed(setting: Setting, *arguments: object) -> tuple[Series, Accounts]:
    watch = Watch(setting.cpus)
    found = setting.run("net", *arguments)
    accounts = watch.accounts()
    return {**found, "others": np.array([accounts.beside_packets / len(setting.cpus)])}, accounts


_EXECUTIONS: dict[str, Callable[[Setting, Inputs], Execution]] = {
    "clock.reading": _clock,
    "cpu.work": _work,
    "cpu.usable": _usable,
    "cpu.limit": _limit,
    "cpu.pair": _pair,
    "cpu.frequency": execute_steps,
    "cpu.siblings": _siblings,
    "noise.gaps": _gaps,
    "noise.repetition": _repetition,
    "sched.timeslice": _timeslice,
    "sched.round_robin": partial(_real_time, name="sched.round_robin", policy="rr"),
    "sched.demand": _demand,
    "sched.wakeups": lambda setting, _: execute_wakeups(setting),
    "sched.switching": _switching,
    "sched.weights": execute_weights,
    "sched.rt_reserve": partial(_real_time, name="sched.rt_reserve", policy="fifo/other"),
    "sched.balance": _balance,
    "virt.steal": _steal,
    "mem.levels": _levels,
    "mem.stream": _stream,
    "disk.file": _disk,
    "net.loopback": _loopback,
}


def _spin(
    setting: Setting,
    inputs: Inputs,
    seconds: float,
    *,
    cpu: int,
    processes: int = 1,
    policy: str = "other",
    least_ns: int = 50_000,
) -> Series:
    """Run processes that read the clock, and return their gaps; a gap is at least 100 readings of the clock long."""
    least = max(least_ns, int(100 * inputs["clock.cost"]))
    found = setting.run("spin", setting.duration(seconds), cpu, policy, processes, least, _MOST_GAPS)
    if "window_ns" not in found and "window_ns/0" not in found:
        raise MeasurementError("the spinning processes wrote nothing")
    return found


def _with_others(raw: Series, accounts: Accounts, cpus: int = 1) -> Execution:
    """Raw observations with ``others``, the fraction of the time of the watched CPUs that others used."""
    return {**raw, "others": np.array([accounts.foreign / cpus])}, (accounts,)


def _arrays(values: Mapping[str, ArrayLike]) -> Series:
    return {name: np.asarray(each, dtype=np.float64) for name, each in values.items()}


def _several_cpus(setting: Setting) -> tuple[int, ...]:
    if len(setting.cpus) < 2:
        raise NotPermittedError("this process may use one CPU only", fix="permit it two CPUs, as by `taskset`")
    return setting.cpus


def _prefixed(found: Series, name: str) -> Series:
    return {f"{name}/{key}": values for key, values in found.items()}


def _spread(cpus: Sequence[int]) -> tuple[int, ...]:
    """At most four CPUs, from the first to the last."""
    chosen = np.unique(np.linspace(0, len(cpus) - 1, min(len(cpus), MOST_GAPS_CPUS)).round().astype(int))
    return tuple(cpus[index] for index in chosen)


def validate_here(program: KernelProgram, given: Mapping[str, float]) -> None:
    """Check a rate of work in 1/ms, by a burst of 20 ms, and the cost of the clock in ns, by one of 10 ms.

    Raises:
        InputError: where one differs from that of the burst by more than a factor of 10.
        MeasurementError: where the burst cannot be measured.
    """
    cpu = min(os.sched_getaffinity(0))
    if "cpu.rate" in given:
        burst = program.run("work", _BURST_NS, _UNITS, "other", cpu)
        _validate_given("cpu.rate", given, _UNITS / float(np.median(burst["work_cpu_ns"])) * 1e6, "1/ms", "cpu")
    if "clock.cost" in given:
        burst = program.run("clock", _BATCHES)
        _validate_given("clock.cost", given, float(np.median(burst["cost_ps"])) / 1000.0, "ns", "clock")


def _validate_given(name: str, given: Mapping[str, float], here: float, unit: str, domain: str) -> None:
    if not 1.0 / _FACTOR <= given[name] / here <= _FACTOR:
        raise InputError(
            f"{name} is about {_shown(here)} {unit} here: the given one is {given[name] / here:,.3g} times that",
            fix=f"give it in {unit}, as `hati probe {domain}` reports it, or leave it out",
        )


def _shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000.0 else f"{value:.3g}"
