"""What has been observed so far for a study."""

from __future__ import annotations

from functools import cached_property
from statistics import mean

from msgspec import Struct

from hati.core.outcome import Outcome
from hati.core.run import Run
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
