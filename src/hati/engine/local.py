"""The engine that runs jobs on this machine, one at a time there, or on a core, and in a folder."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Self

from hati.core import Batch, BatchOrder, Benchmark, Executor, Job, Machine, MeasurementError, Run
from hati.engine.locks import Locks, default_path
from hati.engine.serial import SerialEngine
from hati.subject import LocalExecutor, LocalSubject, Supervisor, Trees, duet_cores, pinned_cores

if TYPE_CHECKING:
    from hati.engine.engines import EngineSetup


def say_nothing(_: str) -> None:
    """Report to nobody."""


class LocalEngine(SerialEngine[Job]):
    """Runs jobs of the subject in the folder ``root``, under the locks of machine and folder.

    Jobs run one at a time. Those of a batch that run together do so two at a time in their order, each on a core of its
    own; builds are done before. ``benchmarks`` are all benchmarks that may be run.

    The locks are taken with the first run and kept until the engine is closed; ``waiting`` is called once for each lock
    that another hati has. Closing the engine, an exception during a run (Ctrl-C), and the death of this process all end
    the run's whole process tree.

    Raises:
        InputError: where a benchmark can never run.
    """

    def __init__(
        self,
        root: Path,
        benchmarks: Sequence[Benchmark],
        machine: Machine,
        waiting: Callable[[str], None] = say_nothing,
        lock: Path | None = None,
        trees: Trees | None = None,
        secrets: Collection[str] = (),
    ) -> None:
        super().__init__()
        self._subject = LocalSubject(root, machine, trees=trees, secrets=secrets)
        for benchmark in benchmarks:
            self._subject.check(benchmark)
        self._waiting = waiting
        self._locks = Locks(lock or default_path(), pinned_cores(benchmarks), root)
        self._supervisors: list[Supervisor] = []

    @classmethod
    def of(cls, setup: EngineSetup) -> Self:
        """The engine for that setup."""
        about = (setup.root, setup.benchmarks, setup.machine, setup.waiting)
        return cls(*about, trees=setup.trees, secrets=setup.secrets)

    def hold(self, study: str) -> None:
        """Take the locks before the first run: runs that others measured in the meantime are known afterwards.

        Raises:
            MeasurementError: where they are not available.
        """
        self._supervisor(study)

    def submit(self, batch: Batch[Job]) -> None:
        """Queue a batch.

        Raises:
            InputError: where a benchmark can never run, or not at the same time as another.
        """
        for job in batch.members:
            self._subject.check(job.benchmark)
        if batch.order is BatchOrder.TOGETHER:
            duet_cores(job.benchmark for job in batch.members)
        super().submit(batch)

    def execute(self, job: Job, /) -> Run:
        """Do one run.

        Raises:
            MeasurementError: where nothing can be measured.
        """
        try:
            return self.executor(self._supervisor(job.task.study)).execute(job)
        except BaseException:
            self._end()
            raise

    def execute_together(self, jobs: Sequence[Job], /) -> Sequence[Run]:
        """Do the runs of jobs, two at a time.

        Raises:
            MeasurementError: where nothing can be measured.
        """
        cores, left, made = duet_cores(job.benchmark for job in jobs), iter(jobs), list[Run]()
        while pair := tuple(islice(left, len(cores))):
            made += self._at_once(pair, cores)
        return made

    def executor(self, supervisor: Supervisor, cpus: tuple[int, ...] = ()) -> Executor:
        """The executor of runs; their commands run on ``cpus`` where these are given."""
        return LocalExecutor(self._subject, supervisor, cpus)

    def close(self) -> None:
        """End runs in progress, and a server with its `cleanup`, and release the locks."""
        with suppress(MeasurementError):  # nothing is left to end where the supervisor has gone
            if self._supervisors:
                self._subject.retire()
        self._end()

    def _end(self) -> None:
        super().close()
        while self._supervisors:
            self._supervisors.pop().close()
        if self._locks.held:  # else what is in the project's folders is another's
            self._subject.close()
        self._locks.release()

    def _at_once(self, jobs: Sequence[Job], cores: Sequence[int]) -> list[Run]:
        supervisors = [self._supervisor(job.task.study, place) for place, job in enumerate(jobs)]
        for job in jobs:
            self._subject.build(job, supervisors[0])
        executors = [self.executor(*each) for each in zip(supervisors, ((core,) for core in cores), strict=False)]
        with ThreadPoolExecutor(len(jobs)) as pool:
            made = [pool.submit(executor.execute, job) for executor, job in zip(executors, jobs, strict=True)]
            try:
                return [future.result() for future in made]
            except BaseException:
                for supervisor in supervisors:
                    supervisor.abandon()  # so that whoever waits for it goes on
                for future in made:
                    future.exception()
                self._end()
                raise

    def _supervisor(self, study: str, place: int = 0) -> Supervisor:
        """The supervisor of single runs, or of those at one place of runs at the same time."""
        try:
            if not self._supervisors:
                self._locks.take(study, self._waiting, self._subject.lock_file)
                self._subject.tidy()
            while len(self._supervisors) <= place:
                self._supervisors.append(Supervisor(*self._locks.descriptors, masking=self._subject.masking))
        except BaseException:
            self.close()
            raise
        return self._supervisors[place]
