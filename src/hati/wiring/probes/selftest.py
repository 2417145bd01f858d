"""The self-test of infrastructure experiments: known values are injected, and must be detected."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from hati.core import MeasurementError, replace
from hati.driver import RemoteMachine, read_key
from hati.probing import Executed, KernelProgram, NotPermittedError, Setting, execute
from hati.probing.executing import (
    Execution,
    execute_link,
    execute_steps,
    execute_wakeups,
    execute_weights,
)
from hati.probing.holding import cache_size, link_with, reserve_of, restore_settings, round_robin_slice_of
from hati.probing.kernel import EEVDF_SLICE_MS, entering, group_with, validate_slice
from hati.studies.probe import (
    LIBRARY,
    Property,
    Recovery,
    RecoveryOutcome,
    link_properties,
    not_injected,
    recovered,
    recovered_ratio,
)
from hati.wiring.probes.links import link_experiments
from hati.wiring.probes.task_sets import measuring_alone
from hati.wiring.probes.virtual import inside_experiment

_SLICES = (8, 20, 40, 100)
_QUOTAS = ((50, 100), (25, 100), (80, 100), (10, 20), (10, 50), (100, 200))
_FACTOR = 1.067
"""The overhead of virtualisation in section 4.2 of the Ginpex paper."""
_CORES = (0.5, 1.5, 2.0)
_RATES = (10, 100)
_DELAYS = (1, 5, 20)
_SLACK_US = 500
_WEIGHTS = {0: 1024, 3: 526, 5: 335}
"""The kernel's weights of these nice values."""
_RESERVE_MS = 100
_STEP_MS, _STEP_PERCENT = 250, 80
"""Every 250 ms, the work is 80 % of what it was: a step of the rate of 1.25."""
_PAYLOAD = 1448 / 1514
"""The fraction of an Ethernet frame of 1514 bytes that is payload of TCP with timestamps."""
_INPUTS = {"clock.cost": 50.0, "cpu.rate": 400_000.0}
_LOSS = 0.02
_SUBJECTS = {each.name: each for each in LIBRARY}


def selftest(announce: Callable[[str], None]) -> tuple[Recovery, ...]:
    """Inject each known value, and detect it; every change is restored.

    Raises:
        MeasurementError: where the kernels cannot be compiled.
    """
    program = KernelProgram()
    with measuring_alone("probe --selftest", announce):
        return _tested(program, announce)


def _tested(program: KernelProgram, announce: Callable[[str], None]) -> tuple[Recovery, ...]:
    restore_settings()
    parts = (
        _slices,
        _timeslice,
        _quotas,
        _no_quota,
        _cores,
        _factor,
        _steps,
        _weights,
        _wakeups,
        _reserves,
        _caches,
        _links,
        _machines,
    )
    tests = [test for part in parts for test in part(program)]
    found = []
    for number, (name, test) in enumerate(tests, start=1):
        announce(f"[{number}/{len(tests)}] {name}")
        found += test()
    return tuple(found)


_Test = tuple[str, Callable[[], list[Recovery]]]


def _slices(program: KernelProgram) -> Iterator[_Test]:
    for truth in _SLICES:

        def test(truth: int = truth) -> list[Recovery]:
            name = f"slice of SCHED_RR {truth} ms"

            def measured() -> list[Recovery]:
                with round_robin_slice_of(truth):
                    found = _detected(program, "sched.round_robin")
                return [recovered(name, truth, 0.01, found.get("sched.round_robin_slice"))]

            return _tried(measured, not_injected(name, truth, "ms", 0.01, ""))

        yield f"slice of SCHED_RR {truth} ms", test


def _timeslice(program: KernelProgram) -> Iterator[_Test]:
    name = "timeslice of EEVDF at 250 ticks a second"

    def test() -> list[Recovery]:
        def measured() -> list[Recovery]:
            validate_slice()
            with group_with(None) as group:
                found = _detected(program, "sched.timeslice", group)
            return [recovered(name, EEVDF_SLICE_MS, 0.02, found.get("sched.slice"))]

        return _tried(measured, not_injected(name, EEVDF_SLICE_MS, "ms", 0.02, ""))

    yield name, test


