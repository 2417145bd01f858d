"""A task's commands, with every placeholder filled, and the builds of the subject in which they run.

There is a build for each revision and each set of build-time options; their total size is bounded. Errors that affect
every run of a benchmark are found here.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import cached_property, partial
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
    Observations,
    Outcome,
    Place,
    Reader,
    ReaderKind,
    Resources,
    Run,
    Setting,
    Task,
    digest,
    replace,
    setting_text,
)
from hati.core.benchmark import fill, fill_known, names
from hati.core.run import REMARKS_APART
from hati.core.wording import listed
from hati.subject.folders import build_root, remove
from hati.subject.readers import check_reader, read, unsettled
from hati.subject.readings import OUTPUT
from hati.subject.revisions.trees import Tree, Trees
from hati.subject.running.counting import check_counters
from hati.subject.running.programs import (
    LARGEST_OUTPUT,
    Masking,
    Program,
    RunFailure,
    Supervisor,
    SupervisorLost,
    failure,
    switched_user,
)


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
    check_cpus(benchmark.name, benchmark.cpus)
    switched_user(benchmark.user)
    if benchmark.server is not None:
        check_cpus(benchmark.name, benchmark.server.cpus)


def template_names(file: ConfigurationFile) -> frozenset[str]:
    """The names that a file's template uses.

    Raises:
        InputError: with the place, where its syntax is wrong.
    """
    from hati.subject.templates import check_template  # loads Jinja2, which most benchmarks do not need

    return check_template(file)


def check_cpus(name: str, cpus: tuple[int, ...]) -> None:
    """Check that CPUs may be used.

    Raises:
        InputError: where one may not, with the available ones.
    """
    available = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(cpus)
    missing = [cpu for cpu in cpus if cpu not in available]
    if missing:
        raise InputError(
            f"benchmark {name!r} is to run on CPU {', '.join(map(str, missing))}, which is not there",
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


def read_written(path: Path) -> bytes:
    """The content of a file that a command wrote.

    Raises:
        InputError: where it does not exist, is not a file, cannot be read, or is larger than ``LARGEST_OUTPUT``.
    """
    place = Place(path.name)
    if not path.is_file():
        what = "this is not a file" if path.exists() else "the command did not write this file"
        raise InputError(what, place=place, fix="`output` and the command must name the same file")
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_OUTPUT + 1)
    except OSError as error:
        raise InputError(
            f"the file cannot be read: {error.strerror or error}", place=place, fix="let the command make it readable"
        ) from None
    if len(data) > LARGEST_OUTPUT:
        raise InputError("the file has more than 16 MiB", place=place, fix="let the command write less")
    return data


MOST_BYTES = 8 * 2**30
_MARK = ".built"
_LOCK = ".lock"


class KeptBuilds:
    """Finished builds below a folder, each with a marker file that records its size and its last use.

    If they are larger than ``most`` bytes in total, the least recently used are removed, except those that this object
    has found or made. A build without a marker was left by a killed process, and is removed too, unless another process
    is building at that moment: it may be that build.
    """

    def __init__(self, root: Path, most: int = MOST_BYTES) -> None:
        self._root = root
        self._most = most
        self._used: set[str] = set()

    def find(self, key: str) -> Tree | None:
        """The build if it was finished, else None."""
        mark = self._mark(key)
        try:
            within = PurePath(json.loads(mark.read_text())["within"])
        except (OSError, ValueError, TypeError, KeyError):
            return None
        with suppress(OSError):
            mark.touch()
        self._used.add(key)
        return Tree(self._root / key, within)

    def make(self, key: str, build: Callable[[Path], Tree]) -> Tree:
        """Build in a new folder, mark the build as finished, and remove old builds if necessary.

        If ``build`` raises anything, nothing is kept.

        Raises:
            OSError: where its marker cannot be written.
        """
        place = self._root / key
        self._remove_leftovers()  # they may fill the disk
        with _lock(self._root, fcntl.LOCK_SH):
            remove(place)
            try:
                made = build(place)
            except BaseException:
                remove(place)
                raise
            self._mark(key).write_text(json.dumps({"within": str(made.within), "bytes": _size(place)}))
        self._used.add(key)
        self._make_room()
        return made

    def _make_room(self) -> None:
        marks = {
            mark.stem: mark for mark in sorted(self._root.glob(f"*{_MARK}"), key=lambda mark: mark.stat().st_mtime)
        }
        sizes = {name: _recorded_size(mark) for name, mark in marks.items()}
        for name, mark in marks.items():
            if sum(sizes.values()) <= self._most:
                break
            if name not in self._used:
                mark.unlink(missing_ok=True)
                remove(self._root / name)
                sizes.pop(name)

    def _remove_leftovers(self) -> None:
        with _lock(self._root, fcntl.LOCK_EX | fcntl.LOCK_NB) as alone:
            for place in self._root.iterdir() if alone else ():
                if place.is_dir() and place.name not in self._used and not self._mark(place.name).exists():
                    remove(place)

    def _mark(self, key: str) -> Path:
        return self._root / f"{key}{_MARK}"


@contextmanager
def _lock(root: Path, kind: int) -> Iterator[bool]:
    """Hold the lock of a folder of builds, which ends with this process; yield whether it was acquired."""
    descriptor = os.open(root / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        try:
            fcntl.flock(descriptor, kind)
        except OSError:  # another process has it, or the file system has no locks
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


def _recorded_size(mark: Path) -> int:
    try:
        return int(json.loads(mark.read_text())["bytes"])
    except (OSError, ValueError, TypeError, KeyError):
        return 0


def _size(folder: Path) -> int:
    total = 0
    for place, _, inside in os.walk(folder):
        for name in inside:
            with suppress(OSError):
                total += (Path(place) / name).lstat().st_size
    return total


_LONGEST_SECONDS = 3600.0
_NAMED = 3


class Builds:
    """Makes each build once, in a copy of the revision's tree; a failed build is not tried again by this object.

    Builds are kept in ``.hati/builds`` for later campaigns, until newer ones need their space.
    """

    def __init__(self, root: Path, environment: Mapping[str, str], trees: Trees) -> None:
        self._kept = KeptBuilds(build_root(root))
        self._environment = environment
        self._trees = trees
        self._failed: dict[str, RunFailure] = {}
        self._lost: set[str] = set()

    def tree(self, benchmark: Benchmark, task: Task, supervisor: Supervisor) -> Tree:
        """The tree in which the task's programs run: the revision's own if nothing is built.

        Raises:
            RunFailure: where the revision's files are not available, or the build fails.
            OSError: where the tree cannot be copied.
        """
        if not benchmark.build:
            return self._trees.tree(task.revision)
        bindings = [binding for binding in benchmark.bindings if binding.build]
        settings = {b.option: task.configuration[b.option] for b in bindings if b.option in task.configuration}
        about = [[b.option, b.argument, b.env] for b in bindings]
        parameters = _parameters(benchmark, task)
        key = digest([task.revision, *benchmark.build, about, settings, *([parameters] if parameters else [])])
        if key in self._failed:
            raise self._failed[key]
        known = self._kept.find(key)
        if known is not None:
            return known
        values = {name: setting_text(setting) for name, setting in {**settings, **parameters}.items()}
        values |= {"revision": task.revision, **benchmark.paths}
        filled = [tuple(fill(argument, values) for argument in command) for command in benchmark.build]
        filled[-1] += arguments(bindings, settings, values)
        build = partial(self._build, task.revision, tuple(filled), variables(bindings, settings), supervisor)
        try:
            return self._kept.make(key, build)
        except RunFailure as failed:
            if key in self._lost or not isinstance(failed, SupervisorLost):
                self._failed[key] = failed
            self._lost.add(key)
            raise

    def _without(self, revision: str) -> str:
        """A remark on the left-out files, whose absence may be why a build failed; empty without any."""
        left_out = [path.as_posix() for path in self._trees.left_out(revision)]
        return f" (built without untracked files: {listed(left_out, _NAMED)})" if left_out else ""

    def _build(
        self, revision: str, commands: Commands, variables: Mapping[str, str], supervisor: Supervisor, place: Path
    ) -> Tree:
        made = self._trees.copy(revision, place)
        environment = {**self._environment, **made.environment, **variables}
        for argv in commands:
            program = Program(argv, made.folder, environment, _LONGEST_SECONDS)
            try:
                ending = supervisor.run_aside(program)
                supervisor.clear()
            except InputError as error:
                raise RunFailure(Outcome.NOT_BUILT, f"the build: {error}") from None
            except SupervisorLost as lost:
                raise SupervisorLost(Outcome.NOT_BUILT, f"the build: {lost}") from None
            if why := failure("the build", program, ending):
                raise RunFailure(Outcome.NOT_BUILT, f"{why}{self._without(revision)}\n{ending.output}".rstrip(), ending)
        return made


def _parameters(benchmark: Benchmark, task: Task) -> dict[str, Setting]:
    """The workload's parameters that the build uses; other parameters do not need another build."""
    texts = [*chain.from_iterable(benchmark.build), *(b.argument for b in benchmark.bindings if b.build and b.argument)]
    named = {placeholder.name for text in texts for placeholder in names(text)}
    return {name: setting for name, setting in task.workload.items() if name in named}


