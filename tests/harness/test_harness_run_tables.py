from __future__ import annotations

from datetime import UTC, datetime

import numpy as np

from hati.core import Configuration, Observations, Outcome, Resources, Run, Task, Workload
from hati.document import cell_text, cell_value
from hati.harness.document import run_table, runs_table

TASK = Task("screening-1", "design", "orders", Configuration({"wal": True}), "3f2c1ab", Workload({"n": 10}), 0)
STARTED = datetime(2026, 11, 20, 10, 0, 0, tzinfo=UTC)
DONE = Run(
    TASK,
    "ab12",
    STARTED,
    1.25,
    Outcome.DONE,
    exit=0,
    resources=Resources(1.2, 0.5, 0.25, 2_000_000, 12, 3456, 0.5),
    observations=(Observations("latency", "s", np.array([0.01, 0.002, 0.004]), warmup=1),),
)
FAILED = Run(TASK, "ab12", STARTED, 30.0, Outcome.TIMEOUT, detail="ran longer than 30 s")


def test_a_listing_shows_how_each_run_ended() -> None:
    table = runs_table([DONE, FAILED])
    done, failed = ([cell_text(cell) for cell in row] for row in table.rows)
    assert done[0] == TASK.id[:12]
    assert cell_value(table.rows[0][0]) == TASK.id
    assert done[1:] == ["2026-11-20 10:00:00", "1.250", "design", "done", "latency 3 ms"]
    assert failed[-2:] == ["timeout", "ran longer than 30 s"]
    assert [cell_value(cell) for cell in table.rows[0]][1:3] == ["2026-11-20T10:00:00+00:00", 1.25]
    assert table.notes == ("2 runs.",)


def test_one_run_is_shown_whole() -> None:
    said = {cell_text(row[0]): cell_text(row[1]) for row in run_table(DONE).rows}
    assert said["option wal"] == "true"
    assert said["workload n"] == "10"
    assert said["latency (s)"] == "0.003"
    assert said["values of latency after warm-up"] == "2"
    assert said["involuntary context switches"] == "3,456"
    assert said["CPU time (s)"] == "0.75"
    assert "CPU time (s)" not in {cell_text(row[0]) for row in run_table(FAILED).rows}


def test_the_last_of_many_runs_are_shown() -> None:
    table = runs_table([DONE, FAILED, DONE], last=2)
    assert [row[4] for row in table.rows] == ["timeout", "done"]
    assert table.notes == ("3 runs; the last 2 are shown.",)
