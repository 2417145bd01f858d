"""Run a subject once on this machine: from the task, and resetting the system, to the result.

The steps of a run are prepare, server, setup, command and cleanup; runs may share a server.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from pwd import struct_passwd

from msgspec import Struct

from hati.core import (
    Benchmark,
    Command,
    Configuration,
    InputError,
    Job,
    Machine,
    Observations,
    Outcome,
    ResetBefore,
    Resources,
    Run,
    Task,
    digest,
    replace,
    setting_text,
)
from hati.core.benchmark import fill
from hati.core.run import REMARKS_APART
from hati.file_errors import FULL, free_text
from hati.subject.folders import clear, lock_file, log_root, make_shared, remove, shared_work_root, tidy, work_root
from hati.subject.machine_identity import build_class
from hati.subject.readers import unsettled
from hati.subject.readings import OUTPUT
from hati.subject.revisions.trees import Tree, Trees
from hati.subject.running.builds import Builds
from hati.subject.running.counting import HASH_SEED, UNFIXED, counted_program, counter_source, counts_of
from hati.subject.running.programs import (
    Masking,
    ProcessResult,
    Program,
    RunFailure,
    Supervisor,
    failure,
    give,
    home,
    reaches,
    switched_user,
)
from hati.subject.running.recipe import Recipe, check_benchmark, needs_port, needs_work
from hati.subject.running.results import read_observations, read_written
from hati.subject.running.servers import ServerLog, free_port, refuse_used, start_server


class AttemptResult(Struct, frozen=True):
    """The result of a run's command; ``remark`` is a remark on it."""

    ending: ProcessResult
    observations: tuple[Observations, ...]
    remark: str = ""