NO_COUNTS: Mapping[str, float] = {}
_NO_MASKING = Masking()
_SHOWN = 4096
"""Characters of output that a run keeps."""
WORK_MARKER, PORT_MARKER = "@HATI_WORK@", "@HATI_PORT@"
"""What stands in rendered files for a work folder and a port that only the machine of the run knows."""


def read_observations(
    benchmark: Benchmark,
    output: bytes,
    used: Resources,
    source: str = OUTPUT,
    folder: Path | None = None,
    counts: Mapping[str, float] = NO_COUNTS,
    masking: Masking = _NO_MASKING,
    project: Path | None = None,
) -> tuple[Observations, ...]:
    """The observations in a command's output; the arguments are those of ``read``.

    Raises:
        InputError: where it cannot be read; the message quotes no part of a secret.
    """
    try:
        return read(benchmark, output, used, source, folder, counts, project)
    except InputError as error:
        why = error
    try:
        read(benchmark, masking.mask_bytes(output), used, source, folder, counts, project)
    except InputError as error:
        why = error
    raise InputError(str(why))


class RawResult(Struct, frozen=True):
    """What another machine sent of a job: how it ended, its standard output, and the content of its output file.

    ``started`` is in UTC; ``seconds`` is the whole time of the job; ``exit`` is the command's exit status. Only the
    ``outcome`` DONE has output to read.
    """

    outcome: Outcome
    started: datetime
    seconds: float
    detail: str = ""
    stdout: bytes = b""
    output: bytes | None = None
    exit: int | None = None
    resources: Resources | None = None


