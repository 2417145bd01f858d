"""How to build, start and read one measurement of the subject; the events that it counts, and templates of commands.

``{name}`` stands for a value, ``{{`` and ``}}`` for braces.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Literal

from msgspec import Struct

from hati.core.errors import InputError, Place
from hati.core.metric import Metric
from hati.core.study import StudyId, Task, digest
from hati.core.values import Configuration, Workload, canonical_json
from hati.core.wording import nearest, suggestion

INSTRUCTIONS: Final = "instructions"
PAGE_FAULTS: Final = "page_faults"
SIMULATED: Final = frozenset({"simulated_branch_misses", "simulated_cache_misses"})
"""Counters of Valgrind's model of a processor; their names distinguish them from a real processor's counters."""
HARDWARE: Final = frozenset({"cycles", "branch_misses", "cache_misses"})
COUNTERS: Final = frozenset({INSTRUCTIONS, PAGE_FAULTS}) | SIMULATED | HARDWARE
COUNT: Final = "count"
"""The unit of all counters."""
COUNTED_CALLS: Final = "HATI_COUNTED_EVENTS"
"""The environment variable of a benchmark of a function: the events of its calls that are counted."""


class CounterSource(StrEnum):
    """The source of counts: the kernel's ``perf_event_open``, Valgrind's Callgrind, or the usage of ended processes."""

    PERF = "perf"
    VALGRIND = "valgrind"
    USAGE = "usage"

    def counts(self, metric: str) -> bool:
        """Whether this source can count a metric if every counter is permitted.

        >>> CounterSource.VALGRIND.counts("cycles"), CounterSource.PERF.counts("cycles")
        (False, True)
        """
        if self is CounterSource.VALGRIND:
            return metric == INSTRUCTIONS or metric in SIMULATED
        return metric == PAGE_FAULTS or (self is CounterSource.PERF and metric in COUNTERS - SIMULATED)


def counted(metrics: Collection[str]) -> tuple[str, ...]:
    """The metrics that are counters, in their order."""
    return tuple(name for name in metrics if name in COUNTERS)


AUTO: Final = "auto"
"""Warm-up is detected in each run's observations."""

Warmup = int | Literal["auto"]

Command = tuple[str, ...]
"""An argument list, started without a shell; its arguments are templates."""

Commands = tuple[Command, ...]
"""Commands that run one after the other."""

_LONGEST_TEMPLATE = 16_384


class Binding(Struct, frozen=True):
    """How an option's setting reaches the command, in addition to placeholders and file templates.

    ``argument`` is a template with ``{}`` for the setting, added to the command; ``env`` names an
    environment variable; ``build`` says that a change needs a build. ``setup`` are commands that run before the
    measured one, with ``{}`` for the setting. ``reload`` lists commands that make a running server take over a new
    setting; where it is empty, the server's own ``reload`` does.
    """

    option: str
    argument: str | None = None
    env: str | None = None
    build: bool = False
    setup: Commands = ()
    reload: Commands | None = None

    @property
    def identity(self) -> list[object]:
        """Everything that determines its effect."""
        later = [self.setup or None, self.reload]
        return [self.option, self.argument, self.env, self.build, *(later if any(x is not None for x in later) else [])]


class ConfigurationFile(Struct, frozen=True):
    """A file rendered with Jinja2 for every run: ``template`` is the template's text, ``source`` where it comes from.

    ``inside`` is the template's path in the project if each revision has its own template, else empty.
    """

    path: str
    template: str
    source: str
    inside: str = ""

    @property
    def identity(self) -> str:
        """The template, or its hash if it is long: a whole program would swell every study's id."""
        return self.template if len(self.template) <= _LONGEST_TEMPLATE else f"sha256:{digest(self.template, 64)}"


class Ready(Struct, frozen=True):
    """When a server is up: its port accepts connections, its output has a line, or both; ``timeout`` in seconds."""

    port: bool = False
    line: str | None = None
    timeout: float = 10.0


class Server(Struct, frozen=True):
    """A program that must be up before the command starts, and is stopped after it.

    ``reload`` are commands after which a running server has taken over its changed files. ``log`` is a template of the
    file that it writes its log to, in addition to what it prints.
    """

    command: Command
    ready: Ready
    cpus: tuple[int, ...] = ()
    reload: Commands = ()
    log: str | None = None

    @property
    def identity(self) -> list[object]:
        """Everything that determines its behaviour; the place of its log does not."""
        ready = [self.ready.port, self.ready.line, self.ready.timeout]
        return [self.command, self.cpus, *ready, *([self.reload] if self.reload else [])]


class ResetBefore(StrEnum):
    """When a reset happens: before each run, or before the first run of each repetition of a plan."""

    RUN = "run"
    REPETITION = "repetition"


class Reset(Struct, frozen=True):
    """Commands that bring the system back to its initial state, so that runs are independent (Kalibera paper, 3.3).

    They run as the user who runs Hati, in Hati's environment.
    """

    commands: Commands
    before: ResetBefore = ResetBefore.RUN


class ReaderKind(StrEnum):
    """The readers of benchmark output, except those of file formats of samples."""

    HATI = "hati"
    PROCESS = "process"
    JSON = "json"
    REGEX = "regex"
    COVERAGE = "coverage"


