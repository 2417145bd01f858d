"""A task set as a whole: its parts are consistent, or the errors are raised with their places and fixes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Annotated, Any

from msgspec import Meta, Struct

from hati.core import InputError
from hati.core.wording import suggestion
from hati.generate.tasks import (
    CALIBRATED,
    LEAST_OBSERVATIONS,
    REAL_TIME,
    CodeLoad,
    CpuLoad,
    DiskLoad,
    DiskOperation,
    Kernel,
    Lifetime,
    LoadTask,
    Loop,
    MachineTaskSet,
    MemoryLoad,
    NarrowInterval,
    NetworkLoad,
    NetworkPattern,
    NetworkProtocol,
    PageCache,
    Parallel,
    Path,
    SchedulingPolicy,
    Sensor,
    Sequence,
    Until,
    UseTask,
    children,
)

MOST_TASKS = 10_000
"""The largest number of tasks of a machine task set; used tasks count at each place."""
MOST_THREADS = 1_024
_BLOCK = 512
_MOST_BYTES = 1 << 40
_MOST_COUNT = 10**12
_TIMES_MS = (1e-3, 600_000.0)
"""From the shortest time that work is measured in to that after which the driver ends a run."""
_DATAGRAM = (16, 65_507)
"""Bytes of a UDP message: at least its token and number, at most what UDP over IPv4 carries."""


class TaskSetError(InputError):
    """An invalid task set; ``path`` leads to the wrong part, and ``others`` are further errors."""

    def __init__(self, message: str, path: Path, fix: str, place: Any = None) -> None:
        super().__init__(message, place=place, fix=fix)
        self.path = path
        self.others: tuple[TaskSetError, ...] = ()


class TaskSet(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """An experiment: machines, a machine task set for each process, and tasks that several places use.

    Raises:
        TaskSetError: where parts do not fit.
    """

    name: Annotated[str, Meta(description="Name of the experiment.")]
    machines: Annotated[tuple[str, ...], Meta(description="Names of the machines, such as here.")]
    roles: tuple[MachineTaskSet, ...]
    tasks: dict[str, LoadTask] = {}

    def __post_init__(self) -> None:
        if found := {(error.path, error.message): error for error in _errors(self)}:
            first, *others = found.values()
            first.others = tuple(others)
            raise first

    def resolved(self, task: LoadTask) -> LoadTask:
        """The task that a ``UseTask`` names, with that task's own attributes; any other task unchanged."""
        while isinstance(task, UseTask):
            task = self.tasks[task.task]
        return task


def _errors(task_set: TaskSet) -> Iterator[TaskSetError]:
    yield from _naming(task_set)
    for path, task in _tops(task_set):
        yield from _tree(task_set, task, path)
    if unresolved := [*_unknown(task_set), *_cycles(task_set)]:
        yield from unresolved
        return  # the rest follows uses
    for number, role in enumerate(task_set.roles):
        if role.task is not None:
            path = ("roles", number, "task")
            yield from (too_large := [*_size(task_set, role.task, path)])
            yield from _peers(task_set, role, path)
            yield from () if too_large else _endless(task_set, role, path)
            yield from _labels(task_set, role, path)
    for number, role in enumerate(task_set.roles):
        if role.task is None and not receives(task_set, role.name):
            yield TaskSetError(
                f"{role.name!r} has no task, and nobody sends to it",
                ("roles", number),
                "add a task, or a network load with it as peer",
            )


def _tops(task_set: TaskSet) -> Iterator[tuple[Path, LoadTask]]:
    """The shared tasks and those of roles, with their paths."""
    yield from ((("tasks", name), task) for name, task in task_set.tasks.items())
    yield from ((("roles", number, "task"), role.task) for number, role in enumerate(task_set.roles) if role.task)


def _unknown(task_set: TaskSet) -> Iterator[TaskSetError]:
    """Uses of tasks that are not there."""
    for path, task in _tops(task_set):
        for place, each in walk(task, path):
            if isinstance(each, UseTask) and each.task not in task_set.tasks:
                yield TaskSetError(
                    f"there is no task {each.task!r}", (*place, "task"), suggestion(each.task, task_set.tasks)
                )


