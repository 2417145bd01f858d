"""Runs, plans and advice on how to measure, as tables and plain values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Annotated, NamedTuple

from msgspec import Struct

from hati.core import Configuration, Machine, Observations, Plan, Run, Sample, Workload
from hati.core.wording import counted, listed
from hati.document.document import (
    Cell,
    Column,
    Shown,
    Table,
    columns_of,
    duration,
    fixed,
    general,
    percent,
    quantity,
)
from hati.document.publishing import Joined, Of, publish
from hati.harness import (
    Aim,
    Allocation,
    QuantilePrecision,
    RunPlan,
    State,
    SteadyRun,
    SufficientRun,
)
from hati.harness.interference import disturbed_runs

_INDEPENDENT = (
    "It holds for independent observations of one distribution. Where successive ones are alike, more are needed: "
    "`hati harness observations FILE` estimates from a run's autocorrelation how many independent ones they are worth."
)


class SampleJson(Struct, frozen=True):
    """Common fields of a sample's results."""

    benchmark: Annotated[str, Of("sample.benchmark")]
    configuration: Annotated[Configuration, Of("sample.configuration")]
    workload: Annotated[Workload, Of("sample.workload")]
    metric: Annotated[str, Of("sample.metric.name")]
    revision: Annotated[str, Of("sample.revision")]
    machine: Annotated[str, Of("sample.machine")]


class SteadyRunJson(SampleJson, frozen=True):
    """Whether a run reaches a steady state, from which observation on, and at which level."""

    unit: Annotated[str, Of("sample.metric.unit")]
    run: int
    observations: Annotated[int, Of(lambda one: _observed(one).values.size)]
    warmup: Annotated[int, Of(lambda one: _observed(one).warmup)]
    state: Annotated[State, Of("found.state")]
    start: Annotated[int | None, Of("found.start")]
    level: Annotated[float | None, Of("found.level")]
    error: Annotated[float | None, Of("found.error")]
    disturbed: Annotated[float | None, Of("found.disturbed")]
    reason: Annotated[str, Of("found.reason")]


class SteadyJson(Struct, frozen=True, tag_field="format", tag="hati-harness-steady-1"):
    """The steady states of runs."""

    runs: list[SteadyRunJson]


def _observed(one: SteadyRun) -> Observations:
    return one.sample.runs[one.run].observations


def steady_table(found: Sequence[SteadyRun], tolerance: float) -> Table:
    """A row for each run."""
    columns = columns_of("benchmark | > run | > observations", "state | > start | > level | > disturbed")
    rows = tuple(_steady_row(one, several=_several(found)) for one in found)
    counts = [(state, sum(one.found.state is state for one in found)) for state in State]
    summary = ", ".join(f"{number} {state.value}" for state, number in counts if number)
    notes = [
        f"{summary}. Runs and observations count from 0; "
        f"an observation within {percent(tolerance)} of the level is on it."
    ]
    reasons = [f"{_name(one.sample, several=True)}, run {one.run}: {one.found.reason}." for one in found]
    notes += [reason for one, reason in zip(found, reasons, strict=True) if one.found.reason][:10]
    return Table("Steady state", columns, rows, tuple(notes))


class SufficientRunJson(SampleJson, frozen=True):
    """What the observations of a run are worth."""

    run: int
    observations: Annotated[int, Of("found.observations")]
    effective: Annotated[float, Of("found.effective")]
    precision: Annotated[float, Of("found.precision")]
    needed: Annotated[int, Of("found.needed")]
    enough: Annotated[bool, Of("found.enough")]


class ObservationsJson(Struct, frozen=True, tag_field="format", tag="hati-harness-observations-1"):
    """The precision that is wanted of a quantile, the observations that it takes, and those of each run."""

    quantile: float
    precision: float
    confidence: float
    observations: int
    assumes: Annotated[str, Of(lambda _: "independent, identically distributed observations")]
    runs: list[SufficientRunJson]


