"""What the table of an experiment says of its start."""

from __future__ import annotations

import pytest

from hati.generate import (
    CpuLoad,
    Kernel,
    MachineClock,
    MachineTaskSet,
    Parallel,
    Sensor,
    Sequence,
    TaskSet,
    load_program,
    read_report,
)
from hati.generate.observations import LoadObservations, load_run_json, load_run_table

CLOCK = {"there": MachineClock(offset=5, uncertainty=70_530)}


@pytest.mark.parametrize(
    ("late", "note"),
    [
        ({"a": 1_600, "b": 2_000}, "Machine there: it began at the same time, within 70.53 µs."),
        (
            {"a": 1_600, "b": 601_000_000},
            "No common start: b began 601 ms late; the clocks are known within 70.53 µs.",
        ),
        (
            {"a": 100_000, "b": 200_000},
            "No common start: a began 100 µs late, b began 200 µs late; the clocks are known within 70.53 µs.",
        ),
        ({}, None),
    ],
)
def test_a_start_is_common_within_the_error_of_the_clocks_alone(late: dict[str, int], note: str | None) -> None:
    found = load_run_json("Start", "folder", LoadObservations((), machines=CLOCK, late=late), "")
    assert found.late == late
    *notes, _ = load_run_table(found).notes
    assert notes == ([] if note is None else [note])


def test_on_one_machine_nothing_is_said_of_clocks() -> None:
    found = load_run_json("Start", "folder", LoadObservations((), late={"a": 1_000_000}), "")
    assert len(load_run_table(found).notes) == 1


def test_a_thread_uses_one_cpu_at_most_however_short_its_task_is() -> None:
    """Costs of clocks vary, so that the CPU time of a short task can be more than the time that elapsed."""
    short = CpuLoad(Kernel.SORT, units=1, name="short", sensors=(Sensor.UTILISATION,))
    two = Parallel((CpuLoad(Kernel.SPIN, demand_ms=1),), copies=2, name="two", sensors=(Sensor.UTILISATION,))
    role = MachineTaskSet("only", "here", Sequence((short, two)))
    program = load_program(TaskSet("Short", ("here",), (role,)), role)
    numbers = {each.name.task: each.number for each in program.buffers}
    text = f"series {numbers['short']} 3 0\n0 900000000\n5 1300000000\n9 40000000000\n"
    text += f"series {numbers['two']} 1 0\n20 1900000000\nend exit 0\n"
    found = read_report(program, text).observations
    assert found.values("short", Sensor.UTILISATION).tolist() == [900_000_000, 1_000_000_000, 1_000_000_000]
    assert found.values("two", Sensor.UTILISATION).tolist() == [1_900_000_000]
    run = load_run_json("Short", "folder", found, "")
    assert {each.task: each.limited for each in run.sensors} == {"short": 2, "two": 0}
    assert (
        "short: 2 of 3 utilisations were above 100 %, and are shown as 100 %: the task is about as short as the "
        "reading of the clocks."
    ) in load_run_table(run).notes
