"""How to build, start and read one measurement of the subject."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Literal

from msgspec import Struct

from hati.core.counters import CounterSource
from hati.core.errors import InputError, Place
from hati.core.metric import Metric
from hati.core.study import digest
from hati.core.values import Workload, canonical_json
from hati.core.wording import suggestion

AUTO: Final = "auto"
"""Warm-up that is found in each run's observations."""

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
    measured one, with ``{}`` for the setting. With ``reload`` a running server takes a new setting over: by these
    commands, or, where there are none, by the server's own ``reload``.
    """

    option: str
    argument: str | None = None
    env: str | None = None
    build: bool = False
    setup: Commands = ()
    reload: Commands | None = None

    @property
    def identity(self) -> list[object]:
        """All that determines what it does."""
        later = [self.setup or None, self.reload]
        return [self.option, self.argument, self.env, self.build, *(later if any(x is not None for x in later) else [])]


class ConfigurationFile(Struct, frozen=True):
    """A file made with Jinja2 for every run: ``template`` is its source text, ``source`` where that is from.

    ``inside`` is the template's path in the project, whose revisions have templates of their own; empty: they have not.
    """

    path: str
    template: str
    source: str
    inside: str = ""

    @property
    def identity(self) -> str:
        """The template, or its hash where it is long: a program that is handed along would swell every study's id."""
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
        """All that determines what it does; where it logs has no part in that."""
        ready = [self.ready.port, self.ready.line, self.ready.timeout]
        return [self.command, self.cpus, *ready, *([self.reload] if self.reload else [])]


class ResetBefore(StrEnum):
    """What a reset comes before: each run, or the first run of each repetition of a plan."""

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
    """Whether a reader is the name of another benchmark tool's format, which may be of several benchmarks."""
    return reader not in set(ReaderKind)


class Reader(Struct, frozen=True):
    """Which reader, and where it finds each metric.

    ``kind`` is a ``ReaderKind``, or the name of a format of files of samples. ``patterns`` pairs a metric's name with
    where to look: for ``json`` a path such as ``results.latency[*]``, for ``regex`` a regular expression with one
    group, for the format of a tool a regular expression that finds the name of one benchmark. ``fields`` pairs a
    metric's name with the tool's, where it has another.
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
    warm-up, or ``AUTO`` where it is found in each run. ``output`` is a template of the file, in the run's work
    folder, that the command writes and that is read; None: its standard output is. ``programs`` are the files
    on this machine that ``{program:NAME}`` in commands stands for: their paths are not part of the definition, so what
    they are has to be stated elsewhere. ``counters`` counts the command's events; None: what the machine permits, where
    a metric needs it. ``metric_places`` says where each metric is defined, for messages;
    ``warmup_place`` where the warm-up is stated, None where it is not.
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
            InputError: where there is none, naming those that there are.
        """
        for metric in self.metrics:
            if metric.name == name:
                return metric
        known = [metric.name for metric in self.metrics]
        raise InputError(f"benchmark {self.name!r} has no metric {name!r}", fix=suggestion(name, known))

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
    """A single command as itself, and none as None: as stored studies know them."""
    return (commands[0] if len(commands) == 1 else commands) or None
