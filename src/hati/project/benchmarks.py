"""Benchmarks: the tables ``[[benchmark]]``, and ``[python]`` with its parts for Python functions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path, PurePath

from msgspec import Struct

from hati.core import (
    AUTO,
    Benchmark,
    Binding,
    Commands,
    InputError,
    Place,
    Reader,
    ReaderKind,
    Ready,
    Reset,
    ResetBefore,
    Server,
    Warmup,
    Workload,
)
from hati.core.benchmark import CounterSource, names
from hati.project.commands import check_template, read_command, read_commands, read_files
from hati.project.document import TomlTable, Value
from hati.project.metrics import duration, metric_places, positive_natural, positive_number, read_metrics, share
from hati.project.schema import keys_of
from hati.project.spaces import RESERVED, VARIABLE
from hati.space import Space

_RUN = ("work", "port", "revision", "repetition")
_WORK = "{work}/"
_COMMAND = 'command = ["./program", "--flag"]'


class Surroundings(Struct, frozen=True):
    """What a benchmark may refer to: the project's folder, its options with their tables, and their bindings."""

    root: Path
    space: Space
    bindings: tuple[Binding, ...]
    options: Mapping[str, TomlTable]


def read_benchmarks(tables: Sequence[TomlTable], surroundings: Surroundings) -> tuple[Benchmark, ...]:
    """The benchmarks of a project file.

    Raises:
        InputError: for invalid entries, with their place.
    """
    benchmarks: dict[str, Benchmark] = {}
    for table in tables:
        name = table.need("name", 'name = "orders"')
        if name.line() in benchmarks:
            raise name.error(f"benchmark {name.line()!r} is there twice", fix="rename one")
        if not _OF_FILES.isdisjoint(name.line().replace("\\", "/").split("/")):
            raise name.error(
                f"{name.line()!r} cannot name a benchmark: files and results are named after it",
                fix='leave out ".", ".." and "/" at the ends, as in name = "sort/large"',
            )
        benchmarks[name.line()] = _benchmark(table, name.line(), surroundings)
    return tuple(benchmarks.values())


_OF_FILES = frozenset({"", ".", ".."})
"""The parts of a name that would be another folder in a file's path."""


def _benchmark(table: TomlTable, name: str, around: Surroundings) -> Benchmark:
    table.only(*keys_of("benchmark"))
    workload = _workload(table, around.space)
    known = [*around.space.names, *_RUN, *workload]
    files = read_files(table, around.root, known, around.space.names)
    known += [f"file:{file.path}" for file in files]
    command = read_command(table, "command", known)
    if command is None:
        raise table.error("command is missing", fix=f"add it, as in {_COMMAND}")
    reader, metrics = read_metrics(table)
    _check_arguments(table, around, known, workload)
    server = _server(table, known, may_name_port=any("port" in file.template for file in files))
    _check_reload(table, around, server)
    return Benchmark(
        name,
        command,
        reader,
        metrics,
        build=_build(table, around, workload),
        prepare=read_commands(table, "prepare", known),
        cleanup=read_commands(table, "cleanup", known),
        server=server,
        files=files,
        timeout=table.read("timeout", duration, 60.0),
        warmup=table.read("warmup", _warmup, 0),
        cpus=table.read("cpus", _cpus, ()),
        workload=workload,
        bindings=around.bindings,
        output=_output(table, reader, known),
        setup=read_commands(table, "setup", known),
        env=_env(table, known),
        user=table.read("user", Value.line, None),
        reset=_reset(table, workload),
        counters=_counters(table, reader),
        metric_places=metric_places(table, reader),
        warmup_place=table.read("warmup", lambda value: value.place, None),
        cpu_places=tuple(_cpu_places(table)),
    )


def _counters(table: TomlTable, reader: Reader) -> CounterSource | None:
    value, known = table.get("counters"), [each.value for each in CounterSource]
    if value is None:
        return None
    if reader.kind != ReaderKind.PROCESS:
        raise table.error("counters is for reader 'process'", key="counters", fix="remove this line")
    if value.text() not in known:
        raise value.error(f"counters: {value.text()!r} is not one of {', '.join(known)}")
    return CounterSource(value.text())


def _reset(table: TomlTable, workload: Workload) -> Reset | None:
    """Commands before each run, or a table with them and the event that they precede; they cannot name options."""
    value, of_run = table.get("reset"), ["repetition", "revision", *workload]
    if value is None:
        return None
    if not isinstance(value.data, dict):
        return Reset(read_commands(table, "reset", of_run))
    reset = value.table()
    reset.only(*keys_of("reset"))
    reset.need("command", 'command = ["./reset"]')
    before = reset.get("before")
    names = [each.value for each in ResetBefore]
    if before is not None and before.text() not in names:
        raise before.error(f"before: {before.text()!r} is not {' or '.join(map(repr, names))}")
    each = ResetBefore(before.text()) if before else ResetBefore.RUN
    return Reset(read_commands(reset, "command", of_run if each is ResetBefore.RUN else ["repetition"]), each)