def _naming(task_set: TaskSet) -> Iterator[TaskSetError]:
    if not task_set.name.strip():
        yield TaskSetError("the task set has no name", ("name",), "give it a name")
    if not task_set.machines:
        yield TaskSetError("there are no machines", ("machines",), "name the machines, such as [here]")
    if not task_set.roles:
        yield TaskSetError("there are no machine task sets", ("roles",), "add one with a name, a machine and a task")
    yield from _twice(task_set.machines, "machine", lambda number: ("machines", number))
    yield from _twice([role.name for role in task_set.roles], "machine task set", lambda n: ("roles", n, "name"))
    for number, role in enumerate(task_set.roles):
        if role.machine not in task_set.machines:
            yield TaskSetError(
                f"there is no machine {role.machine!r}",
                ("roles", number, "machine"),
                suggestion(role.machine, task_set.machines),
            )
    if task_set.roles and all(role.task is None for role in task_set.roles):
        yield TaskSetError("no machine task set has a task", ("roles",), "give one a `task`")
    elif task_set.roles and all(role.until is Lifetime.OTHERS or role.task is None for role in task_set.roles):
        yield TaskSetError(
            "every machine task set waits for the others", ("roles",), "leave `until: others` out of one with a task"
        )


def _twice(names: Any, what: str, path: Callable[[int], Path]) -> Iterator[TaskSetError]:
    seen = Counter[str]()
    for number, name in enumerate(names):
        seen[name] += 1
        if not name.strip():
            yield TaskSetError(f"a {what} has an empty name", path(number), "give it a name")
        if seen[name] == 2:
            yield TaskSetError(f"two {what}s have the name {name!r}", path(number), "give each a name of its own")


def receives(task_set: TaskSet, name: str) -> bool:
    """Whether another machine task set sends to the one of this name."""
    return any(
        isinstance(task, NetworkLoad) and task.peer == name
        for role in task_set.roles
        for _, task in tasks_of(task_set, role)
    )


def walk(task: LoadTask, path: Path = ()) -> Iterator[tuple[Path, LoadTask]]:
    """A task and all tasks in it, depth first, with their paths; the task that a ``UseTask`` names is not entered."""
    yield path, task
    for step, child in children(task):
        yield from walk(child, (*path, *step))


def _tree(task_set: TaskSet, task: LoadTask, path: Path) -> Iterator[TaskSetError]:
    for place, each in walk(task, path):
        for key, message, fix in (*_attributes(task_set, each), *_OWN.get(type(each), _nothing)(each)):
            yield TaskSetError(message, (*place, *filter(None, key.split("."))), fix)
        if isinstance(each, Loop) and each.until is not None:
            yield from _watched(task_set, each, each.until, (*place, "until"))


def _watched(task_set: TaskSet, loop: Loop, until: NarrowInterval, path: Path) -> Iterator[TaskSetError]:
    """A sensor that decides the end of a loop is of a task that the loop runs, in its own thread."""
    inside = [each for each in _same_thread(task_set, loop.task, set()) if each.name and each.sensors]
    names = [each.name for each in inside]
    if until.task not in names:
        fix = (
            suggestion(until.task, names)
            if names
            else "name a task of the loop that has sensors, and is not in a parallel"
        )
        yield TaskSetError(f"the loop has no task {until.task!r} with sensors", (*path, "task"), fix)
    elif not any(each.name == until.task and until.sensor in each.sensors for each in inside):
        message = f"the task {until.task!r} has no sensor {until.sensor}"
        yield TaskSetError(message, (*path, "sensor"), f"add it to the `sensors` of {until.task}")


def _same_thread(task_set: TaskSet, task: LoadTask, used: set[str]) -> Iterator[LoadTask]:
    """The task, and those in it that its thread executes; of the shared tasks those that are not yet ``used``."""
    yield task
    if isinstance(task, UseTask) and task.task in task_set.tasks and task.task not in used:
        used.add(task.task)
        yield from _same_thread(task_set, task_set.tasks[task.task], used)
    for _, child in () if isinstance(task, Parallel) else children(task):
        yield from _same_thread(task_set, child, used)


_Problems = Iterator[tuple[str, str, str]]
"""Each problem: the key (``until.margin`` in a mapping under it), the message and the fix."""


def _nothing(_task: Any) -> _Problems:
    yield from ()


