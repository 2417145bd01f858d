"""A few runs to learn what a run costs and how noisy it is, before a design is chosen."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from hati.core import (
    Benchmark,
    Budget,
    Configuration,
    Evidence,
    FloatArray,
    InputError,
    Metric,
    Plan,
    StudyId,
    Task,
    generator,
)
from hati.studies.failures import nothing_measured
from hati.studies.screening.measured import measured
from hati.studies.screening.wording import counted

if TYPE_CHECKING:
    from hati.space import Space

STAGE = "pilot"
_DRAWN = 3
RUNS = 5
FEWEST = 3
RESERVE = 0.05
"""This part of a time budget is left over: runs do not all take the same time."""


@dataclass(frozen=True)
class PilotResult:
    """What pilot runs tell: seconds of wall time per run, and of the metric between runs of the default configuration.

    ``noise`` is the standard deviation of a run as a fraction of the mean, None where fewer than two runs of
    the default configuration worked; ``runs`` and ``seconds`` are what the pilot cost, ``failed`` of them failed.
    """

    seconds_per_run: float
    noise: float | None
    runs: int
    failed: int
    seconds: float


@dataclass(frozen=True)
class Pilot:
    """Runs of the default configuration, for the noise, in turn with spread ones, for the cost.

    The spread ones have all options at their first settings, all at their last, and every other one at its last, as far
    as that is valid; else they are drawn.
    The pilot shares its id, and so its evidence and its budget, with the screening study that follows.
    """

    id: StudyId
    benchmark: Benchmark
    metric: Metric
    revision: str
    space: Space
    runs: int = RUNS

    def __post_init__(self) -> None:
        if self.runs < FEWEST:
            raise InputError(f"a pilot needs at least {FEWEST} runs, not {self.runs}")

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """All pilot runs in order."""
        default, others = self.space.default, self._spread
        made = dict[Configuration, int]()
        tasks = list[Task]()
        for place in range(self.runs):
            configuration = default if place % 2 == 0 or not others else others[place // 2 % len(others)]
            repetition = made.get(configuration, 0)
            made[configuration] = repetition + 1
            tasks.append(
                Task(
                    study=self.id.key,
                    stage=STAGE,
                    benchmark=self.benchmark.name,
                    configuration=configuration,
                    revision=self.revision,
                    workload=self.benchmark.workload,
                    repetition=repetition,
                )
            )
        return tuple(tasks)

    def plan(self, evidence: Evidence) -> Plan:
        """The pilot runs that are left; none once three were made and all failed."""
        made = evidence.stage(STAGE)
        left = tuple(task for task in self.tasks if task.id not in made.known)
        if made.done:
            return Plan(left)
        return Plan(left).at_most(max(0, FEWEST - len(made.runs)))

    def conclude(self, evidence: Evidence) -> PilotResult:
        """Cost and noise.

        The cost is the mean over runs without the first, which pays for builds and cold caches, if there are others.

        Raises:
            MeasurementError: where no run worked.
        """
        made = evidence.stage(STAGE)
        found = measured(made, self.metric, {task.configuration: 0 for task in self.tasks})
        if not len(found.values):
            raise nothing_measured(found.reasons)
        costs = [run.seconds for run in made.runs]
        default = [run.task.configuration == self.space.default for run in found.runs]
        return PilotResult(
            seconds_per_run=float(np.mean(costs[1:] or costs)),
            noise=_noise(found.values[default]),
            runs=len(costs),
            failed=len(found.failed),
            seconds=made.seconds,
        )

    @cached_property
    def _spread(self) -> tuple[Configuration, ...]:
        last = {option.name: option.settings[-1] for option in self.space.options}
        first = {option.name: option.settings[0] for option in self.space.options}
        alternating = {name: (last if i % 2 else first)[name] for i, name in enumerate(first)}
        found = [self.space.canonical(assignment) for assignment in (last, alternating, first)]
        valid = [c for c in dict.fromkeys(found) if self.space.valid(c) and c != self.space.default]
        return tuple(valid) or self._drawn

    @cached_property
    def _drawn(self) -> tuple[Configuration, ...]:
        """Valid configurations where constraints forbid the spread ones."""
        from hati.space import sample

        found = sample(self.space, _DRAWN, generator(self.id.seed, "pilot"))
        return tuple(c for c in dict.fromkeys(found) if c != self.space.default)


def affordable_runs(budget: Budget, pilot: PilotResult) -> int:
    """How many runs a budget buys after the pilot was paid for; one twentieth of the time is kept in reserve.

    Raises:
        InputError: where it buys none.
    """
    time = (1.0 - RESERVE) * budget.seconds - pilot.seconds
    by_time = time / pilot.seconds_per_run if pilot.seconds_per_run > 0.0 else math.inf
    runs = min(by_time, budget.runs - pilot.runs)
    if runs < 1.0:
        raise InputError(
            f"after {counted(pilot.runs, 'pilot run')} of {pilot.seconds:.3g} s in all, the budget has no run left",
            fix=f"a run takes {pilot.seconds_per_run:.3g} s: give more time",
        )
    if math.isinf(runs):
        raise InputError("the budget has no end", fix="give a number of runs such as 96 or a time such as 2m")
    return int(runs)


def _noise(values: FloatArray) -> float | None:
    """The standard deviation over the mean size; of positive values that of their logarithms."""
    if len(values) < 2:
        return None
    if np.min(values) > 0.0:
        return float(np.std(np.log(values), ddof=1))
    size = float(np.mean(np.abs(values)))
    return float(np.std(values, ddof=1)) / size if size > 0.0 else 0.0
