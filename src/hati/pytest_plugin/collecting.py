"""Collect files with formulas, and measure a session's formulas together, one campaign for each project."""

from __future__ import annotations

import math
import time
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from os.path import relpath
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from hati.core import Evidence, HatiError, InputError, MeasurementError, Plan, Run, replace
from hati.core.wording import counted
from hati.document import duration
from hati.harness.interference import load_warning_of
from hati.logic.interpret import FormulaVerdict
from hati.python import has_statements
from hati.studies.assertion import (
    Answer,
    Assertion,
    Assured,
    Requirement,
    SampleCollector,
    Standard,
    blockers,
    unmeasured,
)
from hati.studies.assertion.tables import assertion_answer, assertion_evidence, excess_text
from hati.wiring import (
    AssertionCampaign,
    Misstated,
    ShortBudgetError,
    TooManyError,
    Workplace,
    formulas_in,
    prepare_assertion,
    project_around,
    relations_of,
    stated_in,
    together,
    unresolved_names,
    workplace_around,
)

_FIRST_LINE = 2.0
_BETWEEN_LINES = 5.0
"""In seconds, if lines cannot be overwritten."""
_BETWEEN_DRAWINGS = 0.2
_ENOUGH = "give --hati-budget {} or more for clear differences, several times that for small ones, or a time such as 2m"
_SPARE = 2.0
"""The budget that is advised, as a multiple of the time that clear formulas take at the least."""


class Display:
    """Writes to the terminal, although pytest captures the output of tests; writes nothing with ``-q``."""

    def __init__(self, config: pytest.Config) -> None:
        self._capture = config.pluginmanager.get_plugin("capturemanager")
        terminal = config.pluginmanager.get_plugin("terminalreporter")
        self._terminal = terminal if self._capture is not None and config.get_verbosity() >= 0 else None
        self._drawn = False
        self.redraws = bool(self._terminal and self._terminal.isatty)

    def say(self, text: str) -> None:
        """Write a line."""
        self._write(lambda terminal: (terminal.ensure_newline(), terminal.write_line(f"hati: {text}")))

    def draw(self, text: str) -> None:
        """Overwrite the current line."""
        self._drawn = True
        self._write(lambda terminal: (terminal.rewrite(f"hati: {text}", erase=True), terminal.flush()))

    def end(self) -> None:
        """End the line that was overwritten."""
        if self._drawn:
            self._write(lambda terminal: terminal.write("\n"))

    def _write(self, writing: Callable[..., object]) -> None:
        if self._terminal is not None and self._capture is not None:
            with self._capture.global_and_fixture_disabled():
                writing(self._terminal)


class MeasuringProgress:
    """An observer that shows the runs so far, and the number of formulas that they decide."""

    def __init__(self, study: Assertion, display: Display, clock: Callable[[], float] = time.monotonic) -> None:
        self._study, self._display, self._clock = study, display, clock
        self._began = clock()
        self._next = self._began + (0.0 if display.redraws else _FIRST_LINE)
        self._plan: Plan | None = None
        self._runs: list[Run] = []

    def __call__(self, run: Run, evidence: Evidence, plan: Plan) -> None:
        """Add a run."""
        if plan is not self._plan:
            self._plan, self._runs = plan, []
        self._runs.append(run)
        if self._clock() >= self._next:
            self._show(replace(evidence, runs=(*evidence.runs, *self._runs)))

    def _show(self, evidence: Evidence) -> None:
        elapsed = self._clock() - self._began
        decided = f"{self._study.decided(evidence)} of {counted(len(self._study.requirements), 'formula')} decided"
        text = f"{counted(len(evidence.runs), 'run')}, {decided}, {elapsed:.0f} s"
        (self._display.draw if self._display.redraws else self._display.say)(text)
        now = self._clock()
        cost = now - self._began - elapsed
        least = _BETWEEN_DRAWINGS if self._display.redraws else _BETWEEN_LINES
        self._next = now + max(least, 20 * cost)


Stated = tuple[Path, Requirement]
"""The project's folder, and a formula about it."""


class FormulaReport(Struct, frozen=True):
    """The report on a formula: in full, in a line, and as properties of its test; its runs took ``seconds``."""

    verdict: FormulaVerdict
    report: str
    summary: str
    properties: tuple[tuple[str, object], ...]
    seconds: float