def _attributes(task_set: TaskSet, task: LoadTask) -> _Problems:
    if task.sensors and not task.name.strip():
        yield "sensors", "a task with sensors has no name", "give the task a name"
    if len(set(task.sensors)) < len(task.sensors):
        yield "sensors", "a sensor is listed twice", "list each sensor once"
    if any(cpu < 0 for cpu in task.cpus):
        yield "cpus", "a CPU has a negative number", "number CPUs from 0"
    if len(set(task.cpus)) < len(task.cpus):
        yield "cpus", "a CPU is listed twice", "list each CPU once"
    if not _is_time(task.gap_us / 1e3):
        yield "gap_us", f"{task.gap_us:g} µs is not the length of a gap", "give 1 to 600,000,000, such as 50"
    if Sensor.GAPS in task.sensors and not _can_have_gaps(task_set, task):
        yield "sensors", "the gaps sensor needs a CPU load in the same thread", "add one, such as the kernel spin"
    yield from _scheduling(task)
    if isinstance(task, UseTask) and (task.sensors or task.name):
        yield "sensors" if task.sensors else "name", "`use` has sensors or a name of its own", "move them to the task"


def _scheduling(task: LoadTask) -> _Problems:
    real_time = task.policy in REAL_TIME
    if real_time and not 1 <= task.priority <= 99:
        yield "priority" if task.priority else "policy", f"{task.policy} needs a priority", "give one from 1 to 99"
    if task.priority and not real_time:
        yield "priority", "only fifo and rr have a priority", "use `policy: fifo`, or `nice`"
    if task.nice is not None and not -20 <= task.nice <= 19:
        yield "nice", f"{task.nice} is not a niceness", "give one from -20 to 19"
    if task.nice is not None and task.policy in {*REAL_TIME, SchedulingPolicy.IDLE}:
        yield "nice", f"{task.policy} has no niceness", "use `policy: other` or batch, or leave nice out"


def _can_have_gaps(task_set: TaskSet, task: LoadTask, depth: int = 0) -> bool:
    """Whether a CPU load, other than waiting, runs in the task's own thread."""
    if isinstance(task, CpuLoad):
        return task.kernel is not Kernel.WAIT
    if depth > 100:
        return True  # a cycle, which is reported as such
    if isinstance(task, UseTask):
        found = task_set.tasks.get(task.task)
        return found is None or _can_have_gaps(task_set, found, depth + 1)
    return not isinstance(task, Parallel) and any(
        _can_have_gaps(task_set, each, depth + 1) for _, each in children(task)
    )


def _is_time(milliseconds: float) -> bool:
    least, most = _TIMES_MS
    return least <= milliseconds <= most


def _is_count(number: int) -> bool:
    return 1 <= number <= _MOST_COUNT


_FIX_TIME = "give 0.001 to 600,000 ms, which is 10 minutes"
_FIX_COUNT = f"give 1 to {_MOST_COUNT:,}"


def _sequence(task: Sequence) -> _Problems:
    if not task.tasks and not task.sensors:
        yield "tasks", "a sequence without tasks", "add a task"


def _parallel(task: Parallel) -> _Problems:
    if not task.tasks:
        yield "tasks", "a parallel without tasks", "add a task"
    if task.copies < 1:
        yield "copies", f"{task.copies} copies of each task", "give 1 or more"


def _loop(task: Loop) -> _Problems:
    if task.count is not None and task.duration_ms is not None:
        yield "duration_ms", "a loop has a count and a duration", "leave one of them out"
    if task.count is not None and not _is_count(task.count):
        yield "count", f"a loop of {task.count} iterations", _FIX_COUNT
    if task.duration_ms is not None and not _is_time(task.duration_ms):
        yield "duration_ms", f"{task.duration_ms:g} ms is not a duration", _FIX_TIME
    if task.until is not None:
        yield from _until(task, task.until)


def _until(loop: Loop, until: NarrowInterval) -> _Problems:
    if loop.endless:
        yield "until", "an interval may never become narrow", "limit the loop by `count` or `duration_ms`, too"
    if not 0.0 < until.margin < 1.0:
        yield "until.margin", f"{until.margin:g} is not a margin", "give a fraction of the mean, such as 0.02"
    if not 0.5 <= until.confidence < 1.0:
        yield "until.confidence", f"{until.confidence:g} is not a confidence", "give one from 0.5 to below 1"
    if not LEAST_OBSERVATIONS <= until.least <= _MOST_COUNT:
        fix = f"give {LEAST_OBSERVATIONS} to {_MOST_COUNT:,}"
        yield "until.least", f"an interval of {until.least} observations", fix


