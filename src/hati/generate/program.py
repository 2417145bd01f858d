"""The load program of a machine task set: its tasks as nodes, its threads, its series, and its C source."""

from __future__ import annotations

import functools
import math
from collections.abc import Collection
from itertools import count
from statistics import NormalDist
from string import ascii_letters, digits
from typing import TYPE_CHECKING

from msgspec import Struct

from hati.core import InputError, replace
from hati.generate.task_set import TaskSet, receives
from hati.generate.tasks import (
    CALIBRATED,
    TIMED,
    CodeLoad,
    CpuLoad,
    DiskLoad,
    Kernel,
    LoadTask,
    Loop,
    MachineTaskSet,
    MemoryAccess,
    MemoryLoad,
    NetworkLoad,
    Parallel,
    Sensor,
    Until,
    UseTask,
    children,
)

if TYPE_CHECKING:
    import jinja2


_POSSIBLE_NS = (10.0, 1e6)
"""The CPU times of a unit of work that machines may have: a unit is some 300 ns to 1 us on one of 2023."""
_LEAST_UNITS = 0.5
UNSTABLE = 0.05
"""Largest error of a demand, or departure from linearity, of a kernel that is stable."""


class DemandCheck(Struct, frozen=True):
    """A demand that was executed between calibrations.

    ``error`` is the median of its CPU times relative to the calibrated time of its units, minus 1; ``cv`` is the
    coefficient of variation of these CPU times.

    Raises:
        InputError: for a demand that is not positive, or an error or variation that no times have.
    """

    demand_ms: float
    error: float
    cv: float

    def __post_init__(self) -> None:
        if not (0.0 < self.demand_ms < math.inf and -1.0 <= self.error < math.inf and 0.0 <= self.cv < math.inf):
            numbers = f"a demand of {self.demand_ms:g} ms with error {self.error:g} and variation {self.cv:g}"
            raise InputError(f"{numbers} was not measured", fix="calibrate again")


class KernelCalibration(Struct, frozen=True):
    """The CPU time of a unit of a kernel's work.

    ``ns_per_unit`` is a median over executions, ``cv`` their coefficient of variation. ``linearity`` is the CPU time
    of a unit in the longest demand relative to that in the shortest, minus 1. ``drift`` is the change of the CPU time
    of a unit since the calibration shortly before.

    Raises:
        InputError: for a kernel without units, or numbers that no measurement has.
    """

    kernel: Kernel
    ns_per_unit: float
    cv: float = 0.0
    linearity: float = 0.0
    drift: float = 0.0
    checks: tuple[DemandCheck, ...] = ()

    def __post_init__(self) -> None:
        if self.kernel not in CALIBRATED:
            raise InputError(f"the kernel {self.kernel} has no units of work", fix="leave it out")
        low, high = _POSSIBLE_NS
        if not low <= self.ns_per_unit <= high:
            raise InputError(
                f"the kernel {self.kernel} has `ns_per_unit` {self.ns_per_unit:g}, beyond the {low:g} to {high:g} ns "
                "that a unit of work takes on any machine",
                fix="calibrate again",
            )
        if not (self.cv >= 0.0 and self.linearity >= -1.0 and self.drift >= -1.0):
            raise InputError(
                f"the kernel {self.kernel} has `cv` {self.cv:g}, `linearity` {self.linearity:g} and `drift` "
                f"{self.drift:g}, of which the first is 0 or more and the others -1 or more",
                fix="calibrate again",
            )

    @property
    def largest_error(self) -> tuple[str, float]:
        """The linearity, or the error of a checked demand, whichever is farther from 0, with its name."""
        demands = ((f"error of {check.demand_ms:g} ms", check.error) for check in self.checks)
        return max((("linearity", self.linearity), *demands), key=lambda one: abs(one[1]))

    @property
    def stable(self) -> bool:
        """Whether work is linear, and every checked demand took its time, both within ``UNSTABLE``."""
        return abs(self.largest_error[1]) <= UNSTABLE


class Calibration(Struct, frozen=True):
    """Kernels calibrated on a machine, with the compiler and its flags: these determine the unit, too.

    Raises:
        InputError: if a kernel is there twice.
    """

    kernels: tuple[KernelCalibration, ...]
    machine: str = ""
    compiler: str = ""

    def __post_init__(self) -> None:
        names = [each.kernel for each in self.kernels]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise InputError(f"the kernel {twice} is there twice", fix="leave one out")

    def units(self, kernel: Kernel, demand_ms: float) -> int:
        """The number of units that take as long as the demand, at least one.

        Raises:
            InputError: if the kernel is not calibrated, or the demand is less than half of a unit.
        """
        for each in self.kernels:
            if each.kernel is kernel:
                units = demand_ms * 1e6 / each.ns_per_unit
                if units < _LEAST_UNITS:
                    raise InputError(
                        f"a demand of {demand_ms:g} ms is less than half of a unit of {kernel}, which takes "
                        f"{each.ns_per_unit:,.0f} ns by the calibration",
                        fix="enlarge the demand, or calibrate again",
                    )
                return max(1, round(units))
        raise InputError(f"the kernel {kernel} is not calibrated", fix="run `hati probe calibrate`")


