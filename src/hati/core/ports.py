"""The ports that studies, engines and stores fill."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, TypeVar

from hati.core.evidence import Evidence
from hati.core.plan import Plan
from hati.core.run import Run
from hati.core.study import StudyId

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
