"""The listing of runs."""

from __future__ import annotations

from collections.abc import Iterable

from hati.core import Run
from hati.report.quantities import fixed, quantity
from hati.report.table import Align, Cell, Column, Shown, Table

_BEGINNING = 12
"""How much of a task's id is shown: enough to name it by."""


def runs_table(runs: Iterable[Run]) -> Table:
    """One row for each run, in the order given: when, what it cost, how it ended, what it measured."""
    rows = tuple(_row(run) for run in runs)
    return Table(
        "Runs",
        (
            Column("task"),
            Column("started"),
            Column("took", "s", Align.RIGHT),
            Column("stage"),
            Column("outcome"),
            Column("measured"),
        ),
        rows,
        (f"{len(rows):,} run{'' if len(rows) == 1 else 's'}.",),
    )


def run_table(run: Run) -> Table:
    """All that is known of one run."""
    task = run.task
    rows: list[tuple[Cell, ...]] = [
        ("task", task.id),
        ("study", task.study),
        ("stage", task.stage),
        ("benchmark", task.benchmark),
        ("revision", task.revision),
        *((f"option {name}", setting) for name, setting in task.configuration.items()),
        *((f"workload {name}", setting) for name, setting in task.workload.items()),
        ("repetition", task.repetition),
        ("machine", run.machine),
        ("started", run.started.isoformat()),
        ("took (s)", run.seconds),
        ("outcome", run.outcome.value),
        ("detail", run.detail),
        ("exit status", run.exit),
        *_resources(run),
        *((f"{o.metric} ({o.unit})", o.mean) for o in run.observations),
        *((f"values of {o.metric} after warm-up", o.steady.size) for o in run.observations),
        ("output", run.output),
    ]
    return Table(f"Run {task.id}", (Column("property"), Column("value")), tuple(rows))


def _row(run: Run) -> tuple[Cell, ...]:
    measured = ", ".join(f"{o.metric} {quantity(o.mean, o.unit)}" for o in run.observations)
    return (
        Shown(run.task.id[:_BEGINNING], run.task.id),
        Shown(f"{run.started:%Y-%m-%d %H:%M:%S}", run.started.isoformat()),
        Shown(fixed(run.seconds, 3), run.seconds),
        run.task.stage,
        run.outcome.value,
        measured or run.detail,
    )


def _resources(run: Run) -> tuple[tuple[Cell, ...], ...]:
    used = run.resources
    if used is None:
        return ()
    return (
        ("wall time (s)", used.wall_time),
        ("CPU time (s)", used.cpu_time),
        ("peak memory (B)", used.peak_memory),
        ("voluntary context switches", used.voluntary_switches),
        ("involuntary context switches", used.involuntary_switches),
        ("load", used.load),
    )