def observations_table(wanted: QuantilePrecision, found: Sequence[SufficientRun]) -> Table:
    """A row for each run; without runs, one row with the requirement."""
    sentence = (
        f"A run needs {wanted.observations:,} independent observations for the {general(wanted.quantile)} quantile to "
        f"be, with {percent(wanted.confidence)} confidence, that of a probability within "
        f"{general(wanted.precision)} of {general(wanted.quantile)}."
    )
    if not found:
        return Table(
            "Observations of a run", (Column("observations"),), ((wanted.observations,),), (sentence, _INDEPENDENT)
        )
    columns = columns_of("benchmark | > run | > observations", "> independent | > precision | > needed | enough")
    rows = tuple(
        (
            _name(one.sample, several=_several(found)),
            one.run,
            one.found.observations,
            Shown(f"{math.floor(one.found.effective):,}", one.found.effective),
            Shown(general(one.found.precision, 2), one.found.precision),
            one.found.needed,
            "yes" if one.found.enough else "no",
        )
        for one in found
    )
    short = sum(not one.found.enough for one in found)
    summary = f"{short} of {len(found)} runs fall short." if short else "All runs have enough."
    return Table(
        "Observations of a run",
        columns,
        rows,
        (
            f"{summary} {sentence}",
            "Independent: what the observations after warm-up are worth, by their autocorrelation.",
        ),
    )


class RunPlanJson(SampleJson, frozen=True):
    """What a sample varies by, and the runs that find a change.

    Costs are in seconds, variances in the square of the unit, relative ones fractions of the mean.
    """

    unit: Annotated[str, Of("sample.metric.unit")]
    runs: Annotated[int, Of(lambda plan: len(plan.sample.runs))]
    mean: Annotated[float | None, Of(lambda plan: plan.variance and plan.variance.mean)]
    variance_within: Annotated[float | None, Of(lambda plan: plan.variance and plan.variance.within)]
    variance_between: Annotated[float | None, Of(lambda plan: plan.variance and plan.variance.between)]
    relative_within: Annotated[float | None, Of(lambda plan: _relative(plan, "within"))]
    relative_between: Annotated[float | None, Of(lambda plan: _relative(plan, "between"))]
    worth: Annotated[float | None, Of(lambda plan: plan.variance and plan.variance.worth)]
    cost_observation: Annotated[float | None, Of(lambda plan: plan.costs and plan.costs.observation)]
    cost_run: Annotated[float | None, Of(lambda plan: plan.costs and plan.costs.run)]
    cost_basis: Annotated[str | None, Of(lambda plan: plan.costs and plan.costs.basis)]
    now: Allocation | None
    best: Allocation | None
    detect: Annotated[float, Of("change")]
    power: float
    alpha: float
    unknown: list[str]


class RunPlansJson(Struct, frozen=True, tag_field="format", tag="hati-harness-runs-1"):
    """How many runs of each sample find a change."""

    samples: list[RunPlanJson]


def plans_json(plans: Sequence[RunPlan], aim: Aim) -> RunPlansJson:
    """The published plan of samples' runs."""
    return publish(Joined(samples=[Joined(plan, aim) for plan in plans]), RunPlansJson)


def _relative(plan: RunPlan, of: str) -> float | None:
    """A standard deviation as a fraction of the mean; 0 where an unbiased variance is negative."""
    variance: float | None = getattr(plan.variance, of, None)
    if plan.variance is None or variance is None or not plan.variance.mean:
        return None
    return math.sqrt(max(variance, 0.0)) / abs(plan.variance.mean)


def plans_table(plans: Sequence[RunPlan], aim: Aim) -> Table:
    """A row for each sample: its variation, and the runs needed with its observations per run and with the best."""
    columns = columns_of("benchmark | > within (%) | > between (%)", "> now | > time | > best | > time")
    several = len({plan.sample.metric.name for plan in plans}) > 1
    rows = tuple(_plan_row(plan, several=several) for plan in plans)
    notes = [
        f"To find a change of {percent(aim.change)} with {percent(aim.power)} power at alpha {general(aim.alpha)}: "
        "runs of each side x observations after warm-up of each run, with those it has now and with those that cost "
        "least; time is that of both sides. Within and between: standard deviations of an observation within its run, "
        "and of runs beyond that, of the mean."
    ]
    bases = sorted({plan.costs.basis for plan in plans if plan.costs})
    notes += [f"Costs: {basis}." for basis in bases]
    unknown = [f"{_name(plan.sample, several=several)}: not known: {text}." for plan in plans for text in plan.unknown]
    return Table("Runs", columns, rows, (*notes, *unknown[:10]))


