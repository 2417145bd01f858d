"""The library of experiments: the inputs and outputs of each, and the order in which they are measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations

from msgspec import Struct

from hati.core import InputError
from hati.core.wording import listed, suggestion
from hati.studies.probe import detectors, noise, scheduling, speed, virtual
from hati.studies.probe.finding import Property, Raw

Inputs = Mapping[str, float]
"""Properties that an experiment needs, by their names, each in the unit that its experiment yields."""


class Experiment(Struct, frozen=True):
    """An experiment of the library.

    ``outputs`` are names of properties, each with its unit, and ``inputs`` are names; ``method`` changes whenever raw
    data or their meaning do, so that results of different methods are not confused. ``named_only`` experiments run only
    if they are named. One that ``asks`` is refused with this text, which says what the user has to name, as long as no
    other of its name takes its place; without names it is left out.
    """

    name: str
    title: str
    method: str
    outputs: Mapping[str, str]
    detect: Callable[[Raw, Inputs], tuple[Property, ...]]
    inputs: tuple[str, ...] = ()
    needs: str = ""
    named_only: bool = False
    asks: str = ""

    @property
    def domain(self) -> str:
        """Its domain, such as ``cpu``."""
        return self.name.partition(".")[0]


DEMAND_MS = 20.0
"""The demand of section 4.1 of the Ginpex paper."""
SIBLING_ROUNDS = 3
MOST_GAPS_CPUS = 4
"""The most CPUs of which `noise.gaps` records the interruptions, one after the other."""


class Timing(Struct, frozen=True):
    """What an experiment takes with ``--quick``, without the start of its short kernels, and their number."""

    seconds: float
    kernels: int = 0

    @property
    def each(self) -> float:
        """The seconds of each of its kernels, if nothing else takes time."""
        return self.seconds / self.kernels


TIMINGS: Mapping[str, Timing] = {
    "clock.reading": Timing(1.9),
    "cpu.work": Timing(2.8, kernels=6),
    "cpu.usable": Timing(3.0),
    "cpu.limit": Timing(3.0),
    "cpu.pair": Timing(0.9, kernels=18),
    "cpu.frequency": Timing(2.4),
    "cpu.siblings": Timing(1.2),
    "noise.gaps": Timing(2.0),
    "noise.repetition": Timing(4.0),
    "sched.timeslice": Timing(3.0),
    "sched.round_robin": Timing(2.4),
    "sched.demand": Timing(6.0),
    "sched.wakeups": Timing(0.5),
    "sched.switching": Timing(0.6),
    "sched.weights": Timing(1.6, kernels=4),
    "sched.rt_reserve": Timing(3.2),
    "sched.balance": Timing(2.3, kernels=4),
    "virt.speed": Timing(9.0),
    "virt.steal": Timing(1.0, kernels=8),
    "mem.levels": Timing(4.0),
    "mem.stream": Timing(2.0),
    "disk.file": Timing(1.0),
    "net.loopback": Timing(1.0),
}
"""By experiment; that of `noise.gaps` is of each CPU. Dry runs show them.