@dataclass
class Deployment:
    """The deployment of one run, or of several runs that share a server.

    ``work`` is their initially empty folder, None if they need none; ``port`` is a free port. ``environment`` is
    Hati's own, ``logs`` the folder of the servers' logs, ``counts`` the folder of the command's counts. ``user`` runs
    the programs, None: the user of Hati. ``served`` are the configurations that were measured on the running server.
    """

    supervisor: Supervisor
    environment: Mapping[str, str]
    work: Path | None
    port: int | None
    logs: Path
    counts: Path
    user: struct_passwd | None = None
    masking: Masking = field(default_factory=Masking)
    served: set[Configuration] = field(default_factory=set)
    _recipe: Recipe | None = None
    _log: ServerLog | None = None
    _server: Program | None = None
    _busy: bool = False

    def measured(self, recipe: Recipe) -> AttemptResult:
        """Perform the steps of a run; those before `setup` for the first run only.

        Raises:
            RunFailure: at the first step that fails; only `end` may be called then.
            InputError: at the first step that cannot be tried.
            OSError: where the run's files cannot be written.
        """
        command = self._measured_program(recipe)
        first = self._recipe is None
        self._write_files(recipe, first=first)
        self._recipe = recipe
        if first:
            self._aside("`prepare`", recipe, map(recipe.fill, recipe.benchmark.prepare))
            self._start_server(recipe)
        if self._log is not None:
            self._log.mark()
        with self._explained():
            self._reload(recipe, first=first)
            self._aside("`setup`", recipe, recipe.setup())
            measured = self._command(recipe, command)
        self.served.add(recipe.task.configuration)
        return measured

    def alive(self) -> bool:
        """Whether the server is still up."""
        if self._server is None:
            return False
        try:
            stands = self.supervisor.look(0.0)
        except RunFailure:
            return False
        return stands.exit is None and not stands.problem

    def end(self, ending: ProcessResult | None = None) -> str:
        """End the server, clean up, and end remaining processes; return the problem, if any.

        Raises:
            RunFailure: with this ``ending``, where the server ended too early.
        """
        try:
            early = self.supervisor.clear() if self._server is not None else None
            remark = self._clean_up()
            if self._log is not None:
                self._log.keep()
            if early is None or self._server is None or self._log is None:
                return remark
            why = failure("the server", self._server, early, self._log.why())
            raise RunFailure(Outcome.FAILED, self._with_log(why or "the server ended before the command did"), ending)
        finally:
            self.discard()

    def discard(self) -> None:
        """Remove the folders; the server's log is kept, without secrets."""
        if self._log is not None:
            self._log.keep()
        if self._recipe is not None and counter_source(self._recipe.benchmark):
            remove(self.counts)
        if self.work is not None:
            remove(self.work)

    def _write_files(self, recipe: Recipe, *, first: bool) -> None:
        if self.work is not None and first:
            remove(self.work)
            self.work.mkdir()
            if self.user is not None:
                give(self.user, self.work, self.work)
        for file in recipe.benchmark.files:
            # Jinja2 is slow to load, and most benchmarks do not need it.
            from hati.subject.templates import of_revision, render, write

            path = Path(recipe.values[f"file:{file.path}"])
            write(path, render(of_revision(file, recipe.tree), recipe.variables))
            if self.user is not None and self.work is not None:
                give(self.user, path, self.work)

    def _clean_up(self) -> str:
        remark, recipe = "", self._recipe
        try:
            if recipe is not None:
                self._aside("`cleanup`", recipe, map(recipe.fill, recipe.benchmark.cleanup))
        except (RunFailure, InputError) as error:
            remark = str(error)
        if self._busy:
            self.supervisor.clear()
        return remark

    def _start_server(self, recipe: Recipe) -> None:
        server = recipe.benchmark.server
        if server is None:
            return
        if server.ready.port and recipe.port is not None:
            refuse_used(recipe.port)
        own = None if server.log is None else recipe.tree / recipe.fill([server.log])[0]
        self._log = ServerLog.begin(self.logs, recipe.task.id[:16], own, self.masking)
        self._server = self._program(recipe, recipe.fill(server.command), server.cpus)
        self._busy = True
        with self._explained():
            start_server(self._server, server.ready, recipe.port, self.supervisor, self._log)

    def _reload(self, recipe: Recipe, *, first: bool) -> None:
        """Let the server accept the settings: a new server has read its files, but has received no commands yet."""
        commands = list(recipe.reload())
        self._aside("`reload`", recipe, commands)
        server = recipe.benchmark.server
        if server is not None and (commands or not first):
            self._aside("`reload`", recipe, map(recipe.fill, server.reload))

    def _command(self, recipe: Recipe, command: Program) -> AttemptResult:
        written = recipe.output
        if written is not None:  # the output of an earlier run is not a result of this one
            written.unlink(missing_ok=True)
        if counter_source(recipe.benchmark):
            self._empty_counts()
        ending = self.supervisor.run(command)
        if why := failure("the command", command, ending):
            raise RunFailure(Outcome.TIMEOUT if ending.problem == "timeout" else Outcome.FAILED, why, ending)
        benchmark = recipe.benchmark
        if recipe.reader is not benchmark.reader:
            benchmark = replace(benchmark, reader=recipe.reader)
        observations = self._read(benchmark, ending, written, recipe.tree)
        remarks = [*unsettled(benchmark, observations), *([UNFIXED] if command.layout and not ending.laid else [])]
        return AttemptResult(ending, observations, REMARKS_APART.join(remarks))

    def _empty_counts(self) -> None:
        remove(self.counts)
        self.counts.mkdir()
        if self.user is not None:
            give(self.user, self.counts, self.counts)

    def _read(
        self, benchmark: Benchmark, ending: ProcessResult, written: Path | None, project: Path
    ) -> tuple[Observations, ...]:
        """The observations in the output; if it cannot be read, the message quotes no part of a secret."""
        counts = counts_of(ending, benchmark, self.counts)
        used, source = resources(ending, 0.0), OUTPUT if written is None else written.name
        folder = None if written is None else written.parent
        try:
            output = ending.stdout if written is None else read_written(written)
        except InputError as error:
            raise RunFailure(Outcome.UNREADABLE, str(error), ending) from None
        try:
            return read_observations(benchmark, output, used, source, folder, counts, self.masking, project)
        except InputError as error:
            raise RunFailure(Outcome.UNREADABLE, str(error), ending) from None

    def _aside(self, what: str, recipe: Recipe, commands: Iterable[Command]) -> None:
        for argv in commands:
            self._busy = True
            program = self._program(recipe, argv, ())
            ending = self.supervisor.run_aside(program)
            if why := failure(what, program, ending):
                raise RunFailure(Outcome.NOT_STARTED, why, ending)

    def _measured_program(self, recipe: Recipe) -> Program:
        program = self._program(recipe, recipe.command(), recipe.benchmark.cpus)
        return counted_program(program, recipe.benchmark, self.counts)

    def _program(self, recipe: Recipe, argv: Command, cpus: tuple[int, ...]) -> Program:
        user = {} if self.user is None else home(self.user)
        fixed = dict([HASH_SEED]) if counter_source(recipe.benchmark) else {}
        environment = recipe.environment({**self.environment, **user, **fixed})
        name = "" if self.user is None else self.user.pw_name
        return Program(argv, recipe.tree, environment, recipe.benchmark.timeout, cpus, name)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Add a server's log, and its path, to the error of a failure during its life."""
        try:
            yield
        except RunFailure as failed:
            if self._log is not None:
                stands = self.supervisor.look(_NOTICED)  # the log then has what the server printed until now
                ended = failure("the server", self._server, stands) if self._server and stands.exit else ""
                known = ended in failed.detail
                failed.detail = self._with_log(failed.detail if known else f"{ended}; {failed.detail}")
            raise

    def _with_log(self, detail: str) -> str:
        assert self._log is not None
        why = self._log.why()
        said = f"; the server's log: {why}" if why and why not in detail else ""
        return f"{detail}{said} ({self._log.shown})"