def _cpu(task: CpuLoad) -> _Problems:
    if (task.demand_ms is None) == (task.units is None):
        yield "", "a CPU load needs either a demand or a number of units", "give `demand_ms` or `units`"
    if task.demand_ms is not None and not _is_time(task.demand_ms):
        yield "demand_ms", f"{task.demand_ms:g} ms is not a demand", _FIX_TIME
    if task.units is not None and task.kernel not in CALIBRATED:
        yield "units", f"the kernel {task.kernel} has no units", "give `demand_ms`"
    if task.units is not None and not 0 <= task.units <= _MOST_COUNT:
        yield "units", f"{task.units} units of work", f"give 0 to {_MOST_COUNT:,}"


def _memory(task: MemoryLoad) -> _Problems:
    if not _BLOCK <= task.bytes <= _MOST_BYTES:
        yield "bytes", f"a memory load in {task.bytes} bytes", f"give {_BLOCK} to {_MOST_BYTES:,}"
    if not _is_count(task.count):
        yield "count", f"{task.count} accesses", _FIX_COUNT


def _disk(task: DiskLoad) -> _Problems:
    if task.bytes < 1:
        yield "bytes", f"blocks of {task.bytes} bytes", "give 1 or more, such as 4096"
    elif task.file_bytes < task.bytes:
        yield "file_bytes", f"a file of {task.file_bytes} bytes has no block of {task.bytes}", "give a larger file"
    elif task.file_bytes > _MOST_BYTES:
        yield "file_bytes", f"a file of {task.file_bytes} bytes", f"give {_MOST_BYTES} or less"
    if not _is_count(task.count):
        yield "count", f"{task.count} operations", _FIX_COUNT
    if task.cache is PageCache.DIRECT and task.bytes % _BLOCK:
        yield "bytes", f"direct access needs blocks of a multiple of {_BLOCK} bytes", "use a multiple, such as 4096"
    if task.operation is DiskOperation.APPEND_SYNC and task.order.value == "random":
        yield "order", "appending is never random", "leave `order` out, or use `operation: write`"
    if not task.directory or not task.directory.isprintable():
        yield "directory", f"{task.directory!r} is not a folder", "leave it out for the experiment's own folder"


def _network(task: NetworkLoad) -> _Problems:
    if task.protocol is NetworkProtocol.UDP and task.pattern is NetworkPattern.STREAM:
        yield "pattern", "UDP has no stream", "use `pattern: ping_pong`, or `protocol: tcp`"
    least, most = _DATAGRAM if task.protocol is NetworkProtocol.UDP else (1, 1 << 30)
    if not least <= task.bytes <= most:
        yield "bytes", f"a {task.protocol} message of {task.bytes} bytes", f"give {least} to {most}"
    if not _is_count(task.count):
        yield "count", f"{task.count} messages", _FIX_COUNT


def _code(task: CodeLoad) -> _Problems:
    if not task.execute.strip():
        yield "execute", "code that does nothing", "write statements of C"
    for header in task.headers:
        if not _HEADER.fullmatch(header):
            yield "headers", f"{header!r} is not a header", "give a name such as sys/eventfd.h"


_HEADER = re.compile(r"[\w./+-]+\.h")

_OWN: dict[type, Callable[[Any], _Problems]] = {
    Sequence: _sequence,
    Parallel: _parallel,
    Loop: _loop,
    CpuLoad: _cpu,
    MemoryLoad: _memory,
    DiskLoad: _disk,
    NetworkLoad: _network,
    CodeLoad: _code,
}


def _cycles(task_set: TaskSet) -> Iterator[TaskSetError]:
    uses = {
        name: [(place, each.task) for place, each in walk(task, ("tasks", name)) if isinstance(each, UseTask)]
        for name, task in task_set.tasks.items()
    }
    done = set[str]()
    for name, first in uses.items():
        stack = [(name, iter(first))]
        active = [name]
        while stack:
            place, used = next(stack[-1][1], ((), None))
            if used is None:
                stack.pop()
                done.add(active.pop())
            elif used in active:
                chain = " -> ".join([*active[active.index(used) :], used])
                yield TaskSetError(f"tasks use each other in a cycle: {chain}", (*place, "task"), "use another task")
            elif used not in done and used in uses:
                active.append(used)
                stack.append((used, iter(uses[used])))


