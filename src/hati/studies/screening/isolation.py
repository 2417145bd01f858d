"""Which settings cannot work: each failure is traced to the fewest settings that fail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from hati.core import (
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
from hati.studies.screening.flip_stages import is_flip

if TYPE_CHECKING:
    from hati.space import Formula, Space

STAGE = "isolation"

Element = tuple[str, Setting]
"""An option with a setting other than its default."""


@dataclass(frozen=True)
class Isolated:
    """What the failures of a campaign come from.

    ``formulas`` hold in all configurations that do not have what cannot work; ``described`` are the settings, and
    ``messages`` the failures that they were traced from.
    """

    formulas: tuple[Formula, ...] = ()
    described: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()


NOTHING_ISOLATED = Isolated()
"""Where nothing is known to fail."""


@dataclass(frozen=True)
class Isolation:
    """Traces every failure of a campaign by moving halves of a configuration's settings to their defaults.

    This is delta debugging (Zeller and Hildebrandt 2002, ddmin) on the settings in which a failing configuration
    differs from the default one; settings with which some run worked are suspected last. It shares its id, and so its
    evidence and its budget, with the screening study.
    """

    id: StudyId
    benchmark: Benchmark
    revision: str
    space: Space

    def plan(self, evidence: Evidence) -> Plan:
        """The next run that tells more; none where every failure is traced.

        Raises:
            MeasurementError: where the default configuration does not work.
        """
        try:
            for _ in self._steps(evidence):
                pass
        except _Unknown as unknown:
            return Plan((self._task(unknown.configuration, evidence),))
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
        known = [NOTHING_ISOLATED]
        with suppress(_Unknown):
            known.extend(self._steps(evidence))
        return known[-1]

    def _steps(self, evidence: Evidence) -> Iterator[Isolated]:
        """What is known after each failure that was traced.

        Raises:
            _Unknown: with the configuration that has to be run.
            MeasurementError: where the default configuration does not work.
        """
        from hati.space.evaluation import holds

        outcomes = _Outcomes(evidence)
        found = NOTHING_ISOLATED
        if not self.space.valid(self.space.default):
            return
        for configuration, message in outcomes.failures.items():
            if not all(holds(formula, configuration) for formula in found.formulas):
                continue
            self._check_default(outcomes)
            elements = self._fewest(configuration, outcomes)
            if elements:
                self._check_again(elements, outcomes)
                listed = " with ".join(f"{name}={setting_text(setting)}" for name, setting in elements)
                found = Isolated(
                    (*found.formulas, self._excluding(elements)),
                    (*found.described, listed),
                    (*found.messages, message),
                )
                yield found

    def _check_default(self, outcomes: _Outcomes) -> None:
        default = self.space.default
        if outcomes.fails(default) and outcomes.fails_again(default):
            message = outcomes.message(default)
            if outcomes.unreadable(default):
                raise MeasurementError(
                    f"the default configuration works, but its output cannot be read: {message}",
                    fix="correct the benchmark; `hati runs` lists a project's runs",
                )
            raise MeasurementError(
                f"the default configuration does not work: {message}",
                fix="give options defaults that work, or correct the benchmark; `hati runs` lists a project's runs",
            )

    def _check_again(self, elements: tuple[Element, ...], outcomes: _Outcomes) -> None:
        """See that what is to be excluded failed twice by itself: one failure on the way here may have been by chance.

        Raises:
            _Unknown: where it failed once.
        """
        candidate = self._with(elements)
        assert candidate is not None
        outcomes.fails_again(candidate)

    def _fewest(self, configuration: Configuration, outcomes: _Outcomes) -> tuple[Element, ...]:
        """The fewest settings that fail with defaults beside them; none where the failure does not come again."""
        elements = self._elements(configuration)
        suspects = tuple(element for element in elements if not outcomes.works_with(element))
        for some in dict.fromkeys((suspects, elements)):
            candidate = self._with(some)
            if some and candidate is not None and outcomes.fails(candidate):
                return self._minimal(some, outcomes)
        return ()

    def _minimal(self, elements: tuple[Element, ...], outcomes: _Outcomes) -> tuple[Element, ...]:
        number = 2
        while len(elements) > 1:
            parts = _parts(elements, number)
            rests = [tuple(e for e in elements if e not in part) for part in parts] if number > 2 else []
            failing = next((some for some in (*parts, *rests) if self._fails(some, outcomes)), None)
            if failing is not None:
                number = 2 if failing in parts else max(number - 1, 2)
                elements = failing
            elif number >= len(elements):
                break
            else:
                number = min(2 * number, len(elements))
        return elements

    def _fails(self, elements: tuple[Element, ...], outcomes: _Outcomes) -> bool:
        candidate = self._with(elements)
        return candidate is not None and outcomes.fails(candidate)

    def _elements(self, configuration: Configuration) -> tuple[Element, ...]:
        default = self.space.default
        return tuple(
            (name, configuration[name])
            for name in self.space.names
            if name in configuration and configuration[name] != default.get(name, self.space.option(name).default)
        )

    def _with(self, elements: Sequence[Element]) -> Configuration | None:
        """The default configuration with these settings; None where that is not valid, or not all of them are in it."""
        made = self.space.canonical(dict(elements))
        return made if self.space.valid(made) and all(made.get(name) == setting for name, setting in elements) else None

    def _excluding(self, elements: Sequence[Element]) -> Formula:
        """That not all of these settings are there together."""
        from hati.space.formula import Comparator, Comparison, Literal, Name, Not, conjunction

        if len(elements) == 1 and self.space.option(elements[0][0]).active_if is None:
            return Comparison(Name(elements[0][0]), Comparator.UNEQUAL, Literal(elements[0][1]))
        return Not(conjunction(*(Comparison(Name(n), Comparator.EQUAL, Literal(s)) for n, s in elements)))

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


class _Unknown(Exception):  # noqa: N818 - it asks for a run
    def __init__(self, configuration: Configuration) -> None:
        super().__init__(str(configuration))
        self.configuration = configuration


@dataclass(frozen=True)
class _Outcomes:
    """What became of configurations: one works where any run of it did, and fails where two runs of it failed.

    On the way to the fewest settings one failure is enough, so that each step costs one run.
    """

    evidence: Evidence

    def fails(self, configuration: Configuration) -> bool:
        """Whether it fails, by a run for this or two others.

        Raises:
            _Unknown: where that is not known yet.
        """
        runs = self._by_configuration.get(configuration, ())
        isolated = any(run.task.stage == STAGE for run in runs)
        if isolated and all(run.outcome is not Outcome.DONE for run in runs):
            return True
        return self.fails_again(configuration)

    def fails_again(self, configuration: Configuration) -> bool:
        """Whether it fails, by two runs.

        Raises:
            _Unknown: where that is not known yet.
        """
        runs = self._by_configuration.get(configuration, ())
        if any(run.outcome is Outcome.DONE for run in runs):
            return False
        if len(runs) > 1:
            return True
        raise _Unknown(configuration)

    def works_with(self, element: Element) -> bool:
        """Whether some run with that setting worked."""
        return element in self._working

    def message(self, configuration: Configuration) -> str:
        """Why its last run failed."""
        return _message(self._by_configuration[configuration][-1])

    def unreadable(self, configuration: Configuration) -> bool:
        """Whether each of its runs ended well, with an output in which a metric was not found or is not a number."""
        return all(run.outcome is Outcome.UNREADABLE for run in self._by_configuration[configuration])

    @cached_property
    def failures(self) -> dict[Configuration, str]:
        """The configurations that failed in the campaign and never worked, in order, with their messages."""
        return {
            configuration: _message(runs[0])
            for configuration, runs in self._by_configuration.items()
            if not (runs[0].task.stage == STAGE or is_flip(runs[0].task))
            and not any(run.outcome is Outcome.DONE for run in runs)
        }

    @cached_property
    def _by_configuration(self) -> dict[Configuration, list[Run]]:
        found: dict[Configuration, list[Run]] = {}
        for run in self.evidence.runs:
            found.setdefault(run.task.configuration, []).append(run)
        return found

    @cached_property
    def _working(self) -> set[Element]:
        return {
            element
            for run in self.evidence.runs
            if run.outcome is Outcome.DONE
            for element in run.task.configuration.items()
        }


def _message(run: Run) -> str:
    return run.detail.partition("\n")[0] or run.outcome.value


def _parts(elements: tuple[Element, ...], number: int) -> list[tuple[Element, ...]]:
    """That many parts of about one size."""
    ends = [len(elements) * part // number for part in range(number + 1)]
    return [elements[start:end] for start, end in pairwise(ends) if end > start]