Executions take their durations from here. Those that repeat a fixed amount of work take about as long on a usual
machine: `clock.reading`, `sched.switching`, `sched.balance`, `mem.levels`, `mem.stream` and `disk.file`.
"""
LINK = Timing(6.0)
"""Of a link to another machine."""
SHORTEST_KERNEL = 0.03
"""The seconds of the shortest kernel of `cpu.siblings`."""
_ALL_PAIRS, _NEIGHBOURS = 6, 16
"""The most CPUs of which all pairs are measured; of more, the first one with its next ones and with the second half."""


def sibling_pairs(cpus: Sequence[int]) -> list[tuple[int, int]]:
    """The pairs of two or more CPUs that ``cpu.siblings`` measures, in each round after each CPU alone."""
    if len(cpus) <= _ALL_PAIRS:
        return list(combinations(cpus, 2))
    half = len(cpus) // 2
    near = sorted({*cpus[1:_NEIGHBOURS], *cpus[half : half + _NEIGHBOURS]} - {cpus[0]})
    return [(cpus[0], other) for other in near]


_LEVELS = {f"mem.level{i}_{what}": unit for i in range(1, 5) for what, unit in (("size", "B"), ("latency", "ns"))}

LIBRARY = (
    Experiment(
        "clock.reading",
        "cost and resolution of the clock",
        detectors.CLOCK_METHOD,
        {"clock.cost": "ns", "clock.thread_cost": "ns", "clock.resolution": "ns"},
        lambda raw, _: detectors.clock(raw),
    ),
    Experiment(
        "cpu.work",
        "work in a ms of CPU time",
        detectors.RATE_METHOD,
        {"cpu.rate": "1/ms"},
        lambda raw, _: detectors.work_rate(raw),
    ),
    Experiment(
        "cpu.usable",
        "usable cores",
        detectors.CORES_METHOD,
        {"cpu.cores": "1"},
        lambda raw, _: detectors.usable_cores(raw),
        ("clock.cost",),
    ),
    Experiment(
        "cpu.limit",
        "quota on CPU time and its period",
        detectors.QUOTA_METHOD,
        {"cpu.quota": "ms", "cpu.quota_period": "ms"},
        lambda raw, _: detectors.quota(raw),
        ("clock.cost",),
    ),
    Experiment(
        "cpu.pair",
        "slow-down of two CPUs at once",
        detectors.PAIR_METHOD,
        {"cpu.pair_slowdown": "1"},
        lambda raw, _: detectors.pair_slowdown(raw),
        ("cpu.rate",),
        "two CPUs",
    ),
    Experiment(
        "cpu.frequency",
        "steps of the frequency after a pause",
        speed.STEPS_METHOD,
        {"cpu.steps": "1", "cpu.step": "1", "cpu.step_at": "ms"},
        lambda raw, _: speed.frequency_steps(raw),
        ("cpu.rate",),
    ),
    Experiment(
        "cpu.siblings",
        "CPUs that share a core",
        speed.SIBLINGS_METHOD,
        {"cpu.sibling_pairs": "1", "cpu.sibling_slowdown": "1"},
        lambda raw, _: speed.siblings(raw),
        ("cpu.rate",),
        "two CPUs",
    ),
    Experiment(
        "noise.gaps",
        "interruptions by their size",
        noise.INTERRUPTIONS_METHOD,
        {
            "noise.interrupted": "1",
            "noise.taken": "1",
            "noise.longest": "ms",
            "noise.stolen": "1",
            "noise.burst_period": "ms",
            "noise.burst": "1",
            **{f"noise.rate_{size}": "1/s" for size, _, _ in noise.SIZES},
        },
        lambda raw, _: noise.interruptions(raw),
        ("clock.cost",),
    ),
    Experiment(
        "noise.repetition",
        "drift, and the smallest visible change",
        noise.REPEATABILITY_METHOD,
        {"noise.detectable": "1", "noise.spread": "1", "noise.drift": "1", "noise.cpu_time_cv": "1"},
        lambda raw, _: noise.repeatability(raw),
        ("cpu.rate",),
    ),
    Experiment(
        "sched.timeslice",
        "effective and requested timeslice",
        detectors.SLICE_METHOD,
        {"sched.slice": "ms", "sched.requested_slice": "ms"},
        lambda raw, _: (*detectors.timeslice(raw), detectors.requested_slice(raw)),
        ("clock.cost",),
    ),
    Experiment(
        "sched.round_robin",
        "slice of SCHED_RR",
        detectors.ROUND_ROBIN_METHOD,
        {"sched.round_robin_slice": "ms"},
        lambda raw, _: detectors.round_robin_slice(raw),
        ("clock.cost",),
        "real-time priority",
    ),
    Experiment(
        "sched.demand",
        "timeslice by response times of 20 ms (Ginpex)",
        detectors.DEMAND_METHOD,
        {"sched.demand_slice": "ms"},
        lambda raw, inputs: detectors.demand_slice(raw, DEMAND_MS, inputs["sched.slice"]),
        ("cpu.rate", "sched.slice"),
        named_only=True,
    ),
    Experiment(
        "sched.wakeups",
        "latency of wake-ups",
        scheduling.WAKEUP_METHOD,
        {"sched.wakeup": "us", "sched.wakeup_p99": "us"},
        lambda raw, inputs: scheduling.wakeup(raw, inputs["clock.cost"]),
        ("clock.cost",),
    ),
    Experiment(
        "sched.switching",
        "cost of a switch between processes",
        scheduling.SWITCH_METHOD,
        {"sched.switch": "us"},
        lambda raw, _: scheduling.switch(raw),
    ),
    Experiment(
        "sched.weights",
        "CPU time of a nicer process",
        scheduling.WEIGHTS_METHOD,
        {"sched.weight_ratio": "1"},
        lambda raw, _: scheduling.weights(raw),
        ("clock.cost",),
    ),
    Experiment(
        "sched.rt_reserve",
        "reserve of normal processes beside real-time ones",
        scheduling.RESERVE_METHOD,
        {"sched.reserve": "ms", "sched.reserve_period": "ms"},
        lambda raw, _: scheduling.reserve(raw),
        ("clock.cost",),
        "real-time priority",
    ),
    Experiment(
        "sched.balance",
        "load balancing between CPUs",
        scheduling.BALANCE_METHOD,
        {"sched.evenness": "1", "sched.spread": "ms"},
        lambda raw, _: scheduling.balance(raw),
        ("clock.cost",),
        "two CPUs",
    ),
    Experiment(
        "virt.speed",
        "slow-down of work in a virtual machine or container",
        virtual.INSIDE_METHOD,
        {"virt.slowdown": "1", "virt.cpu_slowdown": "1"},
        lambda raw, _: virtual.slowdown_inside(raw),
        asks="it compares work here with work elsewhere; run `hati probe virt.speed --inside 'docker exec -i NAME'`, "
        "with a command that runs programs inside of a container or virtual machine, or, on the inside, `hati probe "
        "virt.speed --reference FILE`, with the results of the machine outside",
    ),
    Experiment(
        "virt.steal",
        "CPU time that the hypervisor takes",
        virtual.STEAL_METHOD,
        {"virt.steal": "1"},
        lambda raw, _: virtual.stolen_share(raw),
        needs="a hypervisor",
    ),
    Experiment(
        "mem.levels",
        "sizes and latencies of caches and memory",
        detectors.LEVELS_METHOD,
        {**_LEVELS, "mem.last_latency": "ns", "mem.caches": "B"},
        lambda raw, _: detectors.memory_levels(raw),
    ),
    Experiment(
        "mem.stream",
        "bandwidth of memory",
        detectors.BANDWIDTH_METHOD,
        {"mem.bandwidth": "B/s"},
        lambda raw, _: detectors.bandwidth(raw),
        ("mem.caches",),
    ),
    Experiment(
        "disk.file",
        "durable writes, appends, effect of the cache",
        detectors.DISK_METHOD,
        {
            "disk.durable": "B/s",
            "disk.append": "us",
            "disk.cached_read": "us",
            "disk.direct_read": "us",
            "disk.iops": "1/s",
            "disk.cache_effect": "1",
        },
        lambda raw, _: detectors.disk(raw),
    ),
    Experiment(
        "net.loopback",
        "round trip and bandwidth of the loopback",
        detectors.NETWORK_METHOD,
        {"net.loopback_round_trip": "us", "net.loopback_bandwidth": "B/s"},
        lambda raw, _: detectors.network(raw),
    ),
)


def chosen_experiments(
    names: Sequence[str], given: Iterable[str] = (), library: Sequence[Experiment] = LIBRARY
) -> tuple[Experiment, ...]:
    """The experiments of these names or domains, each after those that yield its inputs unless the user gives them.

    Without names, all are chosen that run without being named.

    Raises:
        InputError: for an unknown name, an input that no experiment yields, or circular inputs.
    """
    wanted = [] if names else [each for each in library if not each.named_only and not each.asks]
    for name in names:
        found = [each for each in library if name == each.name or (name == each.domain and not each.named_only)]
        if not found:
            known = [*dict.fromkeys(each.domain for each in library), *(each.name for each in library)]
            raise InputError(f"there is no experiment or domain {name!r}", fix=suggestion(name, known))
        wanted += found
    own = {each.name for each in wanted}
    ordered = [each for each in library if each.name in own]
    return _with_inputs(ordered, frozenset(given), library)


def _with_inputs(
    wanted: Sequence[Experiment], given: frozenset[str], library: Sequence[Experiment]
) -> tuple[Experiment, ...]:
    """The experiments in depth-first order: each after the experiments that yield its inputs."""
    sources = {output: each for each in library for output in each.outputs}
    done: dict[str, Experiment] = {}

    def visit(one: Experiment, path: tuple[str, ...]) -> None:
        if one.name in path:
            circle = " needs ".join([*path[path.index(one.name) :], one.name])
            raise InputError(f"experiments need each other: {circle}", fix="give one of their inputs")
        if one.name in done:
            return
        for name in one.inputs:
            if name in given:
                continue
            if name not in sources:
                raise InputError(f"no experiment yields {name}, which {one.name} needs", fix=f"give {name}=VALUE")
            visit(sources[name], (*path, one.name))
        done[one.name] = one

    for one in wanted:
        visit(one, ())
    return tuple(done.values())


_RANGES = {"clock.cost": (0.1, 1e6), "mem.caches": (1024.0, 2.0**40), "sched.slice": (1e-3, 1e5)}
"""The values that are possible on some machine, in the unit of the property."""


def validate_given(given: Mapping[str, float], library: Sequence[Experiment] = LIBRARY) -> None:
    """Check that each value that the user gives is an input of an experiment, positive, and possible on some machine.

    Raises:
        InputError: if one is not.
    """
    known = sorted({name for each in library for name in each.inputs})
    for name, value in given.items():
        if name not in known:
            raise InputError(f"{name} is not an input of an experiment", fix=f"the inputs are {listed(known)}")
        if not 0.0 < value < float("inf"):
            raise InputError(f"{name}={value:g} is not a positive number", fix="give a value in the property's unit")
        low, high = _RANGES.get(name, (value, value))
        if not low <= value <= high:
            unit = next(each.outputs[name] for each in library if name in each.outputs)
            raise InputError(f"{name}={value:g} is beyond all machines", fix=f"give {low:g} to {high:g} {unit}")