def _quotas(program: KernelProgram) -> Iterator[_Test]:
    for quota, period in _QUOTAS:

        def test(quota: int = quota, period: int = period) -> list[Recovery]:
            name = f"quota {quota}/{period} ms"

            def measured() -> list[Recovery]:
                with group_with(quota, period) as group:
                    found = _detected(program, "cpu.limit", group)
                return [
                    recovered(f"{name}: quota", quota, 0.05, found.get("cpu.quota")),
                    recovered(f"{name}: period", period, 0.05, found.get("cpu.quota_period")),
                ]

            return _tried(measured, not_injected(name, quota, "ms", 0.05, ""))

        yield f"quota {quota}/{period} ms", test


def _no_quota(program: KernelProgram) -> Iterator[_Test]:
    name = "no quota"

    def test() -> list[Recovery]:
        def measured() -> list[Recovery]:
            with group_with(None) as group:
                found = _detected(program, "cpu.limit", group)
            return [recovered(name, None, 0.0, found.get("cpu.quota"))]

        return _tried(measured, not_injected(name, None, "ms", 0.0, ""))

    yield name, test


def _factor(program: KernelProgram) -> Iterator[_Test]:
    name = f"work of a factor of {_FACTOR:g} inside"

    def test() -> list[Recovery]:
        def measured() -> list[Recovery]:
            experiment = inside_experiment(_more_work(_FACTOR))
            with _group_if_permitted() as group:
                raw = experiment.executed(_setting(program, group), _INPUTS).raw
            found = {each.name: each for each in experiment.declared.detect(raw, _INPUTS)}
            return [recovered_ratio(name, _FACTOR, found["virt.cpu_slowdown"])]

        return _tried(measured, not_injected(name, _FACTOR, "1", 0.0, ""))

    yield name, test


def _more_work(factor: float) -> tuple[str, ...]:
    """A command that runs another one; the kernel ``work`` has that factor of work to do."""
    more = f"$(($4 * {round(1000 * factor)} / 1000))"
    program = f'[ "$2" = work ] && {{ a=$1 d=$3 u={more}; shift 4; set -- "$a" work "$d" "$u" "$@"; }}; exec "$@"'
    return ("sh", "-c", program, "sh")


@contextmanager
def _group_if_permitted() -> Iterator[Path | None]:
    """A control group with the highest weight, or none where the kernel does not permit one."""
    with ExitStack() as stack:
        try:
            group = stack.enter_context(group_with(None))
        except NotPermittedError:
            group = None
        yield group


def _cores(program: KernelProgram) -> Iterator[_Test]:
    for cores in _CORES:
        if cores > len(os.sched_getaffinity(0)):
            continue

        def test(cores: float = cores) -> list[Recovery]:
            def measured() -> list[Recovery]:
                with group_with(100.0 * cores) as group:
                    found = _detected(program, "cpu.usable", group)
                return [recovered(f"usable cores {cores:g}", cores, 0.08, found.get("cpu.cores"))]

            return _tried(measured, not_injected(f"usable cores {cores:g}", cores, "1", 0.08, ""))

        yield f"usable cores {cores:g}", test


def _steps(program: KernelProgram) -> Iterator[_Test]:
    truth = 100.0 / _STEP_PERCENT
    name = f"step of the rate of {truth:g}"

    def test() -> list[Recovery]:
        def measured() -> list[Recovery]:
            with group_with(None) as group:
                executed = execute_steps(_setting(program, group), _INPUTS, _STEP_MS * 1_000_000, _STEP_PERCENT)
            found = _properties("cpu.frequency", executed)
            return [
                recovered(name, truth, 0.05, found.get("cpu.step")),
                recovered(f"{name}: time", _STEP_MS, 0.1, found.get("cpu.step_at")),
            ]

        return _tried(measured, not_injected(name, truth, "1", 0.05, ""))

    yield name, test


