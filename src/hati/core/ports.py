"""The ports that studies, engines and stores fill, and the evidence that passes between them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from statistics import mean
from typing import Protocol, TypeVar

from msgspec import Struct

from hati.core.run import Outcome, Run
from hati.core.study import Plan, StudyId
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
    """A pure function of what has been observed."""

    @property
    def id(self) -> StudyId:
        """Which study this is."""
        ...

    def plan(self, evidence: Evidence) -> Plan:
        """The next tasks in order; empty when there is enough. Tasks that have a run are not planned again."""
        ...

    def conclude(self, evidence: Evidence) -> Conclusion_co:
        """What the evidence says, at any time; says what is still undecided."""
        ...


class Engine(Protocol):
    """Where tasks run."""

    def run(self, plan: Plan) -> Iterator[Run]:
        """At least one run of each task, in any order; a failure is a run too.

        Closing the iterator ends the run that is under way and all its processes.
        """
        ...


class Store(Protocol):
    """What was observed, kept."""

    def record(self, run: Run) -> bool:
        """Keep a run for good before returning; False where its task had one already."""
        ...

    def evidence(self, study: StudyId) -> Evidence:
        """All runs of a study, in the order in which they were recorded."""
        ...
