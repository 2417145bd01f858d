"""The settings that cannot work: delta debugging traces each failure to the fewest settings that fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import Struct

from hati.core import (
    ISOLATION_STAGE,
    Benchmark,
    Configuration,
    Evidence,
    MeasurementError,
    Outcome,
    Plan,
    Run,
    Setting,
    StudyId,
    Task,
    setting_text,
)
from hati.studies.screening.reruns import is_flip

if TYPE_CHECKING:
    from hati.space import Constraint, Space


Element = tuple[str, Setting]
"""An option with one of its settings."""


def fewest_failing(elements: tuple[Element, ...], fails: Callable[[tuple[Element, ...]], bool]) -> tuple[Element, ...]:
    """A subset of the elements that fails, none of whose smaller parts was seen to fail.

    This is ddmin (Zeller and Hildebrandt 2002): halves, then smaller parts and their complements.
    """
    number = 2
    while len(elements) > 1:
        parts = _parts(elements, number)
        rests = [tuple(e for e in elements if e not in part) for part in parts] if number > 2 else []
        failing = next((some for some in (*parts, *rests) if fails(some)), None)
        if failing is not None:
            number = 2 if failing in parts else max(number - 1, 2)
            elements = failing
        elif number >= len(elements):
            break
        else:
            number = min(2 * number, len(elements))
    return elements


def _parts(elements: tuple[Element, ...], number: int) -> list[tuple[Element, ...]]:
    """``number`` parts of about equal size; empty parts are left out."""
    ends = [len(elements) * part // number for part in range(number + 1)]
    return [elements[start:end] for start, end in pairwise(ends) if end > start]


STAGE = ISOLATION_STAGE
_BY_CHANCE = 1e-4
"""The probability below which repeated failures of a configuration are not taken for chance."""
_FEWEST_REPEATED = 3
_FEWEST_BESIDE_OTHERS = 5
_MOST_REPEATED = 5


class RunNeeded(Exception):  # noqa: N818 - it asks for a run
    """Raised if a configuration needs one more run to know whether it fails."""

    def __init__(self, configuration: Configuration) -> None:
        super().__init__(str(configuration))
        self.configuration = configuration


class FailureRecord(Struct, frozen=True, dict=True):
    """The outcomes of configurations: one works if any run of it worked, and fails if several runs of it failed."""

    evidence: Evidence

    def fails(self, configuration: Configuration) -> bool:
        """Whether it fails, to the certainty that a single step of the search needs.

        One failed run of the isolation is enough, or two runs in all; one more if some failures are by chance.

        Raises:
            RunNeeded: if that is not known yet.
        """
        enough = 2 if self._some_by_chance else 1
        runs = self._by_configuration.get(configuration, ())
        own = sum(run.task.stage == STAGE for run in runs)
        return self._fails_often(configuration, len(runs) if own >= enough else enough + 1)

    def fails_beyond_chance(self, configuration: Configuration, formulas: Sequence[Constraint]) -> bool:
        """Whether it fails so often that chance is hardly the reason.

        One failure is enough if no configuration both failed and worked. Else the fraction of configurations that
        failed, among those in which all formulas hold, estimates the probability of a failure by chance.

        Raises:
            RunNeeded: if that is not known yet.
        """
        return self._fails_often(configuration, self._beyond_chance(formulas))

    def fails_certainly(self, configuration: Configuration, formulas: Sequence[Constraint]) -> bool:
        """Whether it fails often enough to be excluded.

        It must fail beyond chance, and three times; five times if a configuration failed in which all formulas hold.
        The formulas exclude the settings known to fail, and the candidates for exclusion.

        Raises:
            RunNeeded: if that is not known yet.
        """
        unexplained = any(failed and all_hold(formulas, each) for each, failed in self._failed.items())
        fewest = _FEWEST_BESIDE_OTHERS if unexplained else _FEWEST_REPEATED
        return self._fails_often(configuration, max(fewest, self._beyond_chance(formulas)))

    def works(self, configuration: Configuration) -> bool:
        """Whether any run of it worked."""
        return any(run.outcome is Outcome.DONE for run in self._by_configuration.get(configuration, ()))

    def working_with(self, elements: Sequence[Element]) -> Configuration | None:
        """The first configuration with all these settings that worked; None where there is none."""
        wanted = frozenset(elements)
        return next((configuration for configuration, items in self._working if wanted <= items), None)

    def message(self, configuration: Configuration) -> str:
        """Why its last run failed."""
        return _message(self._by_configuration[configuration][-1])

    def unreadable(self, configuration: Configuration) -> bool:
        """Whether each of its runs ended well, with an output in which a metric was not found or is not a number."""
        return all(run.outcome is Outcome.UNREADABLE for run in self._by_configuration[configuration])

    @cached_property
    def failures(self) -> dict[Configuration, str]:
        """The configurations with failed runs, isolation and flips apart, in order, with their first messages."""
        found: dict[Configuration, str] = {}
        for run in self.evidence.failed:
            if not (run.task.stage == STAGE or is_flip(run.task)):
                found.setdefault(run.task.configuration, _message(run))
        return found

    def _beyond_chance(self, formulas: Sequence[Constraint]) -> int:
        """The number of failures in a row that chance hardly explains."""
        if not self._some_by_chance:
            return 1
        failed = [failed for configuration, failed in self._failed.items() if all_hold(formulas, configuration)]
        rate = sum(failed) / max(1, len(failed))
        return next((times for times in range(1, _MOST_REPEATED) if rate**times <= _BY_CHANCE), _MOST_REPEATED)

    def _fails_often(self, configuration: Configuration, times: int) -> bool:
        if self.works(configuration):
            return False
        if len(self._by_configuration.get(configuration, ())) < times:
            raise RunNeeded(configuration)
        return True

    @cached_property
    def _some_by_chance(self) -> bool:
        """Whether any configuration both failed and worked."""
        return any(failed and self.works(configuration) for configuration, failed in self._failed.items())

    @cached_property
    def _failed(self) -> dict[Configuration, bool]:
        """For each configuration, whether a run of it failed."""
        return {
            configuration: any(run.outcome is not Outcome.DONE for run in runs)
            for configuration, runs in self._by_configuration.items()
        }

    @cached_property
    def _by_configuration(self) -> dict[Configuration, list[Run]]:
        found: dict[Configuration, list[Run]] = {}
        for run in self.evidence.runs:
            found.setdefault(run.task.configuration, []).append(run)
        return found

    @cached_property
    def _working(self) -> tuple[tuple[Configuration, frozenset[Element]], ...]:
        done = dict.fromkeys(run.task.configuration for run in self.evidence.done)
        return tuple((configuration, frozenset(configuration.items())) for configuration in done)


def all_hold(formulas: Sequence[Constraint], configuration: Configuration) -> bool:
    """Whether all formulas hold in a configuration."""
    from hati.space.evaluation import holds

    return all(holds(formula, configuration) for formula in formulas)


def _message(run: Run) -> str:
    return run.detail.partition("\n")[0] or run.outcome.value


_MOST_BY_CHANCE = 8
"""After this number of failures that did not recur, only failures with a setting that never worked are traced."""


class Isolated(Struct, frozen=True):
    """The settings to which the failures of a campaign were traced.

    ``formulas`` hold in all configurations without settings that cannot work; ``described`` names these settings, and
    ``messages`` holds the failures from which they were traced.
    """

    formulas: tuple[Constraint, ...] = ()
    described: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()


NOTHING_ISOLATED = Isolated()
"""Nothing is known to fail."""


class Isolation(Struct, frozen=True):
    """Traces every failure of a campaign by changing parts of a configuration's settings to their defaults.

    Settings with which some run worked are suspected last. If a run worked with all settings found, they fail only with
    some defaults; these are found by changing parts of that run's other settings to their defaults. ``known`` is
    excluded already and stays so: a stored design was chosen without it. Isolation shares its id, and so its evidence
    and its budget, with the screening study.
    """

    id: StudyId
    benchmark: Benchmark
    revision: str
    space: Space
    known: Isolated = NOTHING_ISOLATED

    def plan(self, evidence: Evidence) -> Plan:
        """The next run that traces a failure; none where every failure is traced.

        Raises:
            MeasurementError: where the default configuration does not work.
        """
        try:
            for _ in self._steps(evidence):
                pass
        except RunNeeded as needed:
            return Plan.of((self._task(needed.configuration, evidence),))
        return Plan()

    def possible(self, evidence: Evidence) -> bool:
        """Whether the default configuration works, as far as is known."""
        try:
            self.conclude(evidence)
        except MeasurementError:
            return False
        return True

    def conclude(self, evidence: Evidence) -> Isolated:
        """The failures traced so far.

        Raises:
            MeasurementError: where the default configuration does not work.
        """
        found = [self.known]
        with suppress(RunNeeded):
            found.extend(self._steps(evidence))
        return found[-1]

    def _steps(self, evidence: Evidence) -> Iterator[Isolated]:
        """The result after each failure that was traced.

        Raises:
            RunNeeded: with the configuration that has to be run.
            MeasurementError: where the default configuration does not work.
        """
        record, found, by_chance = FailureRecord(evidence), self.known, 0
        if not self.space.valid(self.space.default):
            return
        for configuration, message in record.failures.items():
            by_chance += record.works(configuration)
            while elements := self._traced(configuration, found.formulas, record, by_chance):
                listed = " with ".join(f"{name}={setting_text(setting)}" for name, setting in elements)
                found = Isolated(
                    (*found.formulas, excluding(self.space, elements)),
                    (*found.described, listed),
                    (*found.messages, message),
                )
                yield found

    def _traced(
        self, configuration: Configuration, formulas: tuple[Constraint, ...], record: FailureRecord, by_chance: int
    ) -> tuple[Element, ...]:
        """The settings that make a configuration fail; empty if they are excluded, or it does not fail again.

        Raises:
            RunNeeded: with the configuration that has to be run.
            MeasurementError: where the default configuration does not work.
        """
        if record.works(configuration) or not all_hold(formulas, configuration):
            return ()
        search = _Search(self.space, formulas, record)
        elements = search.elements(configuration)
        if by_chance >= _MOST_BY_CHANCE and not search.never_worked(elements):
            return ()
        self._check_default(record)
        if not elements or not record.fails_beyond_chance(configuration, (*formulas, excluding(self.space, elements))):
            return ()
        return search.without_working_runs(search.failing_with_defaults(elements))

    def _check_default(self, record: FailureRecord) -> None:
        default = self.space.default
        if not record.fails(default) or not record.fails_certainly(
            default, (excluding(self.space, tuple(default.items())),)
        ):
            return
        message = record.message(default)
        if record.unreadable(default):
            raise MeasurementError(
                f"the default configuration works, but its output cannot be read: {message}",
                fix="correct the benchmark; `hati runs` lists a project's runs",
            )
        raise MeasurementError(
            f"the default configuration does not work: {message}",
            fix="give options defaults that work, or correct the benchmark; `hati runs` lists a project's runs",
        )

    def _task(self, configuration: Configuration, evidence: Evidence) -> Task:
        made = sum(run.task.configuration == configuration for run in evidence.stage(STAGE).runs)
        return self.benchmark.task(self.id, STAGE, configuration, self.revision, made)


class _Search(Struct, frozen=True):
    """Looks for the fewest settings that fail, among configurations in which the formulas hold.

    All methods but ``elements`` and ``never_worked`` raise RunNeeded with the configuration that has to be run.
    """

    space: Space
    formulas: tuple[Constraint, ...]
    record: FailureRecord

    def elements(self, configuration: Configuration) -> tuple[Element, ...]:
        """The settings of a configuration that are not the default ones."""
        default = self.space.default
        return tuple(
            (name, configuration[name])
            for name in self.space.names
            if name in configuration and configuration[name] != default.get(name, self.space.option(name).default)
        )

    def never_worked(self, elements: Sequence[Element], fixed: Sequence[Element] = ()) -> tuple[Element, ...]:
        """The elements that, together with all ``fixed`` ones, are in no run that worked."""
        return tuple(each for each in elements if self.record.working_with((*fixed, each)) is None)

    def failing_with_defaults(self, elements: tuple[Element, ...]) -> tuple[Element, ...]:
        """The fewest of the elements that fail together with defaults; empty if they do not fail again."""

        def fails(some: tuple[Element, ...]) -> bool:
            return self._fails({}, some)

        found = _fewest((self.never_worked(elements), elements), fails)
        return found if found and self._excludable(self.space.canonical(dict(found)), found) else ()

    def without_working_runs(self, elements: tuple[Element, ...]) -> tuple[Element, ...]:
        """The elements, extended by defaults with which they fail until no run worked with all of them."""
        while elements and (working := self.record.working_with(elements)) is not None:
            more = self._defaults(elements, working)
            changed = self.space.canonical({**working, **dict(more)})
            elements = (*elements, *more) if more and self._excludable(changed, (*elements, *more)) else ()
        return elements

    def _defaults(self, elements: tuple[Element, ...], working: Configuration) -> tuple[Element, ...]:
        """The fewest defaults that make a working configuration with the elements fail."""
        failing = self.space.canonical(dict(elements))
        defaults = tuple(
            (name, failing[name])
            for name in self.space.names
            if name in failing and name in working and failing[name] != working[name]
        )

        def fails(some: tuple[Element, ...]) -> bool:
            return self._fails(working, (*elements, *some))

        return _fewest((self.never_worked(defaults, elements), defaults), fails)

    def _fails(self, configuration: Mapping[str, Setting], elements: tuple[Element, ...]) -> bool:
        """Whether a configuration with these settings is valid, in the formulas' terms too, and fails."""
        made = self.space.canonical({**configuration, **dict(elements)})
        whole = all(made.get(name) == setting for name, setting in elements)
        return whole and self.space.valid(made) and all_hold(self.formulas, made) and self.record.fails(made)

    def _excludable(self, configuration: Configuration, elements: tuple[Element, ...]) -> bool:
        return self.record.fails_certainly(configuration, (*self.formulas, excluding(self.space, elements)))


def _fewest(
    suspected: Sequence[tuple[Element, ...]], fails: Callable[[tuple[Element, ...]], bool]
) -> tuple[Element, ...]:
    """The fewest failing elements of the first suspected elements that fail together; empty if none do."""
    for some in dict.fromkeys(suspected):
        if some and fails(some):
            return fewest_failing(some, fails)
    return ()


def excluding(space: Space, elements: Sequence[Element]) -> Constraint:
    """The constraint that a configuration does not have all of these settings."""
    from hati.formula import Comparator, Not
    from hati.space.constraint import Literal, Name, TermComparison, conjunction

    if len(elements) == 1 and space.option(elements[0][0]).active_if is None:
        return TermComparison(Name(elements[0][0]), Comparator.UNEQUAL, Literal(elements[0][1]))
    return Not(conjunction(*(TermComparison(Name(n), Comparator.EQUAL, Literal(s)) for n, s in elements)))
