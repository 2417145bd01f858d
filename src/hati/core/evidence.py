"""What has been observed so far for a study."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from hati.core.outcome import Outcome
from hati.core.run import Run
from hati.core.values import Configuration


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

    @property
    def seconds_per_run(self) -> float:
        """The mean cost of runs whose configuration ran before at their revision, so that nothing had to be built.

        That of all runs where there are no such runs; 0 without runs.
        """
        seen: set[tuple[str, str, Configuration]] = set()
        repeated = []
        for run in self.runs:
            key = (run.task.benchmark, run.task.revision, run.task.configuration)
            if key in seen:
                repeated.append(run.seconds)
            seen.add(key)
        costs = repeated or [run.seconds for run in self.runs]
        return sum(costs) / len(costs) if costs else 0.0

    def stage(self, stage: str) -> Evidence:
        """The runs of one stage."""
        return Evidence(tuple(run for run in self.runs if run.task.stage == stage))
