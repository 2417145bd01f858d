"""Making one run of a subject on this machine, from the task to what came of it."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from hati.core import Benchmark, InputError, Machine, Outcome, Run, Task
from hati.subject.attempt import Attempt, Measured, resources
from hati.subject.builds import Builds
from hati.subject.checks import check_benchmark, needs_port, needs_work
from hati.subject.folders import remove, tidy, work_root
from hati.subject.programs import Ending, Warden
from hati.subject.readiness import free_port
from hati.subject.recipe import Recipe
from hati.subject.revisions.trees import Trees
from hati.subject.setback import Setback


def utc_now() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)


class LocalSubject:
    """The software under test, in the folder ``root``: builds it, starts it and reads it.

    Raises:
        InputError: where a benchmark can never run, so that no time is lost: its CPUs are not there, its
            reader cannot find a metric, a file's template is wrong.
    """

    def __init__(
        self,
        root: Path,
        benchmarks: Sequence[Benchmark],
        machine: Machine,
        clock: Callable[[], datetime] = utc_now,
        environment: Mapping[str, str] | None = None,
        trees: Trees | None = None,
    ) -> None:
        for benchmark in benchmarks:
            check_benchmark(benchmark)
        self._root = root.resolve()
        self._benchmarks = {benchmark.name: benchmark for benchmark in benchmarks}
        self._ports = {benchmark.name for benchmark in benchmarks if needs_port(benchmark)}
        self._works = {benchmark.name for benchmark in benchmarks if needs_work(benchmark)}
        self._machine = machine.fingerprint
        self._clock = clock
        self._environment = dict(os.environ if environment is None else environment)
        self._trees = trees or Trees(self._root)
        self._builds = Builds(self._root, self._environment, self._trees)

    def tidy(self) -> None:
        """Make hati's own folder, and remove what killed campaigns left in it.

        Raises:
            MeasurementError: where nothing can be written there.
        """
        tidy(self._root)

    def close(self) -> None:
        """Remove the files of revisions."""
        self._trees.close()

    def check(self, tasks: Sequence[Task]) -> None:
        """See that every task's benchmark is there.

        Raises:
            InputError: where one is not.
        """
        for name in {task.benchmark for task in tasks} - set(self._benchmarks):
            known = ", ".join(self._benchmarks)
            raise InputError(f"there is no benchmark {name!r}", fix=f"there are: {known}")

    def build(self, task: Task, warden: Warden) -> None:
        """Make what has to be built for a task before it is measured; what goes wrong with it measuring tells.

        Raises:
            MeasurementError: where nothing can be run.
        """
        with suppress(Setback, InputError, OSError):
            self._builds.tree(self._benchmarks[task.benchmark], task, warden)

    def measure(self, task: Task, warden: Warden, cpus: tuple[int, ...] = ()) -> Run:
        """Make one run, its command on ``cpus`` where these are given; whatever goes wrong with it is in the run.

        Raises:
            MeasurementError: where no further run can be made.
        """
        started, began, load = self._clock(), time.perf_counter(), os.getloadavg()[0]
        benchmark = self._benchmarks[task.benchmark]
        if cpus:
            benchmark = replace(benchmark, cpus=cpus)
        measured: Measured | None = None
        try:
            measured = self._measure(benchmark, task, warden)
            outcome, detail, ending = Outcome.DONE, measured.remark, measured.ending
        except Setback as setback:
            outcome, detail, ending = setback.outcome, setback.detail, setback.ending or Ending(None, "")
        except InputError as error:
            outcome, detail, ending = Outcome.NOT_STARTED, str(error), Ending(None, "")
        except OSError as error:
            outcome, detail, ending = Outcome.NOT_STARTED, _told(error), Ending(None, "")
        return Run(
            task,
            self._machine,
            started,
            time.perf_counter() - began,
            outcome,
            detail,
            ending.exit if outcome.started else None,
            ending.output,
            resources(ending, load) if outcome.started else None,
            measured.observations if measured else (),
        )

    def _measure(self, benchmark: Benchmark, task: Task, warden: Warden) -> Measured:
        tree = self._builds.tree(benchmark, task, warden)
        port = free_port() if benchmark.name in self._ports else None
        work = work_root(self._root) / task.id[:16]
        with _work_folder(work) if benchmark.name in self._works else nullcontext():
            recipe = Recipe(benchmark, task, tree.folder, work, port)
            if benchmark.files:
                _make_files(benchmark, recipe)
            return Attempt(recipe, recipe.environment({**self._environment, **tree.environment}), warden).measured()


def _make_files(benchmark: Benchmark, recipe: Recipe) -> None:
    from hati.subject.files import render, write  # with Jinja2, which most benchmarks can do without

    for file in benchmark.files:
        write(Path(recipe.values[f"file:{file.path}"]), render(file, recipe.variables))


@contextmanager
def _work_folder(path: Path) -> Iterator[None]:
    """An empty folder, gone afterwards."""
    try:
        path.mkdir()
    except FileExistsError:
        remove(path)
        path.mkdir()
    try:
        yield
    finally:
        remove(path)


def _told(error: OSError) -> str:
    where = f" {error.filename}" if error.filename else ""
    fix = "; free some space" if error.errno == errno.ENOSPC else ""
    return f"cannot write{where}: {error.strerror}{fix}"
