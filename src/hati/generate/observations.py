"""The observations of sensors, and the calibration of kernels, from load programs' output to tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core.wording import counted
from hati.document.document import Align, Cell, Column, Shown, Table, change, columns_of, percent, quantity
from hati.document.publishing import publish
from hati.generate import UNSTABLE, Calibration, KernelCalibration
from hati.generate.program import LoadProgram, clock_in
from hati.generate.tasks import Sensor

Nanoseconds = NDArray[np.int64]
_CPU = 1_000_000_000
"""A whole CPU, in the unit of utilisations."""


class SensorSeries(Struct, frozen=True, eq=False):
    """The observations of one sensor of a task in one thread, in order.

    ``starts`` are in ns since the common start, ``values`` in ns less the cost of the clock, never below 0; those of a
    utilisation are in billionths of a CPU.
    ``lost`` is the number of observations for which there was no room. ``limited`` is that of utilisations of one
    thread above a CPU, which have the value of one CPU: the costs of the clocks vary.
    """

    role: str
    task: str
    sensor: Sensor
    thread: int
    starts: Nanoseconds
    values: Nanoseconds
    lost: int = 0
    limited: int = 0


class ClockCosts(Struct, frozen=True):
    """The readings of sensors around nothing, in ns; they are subtracted from observations.

    ``response`` is elapsed time, ``response_beside_cpu`` that of a task with a CPU sensor, too, and ``cpu`` CPU time.
    """

    response: int = 0
    response_beside_cpu: int = 0
    cpu: int = 0


class MachineClock(Struct, frozen=True):
    """The monotonic clock of another machine less that of this one, in ns, before the start; and its largest error."""

    offset: int = 0
    uncertainty: int = 0


class LoadObservations(Struct, frozen=True, eq=False):
    """The series of an experiment, and the cost of the clocks, of each role by its name.

    ``messages_lost`` is the number of UDP messages that were not answered within a second, and ``wide`` that of loops
    which reached their limit before the interval that should end them was narrow. ``machines`` has the clocks of other
    machines, by their names, and ``late`` by how many ns the first task of a role began after the common time.
    ``children_cpu`` is the CPU time in ns of the processes that C of a role started and waited for, if it did: it is in
    no series.
    """

    series: tuple[SensorSeries, ...]
    clocks: dict[str, ClockCosts] = {}
    messages_lost: int = 0
    wide: int = 0
    machines: dict[str, MachineClock] = {}
    late: dict[str, int] = {}
    children_cpu: dict[str, int] = {}

    def named(self, task: str, sensor: Sensor) -> tuple[SensorSeries, ...]:
        """The series of a task's sensor, of each role and thread."""
        return tuple(each for each in self.series if (each.task, each.sensor) == (task, sensor))

    def values(self, task: str, sensor: Sensor) -> Nanoseconds:
        """The values of a task's sensor, of all roles and threads."""
        found = [each.values for each in self.named(task, sensor)]
        return np.concatenate(found) if found else np.empty(0, np.int64)


class RoleReport(Struct, frozen=True, eq=False):
    """The report of a load program: its observations, and why it ended early (empty: it did not)."""

    observations: LoadObservations
    problem: str = ""


def read_report(program: LoadProgram, text: str) -> RoleReport:
    """The report in a program's output; a series that is cut off keeps its complete lines."""
    lines = iter(text.splitlines())
    clocks, series = ClockCosts(), list[SensorSeries]()
    problem, end, messages_lost, wide = "", "", 0, 0
    late, children_cpu = dict[str, int](), dict[str, int]()
    for line in lines:
        word, _, rest = line.partition(" ")
        if word == "clocks":
            clocks = ClockCosts(*map(int, rest.split()))
        elif word == "series":
            number, count, lost = map(int, rest.split())
            series.append(_series(program, number, _pairs(islice(lines, count)), lost, clocks))
        elif word == "late":
            late = {program.role: int(rest)}
        elif word == "children" and int(rest):
            children_cpu = {program.role: int(rest)}
        elif word == "lost":
            messages_lost = int(rest)
        elif word == "wide":
            wide = int(rest)
        elif word == "error":
            problem = rest
        elif word == "end":
            end = rest
    observations = LoadObservations(
        tuple(series), {program.role: clocks}, messages_lost, wide, late=late, children_cpu=children_cpu
    )
    return RoleReport(observations, problem or _ending(end))


