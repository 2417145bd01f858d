"""A project: the subject's name, its space and its benchmarks, read from ``hati.toml``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePath

from msgspec import Struct, field

from hati.core import Benchmark, InputError, Place, Setting
from hati.core.wording import suggestion
from hati.packages import added
from hati.project.benchmarks import Surroundings, read_benchmarks
from hati.project.check import Check, read_check
from hati.project.document import TomlTable, Value, parse_document
from hati.project.files import read_text
from hati.project.python import PythonTable, read_python
from hati.project.schema import keys_of
from hati.project.spaces import option_tables, read_bindings, read_recommendable, read_space
from hati.space import Space

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
        read_check(document, space),
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
