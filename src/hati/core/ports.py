"""The ports that studies, engines and stores fill, and the evidence that passes between them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from statistics import mean
from typing import Protocol, TypeVar

from msgspec import Struct

from hati.core.job import Job
from hati.core.run import Outcome, Run
from hati.core.study import Batch, Plan, StudyId
from hati.core.values import Configuration


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
        """The runs that did not."""
        return tuple(run for run in self.runs if run.outcome is not Outcome.DONE)

    @property
    def seconds(self) -> float:
        """What all runs cost together."""
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
        """The mean cost of a run without what the first run of a configuration took longer, as for a build.

        Of a configuration that ran once this is not known. 0 without runs.
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
    """What happens on the machine."""

    def execute(self, job: Job, /) -> Run:
        """Make the job's run; a failure is a run too.

        Raises:
            MeasurementError: where no further run can be made.
        """
        ...


class Engine(Protocol[Work]):
    """Where work is run: an ``Engine[Job]`` takes self-contained jobs, which any machine could run.

    A batch stays on one machine, in its order; batches begin in the order in which they were submitted.
    """

    def hold(self, study: str) -> None:
        """Reserve what a study needs now, and not with its first batch; what others have measured is known after it."""
        ...

    def capacity(self) -> int:
        """How many batches it would start now; one that is submitted beyond these waits."""
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
        """Runs as they end, at least one of each job that has begun; a failure is a run too.

        Waits while work is out; ends where none is, and after ``close``.
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