def _warn(text: str) -> None:
    warnings.warn(text.removeprefix("warning: "), stacklevel=2)


class Measurements:
    """The measurements for the selected tests, by their ids; nothing is measured before one of them runs."""

    def __init__(self, config: pytest.Config, selected: Mapping[str, Stated]) -> None:
        self._config = config
        self._selected = dict(selected)
        self._judged: dict[str, FormulaReport | HatiError] = {}
        self._costs: list[str] = []
        self._elapsed: dict[str, float] = {}
        self._booked: dict[str, float] = {}

    def of(self, test: str) -> FormulaReport:
        """The report on a test's formula.

        Raises:
            HatiError: where it cannot be measured.
        """
        if test not in self._judged:
            project = self._selected[test][0]
            stated = {key: found for key, (root, found) in self._selected.items() if root == project}
            start = time.perf_counter()
            self._measure(project, stated)
            self.book(test, time.perf_counter() - start, {key: self._judged[key] for key in stated})
        judged = self._judged[test]
        if isinstance(judged, HatiError):
            raise judged
        return judged

    def duration(self, test: str, elapsed: float) -> float:
        """The duration of a test, with its own part of its project's campaign, whichever test waited for it."""
        return elapsed - self._elapsed.get(test, 0.0) + self._booked.get(test, 0.0)

    def book(self, waiting: str, elapsed: float, judged: Mapping[str, FormulaReport | HatiError]) -> None:
        """Divide the time of a campaign among formulas by their runs' times; without any, the waiting test keeps it."""
        seconds = {test: each.seconds for test, each in judged.items() if isinstance(each, FormulaReport)}
        whole = sum(seconds.values())
        if whole > 0.0:
            self._elapsed[waiting] = elapsed
            self._booked.update({test: elapsed * own / whole for test, own in seconds.items()})

    def costs(self) -> Sequence[str]:
        """The cost of each campaign, in a line."""
        return self._costs

    def _measure(self, project: Path, stated: Mapping[str, Requirement]) -> None:
        """Measure all formulas together, except those with errors."""
        try:
            place = workplace_around(project, None, _warn)
            prepared = self._prepared_without_wrong(place, stated)
            if prepared is not None:
                right = [test for test in stated if test not in self._judged]
                self._judged.update(zip(right, self._made(prepared), strict=True))
        except ShortBudgetError as error:
            short = InputError(error.message, fix=_ENOUGH.format(error.least))
            self._judged.update(dict.fromkeys(stated.keys() - self._judged.keys(), short))
        except HatiError as error:
            self._judged.update(dict.fromkeys(stated.keys() - self._judged.keys(), error))

    def _prepared_without_wrong(self, place: Workplace, stated: Mapping[str, Requirement]) -> AssertionCampaign | None:
        """Prepare the campaign of the valid formulas, and record the errors of the others; None if none is valid."""
        try:
            prepared = self._prepared(place, tuple(stated.values()))
        except ShortBudgetError:
            raise
        except HatiError:
            wrong = self._wrong(place, stated)
            if not wrong:
                raise
        else:
            errors = zip(stated, unresolved_names(prepared), strict=True)
            wrong = {test: error for test, error in errors if error is not None}
            if not wrong:
                return prepared
        self._judged.update(wrong)
        right = {test: each for test, each in stated.items() if test not in wrong}
        return self._prepared_without_wrong(place, right) if right else None

    def _wrong(self, place: Workplace, stated: Mapping[str, Requirement]) -> dict[str, HatiError]:
        """The errors of the formulas that cannot be prepared individually."""
        wrong: dict[str, HatiError] = {}
        for test, each in stated.items():
            try:
                self._prepared(place, (each,))
            except ShortBudgetError:
                continue
            except HatiError as error:
                wrong[test] = error
        return wrong

    def _prepared(self, place: Workplace, requirements: Sequence[Requirement]) -> AssertionCampaign:
        option = self._config.getoption
        return prepare_assertion(place, requirements, Standard(), option("hati_budget"), fresh=option("hati_fresh"))

    def _made(self, prepared: AssertionCampaign) -> Iterator[FormulaReport | HatiError]:
        before = "measured before (--hati-fresh measures again): " if prepared.known else ""
        display, requirements = Display(self._config), prepared.study.requirements
        if not prepared.finished:
            count = counted(len(requirements), "formula")
            display.say(f"measuring {count}, --hati-budget {self._config.getoption('hati_budget')} at most")
        try:
            found = prepared.make(display.say, MeasuringProgress(prepared.study, display))
        except MeasurementError as error:
            book = prepared.study.book(prepared.evidence())
            return iter([_unmeasured(each, book) or error for each in requirements])
        finally:
            display.end()
        self._costs += [f"{before}{_cost(found)}", *_budget_advice(found, prepared.least)]
        evidence = prepared.evidence()
        if warning := load_warning_of(evidence.runs):
            self._costs.append(f"warning: {warning}")
        book = prepared.study.book(evidence)
        return (_judgement(each, book, cost.booked) for each, cost in zip(found.answers, found.costs, strict=True))


