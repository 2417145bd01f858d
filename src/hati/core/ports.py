"""The ports that studies, engines and stores fill, and the jobs and the evidence that pass between them.

A job is a run to do, with everything that a machine needs for it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from functools import cached_property, lru_cache
from statistics import mean
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec import Struct

from hati.core.benchmark import Benchmark
from hati.core.errors import InputError
from hati.core.run import Outcome, Run
from hati.core.study import Batch, Plan, StudyId, Task, digest
from hati.core.values import Assignment, Configuration, Setting, Workload, canonical_json, convert, decode, replace


class Job(Struct, frozen=True, dict=True):
    """A task with the whole definition of its benchmark, and the digest of its ``sources``: the subject's files.

    It can be sent to any machine: only the files are needed in addition, and equal ``sources`` mean equal files.

    Raises:
        InputError: where the benchmark is not the task's.
    """

    task: Task
    benchmark: Benchmark
    sources: str

    def __post_init__(self) -> None:
        if self.task.benchmark != self.benchmark.name:
            raise InputError(f"a task of {self.task.benchmark!r} has the definition of {self.benchmark.name!r}")

    @cached_property
    def digest(self) -> str:
        """A hash of the whole job; equal jobs have equal digests.

        The task's id does not depend on it: the id says what a run is evidence for.
        """
        located = replace(self.benchmark, metric_places=(), warmup_place=None, cpu_places=())
        return digest(msgspec.to_builtins(replace(self, benchmark=located), enc_hook=dict), 64)

    def to_json(self) -> str:
        """The job as canonical JSON."""
        return canonical_json(msgspec.to_builtins(self, enc_hook=_plain))

    @classmethod
    def from_json(cls, text: str) -> Job:
        """Read a job from its JSON.

        Raises:
            InputError: where the text is not the JSON of a job.
        """
        try:
            written = decode(text.encode("utf-8", "surrogatepass"), _WrittenJob)
            task = convert(json.loads(bytes(written.task)), Task, dec_hook=_assigned)
            return cls(task, _benchmark_of(bytes(written.benchmark)), written.sources)
        except (ValueError, msgspec.DecodeError) as error:
            raise InputError(f"this is not the JSON of a job: {error}") from None


class _WrittenJob(Struct, frozen=True):
    """A job whose parts are still JSON."""

    task: msgspec.Raw
    benchmark: msgspec.Raw
    sources: str


@lru_cache(maxsize=64)
def _benchmark_of(written: bytes) -> Benchmark:
    """The benchmark of its JSON: the jobs of a study have the same one."""
    return convert(json.loads(written), Benchmark, dec_hook=_assigned)


def _plain(value: Any) -> object:
    """A workload as pairs, since the order in which it is declared counts."""
    if isinstance(value, Workload):
        return [[name, value[name]] for name in value.declared]
    if isinstance(value, Assignment):
        return dict(value)
    raise NotImplementedError(type(value).__name__)


def _assigned(kind: Any, value: Any) -> object:
    if issubclass(kind, Workload):
        return kind(dict(convert(value, list[tuple[str, Setting]])))
    return kind(convert(value, dict[str, Setting]))


class Evidence(Struct, frozen=True, dict=True):
    """The runs of a study, in the order in which they were recorded."""

    runs: tuple[Run, ...] = ()

    @cached_property
    def known(self) -> frozenset[str]:
        """The ids of the tasks that have a run."""
        return frozenset(run.task.id for run in self.runs)

    @property
    def done(self) -> tuple[Run, ...]:
        """The runs that yielded observations."""
        return tuple(run for run in self.runs if run.outcome is Outcome.DONE)

    @property
    def failed(self) -> tuple[Run, ...]:
        """The runs that yielded none."""
        return tuple(run for run in self.runs if run.outcome is not Outcome.DONE)

    @property
    def seconds(self) -> float:
        """The total time of all runs."""
        return sum(run.seconds for run in self.runs)

    @property
    def wall_seconds(self) -> float:
        """The time in which at least one run was under way, on whichever machine."""
        total, until = 0.0, -math.inf
        for began, seconds in sorted((run.started.timestamp(), run.seconds) for run in self.runs):
            total += max(0.0, began + seconds - max(began, until))
            until = max(until, began + seconds)
        return total

    @property
    def seconds_per_run(self) -> float:
        """The mean time of a run, without the extra time of each configuration's first run, such as a build.

        The extra time of a configuration that ran once is unknown and stays included. 0 without runs.
        """
        costs: dict[tuple[str, str, Configuration], list[float]] = {}
        for run in self.runs:
            costs.setdefault((run.task.benchmark, run.task.revision, run.task.configuration), []).append(run.seconds)
        longer = sum(max(0.0, first - mean(later)) for first, *later in costs.values() if later)
        return (self.seconds - longer) / len(self.runs) if self.runs else 0.0

    def stage(self, stage: str) -> Evidence:
        """The runs of one stage."""
        return Evidence(tuple(run for run in self.runs if run.task.stage == stage))


Conclusion_co = TypeVar("Conclusion_co", covariant=True)


class Study(Protocol[Conclusion_co]):
    """A pure function of the evidence."""

    @property
    def id(self) -> StudyId:
        """Which study this is."""
        ...

    def plan(self, evidence: Evidence) -> Plan:
        """The next tasks in order; empty when there is enough. Tasks that have a run are not planned again."""
        ...

    def conclude(self, evidence: Evidence) -> Conclusion_co:
        """Conclude from the evidence at any time, and name what is undecided."""
        ...


Work = TypeVar("Work")


class Executor(Protocol):
    """Executes jobs on a machine."""

    def execute(self, job: Job, /) -> Run:
        """Do the job's run; a failure is a run too.

        Raises:
            MeasurementError: where no further run is possible.
        """
        ...


class Engine(Protocol[Work]):
    """Runs work: an ``Engine[Job]`` takes self-contained jobs, which any machine could run.

    A batch stays on one machine, in its order; batches begin in the order in which they were submitted.
    """

    def hold(self, study: str) -> None:
        """Reserve what a study needs before its first batch; afterwards the runs that others measured are known."""
        ...

    def capacity(self) -> int:
        """The number of batches that it would start now; further ones wait."""
        ...

    def submit(self, batch: Batch[Work]) -> None:
        """Take a batch over.

        Raises:
            InputError: where its work can never be run.
        """
        ...

    def withdraw(self, batch: Batch[Work]) -> bool:
        """Give back a batch that has not begun, so that it never runs; False where part of it has begun.

        Runs in progress end, and are among the completed ones.
        """
        ...

    def completed(self) -> Iterator[Run]:
        """Yield runs as they end, at least one of each job that has begun; a failure is a run too.

        Waits while submitted work is unfinished; ends when there is none, and after ``close``.
        """
        ...

    def close(self) -> None:
        """End all runs in progress with their processes, and drop the waiting batches."""
        ...


class Store(Protocol):
    """Keeps all observations."""

    def record(self, run: Run) -> bool:
        """Keep a run for good before returning; False where its task had one already."""
        ...

    def evidence(self, study: StudyId) -> Evidence:
        """All runs of a study, in the order in which they were recorded."""
        ...
