"""A few runs to learn what a run costs, how noisy it is and which settings fail, before a design is chosen."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from hati.core import (
    PILOT_STAGE,
    Benchmark,
    Budget,
    Configuration,
    Evidence,
    FloatArray,
    InputError,
    Metric,
    Plan,
    Setting,
    StudyId,
    Task,
    generator,
    replace,
)
from hati.core.wording import counted
from hati.design import MOST_RUNS
from hati.knowledge import Variation
from hati.studies.schedule import failure_reasons, nothing_measured
from hati.studies.screening import AnyScreening, Isolated, Isolation, Losses, ScreeningConclusion
from hati.studies.screening.planning.tasks import RESERVE, RunCost, machine_share, run_cost
from hati.studies.screening.runs import measured

if TYPE_CHECKING:
    from hati.space import Space

STAGE = PILOT_STAGE
_DRAWN = 3
_DRAWN_TO_COVER = 256
RUNS = 5
LEFT = 0.5
_FEWEST_SPREAD = 3
FEWEST = 3


class PilotResult(Struct, frozen=True):
    """Estimates from pilot runs: seconds of wall time per run, and the metric's noise at the default configuration.

    ``noise`` is the standard deviation of a run as a fraction of the mean, None if fewer than two runs of the default
    configuration worked; ``runs`` and ``seconds`` are the cost of the pilot, and ``failed`` runs failed. ``spread`` is
    the standard deviation between configurations as a fraction, None if fewer than three worked. ``seconds_per_build``
    is the additional time of a build, and ``builds_left`` the most builds after the pilot.
    """

    seconds_per_run: float
    noise: float | None
    runs: int
    failed: int
    seconds: float
    spread: float | None = None
    seconds_per_build: float = 0.0
    builds_left: int = 0

    @property
    def variation(self) -> Variation | None:
        """The variation of the metric, as far as the pilot shows it.

        Main effects are assumed to leave half of the deviation between configurations (they left from 12 to 54 % in six
        systems all of whose configurations were measured).
        """
        if self.noise is None or self.spread is None:
            return None
        return Variation((LEFT * self.spread) ** 2, self.noise**2)


class Pilot(Struct, frozen=True, dict=True):
    """Runs of the default configuration, for the noise, interleaved with others, for the cost.

    The others cover every setting: for options with two settings, all non-default ones at once, so that the number of
    configurations is that of the largest option's settings. If constraints forbid these, more are needed. The rest
    of the ``runs`` has every second option at its last setting. The pilot shares its id, and so its evidence and its
    budget, with the screening study that follows.
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
        order = [
            default if place % 2 == 0 or not others else others[place // 2 % len(others)] for place in range(self.runs)
        ]
        for configuration in (*order, *(each for each in self._covering if each not in order)):
            repetition = made.get(configuration, 0)
            made[configuration] = repetition + 1
            tasks.append(self.benchmark.task(self.id, STAGE, configuration, self.revision, repetition))
        return tuple(tasks)

    def plan(self, evidence: Evidence) -> Plan:
        """The pilot runs that are left; none once three were made and all failed."""
        made = evidence.stage(STAGE)
        left = tuple(task for task in self.tasks if task.id not in made.known)
        if made.done:
            return Plan.of(left)
        return Plan.of(left).at_most(max(0, FEWEST - len(made.runs)))

    def conclude(self, evidence: Evidence) -> PilotResult:
        """The cost and the noise of a run.

        Raises:
            MeasurementError: if no run worked.
        """
        made = evidence.stage(STAGE)
        found = measured(made, self.metric, {task.configuration: 0 for task in self.tasks})
        if not len(found.values):
            raise nothing_measured(found.reasons)
        cost = run_cost(made.runs, self.benchmark, self.space)
        assert cost is not None
        default = [run.task.configuration == self.space.default for run in found.runs]
        return PilotResult(
            seconds_per_run=cost.seconds_per_run,
            noise=_noise(found.values[default]),
            runs=len(made.runs),
            failed=len(found.failed),
            seconds=made.seconds,
            spread=_spread([run.task.configuration for run in found.runs], found.values),
            seconds_per_build=cost.seconds_per_build,
            builds_left=cost.builds_left,
        )

    @cached_property
    def _spread(self) -> tuple[Configuration, ...]:
        """The configurations other than the default, the covering ones first."""
        alternating = {
            option.name: option.settings[-1] if place % 2 else option.settings[0]
            for place, option in enumerate(self.space.options)
        }
        found = (*self._covering, *self._valid(alternating))
        return tuple(dict.fromkeys(found)) or self._drawn

    @cached_property
    def _covering(self) -> tuple[Configuration, ...]:
        """The configurations that, together with the default one, have every setting of every option."""
        others = {o.name: [s for s in reversed(o.settings) if s != o.default] for o in self.space.options}
        most = max(map(len, others.values()), default=0)
        found: list[Configuration] = []
        for place in range(most):
            assignment = {name: left[place % len(left)] for name, left in others.items() if left}
            found += self._valid(assignment)
        uncovered = [(n, s) for n, left in others.items() for s in left if all(c.get(n) != s for c in found)]
        return (*found, *self._nearest(uncovered)) if uncovered else tuple(found)

    def _nearest(self, uncovered: Sequence[tuple[str, Setting]]) -> Iterator[Configuration]:
        """Valid configurations for the settings not covered yet, each with as many of them as possible."""
        from hati.space import sample

        ahead = set(uncovered)
        drawn = sample(self.space, _DRAWN_TO_COVER, generator(self.id.seed, "cover"))
        while ahead and drawn:
            best = max(drawn, key=lambda each: len(ahead & set(each.items())))
            if not ahead & set(best.items()):
                return  # the design will hardly have settings that are so rare
            ahead -= set(best.items())
            yield best

    def _valid(self, assignment: Mapping[str, Setting]) -> tuple[Configuration, ...]:
        """The configuration that an assignment determines, if it is valid and not the default; else nothing."""
        found = self.space.canonical(assignment)
        return (found,) if self.space.valid(found) and found != self.space.default else ()

    @cached_property
    def _drawn(self) -> tuple[Configuration, ...]:
        """Random valid configurations, for constraints that forbid the spread ones."""
        from hati.space import sample

        found = sample(self.space, _DRAWN, generator(self.id.seed, "pilot"))
        return tuple(c for c in dict.fromkeys(found) if c != self.space.default)


def affordable_runs(budget: Budget, pilot: PilotResult) -> int:
    """The number of runs that a budget buys after the pilot; one twentieth of the time is kept in reserve.

    No design has more than 10,000 runs, whatever the time.

    Raises:
        InputError: if it buys none.
    """
    time = (1.0 - RESERVE) * budget.seconds - pilot.seconds
    run, build = pilot.seconds_per_run, pilot.seconds_per_build
    runs = min(RunCost(run, build, pilot.builds_left).runs_within(time), budget.runs - pilot.runs)
    if runs < 1.0:
        raise InputError(
            f"after {counted(pilot.runs, 'pilot run')} of {pilot.seconds:.3g} s in all, the budget has no run left",
            fix=f"a run takes {run:.3g} s{f' and a build {build:.3g} s' if build else ''}: give more time, or "
            "fix an option whose setting is slow at a faster one by --set OPTION=SETTING",
        )
    if math.isinf(runs):
        raise InputError("the budget has no end", fix="give a number of runs such as 96 or a time such as 2m")
    return int(min(runs, MOST_RUNS))


def _spread(configurations: Sequence[Configuration], values: FloatArray) -> float | None:
    """The standard deviation between the means of configurations, as a fraction as in `_noise`."""
    own: dict[Configuration, list[float]] = {}
    for configuration, value in zip(configurations, values.tolist(), strict=True):
        own.setdefault(configuration, []).append(value)
    means = np.array([np.mean(each) for each in own.values()])
    return _noise(means) if len(means) >= _FEWEST_SPREAD else None


def _noise(values: FloatArray) -> float | None:
    """The standard deviation divided by the mean size; for positive values, the deviation of their logarithms."""
    if len(values) < 2:
        return None
    if np.min(values) > 0.0:
        return float(np.std(np.log(values), ddof=1))
    size = float(np.mean(np.abs(values)))
    return float(np.std(values, ddof=1)) / size if size > 0.0 else 0.0


_FIRST = 4
"""The number of runs after which failures are first traced; then again after each doubling."""


class UntilFailure(Struct, frozen=True):
    """A screening that stops when runs fail for an unknown reason.

    Its tasks are the share of machine number ``member`` of ``machines``. These do not see each other's runs before they
    start again. So one of several also stops at the interim look, unless that is ``before`` it started.
    """

    study: AnyScreening
    isolation: Isolation
    member: int = 0
    machines: int = 1
    before: Evidence = Evidence()

    @property
    def id(self) -> StudyId:
        """The id of the screening."""
        return self.study.id

    def plan(self, evidence: Evidence) -> Plan:
        """The next runs; none while a failure has to be traced first."""
        if self.isolation.plan(evidence) or self._at_look(evidence):
            return Plan()
        return machine_share(self.study, evidence, self.member, self.machines).at_most(max(_FIRST, len(evidence.runs)))

    def _at_look(self, evidence: Evidence) -> bool:
        return self.machines > 1 and self.study.looked(evidence) and not self.study.looked(self.before)

    def conclude(self, evidence: Evidence) -> Isolated:
        """The settings that are known to fail."""
        return self.isolation.conclude(evidence)


def left_for_design(budget: Budget, evidence: Evidence) -> Budget:
    """The budget left after all runs except pilots, whose cost the planning of the design subtracts."""
    return budget.left(Evidence(tuple(run for run in evidence.runs if run.task.stage != STAGE)))


def usable_configurations(evidence: Evidence, space: Space) -> tuple[Configuration, ...]:
    """The configurations of the design's successful runs that are valid in a narrowed space."""
    from hati.studies.screening.planning.tasks import STAGE as DESIGN

    worked = dict.fromkeys(run.task.configuration for run in evidence.stage(DESIGN).done)
    return tuple(configuration for configuration in worked if space.valid(configuration))


def with_losses(
    conclusion: ScreeningConclusion, evidence: Evidence, metric: Metric, isolated: Isolated
) -> ScreeningConclusion:
    """The conclusion with all failed runs of the campaign, of any stage."""
    failed = tuple(run for run in evidence.runs if run.of(metric.name) is None)
    if not failed:
        return conclusion
    losses = Losses(len(failed), len(evidence.runs), isolated.described, isolated.messages)
    return replace(conclusion, failures=failure_reasons(failed, metric), losses=losses)