def resources(ending: ProcessResult, load: float) -> Resources:
    """The resources that a program's process tree used, with the load when its run started."""
    return Resources(
        ending.wall,
        ending.user,
        ending.system,
        ending.peak,
        ending.voluntary,
        ending.involuntary,
        load,
        ending.pressure,
        ending.steal,
    )


_NOTICED = 0.1
"""A client may report that its server is gone before the end of the server is noticed: the seconds to wait for it."""
_LONGEST_SECONDS = 3600.0


class _Resets:
    """Runs the commands of `reset` when they are due."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._last: tuple[str, str, str, int] | None = None

    def due(self, benchmark: Benchmark, task: Task) -> bool:
        """Whether the system has to be reset before this run."""
        if benchmark.reset is None:
            return False
        return benchmark.reset.before is ResetBefore.RUN or self._last != _repetition(task)

    def reset(self, benchmark: Benchmark, task: Task, tree: Tree, supervisor: Supervisor) -> float:
        """Run the commands one after the other; return the time that they took, in seconds.

        Raises:
            RunFailure: where a command fails; the next run tries again.
        """
        assert benchmark.reset is not None
        values = {name: setting_text(setting) for name, setting in task.workload.items()}
        values |= {"revision": task.revision, "repetition": str(task.repetition)}
        self._last, began = None, time.perf_counter()
        for command in benchmark.reset.commands:
            argv = tuple(fill(argument, values) for argument in command)
            program = Program(argv, tree.folder, {**self._environment, **tree.environment}, _LONGEST_SECONDS)
            try:
                result = supervisor.run_aside(program)
                supervisor.clear()
            except InputError as error:
                raise RunFailure(Outcome.NOT_STARTED, f"`reset`: {error}") from None
            if why := failure("`reset`", program, result):
                raise RunFailure(Outcome.NOT_STARTED, why, result)
        self._last = _repetition(task)
        return time.perf_counter() - began


def _repetition(task: Task) -> tuple[str, str, str, int]:
    return task.study, task.stage, task.benchmark, task.repetition


def utc_now() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)


class LocalSubject:
    """The software under test, in the folder ``root``: builds it, starts it and reads it.

    The values of the environment's variables ``secrets`` are masked in the kept output of a run.
    """

    def __init__(
        self,
        root: Path,
        machine: Machine,
        clock: Callable[[], datetime] = utc_now,
        environment: Mapping[str, str] | None = None,
        trees: Trees | None = None,
        secrets: Collection[str] = (),
    ) -> None:
        self._root = root.resolve()
        self._work, self._logs = work_root(self._root), log_root(self._root)
        self._checked: dict[str, _Checked] = {}
        self._machine = machine.fingerprint
        self._clock = clock
        self._environment = dict(os.environ if environment is None else environment)
        self._trees = trees or Trees(self._root)
        self._builds = Builds(self._root, self._environment, self._trees, build_class(machine))
        self.masking = Masking.of(secrets, self._environment)
        self._kept: _Kept | None = None
        self._resets = _Resets(self._environment)

    def lock_file(self) -> Path:
        """The file whose lock lets only one campaign at a time work in the project's folder.

        Raises:
            MeasurementError: where it cannot be created.
        """
        return lock_file(self._root)

    def tidy(self) -> None:
        """Create hati's own folder, and remove what killed campaigns left in it.

        Raises:
            MeasurementError: where nothing can be written there.
        """
        tidy(self._root)

    def close(self) -> None:
        """Remove the files of revisions and of interrupted runs, and the work folder outside of the project."""
        self._trees.close()
        clear(self._work)
        with suppress(OSError):
            shared_work_root(self._root).rmdir()

    def check(self, benchmark: Benchmark) -> None:
        """Check that a benchmark can be run, before any time is spent on it.

        Raises:
            InputError: where its CPUs do not exist, its reader cannot find a metric, or a template is malformed.
        """
        known = self._checked.get(benchmark.name)
        if known is None or known.benchmark != benchmark:
            check_benchmark(benchmark)
            self._checked[benchmark.name] = _Checked(benchmark, needs_port(benchmark), needs_work(benchmark))

    def build(self, job: Job, supervisor: Supervisor) -> None:
        """Build a job before it is measured; measuring reports the errors.

        Raises:
            MeasurementError: where nothing can be run.
        """
        with suppress(RunFailure, InputError, OSError):
            self._builds.tree(job.benchmark, job.task, supervisor)

    def measure(self, job: Job, supervisor: Supervisor, cpus: tuple[int, ...] = ()) -> Run:
        """Perform one run, its command on ``cpus`` if given; the run records its failure, if any.

        Raises:
            MeasurementError: where no further run is possible.
        """
        started, began, load = self._clock(), time.perf_counter(), os.getloadavg()[0]
        task, benchmark = job.task, job.benchmark
        measured: AttemptResult | None = None
        ending: ProcessResult | None = None
        reset: float | None = None
        try:
            self.check(benchmark)
            if cpus:
                benchmark = replace(benchmark, cpus=cpus)
            earlier = ""
            if self._resets.due(benchmark, task):
                earlier = self.retire()
                tree = self._builds.tree(benchmark, task, supervisor)
                reset = self._resets.reset(benchmark, task, tree, supervisor)
            measured = self._measure(benchmark, task, supervisor)
            outcome, ending = Outcome.DONE, measured.ending
            detail = REMARKS_APART.join(filter(None, (measured.remark, earlier)))
        except RunFailure as failed:
            outcome, detail, ending = failed.outcome, failed.detail, failed.ending
        except InputError as error:
            outcome, detail = Outcome.NOT_STARTED, str(error)
        except OSError as error:
            outcome, detail = Outcome.NOT_STARTED, _error_text(error, self._root)
        seen = ending if outcome.started else None
        return Run(
            task,
            self._machine,
            started,
            time.perf_counter() - began,
            outcome,
            self.masking.mask(detail),
            seen.exit if seen else None,
            ending.output if ending else "",
            resources(seen, load) if seen else None,
            measured.observations if measured else (),
            reset,
        )

    def retire(self) -> str:
        """End the server kept for further runs, if any; return the problem of its end or `cleanup`, else empty."""
        kept, self._kept = self._kept, None
        try:
            return kept.deployment.end() if kept else ""
        except RunFailure as failed:
            return failed.detail

    def _measure(self, benchmark: Benchmark, task: Task, supervisor: Supervisor) -> AttemptResult:
        tree = self._builds.tree(benchmark, task, supervisor)
        key = _server_key(benchmark, task, tree)
        earlier = ""
        used = self._kept.deployment if self._kept and self._kept.serves(key, task.configuration) else None
        if used is None:
            earlier = self.retire()
            used = self._deployment(benchmark, task, supervisor)
        work = used.work or self._work
        recipe = Recipe(benchmark, task, tree.folder, work, used.port)
        used.environment = {**self._environment, **tree.environment}
        self._kept = None
        try:
            measured = used.measured(recipe)
        except (RunFailure, InputError, OSError):
            with suppress(RunFailure):
                used.end()
            raise
        except BaseException:
            used.discard()
            raise
        if key and used.alive():
            self._kept, remark = _Kept(key, used), ""
        else:
            remark = used.end(measured.ending)
        return replace(measured, remark=REMARKS_APART.join(filter(None, (measured.remark, earlier, remark))))

    def _deployment(self, benchmark: Benchmark, task: Task, supervisor: Supervisor) -> Deployment:
        user = switched_user(benchmark.user)
        needs = self._checked[benchmark.name]
        port = free_port() if needs.port else None
        folder = self._work_folder(user) / task.id[:16]
        work, counts = folder if needs.work else None, folder.with_suffix(".counts")
        return Deployment(supervisor, self._environment, work, port, self._logs, counts, user, self.masking)

    def _work_folder(self, user: struct_passwd | None) -> Path:
        """The folder of work folders; another one for a user who may not enter the project's."""
        if user is None or reaches(user, self._work):
            return self._work
        shared = shared_work_root(self._root)
        make_shared(shared)
        return shared