FLAGS = ("-std=c11", "-O2", "-pthread")
"""The compiler flags of load programs; ``-O2`` is part of the definition of a unit of work."""
MOST_OBSERVATIONS = 1 << 20
"""The largest number of observations in a series; further ones are counted as lost."""
_OF_UNKNOWN = 1 << 18


class SeriesName(Struct, frozen=True):
    """The identity of a series: a sensor of a task in a thread."""

    task: str
    sensor: Sensor
    thread: int


class SensorBuffer(Struct, frozen=True):
    """A series with the number of observations that it can hold."""

    number: int
    name: SeriesName
    capacity: int


class EndOfLoop(Struct, frozen=True):
    """The end of a loop once the mean of a series is known; ``clock`` is the clock cost in its values.

    Student's quantile is a polynomial in 1 / (degrees of freedom), whose coefficients are ``quantile`` (Abramowitz and
    Stegun 1964, 26.7.5).
    """

    buffer: int
    clock: int | None
    margin: float
    least: int
    quantile: tuple[float, float, float, float]


class TaskNode(Struct, frozen=True):
    """A task at one place of its execution.

    ``stops`` are the enclosing parallels that stop with their first task, ``gaps`` the numbers of the buffers
    that a CPU load fills, with their thresholds in ns, and ``threads`` those of a parallel's tasks. ``end`` is that of
    a loop which a sensor ends.
    """

    number: int
    kind: str
    task: LoadTask
    thread: int
    stops: tuple[int, ...] = ()
    children: tuple[int, ...] = ()
    threads: tuple[int, ...] = ()
    response: int | None = None
    cpu: int | None = None
    utilisation: int | None = None
    gaps: tuple[tuple[int, int], ...] = ()
    end: EndOfLoop | None = None
    units: int = 0
    time_ns: int = 0
    outermost: bool = False

    @property
    def reads_cpu_time(self) -> bool:
        """Whether a sensor reads the CPU clock."""
        return self.cpu is not None or self.utilisation is not None

    @property
    def attributes(self) -> bool:
        """Whether it sets its thread's CPUs or scheduling."""
        return bool(self.task.cpus or self.task.policy or self.task.nice is not None)


class LoadThread(Struct, frozen=True):
    """A thread: the node that it executes, and the parallel that starts it (None: the role's first)."""

    number: int
    root: int
    parallel: int | None