def _pairs(lines: Iterable[str]) -> Nanoseconds:
    found = [line.split() for line in lines]
    return np.array([pair for pair in found if len(pair) == 2], np.int64).reshape(-1, 2)


def _series(program: LoadProgram, number: int, pairs: Nanoseconds, lost: int, clocks: ClockCosts) -> SensorSeries:
    name = program.buffers[number].name
    clock = clock_in(name, [each.name for each in program.buffers])
    cost = 0 if clock is None else (clocks.response, clocks.response_beside_cpu, clocks.cpu)[clock]
    values = np.maximum(pairs[:, 1] - cost, 0)
    above = values > _CPU if number in program.utilisations_of_a_thread else np.zeros(values.size, np.bool)
    values = np.where(above, _CPU, values)
    return SensorSeries(program.role, name.task, name.sensor, name.thread, pairs[:, 0], values, lost, int(above.sum()))


def _ending(end: str) -> str:
    word, _, number = end.partition(" ")
    if word == "signal":
        return f"it was killed by signal {number}"
    if not word:
        return "it ended without a report"
    return "" if number == "0" else f"it ended with exit status {number}"


def joined(found: Sequence[LoadObservations]) -> LoadObservations:
    """The observations of several roles."""
    clocks = {role: costs for each in found for role, costs in each.clocks.items()}
    series = tuple(series for each in found for series in each.series)
    late = {role: ns for each in found for role, ns in each.late.items()}
    children_cpu = {role: ns for each in found for role, ns in each.children_cpu.items()}
    messages_lost, wide = sum(each.messages_lost for each in found), sum(each.wide for each in found)
    return LoadObservations(series, clocks, messages_lost, wide, late=late, children_cpu=children_cpu)


QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)
_SHOWN = {"min": 0.0, "median": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}
_TITLES = {
    Sensor.RESPONSE: "response time",
    Sensor.CPU: "CPU time",
    Sensor.UTILISATION: "utilisation",
    Sensor.GAPS: "gaps",
}
_RIGHT = Align.RIGHT
_BILLIONTH = 1e-9


class ClockCostsJson(Struct, frozen=True):
    """What the sensors of a role read around nothing, in ns; it is subtracted from what they observe."""

    response: int
    response_beside_cpu: int
    cpu: int


class SensorSummaryJson(Struct, frozen=True):
    """The observations of a task's sensor over all its threads: their number, and their quantiles in ns.

    Those of a utilisation are in CPUs.

    ``lost`` is the number of observations for which the load program had no room, ``limited`` that of utilisations of
    one thread above a CPU, which count as one.
    """

    role: str
    task: str
    sensor: Sensor
    threads: int
    observations: int
    lost: int
    limited: int
    mean: float | None
    quantiles: dict[str, float]


class MachineClockJson(Struct, frozen=True):
    """The monotonic clock of another machine less that of this one, in ns, and its largest error."""

    offset: int
    uncertainty: int


class LoadRunJson(Struct, frozen=True, tag_field="format", tag="hati-probe-run-1"):
    """An experiment: what its sensors observed, and the folder with its programs and raw observations.

    ``wide`` is the number of loops that reached their limit before the interval that should end them was narrow.
    ``machines`` are the other machines that took part. ``late`` is by how many ns the first task of a role began after
    the common time. ``children_cpu`` is the CPU time in ns of processes that C of a role started and waited for, which
    no sensor counts.
    """

    task_set: str
    folder: str
    clocks: dict[str, ClockCostsJson]
    sensors: list[SensorSummaryJson]
    messages_lost: int
    wide: int
    problem: str
    machines: dict[str, MachineClockJson]
    late: dict[str, int]
    warnings: list[str]
    children_cpu: dict[str, int]


