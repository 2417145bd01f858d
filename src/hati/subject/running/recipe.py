"""A task's commands, with every placeholder filled. Errors that affect every run of a benchmark are found here."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain
from pathlib import Path, PurePath

from msgspec import Struct

from hati.core import (
    Benchmark,
    Binding,
    Command,
    Commands,
    ConfigurationFile,
    InputError,
    Job,
    Reader,
    ReaderKind,
    Task,
    replace,
    setting_text,
)
from hati.core.benchmark import fill, fill_known, names
from hati.subject.readers import check_reader
from hati.subject.running.counting import check_counters
from hati.subject.running.programs import switched_user

WORK_MARKER, PORT_MARKER = "@HATI_WORK@", "@HATI_PORT@"
"""What stands in rendered files for a work folder and a port that only the machine of the run knows."""
_ELSEWHERE = Path(WORK_MARKER)


def check_benchmark(benchmark: Benchmark) -> None:
    """Check that the benchmark's reader, files, CPUs and user are possible.

    Raises:
        InputError: naming the impossible part, and the fix.
    """
    check_reader(benchmark)
    check_counters(benchmark)
    for file in benchmark.files:
        template_names(file)
        if ".." in PurePath(file.path).parts:
            raise InputError(f"file {file.path!r} is outside of the work folder", fix="leave '..' out of its path")
    _check_cpus(benchmark)
    switched_user(benchmark.user)


def template_names(file: ConfigurationFile) -> frozenset[str]:
    """The names that a file's template uses.

    Raises:
        InputError: with the place, where its syntax is wrong.
    """
    from hati.subject.templates import check_template  # loads Jinja2, which most benchmarks do not need

    return check_template(file)


def _check_cpus(benchmark: Benchmark) -> None:
    """Check that the command and the server may use their CPUs.

    Raises:
        InputError: where they may not, at the first such CPU, with the available ones.
    """
    used = (*benchmark.cpus, *(benchmark.server.cpus if benchmark.server else ()))
    available = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(used)
    missing = [cpu for cpu in dict.fromkeys(used) if cpu not in available]
    if missing:
        raise InputError(
            f"benchmark {benchmark.name!r} is to run on CPU {', '.join(map(str, missing))}, which is not there",
            place=dict(reversed(benchmark.cpu_places)).get(missing[0]),
            fix=f"available: {', '.join(map(str, sorted(available)))}",
        )


def needs_port(benchmark: Benchmark) -> bool:
    """Whether any part of the benchmark uses the port."""
    return bool(benchmark.server and benchmark.server.ready.port) or _mentions(benchmark, "port")


def needs_work(benchmark: Benchmark) -> bool:
    """Whether any part of the benchmark is in the work folder, or uses its placeholder."""
    return bool(benchmark.files) or _mentions(benchmark, "work")


def _mentions(benchmark: Benchmark, placeholder: str) -> bool:
    server = benchmark.server
    commands = [
        benchmark.command,
        *benchmark.prepare,
        *benchmark.setup,
        *benchmark.cleanup,
        *((server.command, *server.reload) if server else ()),
        *(command for binding in benchmark.bindings for command in (*binding.setup, *(binding.reload or ()))),
    ]
    texts = [
        *chain.from_iterable(commands),
        *(template for _, template in benchmark.env),
        *([server.log] if server and server.log else []),
        *(binding.argument for binding in benchmark.bindings if binding.argument),
        *(file.path for file in benchmark.files),
        *([benchmark.output] if benchmark.output else []),
    ]
    return any(found.name == placeholder for text in texts for found in names(text)) or any(
        placeholder in template_names(file) for file in benchmark.files
    )


class Recipe(Struct, frozen=True, dict=True):
    """A task's commands and files in concrete folders: its programs run in ``tree``, ``work`` is its own empty folder.

    ``port`` is a free port, or None if the benchmark needs none. A placeholder that cannot be filled is an InputError.
    """

    benchmark: Benchmark
    task: Task
    tree: Path
    work: Path
    port: int | None

    @cached_property
    def values(self) -> dict[str, str]:
        """The placeholders' values: the settings, the workload's parameters, and the values of the run."""
        values = {**_texts(self.task.configuration), **_texts(self.task.workload), **self._own, **self.benchmark.paths}
        for file in self.benchmark.files:
            values[f"file:{file.path}"] = str(self.work / fill(file.path, values))
        return values

    @cached_property
    def variables(self) -> dict[str, object]:
        """The variables of configuration files' templates: settings with their types, and the values of the run."""
        own: dict[str, object] = {**self._own, "repetition": self.task.repetition}
        if self.port is not None:
            own["port"] = self.port
        return {**self.task.configuration, "workload": dict(self.task.workload), **own}

    @property
    def _own(self) -> dict[str, str]:
        own = {"work": str(self.work), "revision": self.task.revision, "repetition": str(self.task.repetition)}
        return own if self.port is None else {**own, "port": str(self.port)}

    @property
    def output(self) -> Path | None:
        """The file that the command writes and the reader reads; None for standard output."""
        return None if self.benchmark.output is None else Path(fill(self.benchmark.output, self.values))

    def command(self) -> Command:
        """The measured command, with the arguments of the active options."""
        bindings = [binding for binding in self.benchmark.bindings if not binding.build]
        return (*self.fill(self.benchmark.command), *arguments(bindings, self.task.configuration, self.values))

    @cached_property
    def reader(self) -> Reader:
        """The reader, with placeholders in its patterns filled, escaped in regular expressions."""
        reader = self.benchmark.reader
        if not reader.patterns:
            return reader
        expression = reader.kind != ReaderKind.JSON
        values = {name: f"(?:{re.escape(text)})" if expression else text for name, text in self.values.items()}
        return replace(reader, patterns=tuple((name, fill_known(text, values)) for name, text in reader.patterns))

    def fill(self, argv: Iterable[str]) -> Command:
        """An argument list with its placeholders filled."""
        return tuple(fill(argument, self.values) for argument in argv)

    def reload(self) -> Iterator[Command]:
        """The commands that set active options in a running server."""
        return self._of_options(lambda binding: binding.reload or ())

    def setup(self) -> Iterator[Command]:
        """The commands between the server and the measured command: the benchmark's, then those of active options."""
        yield from map(self.fill, self.benchmark.setup)
        yield from self._of_options(lambda binding: binding.setup)

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """The environment of all the run's programs."""
        bindings = [binding for binding in self.benchmark.bindings if not binding.build]
        return {**base, **self._constant(base), **variables(bindings, self.task.configuration)}

    def _constant(self, base: Mapping[str, str]) -> dict[str, str]:
        if not self.benchmark.env:
            return {}
        values = {**self.values, **{f"env:{name}": value for name, value in base.items()}}
        return {name: fill(template, values) for name, template in self.benchmark.env}

    def _of_options(self, commands: Callable[[Binding], Commands]) -> Iterator[Command]:
        for binding in self.benchmark.bindings:
            if binding.option in self.task.configuration:
                values = {**self.values, "": self.values[binding.option]}
                yield from (tuple(fill(part, values) for part in command) for command in commands(binding))