_ELSEWHERE = Path(WORK_MARKER)


def remote_recipe(job: Job) -> Recipe:
    """The recipe of a job that another machine does; its folders are markers."""
    return Recipe(job.benchmark, job.task, _ELSEWHERE, _ELSEWHERE, 0)


def run_of_result(job: Job, machine: str, result: RawResult) -> Run:
    """The run of a job on the machine with a fingerprint, read by the benchmark's reader.

    Output that cannot be read makes a run that failed.
    """
    outcome, detail, observed = result.outcome, result.detail, tuple[Observations, ...]()
    if outcome is Outcome.DONE:
        try:
            observed, detail = _observed(job, result)
        except InputError as error:
            outcome, detail = Outcome.UNREADABLE, str(error)
    shown = result.stdout.decode("utf-8", "replace")[-_SHOWN:]
    started = outcome.started
    return Run(
        job.task,
        machine,
        result.started,
        result.seconds,
        outcome,
        detail,
        result.exit if started else None,
        shown,
        result.resources if started else None,
        observed,
    )


def _observed(job: Job, result: RawResult) -> tuple[tuple[Observations, ...], str]:
    """The observations of a completed command, and remarks on them."""
    recipe = remote_recipe(job)
    if result.resources is None:
        raise InputError("the result has no usage of resources")
    output, source = result.stdout, OUTPUT
    if recipe.output is not None:
        source = recipe.output.name
        if result.output is None:
            raise InputError(f"the command did not write {source}", fix="`output` and the command must name it equally")
        output = result.output
    filled = recipe.reader is not job.benchmark.reader
    benchmark = replace(job.benchmark, reader=recipe.reader) if filled else job.benchmark
    observed = read_observations(benchmark, output, result.resources, source)
    return observed, REMARKS_APART.join(unsettled(benchmark, observed))