def _env(table: TomlTable, known: Collection[str]) -> tuple[tuple[str, str], ...]:
    """Environment variables; values may use the run's placeholders, and ``{env:NAME}`` for a variable of Hati's own."""
    found: list[tuple[str, str]] = []
    variables = table.table("env")
    for name in variables:
        if not VARIABLE.fullmatch(name):
            raise variables.error(
                f"{name!r} cannot name an environment variable", key=name, fix="use letters, digits and _"
            )
        text = variables.need(name, "")
        inherited = [found.name for found in names(text.text()) if found.name.startswith("env:")]
        check_template(text, [*known, *inherited])
        found.append((name, text.text()))
    return tuple(found)


def _output(table: TomlTable, reader: Reader, known: Collection[str]) -> str | None:
    """The file to read; it is in the run's own folder, so that an earlier run's file is never read."""
    value = table.get("output")
    if value is None:
        return None
    if reader.kind == ReaderKind.PROCESS:
        raise table.error("reader 'process' reads no output", key="output", fix="remove this line")
    check_template(value, known)
    if not value.line().startswith(_WORK) or value.line() == _WORK or ".." in PurePath(value.line()).parts:
        raise value.error("output is not a file in the run's folder", fix=f'as in output = "{_WORK}result.json"')
    return value.line()


def _build(table: TomlTable, around: Surroundings, workload: Workload) -> Commands:
    """The commands of the build; they may use the workload and the options that need a build, but not the run."""
    value = table.get("build")
    built = [binding.option for binding in around.bindings if binding.build]
    if value is None and built:
        raise table.error(f"option {built[0]!r} needs a build, and there is none", fix='add build = ["make"]')
    for argument in _texts(value):
        for placeholder in names(argument.text()) if "{" in argument.text() else ():
            if placeholder.name in around.space.names and placeholder.name not in built:
                raise argument.error(
                    f"option {placeholder.name!r} is not one that needs a build",
                    within=placeholder.offset,
                    fix=f"add build = true to [options.{placeholder.name}]",
                )
    return read_commands(table, "build", [*built, "revision", *workload])


def _texts(value: Value | None) -> Iterator[Value]:
    """All texts of a value, in nested arrays too."""
    if value is not None and isinstance(value.data, list):
        for part in value.items():
            yield from _texts(part)
    elif value is not None and isinstance(value.data, str):
        yield value


def _check_arguments(table: TomlTable, around: Surroundings, known: Collection[str], workload: Workload) -> None:
    """Check that options' arguments and commands use only this benchmark's placeholders, and ``{}`` for the setting."""
    built = [binding.option for binding in around.bindings if binding.build]
    for binding in around.bindings:
        if binding.argument is not None:
            value = Value(table.document, ("options", binding.option, "argument"), binding.argument)
            check_template(value, ["", *([*built, "revision", *workload] if binding.build else known)])
        option = around.options[binding.option]
        for text in (*_texts(option.get("setup")), *_texts(option.get("reload"))):
            check_template(text, ["", *known])


def _workload(table: TomlTable, space: Space) -> Workload:
    parameters = table.table("workload")
    for name in parameters:
        if name in space.names or name in RESERVED or any(c in name for c in "{}:") or not name:
            raise parameters.error(f"{name!r} cannot name a parameter: it is taken", key=name, fix="rename it")
    settings = {}
    for name in parameters:
        parameter = parameters.need(name, "")
        if not isinstance(parameter.data, bool | int | float | str):
            raise parameter.error(f"{name}: expected true, false, a number or text in quotes")
        settings[name] = parameter.data
    try:
        return Workload(settings)
    except InputError as error:
        raise table.need("workload", "").error(error.message) from None


def _server(table: TomlTable, known: Collection[str], *, may_name_port: bool) -> Server | None:
    value = table.get("server")
    if value is None:
        return None
    server = value.table()
    server.only(*keys_of("server"))
    command = read_command(server, "command", known)
    if command is None:
        raise server.error("command is missing", fix='add it, as in command = ["./server", "--port", "{port}"]')
    names_port = any(placeholder.name == "port" for argument in command for placeholder in names(argument))
    ready = _ready(server, names_port=names_port)
    if ready.port and not names_port and not may_name_port:
        raise server.error(
            "ready waits for the port, but the server is not given the port", key="ready", fix="pass {port} in command"
        )
    log = server.get("log")
    if log is not None:
        check_template(log, known)
    return Server(
        command,
        ready,
        server.read("cpus", _cpus, ()),
        read_commands(server, "reload", known),
        log.line() if log else None,
    )


def _check_reload(table: TomlTable, around: Surroundings, server: Server | None) -> None:
    """Check that the server has reload commands if an option has none of its own."""
    alone = next((binding.option for binding in around.bindings if binding.reload == ()), None)
    if server is not None and alone is not None and not server.reload:
        name = table.need("name", "").text()
        raise around.options[alone].error(
            f"option {alone!r} has reload = true, and [benchmark.server] of {name!r} has no reload",
            key="reload",
            fix='add reload = ["./server", "--reload"] there, or write the command here',
        )