def _plan_row(plan: RunPlan, *, several: bool) -> tuple[Cell, ...]:
    return (
        _name(plan.sample, several=several),
        _share(_relative(plan, "within")),
        _share(_relative(plan, "between")),
        *_allocation_cells(plan.now),
        *_allocation_cells(plan.best),
    )


def _allocation_cells(found: Allocation | None) -> tuple[Cell, Cell]:
    if found is None:
        return None, None
    runs = "?" if found.runs is None else f"{found.runs:,}"
    return (
        Shown(f"{runs} x {found.observations:,}", found.runs),
        None if found.seconds is None else Shown(duration(found.seconds), found.seconds),
    )


def _share(value: float | None) -> Cell:
    return None if value is None else Shown(general(100.0 * value, 2), value)


def _steady_row(one: SteadyRun, *, several: bool) -> tuple[Cell, ...]:
    found, unit = one.found, one.sample.metric.unit
    return (
        _name(one.sample, several=several),
        one.run,
        int(one.sample.runs[one.run].observations.values.size),
        found.state.value,
        found.start,
        None if found.level is None else Shown(quantity(found.level, unit), found.level),
        None if found.disturbed is None else Shown(percent(found.disturbed, 2), found.disturbed),
    )


def _several(found: Sequence[SteadyRun | SufficientRun]) -> bool:
    return len({one.sample.metric.name for one in found}) > 1


def _name(sample: Sample, *, several: bool) -> str:
    parts = (sample.benchmark, str(sample.configuration), str(sample.workload), sample.metric.name if several else "")
    return " ".join(filter(None, parts))


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
    many = counted(len(found), "run")
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
            *columns_of("task | started | > took (s) | stage | outcome | measured"),
            *((Column("machine"),) if several else ()),
            *((Column("disturbed"),) if reasons else ()),
        ),
        rows,
        (note,),
    )


class ListedStudy(NamedTuple):
    """A stored study: its key, command, subject, benchmarks and runs, and when the last started, None without one.

    ``shown`` is the key, or enough of it to name the study.
    """

    key: str
    shown: str
    verb: str
    subject: str
    benchmarks: tuple[str, ...]
    runs: int
    last: datetime | None


def studies_table(studies: Sequence[ListedStudy]) -> Table:
    """A row for each study, in the order given, with the command that made it."""
    columns = columns_of("study | command | subject | benchmark | > runs | last run")
    rows = tuple(
        (
            Shown(each.shown, each.key),
            each.verb,
            each.subject or None,
            listed(each.benchmarks, 2) or None,
            each.runs,
            _minute(each.last) if each.last else Shown("none", None),
        )
        for each in studies
    )
    if not studies:
        return Table("Studies", columns, rows, ("There are none.",))
    empty = () if all(each.runs for each in studies) else (_WITHOUT_RUNS,)
    return Table("Studies", columns, rows, ("`hati report --study KEY` reports one.", *empty))


_WITHOUT_RUNS = (
    "A study without runs was begun and measured nothing, or is a recommendation that found nothing to confirm; "
    "`hati forget --study KEY` removes it."
)


def _minute(moment: datetime) -> Shown:
    return Shown(f"{moment:%Y-%m-%d %H:%M}", moment.isoformat())


def run_table(run: Run, disturbed: str | None = None, machine: Machine | None = None) -> Table:
    """All that is known about one run, and about the state of its machine at that time."""
    task, own = run.task, run.measured
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
        *((f"{o.metric} ({o.unit})", o.mean) for o in own),
        *((f"values of {o.metric} after warm-up", o.steady.size) for o in own),
        ("output", run.output),
    ]
    return Table(f"Run {task.id}", columns_of("property | value"), tuple(rows))


def _row(run: Run) -> tuple[Cell, ...]:
    measured = ", ".join(f"{o.metric} {quantity(o.mean, o.unit)}" for o in run.measured)
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
    columns = (*columns_of("task | stage | > repetition"), *(Column(o) for o in options))
    rows = tuple(
        (task.id, task.stage, task.repetition, *(task.configuration.get(option) for option in options))
        for task in tasks
    )
    time = "how long they take is not known yet" if seconds is None else f"about {duration(seconds)}"
    number = counted(len(tasks), "run")
    if plan.expected_total > len(tasks):
        number += f" of about {plan.expected_total:,}; their results determine the others"
    return Table("Plan", columns, rows, (*([f"{reason}."] if reason else []), f"{number}: {time}.", *notes))
