"""Calibration: the CPU time of a unit of each kernel's work on this machine, and a check of demands.

The calibration is an experiment like others. Executions of the demands alternate with those that calibrate, so that a
machine whose speed drifts (as that of shared machines does) does not make work look non-linear.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

import numpy as np

from hati.driver.compiling import LoadDriverError, compiler
from hati.driver.running import compile_and_run
from hati.generate import (
    CALIBRATED,
    Calibration,
    CpuLoad,
    DemandCheck,
    Kernel,
    KernelCalibration,
    LoadTask,
    Loop,
    MachineTaskSet,
    Sensor,
    Sequence,
    TaskSet,
)

DEMANDS_MS = (0.1, 1.0, 5.0, 50.0)
EXECUTIONS = 30
_PILOT_UNITS = 2_000
_CALIBRATING_MS = 5.0


def calibrate(folder: Path, kernels: Iterable[Kernel] = CALIBRATED, *, machine: str = "") -> Calibration:
    """Calibrate kernels on this machine.

    Args:
        folder: the folder of the experiments; created if it does not exist.
        kernels: the kernels to calibrate.
        machine: the identity of the machine.

    Raises:
        LoadDriverError: if the experiments cannot be run.
    """
    chosen = tuple(kernels)
    pilot = _measured(folder / "pilot", {_name(each): (each, _PILOT_UNITS) for each in chosen}, 9)
    first = Calibration(tuple(KernelCalibration(each, _per_unit(pilot, each, _PILOT_UNITS)) for each in chosen))
    units = {(each, demand): first.units(each, demand) for each in chosen for demand in (*DEMANDS_MS, _CALIBRATING_MS)}
    works = {_name(each): (each, units[each, _CALIBRATING_MS]) for each in chosen}
    before = _measured(folder / "before", works, EXECUTIONS)
    checked = {
        _name(each, demand): (each, units[each, demand or _CALIBRATING_MS])
        for each in chosen
        for demand in (None, *DEMANDS_MS)
    }
    found = _measured(folder / "checked", checked, EXECUTIONS)
    made = []
    for each in chosen:
        work = units[each, _CALIBRATING_MS]
        ns, ns_before = _per_unit(found, each, work), _per_unit(before, each, work)
        checks = tuple(_check(found[_name(each, demand)], demand, units[each, demand] * ns) for demand in DEMANDS_MS)
        shortest, *_, longest = checks
        linearity = (1 + longest.error) / (1 + shortest.error) - 1
        made.append(KernelCalibration(each, ns, _cv(found[_name(each)]), linearity, ns / ns_before - 1, checks))
    return Calibration(tuple(made), machine, compiler())


_Times = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


def _measured(folder: Path, works: dict[str, tuple[Kernel, int]], times: int) -> dict[str, _Times]:
    """The CPU times in ns of each work; all works run one after the other, ``times`` times.

    One unmeasured execution precedes those of each kernel, to warm up the caches.
    """
    tasks: tuple[LoadTask, ...] = ()
    for kernel, group in groupby(works.items(), key=lambda work: work[1][0]):
        named = list(group)
        warming = CpuLoad(kernel, units=named[0][1][1])
        measured = (CpuLoad(kernel, units=units, name=name, sensors=(Sensor.CPU,)) for name, (_, units) in named)
        tasks = (*tasks, warming, *measured)
    role = MachineTaskSet("calibration", "here", Loop(Sequence(tasks), count=times))
    observed = compile_and_run(TaskSet("calibration", ("here",), (role,)), folder)
    found = {name: observed.values(name, Sensor.CPU) for name in works}
    for name, values in found.items():
        if not (values > 0).all():
            raise LoadDriverError(f"the CPU time of {name} is 0", "see whether the machine's CPU clock works", observed)
    return found


def _name(kernel: Kernel, demand: float | None = None) -> str:
    return f"{kernel}" if demand is None else f"{kernel} {demand:g} ms"


def _per_unit(found: dict[str, _Times], kernel: Kernel, units: int) -> float:
    return float(np.median(found[_name(kernel)])) / units


def _check(values: _Times, demand_ms: float, expected_ns: float) -> DemandCheck:
    return DemandCheck(demand_ms, float(np.median(values)) / expected_ns - 1, _cv(values))


def _cv(values: _Times) -> float:
    return float(values.std(ddof=1) / values.mean())