def load_run_json(
    name: str, folder: str, found: LoadObservations, problem: str, warnings: Sequence[str] = ()
) -> LoadRunJson:
    """The published result of an experiment; ``problem`` says why it ended early, and is empty if it did not."""
    clocks = {role: publish(costs, ClockCostsJson) for role, costs in found.clocks.items()}
    machines = {machine: publish(clock, MachineClockJson) for machine, clock in found.machines.items()}
    sensors = [_summary(each) for each in by_sensor(found)]
    return LoadRunJson(
        name,
        folder,
        clocks,
        sensors,
        found.messages_lost,
        found.wide,
        problem,
        machines,
        found.late,
        list(warnings),
        found.children_cpu,
    )


def sensor_title(sensor: Sensor) -> str:
    """The name of what a sensor observes, for people."""
    return _TITLES[sensor]


def _is_utilisation(each: SensorSeries | SensorSummaryJson) -> bool:
    return each.sensor is Sensor.UTILISATION


def by_sensor(found: LoadObservations) -> list[list[SensorSeries]]:
    """The series of each sensor, those of several threads together."""
    groups: dict[tuple[str, str, Sensor], list[SensorSeries]] = {}
    for each in found.series:
        groups.setdefault((each.role, each.task, each.sensor), []).append(each)
    return list(groups.values())


def _summary(series: Sequence[SensorSeries]) -> SensorSummaryJson:
    values = np.concatenate([each.values for each in series]) * (_BILLIONTH if _is_utilisation(series[0]) else 1)
    quantiles = np.quantile(values, QUANTILES) if values.size else ()
    return SensorSummaryJson(
        series[0].role,
        series[0].task,
        series[0].sensor,
        len(series),
        int(values.size),
        sum(each.lost for each in series),
        sum(each.limited for each in series),
        float(values.mean()) if values.size else None,
        {f"{share:g}": float(value) for share, value in zip(QUANTILES, quantiles, strict=bool(values.size))},
    )


def load_run_table(run: LoadRunJson) -> Table:
    """The quantiles of each sensor."""
    roles = len(run.clocks) > 1
    columns = (
        *([Column("role")] if roles else []),
        *columns_of("task | sensor | > n"),
        *(Column(name, align=_RIGHT) for name in _SHOWN),
    )
    rows = tuple((*([each.role] if roles else []), *_row(each)) for each in run.sensors)
    return Table(f"{run.task_set}: observations of its sensors", columns, rows, tuple(_notes(run)))


def _row(each: SensorSummaryJson) -> tuple[Cell, ...]:
    values = (each.quantiles.get(f"{share:g}") for share in _SHOWN.values())
    words = percent if _is_utilisation(each) else _time
    cells = (None if value is None else Shown(words(value), value) for value in values)
    return each.task, _TITLES[each.sensor], each.observations, *cells


def _time(ns: float) -> str:
    return quantity(ns * 1e-9, "s")


def _notes(run: LoadRunJson) -> Iterator[str]:
    for role, each in run.clocks.items():
        of = f" in {role}" if len(run.clocks) > 1 else ""
        measured = {summary.sensor for summary in run.sensors if summary.role == role}
        cpu = f" ({each.response_beside_cpu} ns beside a CPU sensor) and {each.cpu} ns of a CPU time"
        costs_text = f"{each.response} ns of a response time{cpu if Sensor.CPU in measured else ''}"
        yield f"Clock cost subtracted{of}: {costs_text}."
    yield from _starts(run)
    for sensor in run.sensors:
        if sensor.lost:
            lost = f"{counted(sensor.lost, 'observation')} of {_TITLES[sensor.sensor]}"
            yield f"{sensor.task}: {lost} lost, as the buffer was full."
        if sensor.limited:
            of = f"{sensor.limited} of {counted(sensor.observations, 'utilisation')}"
            yield (
                f"{sensor.task}: {of} were above 100 %, and are shown as 100 %: the task is about as short as the "
                "reading of the clocks."
            )
    for role, ns in run.children_cpu.items():
        if any(each.role == role and each.sensor in {Sensor.CPU, Sensor.UTILISATION} for each in run.sensors):
            yield f"{role}: processes that its C started had {_time(ns)} of CPU time, which its sensors do not count."
    if run.messages_lost:
        yield f"UDP: {counted(run.messages_lost, 'message')} without an answer within a second."
    if run.wide:
        yield f"Ended by its limit, while the interval that should end it was wide: {counted(run.wide, 'loop')}."
    yield f"Programs and raw observations: {run.folder}"


