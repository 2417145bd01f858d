"""The rows of a design and of its follow-up: the runs of a campaign that effects are estimated from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from hati.core import Configuration, Evidence, Metric, Task
from hati.studies.failures import nothing_measured
from hati.studies.screening.conclusion import SuspectRun
from hati.studies.screening.flip_stages import is_flip, is_of_flip
from hati.studies.screening.measured import Measured
from hati.studies.screening.reruns import STAGE as AGAIN
from hati.studies.screening.reruns import reruns_made, settled
from hati.studies.screening.tasks import STAGE


@dataclass(frozen=True)
class FollowedDesign:
    """A design's ``configurations``, each run ``repetitions`` times, and the flips that follow it.

    In place of runs that were repeated stand the median runs.
    """

    metric: Metric
    configurations: tuple[Configuration, ...]
    repetitions: int

    def design_runs(self, evidence: Evidence) -> Evidence:
        """The runs of the design, and those that repeat them."""
        return _kept(evidence, _is_of_design)

    def measured(self, evidence: Evidence) -> Measured:
        """The design's runs that yielded a value.

        Raises:
            MeasurementError: where there is none.
        """
        found = settled(self.design_runs(evidence), self.metric, self._rows)
        if not len(found.values):
            raise nothing_measured(found.reasons)
        one_block = self.repetitions == 1  # replicated configurations are run among the others
        return replace(found, blocks=found.machines) if one_block else found

    def measured_with_flips(self, evidence: Evidence) -> Measured:
        """The runs of the design and of the follow-up that yielded a value; the design's where there is no flip.

        Raises:
            MeasurementError: where there is none of the design.
        """
        design = self.measured(evidence)
        if not any(is_flip(run.task) for run in evidence.runs):
            return design
        made = _kept(evidence, _is_row)
        found = settled(made, self.metric, _numbered(made))
        return replace(found, blocks=found.machines)

    def repeated_runs(self, evidence: Evidence) -> tuple[SuspectRun, ...]:
        """The runs that were repeated, each with its fresh values."""
        made = _kept(evidence, _is_row)
        return reruns_made(made, self.metric, _numbered(made))

    @cached_property
    def _rows(self) -> dict[Configuration, int]:
        return {configuration: row for row, configuration in enumerate(self.configurations)}


def _kept(evidence: Evidence, keeps: Callable[[Task], bool]) -> Evidence:
    return Evidence(tuple(run for run in evidence.runs if keeps(run.task)))


def _is_of_design(task: Task) -> bool:
    return task.stage in (STAGE, AGAIN)


def _is_row(task: Task) -> bool:
    return _is_of_design(task) or is_of_flip(task)


def _numbered(evidence: Evidence) -> dict[Configuration, int]:
    made = dict.fromkeys(run.task.configuration for run in evidence.runs)
    return {configuration: row for row, configuration in enumerate(made)}
