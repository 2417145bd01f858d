"""The C source of load programs, as it was recorded: ``python test_generated_code.py`` records it again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hati.core import InputError
from hati.driver import compile_and_run
from hati.generate import (
    Calibration,
    CpuLoad,
    DiskLoad,
    DiskOperation,
    Kernel,
    KernelCalibration,
    LoadProgram,
    Loop,
    MachineTaskSet,
    Parallel,
    Sensor,
    SeriesName,
    TaskSet,
    load_program,
    parse_task_set,
    source,
)

GOLDEN = Path(__file__).parent / "golden"
CALIBRATION = Calibration(
    tuple(
        KernelCalibration(kernel, ns)
        for kernel, ns in zip((Kernel.MANDELBROT, Kernel.SORT, Kernel.MEMORY), (400.0, 1500.0, 800.0), strict=True)
    )
)
MODELS = {
    "spinners": """\
name: Two spinners on one core
machines: [here]
roles:
  - name: spinners
    machine: here
    task:
      do: parallel
      copies: 2
      tasks:
        - {do: cpu, kernel: spin, demand_ms: 200, name: spin, sensors: [gaps, response], cpus: [0]}
""",
    "loads": """\
name: Every load
machines: [here]
roles:
  - name: client
    machine: here
    task:
      do: loop
      count: 10
      task:
        do: sequence
        tasks:
          - {do: cpu, kernel: mandelbrot, demand_ms: 2, name: work, sensors: [response, cpu]}
          - {do: cpu, kernel: sort, demand_ms: 3, name: sort, sensors: [gaps], gap_us: 100}
          - {do: memory, access: chase, bytes: 32768, count: 100}
          - {do: memory, access: triad, bytes: 49152}
          - {do: disk, operation: append_sync, bytes: 4096, file_bytes: 65536, name: disk, sensors: [response]}
          - {do: network, peer: server, protocol: tcp, pattern: stream, bytes: 1024, count: 4}
          - do: parallel
            until: first
            tasks:
              - {do: loop, task: {do: use, task: background}, policy: batch, nice: 5}
              - {do: cpu, kernel: wait, demand_ms: 1}
  - name: server
    machine: here
tasks:
  background: {do: cpu, kernel: memory, units: 100}
""",
    "narrow": """\
name: Until the means of two sensors are known
machines: [here]
roles:
  - name: worker
    machine: here
    task:
      do: loop
      count: 5000
      until: {task: both, sensor: utilisation, margin: 0.05, least: 12}
      task:
        do: sequence
        name: both
        sensors: [utilisation]
        tasks:
          - do: loop
            duration_ms: 200
            until: {task: work, sensor: response, margin: 0.02, confidence: 0.99}
            task: {do: cpu, kernel: mandelbrot, units: 50, name: work, sensors: [response, cpu]}
          - {do: cpu, kernel: wait, demand_ms: 0.2}
""",
    "code": """\
name: Own code
machines: [here]
roles:
  - name: only
    machine: here
    task:
      do: loop
      count: 5
      task:
        do: code
        headers: [sys/utsname.h]
        declare: struct utsname name;
        prepare: if (uname(&own->name) != 0) fail("cannot read the name");
        execute: |
          for (int i = 0; i < 3 && going_on; i++)
              uname(&own->name);
        clean_up: own->name.machine[0] = 0;
        name: uname
        sensors: [response]
""",
}


def sources() -> dict[str, str]:
    found = {}
    for name, text in MODELS.items():
        task_set = parse_task_set(text)
        for role in task_set.roles:
            found[f"{name}-{role.name}.c"] = source(load_program(task_set, role, CALIBRATION))
    return found


def test_the_generated_code_is_the_recorded_one() -> None:
    assert {file.name: file.read_text() for file in GOLDEN.iterdir()} == sources()


@pytest.mark.parametrize("name", ["loads-client.c", "spinners-spinners.c"])
def test_measured_parts_call_nothing_but_the_load_and_the_clock(name: str) -> None:
    """Between the reads of the clock of a task with a response sensor there is its body alone."""
    measured = re.findall(r"uint64_t start = now\(\);\n(.*?)uint64_t end = now\(\);", sources()[name], re.DOTALL)
    assert measured
    assert all(re.fullmatch(r"\s*body_\d+\(self\);\s*", each) for each in measured)


def test_a_demand_becomes_the_units_that_take_it() -> None:
    made = sources()["loads-client.c"]
    assert "work_mandelbrot(self, 5000u);" in made
    assert "unit < 2000u" in made


def test_a_demand_needs_its_kernel_calibrated() -> None:
    role = MachineTaskSet("a", "here", CpuLoad(Kernel.FIBONACCI, demand_ms=1.0))
    task_set = TaskSet("x", ("here",), (role,))
    for calibration in (None, CALIBRATION):
        with pytest.raises(InputError, match="fibonacci is not calibrated; run `hati probe calibrate`"):
            load_program(task_set, role, calibration)


def test_names_and_folders_cannot_become_code() -> None:
    evil = '*/ system("x"); /*\\\n'
    disk = DiskLoad(DiskOperation.READ, 4096, 8192, name=evil, sensors=(Sensor.CPU,), directory='/"; system("x");')
    role = MachineTaskSet(evil, "here", disk)
    made = source(load_program(TaskSet(evil, ("here",), (role,)), role))
    assert "system(" not in made
    assert r'"/\042\073 system\050\042x\042\051\073"' in made


def program(task: CpuLoad | Loop | Parallel) -> LoadProgram:
    role = MachineTaskSet("a", "here", task)
    return load_program(TaskSet("x", ("here",), (role,)), role)


def test_there_is_room_for_every_execution() -> None:
    work = CpuLoad(Kernel.SORT, units=1, name="work", sensors=(Sensor.RESPONSE,))
    inner = Loop(work, count=7)
    made = program(Parallel((Loop(inner, count=3), work), copies=2))
    rooms = {buffer.name: buffer.capacity for buffer in made.buffers}
    assert rooms == {SeriesName("work", Sensor.RESPONSE, n): room for n, room in enumerate((21, 21, 1, 1), 1)}
    (unknown,) = program(Loop(inner, duration_ms=5)).buffers
    assert unknown.capacity > 100_000


@pytest.mark.acceptance
def test_sanitizers_find_nothing_in_a_program_of_every_load(tmp_path: Path) -> None:
    flags = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g", "-Wall", "-Wextra", "-Werror")
    for name, text in MODELS.items():
        observed = compile_and_run(parse_task_set(text), tmp_path / name, CALIBRATION, flags=flags)
        if name != "narrow":  # how many observations it makes depends on what else the machine does
            assert all(series.lost == 0 for series in observed.series)
        assert not list((tmp_path / name).rglob("core*"))


if __name__ == "__main__":
    for name, text in sources().items():
        (GOLDEN / name).write_text(text)
