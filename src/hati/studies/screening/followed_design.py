"""The rows of a design and of its follow-up: the runs of a campaign that effects are estimated from."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from hati.core import Configuration, Evidence, Metric, Task, replace
from hati.studies.failures import nothing_measured
from hati.studies.screening.conclusion import SuspectRun
from hati.studies.screening.flip_stages import is_flip, is_of_flip
from hati.studies.screening.measured import Measured
from hati.studies.screening.reruns import STAGE as AGAIN
from hati.studies.screening.reruns import reruns_made, settled
from hati.studies.screening.tasks import STAGE

if TYPE_CHECKING:
    from hati.space import Space


class FollowedDesign(Struct, frozen=True, dict=True):
    """A design's ``configurations`` in a ``space``, each run ``repetitions`` times, and the flips that follow it.

    Median runs replace the runs that were repeated. Evidence may hold runs of a design that was abandoned for this one
    because settings do not work: of these, only configurations of this design count, and flips that the space allows.
    """

    metric: Metric
    space: Space
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
        found = settled(made, self.metric, self._rows_with_flips(made))
        return replace(found, blocks=found.machines)

    def repeated_runs(self, evidence: Evidence) -> tuple[SuspectRun, ...]:
        """The runs that were repeated, each with its fresh values."""
        made = _kept(evidence, _is_row)
        return reruns_made(made, self.metric, self._rows_with_flips(made))

    @cached_property
    def _rows(self) -> dict[Configuration, int]:
        return {configuration: row for row, configuration in enumerate(self.configurations)}

    def _rows_with_flips(self, made: Evidence) -> dict[Configuration, int]:
        """The rows of the design, then the configurations of its flips."""
        flipped = dict.fromkeys(run.task.configuration for run in made.runs if is_of_flip(run.task))
        more = (each for each in flipped if each not in self._rows and self.space.valid(each))
        return {**self._rows, **{each: row for row, each in enumerate(more, len(self.configurations))}}


def _kept(evidence: Evidence, keeps: Callable[[Task], bool]) -> Evidence:
    return Evidence(tuple(run for run in evidence.runs if keeps(run.task)))


def _is_of_design(task: Task) -> bool:
    return task.stage in (STAGE, AGAIN)


def _is_row(task: Task) -> bool:
    return _is_of_design(task) or is_of_flip(task)
