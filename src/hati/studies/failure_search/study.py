"""The search for failing combinations: a covering array, a trace of each failure, confirmation, and the rest."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec import Struct

from hati.core import (
    Batch,
    Benchmark,
    Configuration,
    Evidence,
    MeasurementError,
    Outcome,
    Plan,
    StudyId,
    Task,
    generator,
    replace,
)
from hati.core.wording import counted
from hati.design import coverage, covering_array, from_levels, levels
from hati.space.space import UsageDistribution
from hati.studies.failure_search.confirming import (
    MOST_UNSTARTED,
    Confirmation,
    FailureNeighbourhood,
    Trace,
    UntraceableError,
)
from hati.studies.failure_search.outcomes import (
    ConfigurationOutcomes,
    FailingCombination,
    FailureConclusion,
    PassingCoverage,
    UntracedFailure,
    is_infrastructure,
)
from hati.studies.schedule import normalised, remarked
from hati.studies.screening.planning.isolation import Element, RunNeeded, all_hold, excluding

if TYPE_CHECKING:
    from hati.space import Space

ARRAY, SEARCH = "array", "search"
MOST_FAILURES = 16
"""The number of first runs after which the search ends if all failed: settings are not the cause then."""
_UNSTARTED = 5
NO_USAGE = UsageDistribution()
"""All settings count alike."""
_MOST_ROUNDS = 5
Combination = tuple[Element, ...]


def failure_search_id(
    *,
    benchmark: Benchmark,
    revision: str,
    space: Space,
    strength: int,
    seed: int,
    machine: str,
    usage: UsageDistribution = NO_USAGE,
) -> StudyId:
    """The identity of a search, with all that determines its tasks."""
    parameters = {
        "benchmark": benchmark.name,
        "definition": benchmark.definition,
        "revision": revision,
        "space": space.digest,
        "strength": strength,
        **({"template": list(map(str, space.template))} if space.template else {}),
        **({"usage": msgspec.to_builtins(usage.settings)} if usage else {}),
    }
    return StudyId.of("failures", parameters, seed, machine)


class FailureSearch(Struct, frozen=True, dict=True):
    """Runs the rows of a covering array. After a failure, it first searches for the settings that fail together.

    Other rows replace failed ones until all combinations of settings that can pass were seen passing. Rows of
    configurations that are used more are run first.
    """

    id: StudyId
    benchmark: Benchmark
    revision: str
    space: Space
    strength: int
    usage: UsageDistribution = NO_USAGE

    def plan(self, evidence: Evidence) -> Plan:
        """The next run of a search, or the next row; none if there are enough runs, or nothing ever passed."""
        outcomes = ConfigurationOutcomes(self.space, evidence)
        if self._hopeless(outcomes):
            return Plan()
        found = self._found(outcomes)
        if found.needed is not None:
            return Plan.of((self._task(SEARCH, found.needed, evidence),), 1 + len(self._left(outcomes, found)))
        rows = [self._task(stage, row, evidence) for stage, row in self._left(outcomes, found)]
        return Plan(tuple(Batch((task,)) for task in rows[:1]), len(rows), tuple(Batch((task,)) for task in rows[1:]))

    def conclude(self, evidence: Evidence) -> FailureConclusion:
        """The failing combinations as far as they are known.

        Raises:
            MeasurementError: if no run passed.
        """
        outcomes = ConfigurationOutcomes(self.space, evidence)
        if not outcomes.passed.any():
            raise _nothing_passed(evidence)
        found = self._found(outcomes)
        named = found.combinations
        return FailureConclusion(
            study=self.id.key,
            benchmark=self.benchmark.name,
            revision=self.revision,
            combinations=tuple(self._judged(outcomes, named, each) for each in named),
            untraced=self._untraced(outcomes, found),
            coverage=self._coverage(outcomes, named),
            passed=int(outcomes.passed.sum()),
            failed=int(outcomes.failed.sum()),
            infrastructure=sum(map(is_infrastructure, evidence.runs)),
            configurations=int((outcomes.ran > 0).sum()),
            complete=found.needed is None and not self._left(outcomes, found),
            failures=_messages(evidence),
            seconds=evidence.seconds,
            warnings=(*_unstarted_warning(evidence), *remarked(evidence.done)),
        )

    def _judged(
        self, outcomes: ConfigurationOutcomes, named: tuple[Combination, ...], elements: Combination
    ) -> FailingCombination:
        found = self._confirmation(outcomes, named, elements).judged()
        return replace(found, usage=self.usage.fraction(elements)) if self.usage else found

    @property
    def first_rows(self) -> tuple[Configuration, ...]:
        """The rows of the covering array, the default configuration first if it is valid."""
        default = self.space.default
        rows = _rows(self.space, self.strength, self.id.seed, (default,) if self.space.valid(default) else ())
        return (*rows[:1], *self._by_usage(rows[1:]))

    def _by_usage(self, rows: tuple[Configuration, ...]) -> tuple[Configuration, ...]:
        """The rows, those that are used most first; equally used ones stay in their order."""
        return tuple(sorted(rows, key=lambda row: -self.usage.fraction(row.items()))) if self.usage else rows

    def _hopeless(self, outcomes: ConfigurationOutcomes) -> bool:
        """Whether further runs would show nothing: none passed, or none could be started."""
        ran = int(outcomes.ran.sum())
        unstarted = len(outcomes.evidence.runs) - ran
        return not outcomes.passed.any() and (ran >= MOST_FAILURES or (not ran and unstarted >= _UNSTARTED))

    def _found(self, outcomes: ConfigurationOutcomes) -> _Found:
        """The combinations that failures were traced to, and the run that is needed next."""
        named: list[Combination] = []
        reasons: dict[Configuration, str] = {}
        needed: Configuration | None = None
        searched = frozenset(run.task.configuration for run in outcomes.evidence.stage(SEARCH).runs)
        if not outcomes.passed.any():
            return _Found((), reasons, None)
        for row in np.flatnonzero(outcomes.failed > 0).tolist():
            target = outcomes.configurations[row]
            if any(_has(target, elements) for elements in named):
                continue
            try:
                elements = Trace(self._around(outcomes, tuple(named)), target, searched).fewest()
                named = [*(each for each in named if not set(elements) <= set(each)), elements]
            except UntraceableError as error:
                reasons[target] = str(error)
            except RunNeeded as more:
                needed = needed or more.configuration
        with suppress(StopIteration):
            needed = needed or next(self._unconfirmed(outcomes, tuple(named)))
        return _Found(tuple(named), reasons, needed)

    def _unconfirmed(self, outcomes: ConfigurationOutcomes, named: tuple[Combination, ...]) -> Iterator[Configuration]:
        """Yield configurations that have to be run before combinations are confirmed."""
        for elements in named:
            try:
                self._confirmation(outcomes, named, elements).check()
            except RunNeeded as more:
                yield more.configuration

    def _around(self, outcomes: ConfigurationOutcomes, named: tuple[Combination, ...]) -> FailureNeighbourhood:
        return FailureNeighbourhood(self.space, outcomes, named, self.id.seed)

    def _confirmation(
        self, outcomes: ConfigurationOutcomes, named: tuple[Combination, ...], elements: Combination
    ) -> Confirmation:
        others = tuple(each for each in named if each != elements)
        return Confirmation(self._around(outcomes, others), elements)

    def _left(self, outcomes: ConfigurationOutcomes, found: _Found) -> list[tuple[str, Configuration]]:
        """The rows that are still to be run, with their stages."""
        formulas = tuple(excluding(self.space, elements) for elements in found.combinations)
        for number in range(1, _MOST_ROUNDS + 1):
            stage = ARRAY if number == 1 else f"{ARRAY}-{number}"
            rows = self.first_rows if number == 1 else self._further_rows(outcomes.evidence, stage, found.combinations)
            left = [row for row in rows if not _ran(outcomes, row) and all_hold(formulas, row)]
            if left:
                return [(stage, row) for row in left]
            if not outcomes.failed.any():
                break
        return []

    def _further_rows(
        self, evidence: Evidence, stage: str, combinations: tuple[Combination, ...]
    ) -> tuple[Configuration, ...]:
        """Rows with the combinations that were not seen passing before the first run of this stage."""
        runs = evidence.runs
        first = next((place for place, run in enumerate(runs) if run.task.stage == stage), len(runs))
        before = ConfigurationOutcomes(self.space, Evidence(runs[:first]))
        passed = tuple(before.configurations[row] for row in np.flatnonzero(before.passing()))
        rows = _rows(_without(self.space, combinations), self.strength, self.id.seed, passed)[len(passed) :]
        return self._by_usage(rows)

    def _coverage(self, outcomes: ConfigurationOutcomes, combinations: tuple[Combination, ...]) -> PassingCoverage:
        rows = outcomes.rows[outcomes.passing()]
        rng = generator(self.id.seed, "coverage")
        known = coverage(self.space, self.strength, rows, rng)
        usable = coverage(_without(self.space, combinations), self.strength, rows, rng) if combinations else known
        return PassingCoverage(known.strength, known.valid, known.covered, known.valid - usable.valid)

    def _untraced(self, outcomes: ConfigurationOutcomes, found: _Found) -> tuple[UntracedFailure, ...]:
        failing = [outcomes.configurations[row] for row in np.flatnonzero(outcomes.failed > 0)]
        return tuple(
            UntracedFailure(
                each,
                outcomes.counts[each][1],
                sum(outcomes.counts[each][:2]),
                outcomes.first_failure(each),
                found.reasons.get(each, "the budget was spent"),
            )
            for each in failing
            if not any(_has(each, elements) for elements in found.combinations)
        )

    def _task(self, stage: str, configuration: Configuration, evidence: Evidence) -> Task:
        made = sum(run.task.configuration == configuration for run in evidence.stage(stage).runs)
        return Task(
            study=self.id.key,
            stage=stage,
            benchmark=self.benchmark.name,
            configuration=configuration,
            revision=self.revision,
            workload=self.benchmark.workload,
            repetition=made,
        )


class _Found(Struct, frozen=True):
    """The combinations, the reasons why other failures were not traced, and the configuration to run next."""

    combinations: tuple[Combination, ...]
    reasons: dict[Configuration, str]
    needed: Configuration | None


@lru_cache(maxsize=32)
def _rows(space: Space, strength: int, seed: int, given: tuple[Configuration, ...]) -> tuple[Configuration, ...]:
    """The rows of a covering array, the given ones first."""
    made = covering_array(space, strength, generator(seed, "covering array"), fixed=levels(given, space))
    return (*given, *from_levels(made.levels[len(given) :], space))


def _without(space: Space, combinations: tuple[Combination, ...]) -> Space:
    """The space without failing combinations, with the same options."""
    formulas = (excluding(space, elements) for elements in combinations)
    return replace(space, constraints=(*space.constraints, *formulas))


def _has(configuration: Configuration, elements: Combination) -> bool:
    return all(configuration.get(name) == setting for name, setting in elements)


def _ran(outcomes: ConfigurationOutcomes, configuration: Configuration) -> bool:
    passed, failed, unstarted = outcomes.counts.get(configuration, (0, 0, 0))
    return passed + failed > 0 or unstarted >= MOST_UNSTARTED


def _messages(evidence: Evidence) -> tuple[str, ...]:
    """The messages of failed runs with their numbers; of messages that differ only in numbers and paths, the first."""
    alike: dict[str, list[str]] = {}
    for run in evidence.failed:
        message = run.detail.partition("\n")[0] or run.outcome.value
        alike.setdefault(normalised(message), []).append(message)
    return tuple(f"{each[0]} ({counted(len(each), 'run')})" for each in alike.values())


def _unstarted_warning(evidence: Evidence) -> tuple[str, ...]:
    unstarted = [run for run in evidence.runs if is_infrastructure(run)]
    if not unstarted:
        return ()
    return (
        f"{len(unstarted)} of {len(evidence.runs)} runs could not be started, and say nothing about settings: "
        f"{unstarted[0].detail.partition(chr(10))[0]}",
    )


def _nothing_passed(evidence: Evidence) -> MeasurementError:
    if not evidence.runs:
        return MeasurementError("nothing was run", fix="give a larger budget")
    message = evidence.failed[0].detail.partition("\n")[0] or evidence.failed[0].outcome.value
    if all(map(is_infrastructure, evidence.runs)):
        return MeasurementError(f"no run could be started: {message}", fix="correct the benchmark")
    number = sum(run.outcome is not Outcome.NOT_STARTED for run in evidence.runs)
    return MeasurementError(
        f"none of {number} configurations passed: {message}",
        fix="correct the benchmark, then start afresh with --fresh; `hati runs` lists a project's runs",
    )