def _weights(program: KernelProgram) -> Iterator[_Test]:
    for steps in (3, 5):
        name, truth = f"weight of nice {steps}", _WEIGHTS[0] / _WEIGHTS[steps]

        def test(name: str = name, truth: float = truth, steps: int = steps) -> list[Recovery]:
            def measured() -> list[Recovery]:
                with group_with(None) as group:
                    found = _properties("sched.weights", execute_weights(_setting(program, group), _INPUTS, steps))
                return [recovered(name, truth, 0.05, found.get("sched.weight_ratio"))]

            return _tried(measured, not_injected(name, truth, "1", 0.05, ""))

        yield name, test


def _wakeups(program: KernelProgram) -> Iterator[_Test]:
    name = f"timer slack {_SLACK_US} us"

    def test() -> list[Recovery]:
        def measured() -> list[Recovery]:
            with group_with(None) as group:
                executed = [execute_wakeups(_setting(program, group), slack) for slack in (1, 1000 * _SLACK_US)]
            before, after = (_properties("sched.wakeups", each)["sched.wakeup"] for each in executed)
            added = replace(after, value=(after.value or 0.0) - (before.value or 0.0), interval=None)
            return [recovered(name, _SLACK_US, 0.05, added)]

        return _tried(measured, not_injected(name, _SLACK_US, "us", 0.05, ""))

    yield name, test


def _reserves(program: KernelProgram) -> Iterator[_Test]:
    name = f"reserve {_RESERVE_MS} ms beside SCHED_FIFO"

    def test() -> list[Recovery]:
        def measured() -> list[Recovery]:
            with reserve_of(_RESERVE_MS, _setting(program).cpus[-1]):
                found = _detected(program, "sched.rt_reserve")
            return [recovered(name, _RESERVE_MS, 0.1, found.get("sched.reserve"))]

        return _tried(measured, not_injected(name, _RESERVE_MS, "ms", 0.1, ""))

    yield name, test


def _caches(program: KernelProgram) -> Iterator[_Test]:
    def test() -> list[Recovery]:
        levels = {level: size for level in (1, 2) if (size := cache_size(level)) is not None}
        if not levels:
            return [not_injected("cache sizes", 0.0, "B", 0.5, "the kernel shows no sizes of caches")]

        def measured() -> list[Recovery]:
            with group_with(None) as group:
                found = _detected(program, "mem.levels", group)
            return [
                recovered(f"cache of level {level}", size, 0.5, found.get(f"mem.level{level}_size"))
                for level, size in levels.items()
            ]

        return _tried(measured, not_injected("cache sizes", levels[min(levels)], "B", 0.5, ""))

    yield "sizes of caches", test


def _links(program: KernelProgram) -> Iterator[_Test]:
    for rate in _RATES:

        def limited(rate: int = rate) -> list[Recovery]:
            truth = rate * 1e6 / 8 * _PAYLOAD
            name = f"token bucket {rate} Mbit/s"

            def measured() -> list[Recovery]:
                with link_with("tbf", "rate", f"{rate}mbit", "burst", "32kbit", "latency", "50ms") as (address, space):
                    found = link_properties(execute_link(_setting(program), address, space))
                return [recovered(name, truth, 0.03, found.get("net.link_bandwidth"))]

            return _tried(measured, not_injected(name, truth, "B/s", 0.03, ""))

        yield f"token bucket {rate} Mbit/s", limited
    for delay in _DELAYS:

        def delayed(delay: int = delay) -> list[Recovery]:
            name = f"one-way delay {delay} ms"

            def measured() -> list[Recovery]:
                with link_with("netem", "delay", f"{delay}ms") as (address, space):
                    found = link_properties(execute_link(_setting(program), address, space, rounds=50))
                return [recovered(name, 2000.0 * delay, 0.05, found.get("net.link_round_trip"))]

            return _tried(measured, not_injected(name, 2000.0 * delay, "us", 0.05, ""))

        yield f"one-way delay {delay} ms", delayed