def _starts(run: LoadRunJson) -> Iterator[str]:
    """Whether all machines began at one time, within the error of their clocks; nothing where no task began."""
    error = max((clock.uncertainty for clock in run.machines.values()), default=0)
    late = {role: ns for role, ns in run.late.items() if ns > error}
    if run.machines and late:
        each = ", ".join(f"{role} began {_time(ns)} late" for role, ns in late.items())
        yield f"No common start: {each}; the clocks are known within {_time(error)}."
    elif run.late:
        for machine, clock in run.machines.items():
            yield f"Machine {machine}: it began at the same time, within {_time(clock.uncertainty)}."


def observation_rows(found: LoadObservations) -> Iterator[str]:
    """The lines of a CSV file of all observations, in ns; utilisations are in billionths of a CPU."""
    yield "role,task,sensor,thread,start_ns,value_ns\n"
    for each in found.series:
        head = ",".join([_csv(each.role), _csv(each.task), each.sensor, str(each.thread)])
        for start, value in zip(each.starts.tolist(), each.values.tolist(), strict=True):
            yield f"{head},{start},{value}\n"


def _csv(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',"\r\n') else text


class CalibratedDemandJson(Struct, frozen=True):
    """A demand that was executed between calibrations."""

    demand_ms: float
    error: float
    cv: float


class KernelCalibrationJson(Struct, frozen=True):
    """The CPU time of a unit of a kernel's work, and whether demands take what they should."""

    kernel: str
    ns_per_unit: float
    cv: float
    linearity: float
    drift: float
    stable: bool
    checks: list[CalibratedDemandJson]


class CalibrationJson(Struct, frozen=True, tag_field="format", tag="hati-probe-calibrate-1"):
    """The calibration of a machine."""

    machine: str
    compiler: str
    kernels: list[KernelCalibrationJson]


def calibration_table(made: Calibration) -> Table:
    """The kernels with the errors of the demands."""
    demands = [check.demand_ms for check in made.kernels[0].checks] if made.kernels else []
    columns = (
        *columns_of("kernel | > unit | > CV | > drift | > linearity"),
        *(Column(f"{demand:g} ms", align=_RIGHT) for demand in demands),
        Column("verdict"),
    )
    notes = (
        "Unit: median CPU time. CV: of its executions. Drift: since the calibration before. Linearity: longest"
        " against shortest demand.",
        f"Demands: median CPU time against the demand. Unstable: an error or the linearity is beyond"
        f" {percent(UNSTABLE)}; the largest follows.",
    )
    return Table("Calibration", columns, tuple(map(_calibrated, made.kernels)), notes)


def _calibrated(each: KernelCalibration) -> tuple[Cell, ...]:
    name, error = each.largest_error
    verdict = "stable" if each.stable else f"unstable, {name} {change(error)}"
    return (
        each.kernel.value,
        Shown(quantity(each.ns_per_unit * 1e-9, "s"), each.ns_per_unit),
        Shown(percent(each.cv), each.cv),
        Shown(change(each.drift), each.drift),
        Shown(change(each.linearity), each.linearity),
        *(Shown(change(check.error), check.error) for check in each.checks),
        verdict,
    )