class LocalExecutor(Struct, frozen=True):
    """Runs jobs with programs that a supervisor starts, on ``cpus`` if given."""

    subject: LocalSubject
    supervisor: Supervisor
    cpus: tuple[int, ...] = ()

    def execute(self, job: Job) -> Run:
        """Perform one run; a failure is a run too.

        Raises:
            MeasurementError: where no further run is possible.
        """
        return self.subject.measure(job, self.supervisor, self.cpus)


class _Checked(Struct, frozen=True):
    """A benchmark that can be run, and whether it needs a port and a work folder."""

    benchmark: Benchmark
    port: bool
    work: bool


class _Kept(Struct, frozen=True):
    """A server that still runs, and the key of the runs that may use it."""

    key: str
    deployment: Deployment

    def serves(self, key: str, configuration: Configuration) -> bool:
        """Whether a run can use the server; a configuration's repetitions are replicates: each needs its own server."""
        return key == self.key and configuration not in self.deployment.served and self.deployment.alive()


def _server_key(benchmark: Benchmark, task: Task, tree: Tree) -> str:
    """The key of runs that may share a server; empty if none may."""
    reloaded = {binding.option for binding in benchmark.bindings if binding.reload is not None}
    if benchmark.server is None or not reloaded:
        return ""
    others = {name: setting for name, setting in task.configuration.items() if name not in reloaded}
    about = [benchmark.name, benchmark.cpus, task.study, task.revision, str(tree.folder), dict(task.workload), others]
    return digest(about)


def _error_text(error: OSError, root: Path) -> str:
    where = f" {error.filename}" if error.filename else ""
    if error.errno not in FULL:
        return f"cannot write{where}: {error.strerror}"
    return f"cannot write{where}: {error.strerror}{free_text(root)}; free some space"
