"""Models of experiments on machines: task sets, after Ginpex (section 3.2), as frozen values.

A task set names machines and has a machine task set for each process. A machine task set has a tree of tasks, with
sensors on any of them. Tags and fields are the keys of the YAML form.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Protocol

from msgspec import Meta, Struct


class Sensor(StrEnum):
    """What is measured of each execution of a task."""

    RESPONSE = "response"
    """Elapsed time."""
    CPU = "cpu"
    """CPU time of the task, its threads included."""
    UTILISATION = "utilisation"
    """That CPU time divided by the elapsed time: the number of CPUs that the task kept busy."""
    GAPS = "gaps"
    """Each interval longer than ``gap_us`` in which a CPU load did not run."""


class Kernel(StrEnum):
    """What a CPU load does. The first four have units of work, whose time is calibrated."""

    MANDELBROT = "mandelbrot"
    FIBONACCI = "fibonacci"
    SORT = "sort"
    MEMORY = "memory"
    SPIN = "spin"
    """Reads the clock until the demand, in elapsed time, is over."""
    WAIT = "wait"
    """Sleeps as long as the demand."""


CALIBRATED = (Kernel.MANDELBROT, Kernel.FIBONACCI, Kernel.SORT, Kernel.MEMORY)
TIMED = (Kernel.SPIN, Kernel.WAIT)


class SchedulingPolicy(StrEnum):
    """Linux's policies, as ``sched(7)`` describes them."""

    OTHER = "other"
    BATCH = "batch"
    IDLE = "idle"
    FIFO = "fifo"
    RR = "rr"


REAL_TIME = (SchedulingPolicy.FIFO, SchedulingPolicy.RR)


class Until(StrEnum):
    """When parallel tasks end: once all have ended, or by stopping the others once the first has."""

    ALL = "all"
    FIRST = "first"


class Lifetime(StrEnum):
    """When a machine task set ends: once its task has ended, or once those of the others have."""

    TASK = "task"
    OTHERS = "others"


class MemoryAccess(StrEnum):
    """Dependent reads of cache lines in random order, or McCalpin's triad over three arrays."""

    CHASE = "chase"
    TRIAD = "triad"


class DiskOperation(StrEnum):
    """What is done with each block; ``append_sync`` appends it and waits until the device has it."""

    READ = "read"
    WRITE = "write"
    APPEND_SYNC = "append_sync"


class BlockOrder(StrEnum):
    """The order in which blocks of a file are visited."""

    SEQUENTIAL = "sequential"
    RANDOM = "random"


class PageCache(StrEnum):
    """Whether the operating system's page cache is used, or bypassed (``O_DIRECT``)."""

    CACHED = "cached"
    DIRECT = "direct"


class NetworkProtocol(StrEnum):
    """The transport."""

    TCP = "tcp"
    UDP = "udp"


class NetworkPattern(StrEnum):
    """Each message answered before the next, or all messages and then an answer of the receiver that it has them."""

    PING_PONG = "ping_pong"
    STREAM = "stream"


class TaskAttributes(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag_field="do"):
    """What every task may have."""

    name: Annotated[str, Meta(description="Name under which sensors report.")] = ""
    sensors: Annotated[tuple[Sensor, ...], Meta(description="What is measured of each execution.")] = ()
    gap_us: Annotated[float, Meta(description="Shortest interval that the gaps sensor records, in µs.")] = 50.0
    cpus: Annotated[tuple[int, ...], Meta(description="CPUs that the task may use.")] = ()
    policy: Annotated[SchedulingPolicy | None, Meta(description="Scheduling policy.")] = None
    priority: Annotated[int, Meta(description="Priority from 1 to 99, for fifo and rr.")] = 0
    nice: Annotated[int | None, Meta(description="Niceness from -20 to 19, for other and batch.")] = None


class Sequence(TaskAttributes, frozen=True, tag="sequence"):
    """Tasks one after the other."""

    tasks: tuple[LoadTask, ...]


class Parallel(TaskAttributes, frozen=True, tag="parallel"):
    """Tasks at the same time, each in a thread of its own; each task has ``copies`` threads."""

    tasks: tuple[LoadTask, ...]
    until: Annotated[Until, Meta(description="Whether the first task that ends stops the others.")] = Until.ALL
    copies: Annotated[int, Meta(description="Threads of each task.")] = 1


LEAST_OBSERVATIONS = 10
"""With fewer the expansion of Student's quantile is too small: with 3, 21.3 instead of 31.6 at 99.9 %."""


