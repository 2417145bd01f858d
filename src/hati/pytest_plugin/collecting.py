"""Collect files with formulas, and run formulas as tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from os.path import relpath
from pathlib import Path
from typing import Any

import pytest

from hati.core import HatiError
from hati.logic.interpret import FormulaVerdict
from hati.pytest_plugin.measuring import FormulaReport, Measurements
from hati.python import has_statements
from hati.studies.assertion import Requirement
from hati.wiring import Misstated, TooManyError, formulas_in, project_around, relations_of, stated_in, together

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