def _judgement(each: Answer, book: SampleCollector, seconds: float) -> FormulaReport | HatiError:
    """The report, or the error if the formula could not be measured or judged."""
    if why := blockers(each, book):
        return MeasurementError("; ".join(why), place=each.requirement.place)
    found: list[tuple[str, object]] = [("hati_verdict", each.verdict.value)]
    for atom in each.atoms:
        found.append((f"hati_runs {atom.text}", " + ".join(str(size) for size in atom.evidence.runs if size) or "0"))
        found.append((f"hati_estimate {atom.text}", excess_text(atom, book)))
    return FormulaReport(each.verdict, assertion_evidence(each, book), assertion_answer((each,)), tuple(found), seconds)


def _unmeasured(requirement: Requirement, book: SampleCollector) -> HatiError | None:
    """The error that methods of a formula could not be measured, with the reasons; None if they could."""
    why = unmeasured(requirement, book)
    return MeasurementError("; ".join(why), place=requirement.place) if why else None


def _budget_advice(found: Assured, least: int) -> list[str]:
    """A line with a budget of time that decides clear formulas, where a smaller one was spent on too few runs."""
    open_ = [each for each in found.answers if each.verdict is FormulaVerdict.INCONCLUSIVE]
    if not 0 < found.runs < least or all(blockers(each, found.book) for each in open_):
        return []
    seconds = found.seconds * least / found.runs
    enough = math.ceil(_SPARE * seconds)
    takes = f"to decide takes {least} runs or more, about {duration(seconds)}"
    return [f"the budget is spent: {takes}; give --hati-budget {enough}s or more"]


def _cost(found: Assured) -> str:
    failures = "".join(f"; failed: {why}" for why in found.failures)
    return (
        f"{assertion_answer(found.answers)}; {counted(found.runs, 'run')}, {duration(found.seconds)} in all{failures}"
    )


_FORMULAS = ".spl"
_PYTHON = ".py"


class NotShownError(Exception):
    """A formula that is not shown to hold; the message is the report."""