def _ready(server: TomlTable, *, names_port: bool) -> Ready:
    value = server.get("ready")
    if value is None and names_port:
        return Ready(port=True)
    if value is None:
        raise server.error(
            "ready is missing", fix='say when the server is up, as in ready = { line = "listening", timeout = "10s" }'
        )
    table = server.part("ready", keys_of("ready"))
    ready = Ready(
        table.read("port", Value.truth, default=False),
        table.read("line", Value.line, None),
        table.read("timeout", duration, 10.0),
    )
    if not ready.port and ready.line is None:
        raise value.error("ready waits for nothing", fix='add port = true or line = "listening"')
    return ready


def _warmup(value: Value) -> Warmup:
    if isinstance(value.data, str):
        if value.data == AUTO:
            return AUTO
        raise value.error(
            f"warmup: {value.data!r} is not a valid number of observations", fix=f'write a number, or "{AUTO}"'
        )
    return value.natural()


def _cpus(value: Value) -> tuple[int, ...]:
    cpus = value.items()
    if not cpus:
        raise value.error("cpus is empty", fix="as in cpus = [1]")
    numbers = tuple(cpu.natural() for cpu in cpus)
    for position, cpu in enumerate(cpus):
        if numbers[position] in numbers[:position]:
            raise cpu.error(f"CPU {numbers[position]} is there twice")
    return numbers


def _cpu_places(benchmark: TomlTable) -> Iterator[tuple[int, Place]]:
    server = benchmark.get("server")
    for table in (benchmark, *([server.table()] if server else [])):
        yield from ((cpu.natural(), cpu.place) for cpu in table.read("cpus", Value.items, []))


_COLLECTORS = ("on", "off", "between")
_LARGEST_SEED = 2**32 - 1


class Past(StrEnum):
    """Where past revisions run: in their own environment, if they define one, or in that of the working tree."""

    OWN = "own"
    TODAY = "today"


class RecordingTable(Struct, frozen=True):
    """What a run records, and the ``timeout`` in seconds after which it is killed; None for the default."""

    observations: int | None = None
    seconds: float | None = None
    warmup: int | None = None
    overhead: float | None = None
    collector: str | None = None
    memory: int | None = None
    timeout: float | None = None


class EnvironmentTable(Struct, frozen=True):
    """The environment of past revisions; without ``network`` nothing is downloaded for it."""

    past: Past = Past.OWN
    network: bool = False
    extra: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class PythonTable:
    """How Python functions are measured; empty or None for the default."""

    interpreter: str = ""
    roots: tuple[str, ...] = ()
    frozen_modules: str = ""
    hash_seed: int | None = None
    recording: RecordingTable = field(default_factory=RecordingTable)
    environment: EnvironmentTable = field(default_factory=EnvironmentTable)
    place: Place | None = field(default=None, compare=False)


def read_python(document: TomlTable) -> PythonTable:
    """Read ``[python]``; without the table every field has its default.

    Raises:
        InputError: for invalid entries, with their place.
    """
    table = document.part("python", keys_of("python"))
    return PythonTable(
        table.read("interpreter", Value.line, ""),
        table.read("roots", _roots, ()),
        table.read("frozen_modules", lambda value: "on" if value.truth() else "off", ""),
        table.read("hash_seed", _seed, None),
        _recording(table),
        _environment(table),
        document.read("python", lambda value: value.place, None),
    )


def _roots(value: Value) -> tuple[str, ...]:
    found = value.items()
    if not found:
        raise value.error("roots is empty", fix='as in roots = ["src", "."]')
    for root in found:
        if root.line().startswith("/") or ".." in root.line().split("/") or ":" in root.line():
            raise root.error(f"{root.line()!r} is not a folder below the project's", fix='as in roots = ["src", "."]')
    return value.lines()


def _seed(value: Value) -> int:
    if value.natural() > _LARGEST_SEED:
        raise value.error(f"hash_seed is {value.natural()}", fix=f"give one from 0 to {_LARGEST_SEED}")
    return value.natural()


def _recording(python: TomlTable) -> RecordingTable:
    table = python.part("recording", keys_of("recording"))
    return RecordingTable(
        table.read("observations", positive_natural, None),
        table.read("seconds", positive_number, None),
        table.read("warmup", Value.natural, None),
        table.read("overhead", share, None),
        table.read("collector", lambda value: _one_of(value, _COLLECTORS), None),
        table.read("memory", positive_natural, None),
        table.read("timeout", duration, None),
    )


def _environment(python: TomlTable) -> EnvironmentTable:
    table = python.part("environment", keys_of("environment"))
    return EnvironmentTable(
        table.read("past", lambda value: Past(_one_of(value, tuple(Past))), Past.OWN),
        table.read("network", Value.truth, default=False),
        table.read("extra", Value.lines, ()),
        table.read("options", Value.lines, ()),
    )


def _one_of(value: Value, known: tuple[str, ...]) -> str:
    if value.line() not in known:
        raise value.error(f"{value.name}: {value.line()!r} is none of {', '.join(known)}")
    return value.line()