class LoadProgram(Struct, frozen=True):
    """A machine task set as a program: nodes in the order of their numbers, threads, and series."""

    role: str
    nodes: tuple[TaskNode, ...]
    threads: tuple[LoadThread, ...]
    buffers: tuple[SensorBuffer, ...]
    receives: bool

    @property
    def kernels(self) -> frozenset[Kernel]:
        """The kernels that its CPU loads need."""
        return frozenset(node.task.kernel for node in self.nodes if isinstance(node.task, CpuLoad))

    @property
    def chases(self) -> tuple[TaskNode, ...]:
        """The nodes that chase pointers."""
        return self._accessing(MemoryAccess.CHASE)

    @property
    def triads(self) -> tuple[TaskNode, ...]:
        """The nodes that run the triad."""
        return self._accessing(MemoryAccess.TRIAD)

    @property
    def disks(self) -> tuple[TaskNode, ...]:
        """The nodes that load a disk."""
        return tuple(node for node in self.nodes if isinstance(node.task, DiskLoad))

    @property
    def codes(self) -> tuple[TaskNode, ...]:
        """The nodes that are C of their own."""
        return tuple(node for node in self.nodes if isinstance(node.task, CodeLoad))

    @property
    def headers(self) -> tuple[str, ...]:
        """The headers that this C includes, each once."""
        tasks = [node.task for node in self.nodes if isinstance(node.task, CodeLoad)]
        return tuple(dict.fromkeys(header for task in tasks for header in task.headers))

    @property
    def networks(self) -> tuple[TaskNode, ...]:
        """The nodes that load the network."""
        return tuple(node for node in self.nodes if isinstance(node.task, NetworkLoad))

    @property
    def peers(self) -> tuple[str, ...]:
        """The machine task sets to which its nodes send, in the order of their numbers."""
        return tuple(dict.fromkeys(node.task.peer for node in self.nodes if isinstance(node.task, NetworkLoad)))

    @property
    def exchanges(self) -> frozenset[str]:
        """The protocols and patterns of its network loads, such as ``tcp_stream``."""
        loads = [node.task for node in self.nodes if isinstance(node.task, NetworkLoad)]
        return frozenset(f"{load.protocol}_{load.pattern}" for load in loads)

    @property
    def ends(self) -> bool:
        """Whether a sensor ends one of its loops."""
        return any(node.end is not None for node in self.nodes)

    @property
    def utilisations(self) -> bool:
        """Whether a task has a utilisation sensor."""
        return any(node.utilisation is not None for node in self.nodes)

    @property
    def utilisations_of_a_thread(self) -> frozenset[int]:
        """The buffers of utilisations of tasks that start no threads, which use one CPU at most."""
        return frozenset(
            node.utilisation for node in self.nodes if node.utilisation is not None and not self._starts_threads(node)
        )

    def _starts_threads(self, node: TaskNode) -> bool:
        return bool(node.threads) or any(self._starts_threads(self.nodes[each]) for each in node.children)

    @property
    def scheduled(self) -> bool:
        """Whether a task sets its thread's CPUs or scheduling."""
        return any(node.attributes for node in self.nodes)

    @property
    def scheduled_roots(self) -> tuple[LoadThread, ...]:
        """The threads whose outermost tasks set CPUs or scheduling, once before the start."""
        return tuple(thread for thread in self.threads if self.nodes[thread.root].attributes)

    def stops_at_first(self, thread: LoadThread) -> bool:
        """Whether the end of a thread's task stops the parallel that started it."""
        parallel = None if thread.parallel is None else self.nodes[thread.parallel].task
        return isinstance(parallel, Parallel) and parallel.until is Until.FIRST

    def _accessing(self, access: MemoryAccess) -> tuple[TaskNode, ...]:
        return tuple(node for node in self.nodes if isinstance(node.task, MemoryLoad) and node.task.access is access)


def clock_in(name: SeriesName, names: Collection[SeriesName]) -> int | None:
    """The clock cost in a series' values: 0 of elapsed time, 1 of elapsed time with the CPU clock, 2 of CPU time."""
    if name.sensor is Sensor.CPU:
        return 2
    if name.sensor is not Sensor.RESPONSE:
        return None
    return int(any(replace(name, sensor=each) in names for each in (Sensor.CPU, Sensor.UTILISATION)))


def load_program(task_set: TaskSet, role: MachineTaskSet, calibration: Calibration | None = None) -> LoadProgram:
    """The program of a machine task set.

    Raises:
        InputError: if a demand needs a calibration that is missing.
    """
    building = _Building(task_set, calibration)
    if role.task is not None:
        building.thread(role.task, None, _Around())
    buffers = sorted(building.buffers.values(), key=lambda buffer: buffer.number)
    nodes = tuple(sorted(building.nodes, key=lambda node: node.number))
    return LoadProgram(role.name, nodes, tuple(building.threads), tuple(buffers), receives(task_set, role.name))


