"""The observations of an experiment's sensors, read from the output of load programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.generate.program import LoadProgram, clock_in
from hati.generate.tasks import Sensor

Nanoseconds = NDArray[np.int64]


class SensorSeries(Struct, frozen=True, eq=False):
    """The observations of one sensor of a task in one thread, in order.

    ``starts`` are in ns since the common start, ``values`` in ns less the cost of the clock, never below 0; those of a
    utilisation are in billionths of a CPU.
    ``lost`` is the number of observations for which there was no room.
    """

    role: str
    task: str
    sensor: Sensor
    thread: int
    starts: Nanoseconds
    values: Nanoseconds
    lost: int = 0


class ClockCosts(Struct, frozen=True):
    """The readings of sensors around nothing, in ns; they are subtracted from observations.

    ``response`` is elapsed time, ``response_beside_cpu`` that of a task with a CPU sensor, too, and ``cpu`` CPU time.
    """

    response: int = 0
    response_beside_cpu: int = 0
    cpu: int = 0


class LoadObservations(Struct, frozen=True, eq=False):
    """The series of an experiment, and the cost of the clocks, of each role by its name.

    ``messages_lost`` is the number of UDP messages that were not answered within a second, and ``wide`` that of loops
    which reached their limit before the interval that should end them was narrow.
    """

    series: tuple[SensorSeries, ...]
    clocks: dict[str, ClockCosts] = {}
    messages_lost: int = 0
    wide: int = 0

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
    for line in lines:
        word, _, rest = line.partition(" ")
        if word == "clocks":
            clocks = ClockCosts(*map(int, rest.split()))
        elif word == "series":
            number, count, lost = map(int, rest.split())
            series.append(_series(program, number, _pairs(islice(lines, count)), lost, clocks))
        elif word == "lost":
            messages_lost = int(rest)
        elif word == "wide":
            wide = int(rest)
        elif word == "error":
            problem = rest
        elif word == "end":
            end = rest
    observations = LoadObservations(tuple(series), {program.role: clocks}, messages_lost, wide)
    return RoleReport(observations, problem or _ending(end))


def _pairs(lines: Iterable[str]) -> Nanoseconds:
    found = [line.split() for line in lines]
    return np.array([pair for pair in found if len(pair) == 2], np.int64).reshape(-1, 2)


def _series(program: LoadProgram, number: int, pairs: Nanoseconds, lost: int, clocks: ClockCosts) -> SensorSeries:
    name = program.buffers[number].name
    clock = clock_in(name, [each.name for each in program.buffers])
    cost = 0 if clock is None else (clocks.response, clocks.response_beside_cpu, clocks.cpu)[clock]
    values = np.maximum(pairs[:, 1] - cost, 0)
    return SensorSeries(program.role, name.task, name.sensor, name.thread, pairs[:, 0], values, lost)


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
    return LoadObservations(series, clocks, sum(each.messages_lost for each in found), sum(each.wide for each in found))