class Formulas:
    """The hooks that collect formulas, and their measurements."""

    def __init__(self) -> None:
        self._measurements: Measurements | None = None
        self._relations: dict[Path, int] = {}

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """A file with formulas, in addition to the items of pytest itself."""
        if file_path.suffix == _FORMULAS or (file_path.suffix == _PYTHON and has_statements(file_path)):
            found: FileOfFormulas = FileOfFormulas.from_parent(parent, path=file_path, relations=self._relations)
            return found
        return None

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Let all selected formulas be measured together, once one of them runs."""
        items = [item for item in session.items if isinstance(item, FormulaItem)]
        self._measurements = Measurements(session.config, {item.nodeid: item.stated for item in items})
        for item in items:
            item.measurements = self._measurements

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """The report of a formula's test, with its part of the time of measuring all formulas."""
        report = yield
        if isinstance(item, FormulaItem) and call.when == "call":
            report.duration = item.measurements.duration(item.nodeid, report.duration)
        return report

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the costs of the measurements."""
        for line in self._measurements.costs() if self._measurements else ():
            terminalreporter.line(f"hati: {line}")


class FileOfFormulas(pytest.File):
    """A file of formulas, or a Python file that states some; ``relations`` counts the relations of each file."""

    def __init__(self, *, relations: dict[Path, int], **others: Any) -> None:
        super().__init__(**others)
        self._relations = relations

    def collect(self) -> Iterator[FormulaItem | MisstatedItem]:
        """A test for each formula; in a Python file a malformed formula is a test that fails.

        Raises:
            CollectError: where the file cannot be read, or all files up to this one have too many relations together;
                no further file is read then.
        """
        root = project_around(self.path)
        path = Path(relpath(self.path, self.config.invocation_params.dir))
        try:
            found = self._together(stated_in(path, root) if path.suffix == _PYTHON else formulas_in([path], root))
        except HatiError as error:
            if isinstance(error, TooManyError):
                self.session.shouldstop = "formulas are too many to be decided together"
            raise self.CollectError(str(error)) from None
        for name, each in zip(_names(found), found, strict=True):
            test = f"{self.nodeid}::{name}"  # as text, which pytest parses like the ids stored for --lf
            if isinstance(each, Misstated):
                yield MisstatedItem.from_parent(self, name=name, nodeid=test, misstated=each)
            else:
                yield FormulaItem.from_parent(self, name=name, nodeid=test, requirement=each, project=root)

    def _together(self, stated: Iterable[Requirement | Misstated]) -> tuple[Requirement | Misstated, ...]:
        before = sum(count for file, count in self._relations.items() if file != self.path)
        found = together(stated, before)
        self._relations[self.path] = relations_of(found)
        return found


class FormulaItem(pytest.Item):
    """A formula as a test."""

    measurements: Measurements

    def __init__(self, *, requirement: Requirement, project: Path, **others: Any) -> None:
        super().__init__(**others)
        self.stated = (project, requirement)

    def runtest(self) -> None:
        """Measure, unless already measured, and report.

        Raises:
            NotShownError: where the formula is violated, or is inconclusive and that is to fail.
        """
        judgement = self.measurements.of(self.nodeid)
        self.user_properties.extend(judgement.properties)
        if judgement.verdict is FormulaVerdict.INCONCLUSIVE:
            self._leave_open(judgement, self.config.getoption("hati_inconclusive"))
        elif judgement.verdict is FormulaVerdict.VIOLATED:
            raise NotShownError(judgement.report)
        else:
            self.add_report_section("call", "hati", judgement.report)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The report of a formula, or its error; without Hati's traceback."""
        if isinstance(excinfo.value, NotShownError | HatiError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """The place of the formula."""
        line = self.stated[1].place.line
        return self.path, None if line is None else line - 1, self.name

    def _leave_open(self, judgement: FormulaReport, becomes: str) -> None:
        if becomes == "fail":
            raise NotShownError(judgement.report)
        self.add_report_section("call", "hati", judgement.report)
        if becomes == "xfail":
            pytest.xfail(judgement.summary)


class MisstatedItem(pytest.Item):
    """A malformed formula, as a test that fails."""

    def __init__(self, *, misstated: Misstated, **others: Any) -> None:
        super().__init__(**others)
        self._error = misstated.error

    def runtest(self) -> None:
        """Report the error.

        Raises:
            InputError: always.
        """
        raise self._error

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The error, without a traceback."""
        return str(excinfo.value) if excinfo.value is self._error else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """The place of the formula."""
        place = self._error.place
        return self.path, None if place is None or place.line is None else place.line - 1, self.name


def _names(stated: Iterable[Requirement | Misstated]) -> list[str]:
    """The names of tests: ``sort[SELF <= 2 ms]`` on a function; in a file its name, or ``formula[sort <= 2 ms]``.

    As with parametrised tests, the text in brackets distinguishes the tests of one function.
    """
    names: list[str] = []
    seen: Counter[tuple[str, str]] = Counter()
    for each in stated:
        if isinstance(each, Requirement) and each.name and not each.seen:
            names.append(each.name)
            continue
        text = " ".join(each.text.split()) if isinstance(each, Misstated) else str(each.formula)
        seen[each.name, text] += 1
        again = seen[each.name, text]
        names.append(f"{each.name or 'formula'}[{text}{f' #{again}' if again > 1 else ''}]")
    return names
