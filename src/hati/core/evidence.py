"""What has been observed so far for a study."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from hati.core.outcome import Outcome
from hati.core.run import Run


@dataclass(frozen=True)
class Evidence:
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

    def stage(self, stage: str) -> Evidence:
        """The runs of one stage."""
        return Evidence(tuple(run for run in self.runs if run.task.stage == stage))
