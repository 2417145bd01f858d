"""Making one run of a subject on this machine, from the task and resetting the system to what came of it."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from pwd import struct_passwd

from msgspec import Struct

from hati.core import (
    Benchmark,
    Configuration,
    InputError,
    Job,
    Machine,
    Outcome,
    ResetBefore,
    Run,
    Task,
    digest,
    replace,
    setting_text,
)
from hati.core.benchmark import fill
from hati.core.run import REMARKS_APART
from hati.subject.files.builds import Builds
from hati.subject.files.folders import clear, lock_file, log_root, make_shared, shared_work_root, tidy, work_root
from hati.subject.revisions.trees import Tree, Trees
from hati.subject.running.attempt import AttemptResult, Deployment, resources
from hati.subject.running.programs import (
    Masking,
    ProcessResult,
    Program,
    RunFailure,
    Supervisor,
    failure,
    reaches,
    switched_user,
)
from hati.subject.running.recipe import Recipe, check_benchmark, needs_port, needs_work
from hati.subject.running.servers import free_port

_LONGEST_SECONDS = 3600.0


class _Resets:
    """Runs the commands of `reset` where they are due."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._last: tuple[str, str, str, int] | None = None

    def due(self, benchmark: Benchmark, task: Task) -> bool:
        """Whether the system is to be reset before this run."""
        if benchmark.reset is None:
            return False
        return benchmark.reset.before is ResetBefore.RUN or self._last != _repetition(task)

    def reset(self, benchmark: Benchmark, task: Task, tree: Tree, supervisor: Supervisor) -> float:
        """Run the commands one after the other; the time that they took, in seconds.

        Raises:
            RunFailure: where one fails; the next run tries again.
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
        self._checked: dict[str, _Checked] = {}
        self._machine = machine.fingerprint
        self._clock = clock
        self._environment = dict(os.environ if environment is None else environment)
        self._trees = trees or Trees(self._root)
        self._builds = Builds(self._root, self._environment, self._trees)
        self.masking = Masking.of(secrets, self._environment)
        self._kept: _Kept | None = None
        self._resets = _Resets(self._environment)

    def lock_file(self) -> Path:
        """The file whose lock lets one campaign at a time work in the project's folder.

        Raises:
            MeasurementError: where it cannot be made.
        """
        return lock_file(self._root)

    def tidy(self) -> None:
        """Make hati's own folder, and remove what killed campaigns left in it.

        Raises:
            MeasurementError: where nothing can be written there.
        """
        tidy(self._root)

    def close(self) -> None:
        """Remove the files of revisions and of runs that were interrupted, and the folder outside of the project."""
        self._trees.close()
        clear(work_root(self._root))
        with suppress(OSError):
            shared_work_root(self._root).rmdir()

    def check(self, benchmark: Benchmark) -> None:
        """See that a benchmark can be run, so that no time is lost.

        Raises:
            InputError: where its CPUs are not there, its reader cannot find a metric, a file's template is wrong.
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
        """Make one run, its command on ``cpus`` where these are given; whatever goes wrong with it is in the run.

        Raises:
            MeasurementError: where no further run can be made.
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
            outcome, detail = Outcome.NOT_STARTED, _error_text(error)
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
        """End the server that was kept for further runs, if there is one; what went wrong with its `cleanup`."""
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
        work = used.work or work_root(self._root)
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
        logs = log_root(self._root)
        return Deployment(supervisor, self._environment, work, port, logs, counts, user, self.masking)

    def _work_folder(self, user: struct_passwd | None) -> Path:
        """Where work folders are; elsewhere for a user who may not enter the project's."""
        own = work_root(self._root)
        if user is None or reaches(user, own):
            return own
        shared = shared_work_root(self._root)
        make_shared(shared)
        return shared


class LocalExecutor(Struct, frozen=True):
    """Makes the runs of jobs with programs that a supervisor starts, on ``cpus`` where these are given."""

    subject: LocalSubject
    supervisor: Supervisor
    cpus: tuple[int, ...] = ()

    def execute(self, job: Job) -> Run:
        """Make one run; a failure is a run too.

        Raises:
            MeasurementError: where no further run can be made.
        """
        return self.subject.measure(job, self.supervisor, self.cpus)


class _Checked(Struct, frozen=True):
    """A benchmark that can be run, and whether it needs a port and a work folder."""

    benchmark: Benchmark
    port: bool
    work: bool


class _Kept(Struct, frozen=True):
    """A server that still runs, and what the runs that may use it have in common."""

    key: str
    deployment: Deployment

    def serves(self, key: str, configuration: Configuration) -> bool:
        """Whether a run can use it: a configuration's repetitions are replicates, so each has a server of its own."""
        return key == self.key and configuration not in self.deployment.served and self.deployment.alive()


def _server_key(benchmark: Benchmark, task: Task, tree: Tree) -> str:
    """What runs that share a server have in common; empty where none do."""
    reloaded = {binding.option for binding in benchmark.bindings if binding.reload is not None}
    if benchmark.server is None or not reloaded:
        return ""
    others = {name: setting for name, setting in task.configuration.items() if name not in reloaded}
    about = [benchmark.name, benchmark.cpus, task.study, task.revision, str(tree.folder), dict(task.workload), others]
    return digest(about)


def _error_text(error: OSError) -> str:
    where = f" {error.filename}" if error.filename else ""
    fix = "; free some space" if error.errno == errno.ENOSPC else ""
    return f"cannot write{where}: {error.strerror}{fix}"