class NarrowInterval(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A loop's end once a sensor's mean is known: half of its confidence interval is at most ``margin`` of the mean.

    The interval is Student's, of independent observations. It is computed after each iteration once there are ``least``
    observations: the confidence is reached as the margin shrinks (Chow and Robbins 1965, Annals of Mathematical
    Statistics 36, 457-462).
    """

    task: Annotated[str, Meta(description="Name of a task in the loop.")]
    sensor: Annotated[Sensor, Meta(description="One of its sensors.")]
    margin: Annotated[float, Meta(description="Half of the interval divided by the mean, such as 0.02.")]
    least: Annotated[int, Meta(description=f"Fewest observations, {LEAST_OBSERVATIONS} or more.")] = LEAST_OBSERVATIONS
    confidence: Annotated[float, Meta(description="Confidence of the interval.")] = 0.95


class Loop(TaskAttributes, frozen=True, tag="loop"):
    """A task again and again: ``count`` times, for ``duration_ms``, or until something else stops it.

    With ``until`` that many times, or that long, at most.
    """

    task: LoadTask
    count: Annotated[int | None, Meta(description="Iterations.")] = None
    duration_ms: Annotated[float | None, Meta(description="Time after which it ends, in ms.")] = None
    until: Annotated[NarrowInterval | None, Meta(description="End once a sensor's mean is known.")] = None

    @property
    def endless(self) -> bool:
        """Whether it never ends on its own."""
        return self.count is None and self.duration_ms is None


class CpuLoad(TaskAttributes, frozen=True, tag="cpu"):
    """Work of a kernel: as much as takes ``demand_ms`` of CPU time by the calibration, or a number of units."""

    kernel: Annotated[Kernel, Meta(description="What it computes; spin and wait take elapsed time.")]
    demand_ms: Annotated[float | None, Meta(description="Demand in ms: CPU time, of spin and wait elapsed.")] = None
    units: Annotated[int | None, Meta(description="Units of the kernel's work, instead of a demand.")] = None


class MemoryLoad(TaskAttributes, frozen=True, tag="memory"):
    """``count`` accesses in a buffer of ``bytes``: reads of a line each, or passes of the triad."""

    access: Annotated[MemoryAccess, Meta(description="Dependent reads in random order, or McCalpin's triad.")]
    bytes: Annotated[int, Meta(description="Size of the buffer.")]
    count: Annotated[int, Meta(description="Reads, or passes of the triad.")] = 1


class DiskLoad(TaskAttributes, frozen=True, tag="disk"):
    """``count`` operations on blocks of ``bytes`` in a file of ``file_bytes``, which is made before and removed after.

    ``directory`` holds the file; it is relative to the experiment's folder.
    """

    operation: Annotated[DiskOperation, Meta(description="What is done with each block.")]
    bytes: Annotated[int, Meta(description="Size of a block.")]
    file_bytes: Annotated[int, Meta(description="Size of the file.")]
    count: Annotated[int, Meta(description="Operations.")] = 1
    order: Annotated[BlockOrder, Meta(description="Order of the blocks.")] = BlockOrder.SEQUENTIAL
    cache: Annotated[PageCache, Meta(description="Whether the page cache is used.")] = PageCache.CACHED
    directory: Annotated[str, Meta(description="Folder of the file, relative to the experiment's.")] = "."


class NetworkLoad(TaskAttributes, frozen=True, tag="network"):
    """``count`` messages of ``bytes`` to another machine task set, which answers without a task of its own."""

    peer: Annotated[str, Meta(description="Name of the machine task set that answers.")]
    protocol: NetworkProtocol
    pattern: Annotated[NetworkPattern, Meta(description="An answer to each message, or one to all.")]
    bytes: Annotated[int, Meta(description="Size of a message.")]
    count: Annotated[int, Meta(description="Messages.")] = 1


_C = {"contentMediaType": "text/x-c"}


class CodeLoad(TaskAttributes, frozen=True, tag="code"):
    """C of one's own: ``execute`` is the task, ``prepare`` runs before the start and ``clean_up`` after the end.

    ``declare`` holds members of the struct to which ``own`` points in all three, one for each place and thread of the
    task. ``prepare`` ends the program by ``fail("what")``. ``execute`` may test ``going_on``, which is false once the
    task has to stop. ``kind`` is the word after ``do``.
    """

    execute: Annotated[str, Meta(description="Statements that are the task.", extra_json_schema=_C)]
    declare: Annotated[str, Meta(description="Members of the struct `own`.", extra_json_schema=_C)] = ""
    prepare: Annotated[str, Meta(description="Statements before the start.", extra_json_schema=_C)] = ""
    clean_up: Annotated[str, Meta(description="Statements after the end.", extra_json_schema=_C)] = ""
    headers: Annotated[tuple[str, ...], Meta(description="Headers to include, such as sys/eventfd.h.")] = ()
    kind: Annotated[str, Meta(description="The word after `do`.")] = "code"


class TaskKind(Protocol):
    """A kind of task that a package adds: a Struct, whose fields are the keys of its tasks."""

    def code(self) -> CodeLoad:
        """The task in C, without a name, sensors or scheduling."""
        ...


class UseTask(TaskAttributes, frozen=True, tag="use"):
    """A task of the task set's ``tasks``, by its name there."""

    task: Annotated[str, Meta(description="Name of a task under `tasks`.")]


LoadTask = Sequence | Parallel | Loop | CpuLoad | MemoryLoad | DiskLoad | NetworkLoad | CodeLoad | UseTask


class MachineTaskSet(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What one process does on one machine; without a task it only answers the network loads of others."""

    name: Annotated[str, Meta(description="Name, by which others send to it.")]
    machine: Annotated[str, Meta(description="One of the machines.")]
    task: LoadTask | None = None
    until: Annotated[Lifetime, Meta(description="Whether it ends with its own task.")] = Lifetime.TASK


Path = tuple[str | int, ...]
"""The place of a part in a task set: keys and indices from the top."""


def children(task: LoadTask) -> Iterator[tuple[Path, LoadTask]]:
    """The tasks directly in a task, each with its path from there; a ``UseTask`` has none."""
    if isinstance(task, Sequence | Parallel):
        yield from ((("tasks", number), each) for number, each in enumerate(task.tasks))
    elif isinstance(task, Loop):
        yield ("task",), task.task