LINES = "lines"
"""The metric of the reader ``coverage``: the number of lines that a run executed."""
LINES_OF = "lines of "
"""What the names of further observations of that reader begin with, before a file: line n as n, or -n if not run."""
LINE_NUMBER = "line number"
"""The unit of these further observations."""


def are_line_numbers(metric: str, unit: str) -> bool:
    """Whether observations are the numbers of a file's lines, which are not measured.

    >>> are_line_numbers("lines of a.c", LINE_NUMBER), are_line_numbers("lines of code", "1")
    (True, False)
    """
    return unit == LINE_NUMBER and metric.startswith(LINES_OF)


class SampleFormat(StrEnum):
    """Hati's own formats of files of samples; packages add others."""

    HATI = "hati"
    HYPERFINE = "hyperfine"
    JMH = "jmh"
    PYPERF = "pyperf"
    PYTEST_BENCHMARK = "pytest-benchmark"
    GOOGLE_BENCHMARK = "google-benchmark"
    GO = "go"
    CSV = "csv"
    CRITERION = "criterion"
    ASV = "asv"
    GITHUB_ACTION = "github-action-benchmark"
    BENCHER = "bencher"
    BENCHMARK_DOTNET = "benchmarkdotnet"
    CATCH2 = "catch2"


def is_tool(reader: str) -> bool:
    """Whether a reader is the format of another benchmark tool, whose files may hold several benchmarks."""
    return reader not in set(ReaderKind)


