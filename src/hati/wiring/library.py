"""The commands as functions for Python code and notebooks.

``hati.open`` opens a project; its methods are the commands that measure, with the same names of arguments.
``hati.compare``, ``hati.history``, ``hati.audit`` and ``hati.assert_`` read files. Each returns a `CommandResult`.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_origin, get_type_hints

import msgspec
from msgspec import Struct

from hati.campaign import silent
from hati.core import ExitStatus, FlagField, InputError, NotInstalledError
from hati.core.wording import suggestion
from hati.document import Document, Table, table_rows
from hati.render import document_html, document_text, to_plain
from hati.wiring.stored_studies import report_of
from hati.wiring.study_machines import disturbed
from hati.wiring.study_types import (
    AnyStudyType,
    GivenFlags,
    StudyReport,
    convert_request,
    known_types,
    unseen,
)
from hati.wiring.workplace import Announce, Workplace, mute, workplace

_HEIGHT = 600


class CommandResult(Struct, frozen=True):
    """The result of a study or a comparison.

    ``conclusion`` has its values, ``document`` is the report, ``values`` the JSON of ``--format json``, and ``status``
    the exit status of the command. Printed, it is the report as text; a notebook shows the HTML page.
    """

    conclusion: Any
    document: Document
    values: Any
    status: int = ExitStatus.OK

    def __str__(self) -> str:
        return document_text(self.document)

    def _repr_html_(self) -> str:
        page = html.escape(document_html(self.document), quote=True)
        return f'<iframe srcdoc="{page}" width="100%" height="{_HEIGHT}" frameborder="0"></iframe>'

    def to_dataframe(self, table: int | str = 0) -> Any:
        """A table of the report, by its number or title, as a data frame of pandas, or of polars without pandas.

        Raises:
            InputError: where the report has no such table.
            NotInstalledError: where neither is installed.
        """
        tables = self.document.tables
        known: dict[object, Table] = {each.title: each for each in reversed(tables)}
        known |= {number: tables[number] for number in range(-len(tables), len(tables))}
        if table not in known:
            titles = ", ".join(repr(each.title) for each in tables)
            raise InputError(f"there is no table {table!r}", fix=f"the report has {len(tables)}, from 0: {titles}")
        rows = table_rows(known[table])
        try:
            import pandas
        except ImportError:
            pandas = None
        if pandas is not None:
            return pandas.DataFrame(rows)
        try:
            import polars
        except ImportError as error:
            raise NotInstalledError("a data frame needs pandas or polars", fix="pip install pandas") from error
        return polars.DataFrame(rows)


class OpenedProject(Struct, frozen=True):
    """A project at ``path`` and the store that ``store`` names; ``announce`` gets the messages for standard error."""

    path: Path
    store: str | None = None
    announce: Announce = mute

    def run(self, **asked: Any) -> CommandResult:
        """As ``hati run``: measure configurations and summarise their runs."""
        return self.study("run", **asked)

    def check(self, **asked: Any) -> CommandResult:
        """As ``hati check``: test a revision for regressions against its reference."""
        return self.study("check", **asked)

    def suite(self, **asked: Any) -> CommandResult:
        """As ``hati suite``: estimate a metric's distribution over the whole space."""
        return self.study("suite", **asked)

    def failures(self, **asked: Any) -> CommandResult:
        """As ``hati failures``: find the combinations of settings that make a benchmark fail."""
        return self.study("failures", **asked)

    def validate(self, **asked: Any) -> CommandResult:
        """As ``hati validate``: test the assumptions of a screening with a few more runs."""
        return self.study("validate", **asked)

    def bisect(self, **asked: Any) -> CommandResult:
        """As ``hati bisect``: find the commits that changed the performance."""
        return self.study("bisect", **asked)

    def compare_effects(self, **asked: Any) -> CommandResult:
        """As ``hati compare-effects``: find the options whose effects changed between revisions."""
        return self.study("compare-effects", **asked)

    def compare(self, before: str, after: str, *, fresh: bool = False, **asked: Any) -> CommandResult:
        """As ``hati compare`` of two benchmarks: measure them in pairs."""
        return self.study("compare", fresh=fresh, names=(before, after), **asked)

    def history(self, revisions: str, **asked: Any) -> CommandResult:
        """As ``hati history --revisions``: measure revisions, and find where they changed."""
        return self.study("history", revisions=revisions, **asked)

    def screen(self, **asked: Any) -> CommandResult:
        """As ``hati screen``: find the options that matter, by a designed experiment."""
        return self.study("screen", **asked)

    def assert_(self, *formula: str, **asked: Any) -> CommandResult:
        """As ``hati assert``: decide formulas, by measuring what they mention."""
        return self.study("assert", formula=formula, **{"project": self.path, **asked})

    def audit(self, **asked: Any) -> CommandResult:
        """As ``hati audit``: test how often a comparison errs on the program."""
        return self.study("audit", **asked)

    def study(self, verb: str, *, fresh: bool = False, **asked: Any) -> CommandResult:
        """As the command ``verb``, also one that a package adds; ``asked`` are its flags, with ``-`` written as ``_``.

        Raises:
            InputError: for an unknown command, or flags that it does not take.
            MeasurementError: where too little could be measured.
        """
        kind, request = _asked(verb, asked)
        given = {**asked, "fresh": True} if fresh else asked
        kind.refuse(self.path, request, GivenFlags({name: _flag_name(kind.request, name) for name in given}))
        root = kind.root(self.path, request)
        report = kind.read(self.path, self.store, request, self.announce, unseen)
        if report is None:
            return self._measured(kind, root or self.path, request, fresh=fresh)
        return self._result(report, None)

    def _measured(self, kind: AnyStudyType, root: Path, request: Struct, *, fresh: bool) -> CommandResult:
        place = kind.open(root, self.store, request, self.announce)
        kind.check_engine(place)
        if place.project.machine_options:
            from hati.wiring.machine_options import narrow_to_machines

            place = narrow_to_machines(place, self.announce)
        prepared = kind.prepare(place, request, fresh=fresh)
        if prepared.finished and prepared.evidence().runs and (text := kind.nothing_left(prepared)):
            self.announce(text)
        warning = disturbed(prepared)
        found = kind.make(prepared, request, self.announce, silent)
        return self._result(kind.concluded(prepared, request, found, warning), found)

    def _result(self, report: StudyReport, found: object) -> CommandResult:
        for remark in report.remarks:
            self.announce(f"warning: {remark}")
        report.written()
        conclusion = found if report.conclusion is None else report.conclusion
        return CommandResult(conclusion, report.document, to_plain(report.values()), report.status)

    def studies(self) -> list[str]:
        """The keys of the stored studies, in the order in which they were begun."""
        return [record.id.key for record in self._place().store.studies()]

    def report(self, study: str) -> CommandResult:
        """As ``hati report --study``: report a study of any kind except formulas, without measuring.

        Raises:
            InputError: for an unknown study, or one that cannot be restored.
            MeasurementError: where it measured too little.
        """
        found = report_of(self._place(), study)
        return CommandResult(None, found.document, to_plain(found.values()), found.status)

    def _place(self) -> Workplace:
        return workplace(self.path, self.store, self.announce)


