"""Read a project from ``hati.toml``: the subject's name, its space, its benchmarks and what a check measures."""

from __future__ import annotations

import dataclasses
import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePath
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec import Struct, field

from hati.core import Benchmark, Binding, Budget, Configuration, InputError, MachineOption, Place, Setting, setting_text
from hati.core.benchmark import Command, names
from hati.core.values import type_names
from hati.core.wording import listed, suggestion
from hati.packages import added
from hati.project.benchmarks import PythonTable, Surroundings, read_benchmarks, read_python
from hati.project.document import TomlTable, Value, parse_document
from hati.project.metrics import positive_natural, positive_number, share
from hati.project.schema import keys_of
from hati.project.spaces import (
    option_tables,
    read_bindings,
    read_machine_options,
    read_recommendable,
    read_space,
    read_usage,
)
from hati.project.text_files import read_text
from hati.space import Space, UsageDistribution
from hati.space.constraint import mentioned

if TYPE_CHECKING:
    from hati.studies.recalibration import Policy


SCHEMES = ("dask", "tls", "tcp")
_EXAMPLE = "write tls://HOST:PORT, such as tls://head.example.org:8786"


class ClusterAddress(Struct, frozen=True):
    """The address of a scheduler, as Dask writes it; ``scheme`` is tls, or tcp on this host's loopback only.

    Raises:
        InputError: for TCP without TLS to another host: whoever reaches a worker there could run programs on it.
    """

    scheme: str
    host: str
    port: int

    def __post_init__(self) -> None:
        if self.scheme != "tls" and not _is_loopback(self.host):
            raise InputError(
                f"{self} is not encrypted, and everybody who reaches that port can run programs there",
                fix=f"start the scheduler and the workers with certificates, and write tls://{self._place}",
            )

    @classmethod
    def parse(cls, text: str) -> ClusterAddress:
        """Read an address; ``dask://`` stands for tcp on loopback, and for tls elsewhere.

        Raises:
            InputError: where it is not one.
        """
        try:
            parts = urlsplit(text)
            port = parts.port
        except ValueError as error:
            raise InputError(f"{text!r} is not the address of a scheduler: {error}", fix=_EXAMPLE) from None
        host = parts.hostname or ""
        alone = f"{parts.scheme}://{parts.netloc}" == text and "@" not in text
        if parts.scheme not in SCHEMES or not alone or not _is_host(host) or not port:
            raise InputError(f"{text!r} is not the address of a scheduler", fix=_EXAMPLE)
        plain = "tcp" if _is_loopback(host) else "tls"
        return cls(plain if parts.scheme == "dask" else parts.scheme, host, port)

    @property
    def _place(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self._place}"


def is_cluster(engine: str) -> bool:
    """Whether the name of an engine is meant as the address of a scheduler."""
    return engine.partition("://")[0] in SCHEMES and "://" in engine


def _is_loopback(host: str) -> bool:
    return host == "localhost" or (_is_ip(host) and ipaddress.ip_address(host).is_loopback)


def _is_host(host: str) -> bool:
    return _is_ip(host) or re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", host) is not None


def _is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _read_policy(check: TomlTable) -> Policy | None:
    """Read ``recalibrate`` of ``[check]``; None where there is none.

    Raises:
        InputError: for invalid entries, with their place.
    """
    if "recalibrate" not in check:
        return None
    from hati.studies.recalibration import TOLERANCE, Policy  # loads all that screenings need

    table = check.part("recalibrate", keys_of("recalibrate"))
    if "tolerance" in table and "residuals" not in table:
        raise table.need("tolerance", "").error("tolerance: of what is not tested", fix='add residuals = "1%"')
    try:
        return Policy(
            table.read("checks", positive_natural, None),
            table.read("days", positive_number, None),
            table.read("residuals", share, None),
            table.read("options", Value.truth, default=False),
            table.read("tolerance", share, TOLERANCE),
        )
    except InputError as error:
        if error.place is not None:
            raise
        raise table.error(error.message, fix=error.fix) from None


@dataclasses.dataclass(frozen=True)
class Check:
    """What a check measures.

    ``reference`` is a revision's name, ``previous`` or ``merge-base``; None if none is pinned. ``configurations`` are
    measured in addition to the default one if there is no screening suite; ``budget`` is the default budget of a check.
    ``recalibrate`` is when important options are due to be screened again. ``reference_place`` is the place of the
    reference in the file.
    """

    reference: str | None = None
    configurations: tuple[Configuration, ...] = ()
    budget: str | None = None
    recalibrate: Policy | None = None
    reference_place: Place | None = dataclasses.field(default=None, compare=False)


