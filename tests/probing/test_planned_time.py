"""The time of a task set before it is run."""

from __future__ import annotations

import math

import pytest

from hati.generate import parse_task_set
from hati.studies.probe.planning import PlannedTime, planned_times

WAIT = "{do: cpu, kernel: wait, demand_ms: 500}"
SHORT = "{do: cpu, kernel: sort, demand_ms: 100}"
DISK = "{do: disk, operation: append_sync, bytes: 4096, file_bytes: 65536}"
KNOWN = "{task: work, sensor: cpu, margin: 0.05}"
NAMED = "{do: cpu, kernel: sort, demand_ms: 100, name: work, sensors: [cpu]}"


@pytest.mark.parametrize(
    ("task", "least", "most"),
    [
        (WAIT, 0.5, 0.5),
        (f"{{do: sequence, tasks: [{WAIT}, {SHORT}]}}", 0.6, 0.6),
        (f"{{do: parallel, copies: 3, tasks: [{WAIT}, {SHORT}]}}", 0.5, 0.5),
        (f"{{do: parallel, until: first, tasks: [{{do: loop, task: {SHORT}}}, {WAIT}]}}", 0.5, 0.5),
        (f"{{do: loop, count: 30, task: {SHORT}}}", 3.0, 3.0),
        (f"{{do: loop, duration_ms: 700, task: {SHORT}}}", 0.7, 0.7),
        (f"{{do: loop, count: 1000, until: {KNOWN}, task: {NAMED}}}", 1.0, 100.0),
        (DISK, 0.0, math.inf),
        (f"{{do: sequence, tasks: [{DISK}, {WAIT}]}}", 0.5, math.inf),
        ("{do: use, task: kept}", 0.5, 0.5),
    ],
)
def test_times_follow_from_demands_and_durations(task: str, least: float, most: float) -> None:
    ends = "  - {name: ends, machine: here, task: {do: cpu, kernel: wait, demand_ms: 1}}\n"
    text = f"name: n\nmachines: [here]\nroles:\n  - name: only\n    machine: here\n    task: {task}\n{ends}"
    text += f"tasks:\n  kept: {WAIT}\n" if "use" in task else ""
    (_, found), _ = planned_times(parse_task_set(text))
    assert found == PlannedTime(pytest.approx(least), pytest.approx(most))


def test_what_ends_with_the_others_has_no_time() -> None:
    text = f"name: n\nmachines: [a]\nroles:\n  - {{name: x, machine: a, until: others, task: {WAIT}}}\n"
    text += f"  - {{name: y, machine: a, task: {SHORT}}}\n"
    assert [time is None for _, time in planned_times(parse_task_set(text))] == [True, False]
