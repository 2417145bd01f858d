"""Load programs on this machine: compiled, run, observed."""

from __future__ import annotations

from pathlib import Path

import pytest

from hati.driver import LoadDriverError, compile_and_run
from hati.generate import (
    CpuLoad,
    DiskLoad,
    DiskOperation,
    Kernel,
    LoadObservations,
    LoadTask,
    Loop,
    MachineTaskSet,
    MemoryAccess,
    MemoryLoad,
    Parallel,
    Sensor,
    Sequence,
    TaskSet,
    Until,
)

BOTH = (Sensor.RESPONSE, Sensor.CPU)


def one(task: LoadTask) -> TaskSet:
    return TaskSet("test", ("here",), (MachineTaskSet("only", "here", task),))


def test_every_execution_of_every_sensor_is_observed(tmp_path: Path) -> None:
    work = [
        CpuLoad(kernel, units=50, name=kernel.value, sensors=BOTH)
        for kernel in (Kernel.MANDELBROT, Kernel.FIBONACCI, Kernel.SORT, Kernel.MEMORY)
    ]
    rest = (
        MemoryLoad(MemoryAccess.CHASE, 1 << 14, 100, name="chase", sensors=BOTH),
        MemoryLoad(MemoryAccess.TRIAD, 1 << 14, 2, name="triad", sensors=BOTH),
        DiskLoad(DiskOperation.WRITE, 4096, 1 << 14, name="disk", sensors=BOTH),
        CpuLoad(Kernel.SPIN, demand_ms=0.1, name="spin", sensors=BOTH),
        CpuLoad(Kernel.WAIT, demand_ms=0.1, name="wait", sensors=BOTH),
    )
    observed = compile_and_run(one(Loop(Sequence((*work, *rest)), count=7)), tmp_path)
    for task in (*work, *rest):
        for sensor in BOTH:
            (series,) = observed.named(task.name, sensor)
            assert len(series.values) == len(series.starts) == 7
            assert (series.starts[1:] > series.starts[:-1]).all()
    assert (observed.values("spin", Sensor.RESPONSE) >= 99_000).all()
    assert (observed.values("wait", Sensor.CPU) < observed.values("wait", Sensor.RESPONSE)).all()
    assert observed.clocks["only"].response > 0


def test_the_end_of_one_stops_the_others(tmp_path: Path) -> None:
    endless = Loop(CpuLoad(Kernel.SPIN, demand_ms=0.05, name="endless", sensors=(Sensor.RESPONSE,)))
    short = CpuLoad(Kernel.SPIN, demand_ms=20, name="short", sensors=BOTH)
    observed = compile_and_run(one(Parallel((endless, short), until=Until.FIRST)), tmp_path)
    assert len(observed.values("short", Sensor.CPU)) == 1
    assert len(observed.values("endless", Sensor.RESPONSE)) > 1


def test_what_was_observed_before_a_failure_is_kept(tmp_path: Path) -> None:
    first = CpuLoad(Kernel.MANDELBROT, units=10, name="first", sensors=(Sensor.RESPONSE,))
    never = CpuLoad(Kernel.WAIT, demand_ms=60_000)
    with pytest.raises(LoadDriverError, match="did not end within") as caught:
        compile_and_run(one(Sequence((Loop(first, count=5), never))), tmp_path, timeout=0.3)
    assert isinstance(caught.value.observations, LoadObservations)
    assert len(caught.value.observations.values("first", Sensor.RESPONSE)) == 5
    assert "series 0 5 0" in (tmp_path / "role-0" / "observations.txt").read_text()