def _machines(program: KernelProgram) -> Iterator[_Test]:
    """Links to an agent in a network namespace."""
    for rate in _RATES:
        discipline = ("tbf", "rate", f"{rate}mbit", "burst", "32kbit", "latency", "50ms")
        truth = rate * 1e6 / 8 * _PAYLOAD
        yield _machine(
            program, f"token bucket {rate} Mbit/s to an agent", discipline, "bandwidth", (truth, "B/s", 0.03)
        )
    for delay in _DELAYS:
        name, expected = f"one-way delay {delay} ms to an agent", (2000.0 * delay, "us", 0.05)
        yield _machine(program, name, ("netem", "delay", f"{delay}ms"), "round_trip", expected)
    lost = 1.0 - (1.0 - _LOSS) ** 2
    dropping = ("netem", "loss", f"{_LOSS:.0%}")
    yield _machine(program, f"loss of {100 * _LOSS:.0f} % each way to an agent", dropping, "loss", (lost, "1", 0.8))


def _machine(
    program: KernelProgram, name: str, discipline: tuple[str, ...], kind: str, expected: tuple[float, str, float]
) -> _Test:
    truth, unit, tolerance = expected

    def test() -> list[Recovery]:
        def measured() -> list[Recovery]:
            with link_with(*discipline) as (address, space), _agent_in(space, address) as machine:
                link = link_experiments({"agent": machine})["net.agent"]
                found = {each.name: each for each in link.declared.detect(link.executed(_setting(program), {}).raw, {})}
            return [recovered(name, truth, tolerance, found.get(f"net.agent_{kind}"))]

        return _tried(measured, not_injected(name, truth, unit, tolerance, ""))

    return name, test


@contextmanager
def _agent_in(namespace: str, address: str) -> Iterator[RemoteMachine]:
    """An agent in a network namespace, given by its path, that listens at an address of it; it ends in the end.

    Raises:
        MeasurementError: if it does not start.
    """
    with TemporaryDirectory(prefix="hati-") as folder:
        key = Path(folder) / "key"
        words = [sys.executable, "-m", "hati", "probe", "agent", "--listen", f"{address}:0", "--key", str(key)]
        agent = subprocess.Popen(
            ["ip", "netns", "exec", Path(namespace).name, *words],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "HATI_LOCK": str(Path(folder) / "lock")},
        )
        with agent:
            try:
                line = agent.stderr.readline() if agent.stderr else ""
                place = line.partition("listening at ")[2].partition(";")[0]
                if not place:
                    raise MeasurementError(f"no agent listens in the namespace: {line.strip()}")
                yield RemoteMachine(address, int(place.rpartition(":")[2]), read_key(key))
            finally:
                agent.kill()


def _tried(measured: Callable[[], list[Recovery]], otherwise: Recovery) -> list[Recovery]:
    """The measured recoveries, or one with the reason: a truth that is not permitted is refused, another one missed."""
    try:
        return measured()
    except NotPermittedError as error:
        return [replace(otherwise, reason=" ".join(str(error).split()))]
    except MeasurementError as error:
        reason = " ".join(f"it could not be measured: {error}".split())
        return [replace(otherwise, outcome=RecoveryOutcome.MISSED, reason=reason)]


def _detected(program: KernelProgram, name: str, group: Path | None = None) -> dict[str, Property]:
    """The properties that an experiment detects, in a control group where one is given."""
    return _properties(name, execute(name, _setting(program, group), _INPUTS))


def _properties(name: str, executed: Executed | Execution) -> dict[str, Property]:
    """The properties that an experiment detects in raw observations."""
    return {each.name: each for each in _SUBJECTS[name].detect(executed[0], _INPUTS)}


def _setting(program: KernelProgram, group: Path | None = None) -> Setting:
    return Setting(program, Path(), prefix=() if group is None else entering(group), group=group)