class Reader(Struct, frozen=True):
    """A reader of output, and where it finds each metric.

    ``kind`` is a ``ReaderKind``, or the name of a format of files of samples. ``patterns`` pairs a metric's name with
    where to look: for ``json`` a path such as ``results.latency[*]``, for ``regex`` a regular expression with one
    group, for the format of a tool a regular expression that finds the name of one benchmark. ``fields`` pairs a
    metric's name with the tool's name for it, where they differ.
    """

    kind: str
    patterns: tuple[tuple[str, str], ...] = ()
    fields: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Benchmark:
    """One benchmark of a subject; commands are argument lists, started without a shell.

    A run's steps are ``prepare``, ``server``, ``setup``, ``command``, ``cleanup``; ``reset`` comes before them. ``env``
    are variables of the environment of all of them, with templates of their values; ``user`` is who they run as where
    Hati is root.
    ``timeout`` in seconds, of each command; ``warmup`` is the number of leading observations of a run that are
    warm-up, or ``AUTO`` to detect it in each run. ``output`` is a template of the file, in the run's work
    folder, that the command writes and that is read; None for its standard output. ``programs`` are the files
    on this machine that ``{program:NAME}`` in commands stands for: their paths are not part of the definition, so their
    content has to be identified elsewhere. ``counters`` is the source of event counts; None for whatever the machine
    permits, where a metric needs counts. ``metric_places`` says where each metric is defined, for messages;
    ``warmup_place`` where the warm-up is stated, None where it is not; ``cpu_places`` where each CPU is, of the command
    and then of the server.
    """

    name: str
    command: Command
    reader: Reader
    metrics: tuple[Metric, ...]
    build: Commands = ()
    prepare: Commands = ()
    cleanup: Commands = ()
    server: Server | None = None
    files: tuple[ConfigurationFile, ...] = ()
    timeout: float = 60.0
    warmup: Warmup = 0
    cpus: tuple[int, ...] = ()
    workload: Workload = field(default_factory=Workload)
    bindings: tuple[Binding, ...] = ()
    output: str | None = None
    programs: tuple[tuple[str, str], ...] = ()
    setup: Commands = ()
    env: tuple[tuple[str, str], ...] = ()
    user: str | None = None
    reset: Reset | None = None
    counters: CounterSource | None = None
    metric_places: tuple[tuple[str, Place], ...] = field(default=(), compare=False)
    warmup_place: Place | None = field(default=None, compare=False)
    cpu_places: tuple[tuple[int, Place], ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        if not self.command:
            raise InputError(f"benchmark {self.name!r} has an empty command")
        if not self.metrics:
            raise InputError(
                f"benchmark {self.name!r} has no metric", fix="add a [[benchmark.metric]] with name, unit and better"
            )

    def metric(self, name: str) -> Metric:
        """The metric of that name.

        Raises:
            InputError: where there is none; the message lists the known ones.
        """
        for metric in self.metrics:
            if metric.name == name:
                return metric
        known = [metric.name for metric in self.metrics]
        raise InputError(f"benchmark {self.name!r} has no metric {name!r}", fix=suggestion(name, known))

    def task(self, study: StudyId, stage: str, configuration: Configuration, revision: str, repetition: int) -> Task:
        """A run of this benchmark, for a stage of a study."""
        return Task(study.key, stage, self.name, configuration, revision, self.workload, repetition)

    @property
    def paths(self) -> dict[str, str]:
        """The values of the placeholders of its programs."""
        return {f"program:{name}": path for name, path in self.programs}

    @property
    def definition(self) -> str:
        """Canonical JSON of all that determines what a run does; equal definitions measure the same."""
        return canonical_json(
            {
                "command": self.command,
                "reader": [
                    self.reader.kind,
                    self.reader.patterns,
                    *([self.reader.fields] if self.reader.fields else []),
                ],
                "metrics": [[m.name, m.unit, m.better] for m in self.metrics],
                "build": _listed(self.build),
                "prepare": _listed(self.prepare),
                "cleanup": _listed(self.cleanup),
                "server": self.server and self.server.identity,
                "files": [[f.path, f.identity] for f in self.files],
                "timeout": self.timeout,
                "warmup": self.warmup,
                "cpus": self.cpus,
                "workload": dict(self.workload),
                "bindings": [binding.identity for binding in self.bindings],
                **({"output": self.output} if self.output else {}),
                **({"setup": self.setup} if self.setup else {}),
                **({"env": self.env} if self.env else {}),
                **({"user": self.user} if self.user else {}),
                **({"reset": [self.reset.before, self.reset.commands]} if self.reset else {}),
                **({"counters": self.counters} if self.counters else {}),
            }
        )


def _listed(commands: Commands) -> Command | Commands | None:
    """A single command unwrapped, and no command as None: the form in stored studies."""
    return (commands[0] if len(commands) == 1 else commands) or None


_UNESCAPED = re.compile(r"(?<!\\)\{([^{}]*)\}")
_TOKEN = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


class Placeholder(Struct, frozen=True):
    """A placeholder: its name (``""`` for ``{}``, ``"file:NAME"`` for a file) and the offset of its brace, from 0."""

    name: str
    offset: int


class PlaceholderError(InputError):
    """A template that cannot be read or filled; ``offset`` counts from 0 in ``text``."""

    def __init__(self, message: str, text: str, offset: int, *, fix: str | None = None) -> None:
        line = text.count("\n", 0, offset) + 1
        start = text.rfind("\n", 0, offset) + 1
        end = text.find("\n", offset)
        place = Place("template", line, offset - start + 1, text[start : end if end >= 0 else None])
        super().__init__(message, place=place, fix=fix)
        self.text = text
        self.offset = offset


def names(text: str) -> tuple[Placeholder, ...]:
    """The placeholders of a template, in order.

    Raises:
        PlaceholderError: where a brace stands alone.

    >>> names("--db {work}/a.db {{literal}}")
    (Placeholder(name='work', offset=5),)
    """
    return tuple(piece for piece in _pieces(text) if isinstance(piece, Placeholder))


def fill(text: str, values: Mapping[str, str]) -> str:
    """The template with every placeholder replaced by its value, and doubled braces by single ones.

    Raises:
        PlaceholderError: where a brace stands alone or a placeholder has no value.

    >>> fill("{work}/{{x}}", {"work": "/tmp/w"})
    '/tmp/w/{x}'
    """
    parts = []
    for piece in _pieces(text):
        if isinstance(piece, str):
            parts.append(piece)
        elif piece.name in values:
            parts.append(values[piece.name])
        else:
            raise _without_value(text, piece, values)
    return "".join(parts)


def fill_known(text: str, values: Mapping[str, str]) -> str:
    r"""The text with ``{name}`` replaced where ``values`` has that name; every other brace stays.

    Use it for texts in which braces have another meaning, such as regular expressions; ``\{`` is not a placeholder.

    >>> fill_known(r"size {n}: (\d{1,3})", {"n": "100"})
    'size 100: (\\d{1,3})'
    """
    return _UNESCAPED.sub(lambda found: values.get(found[1], found[0]), text)


_VARIABLE = "env:"


def _without_value(text: str, placeholder: Placeholder, known: Collection[str]) -> PlaceholderError:
    if not placeholder.name.startswith(_VARIABLE):
        return unknown(text, placeholder, known)
    variable = placeholder.name.removeprefix(_VARIABLE)
    message = f"{{{placeholder.name}}}: the environment variable {variable!r} is not set"
    return PlaceholderError(message, text, placeholder.offset, fix=f"set it, as in `export {variable}=...`")


def unknown(text: str, placeholder: Placeholder, known: Collection[str]) -> PlaceholderError:
    """The error for a placeholder of a template that is not among the known ones."""
    near = nearest(placeholder.name, known)
    choices = f"did you mean {{{near}}}?" if near else f"there are: {_known_placeholders(known)}"
    fix = f"{choices} (for braces as they are, double them: {{{{ }}}})"
    return PlaceholderError(f"unknown placeholder {{{placeholder.name}}}", text, placeholder.offset, fix=fix)


def _known_placeholders(known: Collection[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in known) if known else "none here"


def _pieces(text: str) -> Iterator[str | Placeholder]:
    end = 0
    for match in _TOKEN.finditer(text):
        yield text[end : match.start()]
        end = match.end()
        if match[1] is not None:
            yield Placeholder(match[1], match.start())
        elif len(match[0]) == 2:
            yield match[0][0]
        else:
            brace = match[0]
            raise PlaceholderError(
                f"a single {brace!r}", text, match.start(), fix=f"write {brace * 2!r} for a brace as it is"
            )
    yield text[end:]
