"""Dry runs: the experiments that would be measured, or the parts of a task set, with their planned time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from msgspec import Struct

from hati.core.wording import counted
from hati.document.document import Cell, Document, Shown, Table, columns_of, duration
from hati.generate import TaskSet
from hati.generate.tasks import CpuLoad, Lifetime, LoadTask, Loop, MachineTaskSet, Parallel, Until, UseTask, children
from hati.studies.probe.library import (
    LINK,
    MOST_GAPS_CPUS,
    SHORTEST_KERNEL,
    SIBLING_ROUNDS,
    TIMINGS,
    Experiment,
    Timing,
    sibling_pairs,
)

_START, _FORK = 0.02, 0.002
"""The seconds in which a kernel starts and ends, and those for each of its processes, whatever the scale."""
_ON_ALL = ("sched.balance", "virt.steal")
"""Their kernels have a process on each CPU; others have one or two."""


class PlannedPart(Struct, frozen=True):
    """An experiment, or a machine task set of a task set with its machine as ``title``.

    ``seconds`` is None where the time is not known before; ``note`` says then what is.
    """

    experiment: str
    title: str
    seconds: float | None
    note: str = ""


class ProbePlanJson(Struct, frozen=True, tag_field="format", tag="hati-probe-plan-1"):
    """What would be measured, and the seconds that are known of it; machine task sets run at the same time."""

    seconds: float
    experiments: list[PlannedPart]


def plan_of(experiments: Sequence[Experiment], cpus: int, scale: float) -> ProbePlanJson:
    """The plan of experiments on a number of CPUs; ``scale`` multiplies durations, and is 1 with --quick."""
    planned = [_planned(each, cpus, scale) for each in experiments if not each.asks]
    return ProbePlanJson(sum(each.seconds or 0.0 for each in planned), planned)


def _planned(experiment: Experiment, cpus: int, scale: float) -> PlannedPart:
    timing = _timing(experiment, cpus)
    if timing is None:
        return PlannedPart(experiment.name, experiment.title, None, "not known before")
    start = _START + _FORK * (cpus if experiment.name in _ON_ALL else 1.5)
    return PlannedPart(experiment.name, experiment.title, scale * timing.seconds + start * timing.kernels)


def _timing(experiment: Experiment, cpus: int) -> Timing | None:
    """Its timing on a number of CPUs, where it is known."""
    timing = TIMINGS.get(experiment.name)
    if timing is None:
        return LINK if experiment.method.startswith("remote-") else None
    if experiment.name == "noise.gaps":
        return Timing(timing.seconds * min(cpus, MOST_GAPS_CPUS))
    if experiment.name == "cpu.siblings":
        pairs = sibling_pairs(range(cpus)) if cpus > 1 else []
        kernels = SIBLING_ROUNDS * (len({cpu for pair in pairs for cpu in pair}) + len(pairs))
        return Timing(max(timing.seconds, SHORTEST_KERNEL * kernels), kernels)
    return timing


def plan_of_task_set(task_set: TaskSet) -> ProbePlanJson:
    """The plan of a task set: the time of each machine task set, without contention."""
    times = list(planned_times(task_set))
    least = max(0.0 if time is None else time.least for _, time in times)
    return ProbePlanJson(least, [_part(role.name, role.machine, time) for role, time in times])


def _part(name: str, machine: str, time: PlannedTime | None) -> PlannedPart:
    if time is None:
        return PlannedPart(name, machine, None, "until the others end")
    if time.least == time.most:
        return PlannedPart(name, machine, time.least)
    least = f"at least {duration(time.least)}" if time.least else "not known before"
    most = "" if math.isinf(time.most) else f", at most {duration(time.most)}"
    return PlannedPart(name, machine, None, f"{least}{most}")


class PlannedTime(Struct, frozen=True):
    """The ``least`` and the ``most`` seconds without contention; both infinite of what something else has to stop.

    ``most`` is infinite, too, where there are parts whose time is not known before, such as reads of a disk.
    """

    least: float
    most: float


def planned_times(task_set: TaskSet) -> Iterator[tuple[MachineTaskSet, PlannedTime | None]]:
    """The machine task sets with the time of each; None of those that end with the others, or only answer."""
    for role in task_set.roles:
        ends = role.task is not None and role.until is Lifetime.TASK
        yield role, _planned_time(role.task, task_set) if ends and role.task is not None else None


def _planned_time(task: LoadTask, task_set: TaskSet) -> PlannedTime:
    if isinstance(task, UseTask):
        return _planned_time(task_set.tasks[task.task], task_set)
    if isinstance(task, CpuLoad) and task.demand_ms is not None:
        return PlannedTime(task.demand_ms / 1000.0, task.demand_ms / 1000.0)
    inner = [_planned_time(each, task_set) for _, each in children(task)]
    if isinstance(task, Loop):
        return _repeated(task, inner[0])
    if isinstance(task, Parallel):
        chosen = min if task.until is Until.FIRST else max
        return PlannedTime(chosen(each.least for each in inner), chosen(each.most for each in inner))
    if inner:
        return PlannedTime(sum(each.least for each in inner), sum(each.most for each in inner))
    return PlannedTime(0.0, math.inf)


def _repeated(loop: Loop, once: PlannedTime) -> PlannedTime:
    if loop.duration_ms is not None:
        most = loop.duration_ms / 1000.0
        return PlannedTime(0.0 if loop.until else most, most)
    if loop.count is None:
        return PlannedTime(0.0 if loop.until else math.inf, math.inf)
    fewest = min(loop.count, loop.until.least) if loop.until else loop.count
    return PlannedTime(fewest * once.least, loop.count * once.most)


_REUSED = "Results that are reused (`--max-age`; never with `--fit`) take no time."
_TASK_SET = (
    "Without contention, compilation and, where this machine has none yet, a calibration of some 10 s. A load that has "
    "not ended within ten minutes is stopped."
)


def plan_document(plan: ProbePlanJson, *, task_set: str = "") -> Document:
    """What would be measured; ``task_set`` is the name of the task set if it is one."""
    columns = columns_of("machine task set | machine | > time" if task_set else "experiment | title | > time")
    rows = tuple((each.experiment, each.title, _time(each)) for each in plan.experiments)
    table = Table(task_set or "Experiments", columns, rows, (_TASK_SET if task_set else _REUSED,))
    known = all(each.seconds is not None or each.note == "until the others end" for each in plan.experiments)
    what = counted(len(rows), "machine task set" if task_set else "experiment")
    least = (
        f"{'about' if known else 'at least'} {duration(plan.seconds)}" if plan.seconds else "a time not known before"
    )
    answer = f"{what} would take {least}; nothing is measured."
    return Document("Dry run", answer, sections=(table,))


def _time(each: PlannedPart) -> Cell:
    return Shown(each.note if each.seconds is None else f"about {duration(each.seconds)}", each.seconds)