def open_project(path: str | Path = ".", store: str | None = None, announce: Announce = mute) -> OpenedProject:
    """The project in a folder with ``hati.toml``; the file is read when a method is called."""
    return OpenedProject(Path(path), store, announce)


Files = str | Path | Sequence[str | Path]
"""A name, a pattern or a folder, or several."""


def compare(before: Files, after: Files, announce: Announce = mute, **asked: Any) -> CommandResult:
    """As ``hati compare`` of files: each side is a name, a pattern or a folder, or several.

    Raises:
        InputError: where a file cannot be read, or an argument is not valid.
    """
    return open_project(announce=announce).study("compare", before=_words(before), after=_words(after), **asked)


def history(path: str | Path, metric: str | None = None, announce: Announce = mute, **asked: Any) -> CommandResult:
    """As ``hati history`` of a file: find changes and drift in a series of measurements.

    Raises:
        InputError: where the file cannot be read, or an argument is not valid.
    """
    return open_project(announce=announce).study("history", series=path, metric=metric, **asked)


def audit(path: str | Path = ".", announce: Announce = mute, **asked: Any) -> CommandResult:
    """As ``hati audit``: audit samples in a file, or a project that is measured now."""
    return open_project(path, announce=announce).audit(**asked)


def assert_(*formula: str, announce: Announce = mute, **asked: Any) -> CommandResult:
    """As ``hati assert``: decide formulas, by ``samples`` or by measuring; ``paths`` are files with more formulas."""
    return open_project(announce=announce).study("assert", formula=formula, **asked)


