"""Runs and plans as tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from hati.core import Machine, Outcome, Plan, Run, usage
from hati.core.wording import counted
from hati.document.document import Align, Cell, Column, Shown, Table
from hati.document.quantities import duration, fixed, quantity
from hati.harness import disturbances

_BEGINNING = 12
"""The number of characters of a task's id that are shown: enough to identify it."""


def runs_table(runs: Iterable[Run], last: int | None = None, machines: Sequence[Machine] = ()) -> Table:
    """One row for each run, in the order given: when, what it cost, how it ended, what it measured, what disturbed it.

    Disturbances have a column only if a run was disturbed, machines only if the runs come from several; the known
    ``machines`` have names. At most the ``last`` rows are shown.
    """
    found = tuple(runs)
    owners = {fingerprint: machine.name for machine in machines for fingerprint in machine.fingerprints}
    several = len({owners.get(run.machine, run.machine) for run in found}) > 1
    reasons = disturbed_runs(found)
    listed = found if last is None else found[-last:]
    many = f"{len(found):,} run{'' if len(found) == 1 else 's'}"
    note = f"{many}." if len(listed) == len(found) else f"{many}; the last {len(listed):,} are shown."
    rows = tuple(
        (
            *_row(run),
            *((owners.get(run.machine, run.machine),) if several else ()),
            *((reasons.get(run.task.id),) if reasons else ()),
        )
        for run in listed
    )
    return Table(
        "Runs",
        (
            Column("task"),
            Column("started"),
            Column("took", "s", Align.RIGHT),
            Column("stage"),
            Column("outcome"),
            Column("measured"),
            *((Column("machine"),) if several else ()),
            *((Column("disturbed"),) if reasons else ()),
        ),
        rows,
        (note,),
    )


class ListedStudy(NamedTuple):
    """A stored study: its key, the command that makes it, its runs, and when the last started, None without one."""

    key: str
    verb: str
    runs: int
    last: datetime | None


def studies_table(studies: Sequence[ListedStudy]) -> Table:
    """A row for each study, in the order given, with the command that made it."""
    columns = (
        Column("study"),
        Column("command"),
        Column("runs", align=Align.RIGHT),
        Column("last run"),
    )
    rows = tuple((each.key, each.verb, each.runs, _minute(each.last) if each.last else None) for each in studies)
    note = "`hati report --study KEY` reports one." if studies else "There are none."
    return Table("Studies", columns, rows, (note,))


def _minute(moment: datetime) -> Shown:
    return Shown(f"{moment:%Y-%m-%d %H:%M}", moment.isoformat())


def disturbed_runs(runs: Iterable[Run]) -> dict[str, str]:
    """The reasons of disturbed runs by the ids of their tasks; each is judged among the runs of its study's sample."""
    samples = defaultdict[tuple[object, ...], list[Run]](list)
    for run in runs:
        task = run.task
        if run.outcome is Outcome.DONE:
            alike = task.study, task.benchmark, task.configuration, task.revision, task.workload, run.machine
            samples[alike].append(run)
    found = {}
    for sample in samples.values():
        reasons = disturbances([usage(run) for run in sample])
        found.update({run.task.id: reason for run, reason in zip(sample, reasons, strict=True) if reason})
    return found


def run_table(run: Run, disturbed: str | None = None, machine: Machine | None = None) -> Table:
    """All that is known about one run, and about the state of its machine at that time."""
    task = run.task
    states = {state.fingerprint: state.properties for state in machine.states} if machine else {}
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
        *((f"machine's {name}", value) for name, value in states.get(run.machine, ())),
        ("started", run.started.isoformat()),
        ("took (s)", run.seconds),
        *((("of which reset (s)", run.reset),) if run.reset is not None else ()),
        ("outcome", run.outcome.value),
        ("detail", run.detail),
        ("disturbed", disturbed),
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
        ("time in which tasks waited for a CPU (s)", used.pressure),
        ("time stolen by other virtual machines (s)", used.steal),
    )


def plan_table(
    plan: Plan, reason: str, seconds: float | None, options: Sequence[str], notes: Sequence[str] = ()
) -> Table:
    """A row for each task in order, a column for each of the options.

    ``seconds`` is the time that all tasks would take, None if unknown; ``notes`` are further notes.
    """
    tasks = plan.tasks
    columns = (Column("task"), Column("stage"), Column("repetition", None, Align.RIGHT), *(Column(o) for o in options))
    rows = tuple(
        (task.id, task.stage, task.repetition, *(task.configuration.get(option) for option in options))
        for task in tasks
    )
    time = "how long they take is not known yet" if seconds is None else f"about {duration(seconds)}"
    number = counted(len(tasks), "run")
    if plan.expected_total > len(tasks):
        number += f" of about {plan.expected_total:,}; their results determine the others"
    return Table("Plan", columns, rows, (*([f"{reason}."] if reason else []), f"{number}: {time}.", *notes))
