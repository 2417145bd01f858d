"""The outcomes of configurations as arrays: which passed, and which failed."""

from __future__ import annotations

from functools import cached_property
from math import ceil, log
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import Configuration, Evidence, Outcome, Run
from hati.design import INACTIVE, Levels, levels
from hati.studies.screening.planning.isolation import Element

if TYPE_CHECKING:
    from hati.space import Space

Flags = NDArray[np.bool_]
Counts = NDArray[np.intp]

_MISSED = 0.02
"""The probability with which a flaky failure may be missed in repeated runs of a configuration."""


def is_infrastructure(run: Run) -> bool:
    """Whether a run says nothing about its configuration: no process was started."""
    return run.outcome is Outcome.NOT_STARTED


def passes_needed(rate: float) -> int:
    """The number of passes that rules out failures at this rate, with 2 % of these missed; one for a rate of 1.

    >>> passes_needed(1.0), passes_needed(0.5)
    (1, 6)
    """
    return 1 if rate >= 1.0 else ceil(log(_MISSED) / log(1.0 - rate))


class ConfigurationOutcomes(Struct, frozen=True, dict=True):
    """The numbers of passed and failed runs of each configuration, in the order of their first runs."""

    space: Space
    evidence: Evidence

    @cached_property
    def counts(self) -> dict[Configuration, tuple[int, int, int]]:
        """The numbers of runs that passed, that failed, and that were not started, by configuration."""
        found: dict[Configuration, list[int]] = {}
        for run in self.evidence.runs:
            kind = 2 if is_infrastructure(run) else int(run.outcome is not Outcome.DONE)
            found.setdefault(run.task.configuration, [0, 0, 0])[kind] += 1
        return {configuration: (each[0], each[1], each[2]) for configuration, each in found.items()}

    @cached_property
    def configurations(self) -> tuple[Configuration, ...]:
        """The configurations that were run."""
        return tuple(self.counts)

    @cached_property
    def rows(self) -> Levels:
        """The positions of their settings, shape (configurations, options)."""
        return levels(self.configurations, self.space)

    @cached_property
    def passed(self) -> Counts:
        """Runs that passed, shape (configurations,)."""
        return np.array([each[0] for each in self.counts.values()], dtype=np.intp)

    @cached_property
    def failed(self) -> Counts:
        """Runs that failed, shape (configurations,)."""
        return np.array([each[1] for each in self.counts.values()], dtype=np.intp)

    @cached_property
    def unstarted(self) -> Counts:
        """Runs that were not started, shape (configurations,)."""
        return np.array([each[2] for each in self.counts.values()], dtype=np.intp)

    @property
    def ran(self) -> Counts:
        """Runs that say something about their configuration, shape (configurations,)."""
        return self.passed + self.failed

    def passing(self, needed: int = 1) -> Flags:
        """Whether each never failed, and passed at least ``needed`` times; shape (configurations,)."""
        return np.asarray((self.failed == 0) & (self.passed >= needed))

    def matching(self, elements: tuple[Element, ...]) -> NDArray[np.bool_]:
        """Whether each has each of these settings, shape (configurations, elements)."""
        wanted = [(self.space.names.index(name), self.space.option(name).position(value)) for name, value in elements]
        return np.array([self.rows[:, column] == place for column, place in wanted]).T.reshape(-1, len(elements))

    def having(self, combinations: tuple[tuple[Element, ...], ...]) -> Flags:
        """Whether each has all settings of one of the combinations, shape (configurations,)."""
        found = np.zeros(len(self.rows), dtype=np.bool_)
        for elements in combinations:
            found |= self.matching(elements).all(axis=1)
        return found

    def first_failure(self, configuration: Configuration) -> str:
        """The message of its first failure."""
        failed = (run for run in self.evidence.runs if run.task.configuration == configuration)
        run = next(each for each in failed if each.outcome is not Outcome.DONE and not is_infrastructure(each))
        return run.detail.partition("\n")[0] or run.outcome.value

    def active(self, row: int) -> Flags:
        """Whether each option is active in a configuration, shape (options,)."""
        return np.asarray(self.rows[row] != INACTIVE)