def arguments(
    bindings: Iterable[Binding], configuration: Mapping[str, object], values: Mapping[str, str]
) -> tuple[str, ...]:
    """The arguments that active options add to a command.

    A template is split as by a shell, and ``{}`` is the setting; one without ``{}`` is a flag, added if the setting is
    true.

    >>> arguments([Binding("level", argument="--level {}")], {"level": 3}, {"level": "3"})
    ('--level', '3')
    """
    added: list[str] = []
    for binding in bindings:
        if binding.argument is None or binding.option not in configuration:
            continue
        if "{}" in binding.argument:
            filled = {**values, "": values[binding.option]}
            added += [fill(part, filled) for part in _split(binding.argument)]
        elif configuration[binding.option] is True:
            added += [fill(part, values) for part in _split(binding.argument)]
    return tuple(added)


def variables(bindings: Iterable[Binding], configuration: Mapping[str, object]) -> dict[str, str]:
    """The environment variables that active options set."""
    return {b.env: _text(configuration[b.option]) for b in bindings if b.env and b.option in configuration}


def _split(argument: str) -> list[str]:
    try:
        return shlex.split(argument)
    except ValueError as error:
        raise InputError(f"argument {argument!r}: {error}", fix="close the quotation") from None


def _texts(settings: Mapping[str, object]) -> dict[str, str]:
    return {name: _text(setting) for name, setting in settings.items()}


def _text(setting: object) -> str:
    assert isinstance(setting, bool | int | float | str)
    return setting_text(setting)


def remote_recipe(job: Job) -> Recipe:
    """The recipe of a job that another machine does; its folders are markers."""
    return Recipe(job.benchmark, job.task, _ELSEWHERE, _ELSEWHERE, 0)
