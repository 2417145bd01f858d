"""A project: the subject's name, its space, its benchmarks and what a check measures, read from ``hati.toml``."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from msgspec import Struct, field

from hati.core import Benchmark, Budget, Configuration, InputError, Place, Setting, setting_text
from hati.core.values import type_names
from hati.core.wording import suggestion
from hati.packages import added
from hati.project.benchmarks import Surroundings, read_benchmarks
from hati.project.document import TomlTable, Value, parse_document
from hati.project.files import read_text
from hati.project.metrics import number, positive, share
from hati.project.python import PythonTable, read_python
from hati.project.schema import keys_of
from hati.project.spaces import option_tables, read_bindings, read_recommendable, read_space
from hati.space import Space

if TYPE_CHECKING:
    from hati.studies.recalibration import Policy


def _read_policy(check: TomlTable) -> Policy | None:
    """Read ``recalibrate`` of ``[check]``; None where there is none.

    Raises:
        InputError: for what is wrong, with its place.
    """
    value = check.get("recalibrate")
    if value is None:
        return None
    from hati.studies.recalibration import (
        TOLERANCE,
        Policy,
    )  # loads what screenings need: not for projects without a policy

    table = value.table()
    table.only(*keys_of("recalibrate"))
    checks, days = table.get("checks"), table.get("days")
    residuals, tolerance = table.get("residuals"), table.get("tolerance")
    options = table.get("options")
    if tolerance is not None and residuals is None:
        raise tolerance.error("tolerance: of what is not tested", fix='add residuals = "1%"')
    try:
        return Policy(
            None if checks is None else positive(checks, checks.natural()),
            None if days is None else positive(days, number(days)),
            None if residuals is None else share(residuals),
            options is not None and options.truth(),
            TOLERANCE if tolerance is None else share(tolerance),
        )
    except InputError as error:
        if error.place is not None:
            raise
        raise table.error(error.message, fix=error.fix) from None


@dataclasses.dataclass(frozen=True)
class Check:
    """``reference`` is a revision's name, ``previous`` or ``merge-base``; None where none is pinned.

    ``configurations`` are measured besides the default one where there is no screening suite; ``budget`` is what a
    check may cost, where nothing else is said. ``reference_place`` is where the reference is named. ``recalibrate`` is
    when important options are to be determined again.
    """

    reference: str | None = None
    configurations: tuple[Configuration, ...] = ()
    budget: str | None = None
    recalibrate: Policy | None = None
    reference_place: Place | None = dataclasses.field(default=None, compare=False)


def _read_check(document: TomlTable, space: Space) -> Check:
    """Read ``[check]``; without one all is as it is where nothing is said.

    Raises:
        InputError: for what is wrong, with its place.
    """
    value = document.get("check")
    if value is None:
        return Check()
    table = value.table()
    table.only(*keys_of("check"))
    reference, budget, listed = table.get("reference"), table.get("budget"), table.get("configurations")
    return Check(
        None if reference is None else reference.line(),
        () if listed is None else tuple(_configuration(item, space) for item in listed.items()),
        None if budget is None else _budget(budget),
        _read_policy(table),
        None if reference is None else reference.place,
    )


def _configuration(value: Value, space: Space) -> Configuration:
    table = value.table()
    settings = {}
    for name, setting in table.data.items():
        if type(setting) not in type_names:
            raise table.error(f"{name}: expected a setting", key=name, fix="write a boolean, a number or text")
        settings[name] = setting_text(setting)  # type: ignore[arg-type]  # one of its types
    try:
        found = space.parse(settings)
    except InputError as error:
        raise table.error(error.message, fix=error.fix) from None
    if not space.valid(found):
        raise table.error(f"the configuration {found} is not valid", fix="see the constraints")
    return found


def _budget(value: Value) -> str:
    text = str(value.natural()) if isinstance(value.data, int) else value.line()
    try:
        Budget.parse(text)
    except InputError as error:
        raise value.error(error.message, fix=error.fix) from None
    return text


FILE = "hati.toml"


class Project(Struct, frozen=True):
    """What a project file says; ``root`` is its folder, ``name`` the subject's.

    ``recommendable`` maps the options that restrict them to the settings that may be recommended; ``secrets`` names
    variables of the environment whose values are kept nowhere; ``sources`` are patterns of the files that are the
    subject, with ``!`` before those of what is not; ``engine`` is the name of what runs the tasks.
    """

    root: Path
    file: Path
    name: str
    space: Space
    benchmarks: tuple[Benchmark, ...]
    check: Check = field(default_factory=Check)
    python: PythonTable = field(default_factory=PythonTable)
    recommendable: Mapping[str, tuple[Setting, ...]] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    engine: str = "local"

    def benchmark(self, name: str | None = None) -> Benchmark:
        """The benchmark of that name, or the only one.

        Raises:
            InputError: where there is none, or several and no name.
        """
        names = [benchmark.name for benchmark in self.benchmarks]
        place = Place(str(self.file))
        if not self.benchmarks:
            raise InputError(
                "the project has no benchmark", place=place, fix="add a [[benchmark]] with name, command and metric"
            )
        if name is None and len(names) > 1:
            raise InputError(
                f"there are several benchmarks: {', '.join(names)}", place=place, fix="say which: --benchmark"
            )
        if name is not None and name not in names:
            raise InputError(f"there is no benchmark {name!r}", place=place, fix=suggestion(name, names))
        return self.benchmarks[0 if name is None else names.index(name)]


def read_project(path: Path) -> Project:
    """Read a project: ``path`` is the file, or a folder with ``hati.toml``.

    Raises:
        InputError: for all that is wrong with it, with file, line, column and the fix.
    """
    file = path / FILE if path.is_dir() else path
    if path.is_dir() and not file.exists():
        raise InputError(
            f"there is no {FILE} in this folder", place=Place(str(path)), fix=f"make one with: hati init {path}"
        )
    return parse_project(read_text(file), file)


def parse_project(text: str, file: Path) -> Project:
    """The project that a text says; templates are read from beside ``file``.

    Raises:
        InputError: for all that is wrong with it, with file, line, column and the fix.
    """
    root = file.parent
    document = parse_document(text, str(file))
    document.only(*keys_of("project"))
    subject = _subject(document)
    space = read_space(document)
    around = Surroundings(root, space, read_bindings(document), option_tables(document))
    benchmarks = document.get("benchmark")
    return Project(
        root,
        file,
        _text(subject, "name") or root.resolve().name or "subject",
        space,
        read_benchmarks(benchmarks.tables() if benchmarks else [], around),
        _read_check(document, space),
        read_python(document),
        read_recommendable(document, space),
        _secrets(subject),
        _sources(subject),
        _engine(subject),
    )


def _subject(document: TomlTable) -> TomlTable | None:
    value = document.get("subject")
    if value is None:
        return None
    table = value.table()
    table.only(*keys_of("subject"))
    return table


def _text(subject: TomlTable | None, key: str) -> str:
    value = subject.get(key) if subject else None
    return value.line() if value else ""


_LOCAL = "local"


def _engine(subject: TomlTable | None) -> str:
    value = subject.get("engine") if subject else None
    if value is None or value.line() == _LOCAL:
        return _LOCAL
    known = [_LOCAL, *(entry.name for entry in added("hati.engines"))]
    if value.line() not in known:
        raise value.error(f"there is no engine {value.line()!r}", fix=suggestion(value.line(), known))
    return value.line()


def _secrets(subject: TomlTable | None) -> tuple[str, ...]:
    listed = subject.get("secrets") if subject else None
    return tuple(name.line() for name in listed.items()) if listed else ()


def _sources(subject: TomlTable | None) -> tuple[str, ...]:
    listed = subject.get("sources") if subject else None
    return tuple(_source(pattern) for pattern in listed.items()) if listed else ()


def _source(value: Value) -> str:
    pattern = value.line()
    path = PurePath(pattern.removeprefix("!"))
    if not path.parts or path.is_absolute() or ".." in path.parts:
        raise value.error(f"{pattern!r} is not a path or pattern below this folder", fix='write one such as "data/**"')
    return pattern