class _Building:
    """The program built so far: each task becomes a node at each place of its execution."""

    def __init__(self, task_set: TaskSet, calibration: Calibration | None) -> None:
        self.task_set = task_set
        self.calibration = calibration
        self.nodes: list[TaskNode] = []
        self.threads: list[LoadThread] = []
        self.buffers: dict[SeriesName, SensorBuffer] = {}
        self._numbers = count()

    def thread(self, task: LoadTask, parallel: int | None, around: _Around) -> int:
        """Add a thread that executes a task, and return its number."""
        number = len(self.threads)
        self.threads.append(LoadThread(number, -1, parallel))
        root = self._node(task, replace(around, thread=number, gaps=()), outermost=True)
        self.threads[number] = LoadThread(number, root, parallel)
        return number

    def _node(self, task: LoadTask, around: _Around, *, outermost: bool = False) -> int:
        number = next(self._numbers)
        buffers = {sensor: self._buffer(task, sensor, around) for sensor in task.sensors}
        gaps = around.gaps
        if Sensor.GAPS in buffers:
            gaps = (*gaps, (buffers[Sensor.GAPS], round(task.gap_us * 1000)))
        inside = replace(around, gaps=gaps)
        node = TaskNode(
            number,
            _kind(task),
            task,
            around.thread,
            around.stops,
            response=buffers.get(Sensor.RESPONSE),
            cpu=buffers.get(Sensor.CPU),
            utilisation=buffers.get(Sensor.UTILISATION),
            gaps=gaps,
            units=self._units(task),
            time_ns=_time_ns(task),
            outermost=outermost,
        )
        if isinstance(task, Parallel):
            stops = (*around.stops, number) if task.until is Until.FIRST else around.stops
            inside = replace(around, stops=stops)
            tasks = [each for each in task.tasks for _ in range(task.copies)]
            node = replace(node, threads=tuple(self.thread(each, number, inside) for each in tasks))
        else:
            inside = replace(inside, times=_times(task, around.times))
            inner = tuple(self._node(each, inside) for each in self._inner(task))
            node = replace(node, children=inner, end=self._end(task, around.thread))
        self.nodes.append(node)
        return number

    def _end(self, task: LoadTask, thread: int) -> EndOfLoop | None:
        if not isinstance(task, Loop) or task.until is None:
            return None
        until, name = task.until, SeriesName(task.until.task, task.until.sensor, thread)
        z = NormalDist().inv_cdf(0.5 + 0.5 * until.confidence)
        second, third = 5.0 * z**5 + 16.0 * z**3 + 3.0 * z, 3.0 * z**7 + 19.0 * z**5 + 17.0 * z**3 - 15.0 * z
        quantile = (z, (z**3 + z) / 4.0, second / 96.0, third / 384.0)
        return EndOfLoop(self.buffers[name].number, clock_in(name, self.buffers), until.margin, until.least, quantile)

    def _inner(self, task: LoadTask) -> tuple[LoadTask, ...]:
        if isinstance(task, UseTask):
            return (self.task_set.tasks[task.task],)
        return tuple(each for _, each in children(task))

    def _buffer(self, task: LoadTask, sensor: Sensor, around: _Around) -> int:
        """The number of a sensor's buffer in a thread, which is enlarged for the executions at this place."""
        name = SeriesName(task.name, sensor, around.thread)
        known = self.buffers.get(name)
        room = _OF_UNKNOWN if around.times is None or sensor is Sensor.GAPS else around.times
        number, before = (len(self.buffers), 0) if known is None else (known.number, known.capacity)
        self.buffers[name] = SensorBuffer(number, name, min(MOST_OBSERVATIONS, before + room))
        return number

    def _units(self, task: LoadTask) -> int:
        if not isinstance(task, CpuLoad) or task.kernel in TIMED:
            return 0
        if task.demand_ms is None:
            return task.units or 0
        if self.calibration is None:
            raise InputError(f"the kernel {task.kernel} is not calibrated", fix="run `hati probe calibrate`")
        return self.calibration.units(task.kernel, task.demand_ms)


class _Around(Struct, frozen=True):
    """The context of a task: thread, parallels that may stop it, gaps sensors, executions (None: unknown)."""

    thread: int = 0
    stops: tuple[int, ...] = ()
    gaps: tuple[tuple[int, int], ...] = ()
    times: int | None = 1


def _times(task: LoadTask, times: int | None) -> int | None:
    if not isinstance(task, Loop):
        return times
    return None if times is None or task.count is None else times * task.count


def _time_ns(task: LoadTask) -> int:
    if isinstance(task, CpuLoad) and task.kernel in TIMED:
        return round((task.demand_ms or 0.0) * 1e6)
    return round((task.duration_ms or 0.0) * 1e6) if isinstance(task, Loop) else 0


def _kind(task: LoadTask) -> str:
    return str(type(task).__struct_config__.tag)


def source(program: LoadProgram) -> str:
    """The C11 source of a load program."""
    return _environment().get_template("load.c.j2").render(program=program) + "\n"


def with_kernels(text: str) -> str:
    """The text with the kernels of load programs in place of ``#include "kernels.h"``."""
    return text.replace('#include "kernels.h"', _environment().get_template("kernels.h").render())


@functools.cache
def _environment() -> jinja2.Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("hati.generate", "templates"),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701 - C, not HTML
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"c_string": c_string, "comment": comment}
    return environment


def c_string(text: str) -> str:
    r"""A string literal of C that holds the text in UTF-8.

    >>> print(c_string('a"b?'))
    "a\\042b\\077"
    """
    return '"' + "".join(chr(byte) if byte in _PLAIN else f"\\{byte:03o}" for byte in text.encode()) + '"'


def comment(text: str) -> str:
    """The text with question marks in place of special characters, so that it cannot end a comment."""
    return "".join(each if each in f"{ascii_letters}{digits} .-_" else "?" for each in text)


_PLAIN = frozenset(f"{ascii_letters}{digits} ./_-".encode())
