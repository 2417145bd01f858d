"""The time that a task set takes by its demands and durations, before it is run."""

from __future__ import annotations

import math
from collections.abc import Iterator

from msgspec import Struct

from hati.generate.task_set import TaskSet
from hati.generate.tasks import CpuLoad, Lifetime, LoadTask, Loop, MachineTaskSet, Parallel, Until, UseTask, children


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
        yield role, _planned(role.task, task_set) if ends and role.task is not None else None


def _planned(task: LoadTask, task_set: TaskSet) -> PlannedTime:
    if isinstance(task, UseTask):
        return _planned(task_set.tasks[task.task], task_set)
    if isinstance(task, CpuLoad) and task.demand_ms is not None:
        return PlannedTime(task.demand_ms / 1000.0, task.demand_ms / 1000.0)
    inner = [_planned(each, task_set) for _, each in children(task)]
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
