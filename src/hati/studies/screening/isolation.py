"""Which settings cannot work: each failure is traced to the fewest settings that fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from hati.core import Benchmark, Configuration, Evidence, MeasurementError, Plan, Setting, StudyId, Task, setting_text
from hati.studies.screening.delta_debugging import Element, fewest_failing
from hati.studies.screening.failure_record import STAGE, FailureRecord, RunNeeded, all_hold

if TYPE_CHECKING:
    from hati.space import Formula, Space

_MOST_BY_CHANCE = 8
"""After this number of failures that did not come again, only those with a setting that never worked are traced."""


class Isolated(Struct, frozen=True):
    """What the failures of a campaign come from.

    ``formulas`` hold in all configurations that do not have what cannot work; ``described`` are the settings, and
    ``messages`` the failures that they were traced from.
    """

    formulas: tuple[Formula, ...] = ()
    described: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()


NOTHING_ISOLATED = Isolated()
"""Where nothing is known to fail."""


class Isolation(Struct, frozen=True):
    """Traces every failure of a campaign by moving parts of a configuration's settings to their defaults.

    Settings with which some run worked are suspected last. Where a run worked with all settings that are found, they
    fail with some defaults only, which are found by moving parts of that run's other settings to their defaults.
    ``known`` is excluded already and stays so: a stored design was chosen without it. Isolation shares its id, and so
    its evidence and its budget, with the screening study.
    """

    id: StudyId
    benchmark: Benchmark
    revision: str
    space: Space
    known: Isolated = NOTHING_ISOLATED

    def plan(self, evidence: Evidence) -> Plan:
        """The next run that tells more; none where every failure is traced.

        Raises:
            MeasurementError: where the default configuration does not work.
        """
        try:
            for _ in self._steps(evidence):
                pass
        except RunNeeded as needed:
            return Plan((self._task(needed.configuration, evidence),))
        return Plan()

    def possible(self, evidence: Evidence) -> bool:
        """Whether the default configuration works, as far as is known."""
        try:
            self.conclude(evidence)
        except MeasurementError:
            return False
        return True

    def conclude(self, evidence: Evidence) -> Isolated:
        """What is traced so far.

        Raises:
            MeasurementError: where the default configuration does not work.
        """
        found = [self.known]
        with suppress(RunNeeded):
            found.extend(self._steps(evidence))
        return found[-1]

    def _steps(self, evidence: Evidence) -> Iterator[Isolated]:
        """What is known after each failure that was traced.

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
                    (*found.formulas, _excluding(self.space, elements)),
                    (*found.described, listed),
                    (*found.messages, message),
                )
                yield found

    def _traced(
        self, configuration: Configuration, formulas: tuple[Formula, ...], record: FailureRecord, by_chance: int
    ) -> tuple[Element, ...]:
        """The settings that a configuration fails with; none where they are excluded, or it does not fail again.

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
        if not elements or not record.fails_beyond_chance(configuration, (*formulas, _excluding(self.space, elements))):
            return ()
        return search.beside_working_runs(search.beside_defaults(elements))

    def _check_default(self, record: FailureRecord) -> None:
        default = self.space.default
        if not record.fails(default) or not record.fails_certainly(
            default, (_excluding(self.space, tuple(default.items())),)
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
        return Task(
            study=self.id.key,
            stage=STAGE,
            benchmark=self.benchmark.name,
            configuration=configuration,
            revision=self.revision,
            workload=self.benchmark.workload,
            repetition=made,
        )


class _Search(Struct, frozen=True):
    """Looks for the fewest settings that fail, among configurations in which the formulas hold.

    All methods but ``elements`` and ``never_worked`` raise RunNeeded with the configuration that has to be run.
    """

    space: Space
    formulas: tuple[Formula, ...]
    record: FailureRecord

    def elements(self, configuration: Configuration) -> tuple[Element, ...]:
        """The settings of a configuration that are not the default ones."""
        default = self.space.default
        return tuple(
            (name, configuration[name])
            for name in self.space.names
            if name in configuration and configuration[name] != default.get(name, self.space.option(name).default)
        )

    def never_worked(self, elements: Sequence[Element], beside: Sequence[Element] = ()) -> tuple[Element, ...]:
        """The elements with which, and all those beside them, no run worked."""
        return tuple(each for each in elements if self.record.working_with((*beside, each)) is None)

    def beside_defaults(self, elements: tuple[Element, ...]) -> tuple[Element, ...]:
        """The fewest of the elements that fail beside defaults; none where they do not fail again."""

        def fails(some: tuple[Element, ...]) -> bool:
            return self._fails({}, some)

        found = _fewest((self.never_worked(elements), elements), fails)
        return found if found and self._excludable(self.space.canonical(dict(found)), found) else ()

    def beside_working_runs(self, elements: tuple[Element, ...]) -> tuple[Element, ...]:
        """The elements with the defaults that they fail with, so that no run worked with all of these."""
        while elements and (working := self.record.working_with(elements)) is not None:
            more = self._defaults(elements, working)
            changed = self.space.canonical({**working, **dict(more)})
            elements = (*elements, *more) if more and self._excludable(changed, (*elements, *more)) else ()
        return elements

    def _defaults(self, elements: tuple[Element, ...], working: Configuration) -> tuple[Element, ...]:
        """The fewest defaults with which a working configuration with the elements fails."""
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
        return self.record.fails_certainly(configuration, (*self.formulas, _excluding(self.space, elements)))


def _fewest(
    suspected: Sequence[tuple[Element, ...]], fails: Callable[[tuple[Element, ...]], bool]
) -> tuple[Element, ...]:
    """The fewest elements that fail, of the first that fail together; none where none do."""
    for some in dict.fromkeys(suspected):
        if some and fails(some):
            return fewest_failing(some, fails)
    return ()


def _excluding(space: Space, elements: Sequence[Element]) -> Formula:
    """That not all of these settings are there together."""
    from hati.space.formula import Comparator, Comparison, Literal, Name, Not, conjunction

    if len(elements) == 1 and space.option(elements[0][0]).active_if is None:
        return Comparison(Name(elements[0][0]), Comparator.UNEQUAL, Literal(elements[0][1]))
    return Not(conjunction(*(Comparison(Name(n), Comparator.EQUAL, Literal(s)) for n, s in elements)))