def screen(path: str | Path = ".", announce: Announce = mute, **asked: Any) -> CommandResult:
    """As ``hati screen``: find the options of a project, or of a table, that matter."""
    return open_project(path, announce=announce).screen(**asked)


def check(path: str | Path = ".", announce: Announce = mute, **asked: Any) -> CommandResult:
    """As ``hati check``: test a revision of a project for regressions."""
    return open_project(path, announce=announce).check(**asked)


def _words(side: Files) -> tuple[str, ...]:
    return (str(side),) if isinstance(side, str | Path) else tuple(map(str, side))


def _kind(verb: str) -> AnyStudyType:
    known = {each.name: each for each in known_types()}
    if verb not in known:
        raise InputError(f"there is no study {verb!r}", fix=suggestion(verb, known))
    return known[verb]


def _flag(request: type[Struct], name: str) -> FlagField | None:
    """The flag of a field on the command line; None for a name without a flag in this request."""
    marks = getattr(get_type_hints(request, include_extras=True).get(name), "__metadata__", ())
    return next((each for each in marks if isinstance(each, FlagField)), None)


def _flag_name(request: type[Struct], name: str) -> str:
    """The name of a parameter on the command line."""
    flag = _flag(request, name)
    return (flag and flag.name) or f"--{name.replace('_', '-')}"


def _asked(verb: str, asked: Mapping[str, Any]) -> tuple[AnyStudyType, Struct]:
    """The kind of study of a verb, and its request with the values converted to the types of its fields.

    Raises:
        InputError: for an unknown verb, and for a name or a value that the request does not take.
    """
    kind = _kind(verb)
    request: type[Struct] = kind.request
    names = request.__struct_fields__
    for name in asked:
        if name not in names:
            raise InputError(f"{verb} has no parameter {name!r}", fix=suggestion(name, names))
    hints = get_type_hints(request)
    given = {name: _alone(value, hints[name]) for name, value in asked.items()}
    try:
        return kind, convert_request(
            {name: _read(name, each, _flag(request, name)) for name, each in given.items()}, request
        )
    except msgspec.ValidationError as error:
        wrong = str(error).rpartition("$.")[2].rstrip("`").partition("[")[0]
        if wrong not in given:
            raise InputError(f"{verb}: {error}", fix=f"`hati {verb} --help` lists its parameters") from None
        raise InputError(
            f"{verb}: {wrong}={given[wrong]!r} is not a valid value",
            fix=f"`hati {verb} --help` says what {_flag_name(request, wrong)} takes",
        ) from None


def _alone(value: object, hint: Any) -> object:
    """A value in the shape of its field: a single text becomes a tuple, and a number a text, where the field is one."""
    if isinstance(value, str) and get_origin(hint) is tuple:
        return (value,)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if number and hint in (str, str | None) else value


def _read(name: str, value: object, flag: FlagField | None) -> object:
    """A value as the command line would read it: texts such as ``5%``, and numbers within their bounds."""
    if flag is None:
        return value
    if flag.parse is not None:
        return flag.parse(str(value)) if _one(value) else value
    low, high = flag.least, flag.most
    if isinstance(value, int) and ((low is not None and value < low) or (high is not None and value > high)):
        raise InputError(f"{name} is {value}", fix=f"give {low} at least" if high is None else f"give {low} to {high}")
    return value


def _one(value: object) -> bool:
    """Whether a value is a text or a number, which the command line would have to read."""
    return isinstance(value, str | int | float)