def expanded(task_set: TaskSet, task: LoadTask, path: Path) -> Iterator[tuple[Path, LoadTask]]:
    """A task and all tasks in it, depth first; the task that a ``UseTask`` names is entered at the place of its use."""
    yield path, task
    if isinstance(task, UseTask):
        yield from ((path, each) for _, each in expanded(task_set, task_set.tasks[task.task], path))
    for step, child in children(task):
        for _ in range(task.copies if isinstance(task, Parallel) else 1):
            yield from expanded(task_set, child, (*path, *step))


def _size(task_set: TaskSet, task: LoadTask, path: Path) -> Iterator[TaskSetError]:
    threads = 1
    for number, (place, each) in enumerate(expanded(task_set, task, path)):
        threads += each.copies * len(each.tasks) if isinstance(each, Parallel) else 0
        if number >= MOST_TASKS:
            yield TaskSetError(f"more than {MOST_TASKS:,} tasks, those used counted at each place", place, "use loops")
        if threads > MOST_THREADS:
            yield TaskSetError(f"more than {MOST_THREADS:,} threads", place, "use fewer parallel tasks or copies")
        if number >= MOST_TASKS or threads > MOST_THREADS:
            return


def _peers(task_set: TaskSet, role: MachineTaskSet, path: Path) -> Iterator[TaskSetError]:
    others = [other.name for other in task_set.roles if other.name != role.name]
    for place, each in tasks_of(task_set, role, path):
        if isinstance(each, NetworkLoad) and each.peer == role.name:
            yield TaskSetError(
                f"{role.name!r} sends to itself", (*place, "peer"), "name another machine task set as peer"
            )
        elif isinstance(each, NetworkLoad) and each.peer not in others:
            yield TaskSetError(
                f"there is no machine task set {each.peer!r}", (*place, "peer"), suggestion(each.peer, others)
            )


def _endless(task_set: TaskSet, role: MachineTaskSet, path: Path) -> Iterator[TaskSetError]:
    """Endless loops that nothing stops: neither the first task of a parallel, nor the end of the others."""
    if role.until is Lifetime.OTHERS or role.task is None:
        return
    for place in _never_ending(task_set, role.task, path):
        yield TaskSetError(
            "an endless loop that nothing stops",
            place,
            "give it `count` or `duration_ms`, or put it beside a task that ends, in a parallel with `until: first`",
        )


def _never_ending(task_set: TaskSet, task: LoadTask, path: Path) -> Iterator[Path]:
    """The paths of the endless loops because of which a task never ends."""
    if isinstance(task, UseTask):
        yield from (path for _ in _never_ending(task_set, task_set.tasks[task.task], path))
        return
    found = [[*_never_ending(task_set, child, (*path, *step))] for step, child in children(task)]
    if isinstance(task, Loop) and task.endless:
        yield path
    elif not (isinstance(task, Parallel) and task.until is Until.FIRST and not all(found)):
        yield from (each for part in found for each in part)


def _labels(task_set: TaskSet, role: MachineTaskSet, path: Path) -> Iterator[TaskSetError]:
    """Different tasks with sensors that have the same name."""
    known: dict[str, LoadTask] = {}
    for place, each in tasks_of(task_set, role, path):
        if each.sensors and known.setdefault(each.name, each) != each:
            yield TaskSetError(
                f"two different tasks with sensors have the name {each.name!r}",
                (*place, "name"),
                "give each a name of its own",
            )


def tasks_of(task_set: TaskSet, role: MachineTaskSet, path: Path = ()) -> Iterator[tuple[Path, LoadTask]]:
    """The tasks of a role, each once, with the places where they are written; ``path`` is that of the role's task."""
    seen = set[str]()
    waiting = [] if role.task is None else [(path, role.task)]
    while waiting:
        top, task = waiting.pop()
        for place, each in walk(task, top):
            yield place, each
            if isinstance(each, UseTask) and each.task not in seen:
                seen.add(each.task)
                waiting.append((("tasks", each.task), task_set.tasks[each.task]))