def _read_check(document: TomlTable, space: Space) -> Check:
    """Read ``[check]``; without the table every field has its default.

    Raises:
        InputError: for invalid entries, with their place.
    """
    table = document.part("check", keys_of("check"))
    return Check(
        table.read("reference", Value.line, None),
        table.read("configurations", lambda value: tuple(_configuration(item, space) for item in value.items()), ()),
        table.read("budget", _budget, None),
        _read_policy(table),
        table.read("reference", lambda value: value.place, None),
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
        Budget.parse(text, {"rounds": 1})
    except InputError as error:
        raise value.error(error.message, fix=error.fix) from None
    return text


FILE = "hati.toml"


class Project(Struct, frozen=True):
    """The content of a project file; ``root`` is its folder, ``name`` the subject's name.

    ``recommendable`` maps options with restricted recommendations to the settings that may be recommended; ``secrets``
    are environment variables whose values are never stored; ``sources`` are patterns of the subject's files, with ``!``
    before excluded ones, and ``harness`` are those of the files that measure; ``engine`` is the name of the engine that
    runs the tasks; ``machines`` are the names of the machines that share each study, empty if only the current machine
    measures; ``usage`` says how often settings are used; ``replicate`` is the number of volunteers that have to agree
    on a result; ``machine_options`` are the options whose settings machines have.
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
    harness: tuple[str, ...] = ()
    engine: str = "local"
    machines: tuple[str, ...] = ()
    usage: UsageDistribution = field(default_factory=UsageDistribution)
    replicate: int = 1
    machine_options: tuple[MachineOption, ...] = ()

    def benchmark(self, name: str | None = None) -> Benchmark:
        """The benchmark with a name, or the only one.

        Raises:
            InputError: for an unknown name, or without a name if there are several benchmarks.
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
        InputError: for any error in it, with file, line, column and the fix.
    """
    file = path / FILE if path.is_dir() else path
    if path.is_dir() and not file.exists():
        around = project_around(path)
        fix = f"make one with: hati init {path}" if around is None else f"run it in the project's folder, {around}"
        raise InputError(f"there is no {FILE} in this folder", place=Place(str(path)), fix=fix)
    return parse_project(read_text(file), file)


def project_around(folder: Path) -> Path | None:
    """The nearest folder above ``folder`` that has a project file; None without one."""
    return next((above for above in folder.resolve().parents if (above / FILE).is_file()), None)


def parse_project(text: str, file: Path) -> Project:
    """Parse a project's text; templates are read from the folder of ``file``.

    Raises:
        InputError: for any error in it, with file, line, column and the fix.
    """
    root = file.parent
    document = parse_document(text, str(file))
    document.only(*keys_of("project"))
    subject = document.part("subject", keys_of("subject"))
    space = read_space(document)
    around = Surroundings(root, space, read_bindings(document), option_tables(document))
    return Project(
        root,
        file,
        subject.read("name", Value.line, "") or root.resolve().name or "subject",
        space,
        read_benchmarks(document.read("benchmark", Value.tables, []), around),
        _read_check(document, space),
        read_python(document),
        read_recommendable(document, space),
        subject.read("secrets", Value.lines, ()),
        subject.read("sources", _patterns, ()),
        subject.read("harness", _harness, ()),
        subject.read("engine", _engine, LOCAL),
        subject.read("machines", _machines, ()),
        read_usage(document, space),
        subject.read("replicate", _replicate, 1),
        read_machine_options(document),
    )


LOCAL = "local"
WORKERS = "workers"
"""The engine whose batches are run by workers."""
VOLUNTEERS = "volunteers"
"""The engine whose batches are run by volunteers."""
_POOL = 2


def by_workers(engine: str) -> bool:
    """Whether an engine's batches are run by workers or volunteers, and not by the campaign's process."""
    return engine in {WORKERS, VOLUNTEERS} or is_cluster(engine)


def known_engine(name: str) -> str:
    """The name of an engine, checked.

    Raises:
        InputError: for an unknown engine, and for the address of a scheduler that cannot be used.
    """
    if is_cluster(name):
        ClusterAddress.parse(name)
        return name
    known = [LOCAL, WORKERS, VOLUNTEERS, *(entry.name for entry in added("hati.engines"))]
    if name not in known:
        raise InputError(f"there is no engine {name!r}", fix=suggestion(name, known))
    return name


def _engine(value: Value) -> str:
    try:
        return known_engine(value.line())
    except InputError as error:
        raise value.error(error.message, fix=error.fix) from None


def _replicate(value: Value) -> int:
    number = value.natural()
    if number < 1:
        raise value.error("the number of volunteers that have to agree is below 1", fix="write 1 or more")
    return number


def _machines(value: Value) -> tuple[str, ...]:
    names = value.lines()
    if len(set(names)) != max(len(names), _POOL):
        raise value.error("a pool has two machines or more, each once", fix='write machines = ["one", "other"]')
    return names


def _patterns(value: Value) -> tuple[str, ...]:
    return tuple(map(_source, value.items()))


def _harness(value: Value) -> tuple[str, ...]:
    patterns = _patterns(value)
    if patterns and all(pattern.startswith("!") for pattern in patterns):
        raise value.error(
            "these patterns only exclude files: none is left that measures",
            fix='name the files that measure too, such as "bench.py"',
        )
    return patterns


def _source(value: Value) -> str:
    pattern = value.line()
    path = PurePath(pattern.removeprefix("!"))
    if not path.parts or path.is_absolute() or ".." in path.parts:
        raise value.error(f"{pattern!r} is not a path or pattern below this folder", fix='write one such as "data/**"')
    return pattern


def unreached(project: Project) -> tuple[str, ...]:
    """The options whose settings reach no benchmark and on which no other option depends; none without benchmarks.

    A setting that the machine has needs no way to a benchmark.
    """
    if not project.benchmarks:
        return ()
    used = set(_mentioned(project.space)).union(*map(_used, project.benchmarks))
    used.update(option.option for option in project.machine_options)
    templates = [file.template for benchmark in project.benchmarks for file in benchmark.files]
    left = (name for name in project.space.names if name not in used)
    return tuple(name for name in left if not any(name in template for template in templates))


def unreached_warning(project: Project) -> str:
    """The warning of these options; empty without any."""
    found = unreached(project)
    if not found:
        return ""
    words = ("option", "reaches", "its setting is") if len(found) == 1 else ("options", "reach", "their settings are")
    return (
        f"{words[0]} {listed(found)} {words[1]} no benchmark, so that {words[2]} without effect: write argument, env,"
        f" setup, or a placeholder such as {{{found[0]}}} in a command"
    )


def _mentioned(space: Space) -> Iterator[str]:
    """The options that conditions and constraints mention."""
    for option in space.options:
        if option.active_if is not None:
            yield from mentioned(option.active_if)
    for constraint in space.constraints:
        yield from mentioned(constraint)


def _used(benchmark: Benchmark) -> set[str]:
    """The options that a benchmark's bindings and commands use."""
    bound = {binding.option for binding in benchmark.bindings if _reaches(binding)}
    return bound | {placeholder for text in _texts(benchmark) for placeholder in _placeholders(text)}


def _reaches(binding: Binding) -> bool:
    return binding.argument is not None or binding.env is not None or bool(binding.setup or binding.reload)


def commands_of(benchmark: Benchmark) -> tuple[Command, ...]:
    """All commands of a benchmark, with those of its options."""
    found = [benchmark.command, *benchmark.build, *benchmark.prepare, *benchmark.cleanup, *benchmark.setup]
    if benchmark.server is not None:
        found += [benchmark.server.command, *benchmark.server.reload]
    if benchmark.reset is not None:
        found += benchmark.reset.commands
    for binding in benchmark.bindings:
        found += (*binding.setup, *(binding.reload or ()))
    return tuple(found)


def _texts(benchmark: Benchmark) -> Iterator[str]:
    """The texts of a benchmark that may have placeholders."""
    yield from (binding.argument or "" for binding in benchmark.bindings)
    for command in commands_of(benchmark):
        yield from command
    yield from (value for _, value in benchmark.env)
    yield from filter(None, (benchmark.output, *(file.path for file in benchmark.files)))


def _placeholders(text: str) -> Iterable[str]:
    try:
        return [placeholder.name for placeholder in names(text)]
    except InputError:
        return []
