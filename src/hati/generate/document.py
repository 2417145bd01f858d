"""The observations of an experiment's sensors, and the calibration of kernels, as plain values and as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct

from hati.core.wording import counted
from hati.document.document import Align, Cell, Column, Shown, Table, change, columns_of, percent, quantity
from hati.document.publishing import publish
from hati.generate import UNSTABLE, Calibration, KernelCalibration, LoadObservations, Sensor, SensorSeries

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

    ``lost`` is the number of observations for which the load program had no room.
    """

    role: str
    task: str
    sensor: Sensor
    threads: int
    observations: int
    lost: int
    mean: float | None
    quantiles: dict[str, float]


class LoadRunJson(Struct, frozen=True, tag_field="format", tag="hati-probe-run-1"):
    """An experiment: what its sensors observed, and the folder with its programs and raw observations.

    ``wide`` is the number of loops that reached their limit before the interval that should end them was narrow.
    """

    task_set: str
    folder: str
    clocks: dict[str, ClockCostsJson]
    sensors: list[SensorSummaryJson]
    messages_lost: int
    wide: int
    problem: str


def load_run_json(name: str, folder: str, found: LoadObservations, problem: str) -> LoadRunJson:
    """The published result of an experiment; ``problem`` says why it ended early, and is empty if it did not."""
    clocks = {role: publish(costs, ClockCostsJson) for role, costs in found.clocks.items()}
    return LoadRunJson(
        name, folder, clocks, [_summary(each) for each in _by_sensor(found)], found.messages_lost, found.wide, problem
    )


def _is_utilisation(each: SensorSeries | SensorSummaryJson) -> bool:
    return each.sensor is Sensor.UTILISATION


def _by_sensor(found: LoadObservations) -> list[list[SensorSeries]]:
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
    for sensor in run.sensors:
        if sensor.lost:
            lost = f"{counted(sensor.lost, 'observation')} of {_TITLES[sensor.sensor]}"
            yield f"{sensor.task}: {lost} lost, as the buffer was full."
    if run.messages_lost:
        yield f"UDP: {counted(run.messages_lost, 'message')} without an answer within a second."
    if run.wide:
        yield f"Ended by its limit, while the interval that should end it was wide: {counted(run.wide, 'loop')}."
    yield f"Programs and raw observations: {run.folder}"


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
        f" {percent(UNSTABLE)}; the CV follows.",
    )
    return Table("Calibration", columns, tuple(map(_calibrated, made.kernels)), notes)


def _calibrated(each: KernelCalibration) -> tuple[Cell, ...]:
    verdict = "stable" if each.stable else f"unstable, CV {percent(max([each.cv, *(c.cv for c in each.checks)]))}"
    return (
        each.kernel.value,
        Shown(quantity(each.ns_per_unit * 1e-9, "s"), each.ns_per_unit),
        Shown(percent(each.cv), each.cv),
        Shown(change(each.drift), each.drift),
        Shown(change(each.linearity), each.linearity),
        *(Shown(change(check.error), check.error) for check in each.checks),
        verdict,
    )
