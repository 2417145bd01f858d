"""Engines of this machine: one measurement at a time there, or on a core; runs looked up in a table."""

from __future__ import annotations

import fcntl
import os
import tempfile
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, ClassVar, Generic, Self, TypeVar

import numpy as np
from msgspec import Struct

from hati.core import (
    Batch,
    BatchOrder,
    Benchmark,
    Executor,
    Job,
    Machine,
    MeasurementError,
    Observations,
    Outcome,
    Run,
    Task,
)
from hati.subject import LocalExecutor, LocalSubject, Supervisor, Trees, duet_cores, pinned_cores
from hati.subject.table import MeasuredTable

if TYPE_CHECKING:
    from hati.steering import Requirements
    from hati.store import SqlStore


Work = TypeVar("Work")


@dataclass
class _Out(Generic[Work]):
    """A batch, its remaining work, and its completed runs that were not yet handed over."""

    batch: Batch[Work]
    left: deque[Work]
    made: deque[Run] = field(default_factory=deque)


class SerialEngine(ABC, Generic[Work]):
    """Runs one batch at a time, in the thread that iterates over ``completed``; a context manager."""

    def __init__(self) -> None:
        self._out: deque[_Out[Work]] = deque()

    def hold(self, study: str) -> None:
        """Nothing is reserved."""

    def capacity(self) -> int:
        """One batch, where none is waiting or in progress."""
        return 0 if self._out else 1

    def submit(self, batch: Batch[Work]) -> None:
        """Queue a batch."""
        self._out.append(_Out(batch, deque(batch.members)))

    def withdraw(self, batch: Batch[Work]) -> bool:
        """Drop the remaining work of a batch; return whether that was all of it."""
        found = next((each for each in self._out if each.batch == batch), None)
        if found is None:
            return True
        unbegun = len(found.left) == len(batch.members)
        found.left.clear()
        if not found.made:
            self._out.remove(found)
        return unbegun

    def completed(self) -> Iterator[Run]:
        """Do the runs, and yield each when it has ended; ends where no batch is left.

        Raises:
            MeasurementError: where nothing can be measured.
        """
        while self._out:
            oldest = self._out[0]
            if not oldest.made:
                oldest.made.extend(self._next(oldest))
            run = oldest.made.popleft()
            if not oldest.left and not oldest.made:
                self._out.popleft()
            yield run

    def run(self, work: Iterable[Work]) -> Iterator[Run]:
        """Do the runs of tasks or jobs in order, outside of a campaign."""
        for each in work:
            self.submit(Batch((each,)))
            yield from self.completed()

    def close(self) -> None:
        """Drop the waiting batches."""
        self._out.clear()

    @abstractmethod
    def execute(self, work: Work, /) -> Run:
        """Do one run; a failure is a run too."""

    def execute_together(self, several: Sequence[Work], /) -> Sequence[Run]:
        """Do the runs of work that is to run at the same time."""
        return [self.execute(work) for work in several]

    def _next(self, oldest: _Out[Work]) -> Sequence[Run]:
        """The next run of a batch, or all its runs if they run at the same time."""
        if oldest.batch.order is not BatchOrder.TOGETHER:
            return [self.execute(oldest.left.popleft())]
        together = tuple(oldest.left)
        oldest.left.clear()
        return self.execute_together(together)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _now() -> datetime:
    return datetime.now(UTC)


class TableEngine(SerialEngine[Task]):
    """Looks tasks up in a table: a task's repetition is the number of the configuration's run in it.

    A lookup costs no time, so that runs take 0 s and have no resources. A configuration or a repetition that the
    table does not have is a failed run.
    """

    def __init__(self, table: MeasuredTable, machine: Machine, clock: Callable[[], datetime] = _now) -> None:
        super().__init__()
        self._table = table
        self._machine = machine.fingerprint
        self._clock = clock

    def execute(self, task: Task, /) -> Run:
        """Look a run up."""
        found = self._table.run(task.configuration, task.repetition, task.id)
        started = self._clock()
        if isinstance(found, str):
            return Run(task, self._machine, started, 0.0, Outcome.FAILED, detail=found)
        observations = tuple(
            Observations(metric.name, metric.unit, np.array([found[metric.name]]))
            for metric in self._table.metrics
            if metric.name in found
        )
        return Run(task, self._machine, started, 0.0, Outcome.DONE, observations=observations)


_COMMON = Path("/tmp")  # noqa: S108  # not TMPDIR, which differs between those who share the machine
_NAME = "hati-machine.lock"
_LONGEST = 200
"""Bytes of a process id and a study's key."""


def default_path() -> Path:
    """The path of the lock that all users of the machine share, unless ``HATI_LOCK`` names another file."""
    named = os.environ.get("HATI_LOCK")
    if named:
        return Path(named)
    return (_COMMON if os.access(_COMMON, os.W_OK) else Path(tempfile.gettempdir())) / _NAME


class FileLock:
    """A lock that one hati holds at a time, or several share; a process that is handed ``fd`` holds it too.

    The file has the holder's process id and study. The lock is released when every process with the descriptor has
    ended.

    Raises:
        MeasurementError: where the file cannot be opened.
    """

    _ours: ClassVar[list[tuple[int, int]]] = []
    """The files that this process has locked: a process in another container may have the same process id."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.held = False
        try:
            self.fd = _open(path)
        except OSError as error:
            raise MeasurementError(f"cannot lock {path}: {error.strerror}", fix="remove that file") from None

    def acquire(self, study: str, waiting: Callable[[str], None], where: str = "on this machine") -> None:
        """Wait until nobody else has the lock, and report once who has it and measures ``where``.

        Raises:
            MeasurementError: where this process holds it through another object.
        """
        self._take(fcntl.LOCK_EX, waiting, where)
        os.ftruncate(self.fd, 0)
        os.pwrite(self.fd, f"{os.getpid()} {study}".encode()[:_LONGEST], 0)

    def share(self, waiting: Callable[[str], None]) -> None:
        """Wait until nobody else holds the lock exclusively.

        Raises:
            MeasurementError: where this process holds it through another object.
        """
        self._take(fcntl.LOCK_SH, waiting, "on this machine")

    def holder(self) -> tuple[str, str]:
        """The process id and the study in the file; empty where there are none."""
        text = os.pread(self.fd, _LONGEST, 0).decode("utf-8", "replace")
        process, _, study = text.partition(" ")
        return (process, study if study.isprintable() else "") if process.isdigit() else ("", "")

    def release(self) -> None:
        """Release the lock and close the file."""
        if self.fd >= 0:
            if self.held:
                if self.holder()[0] == str(os.getpid()):
                    os.ftruncate(self.fd, 0)
                FileLock._ours.remove(self._identity())
            os.close(self.fd)
            self.fd, self.held = -1, False

    def _take(self, operation: int, waiting: Callable[[str], None], where: str) -> None:
        try:
            fcntl.flock(self.fd, operation | fcntl.LOCK_NB)
        except BlockingIOError:
            if self._identity() in FileLock._ours:
                raise MeasurementError("this process measures already", fix="close the other engine first") from None
            process, study = self.holder()
            about = f" (process {process}{study and f', {study}'})" if process else ""
            waiting(f"waiting for another hati{about} that measures {where}")
            fcntl.flock(self.fd, operation)
        except OSError as error:
            waiting(
                f"warning: {self.path} cannot be locked ({error.strerror}); see that no other hati measures {where}"
            )
        FileLock._ours.append(self._identity())
        self.held = True

    def _identity(self) -> tuple[int, int]:
        status = os.fstat(self.fd)
        return status.st_dev, status.st_ino


class Locks:
    """The locks of a campaign: of the machine, or of the cores that all its runs are pinned to, and of Hati's folder.

    Two campaigns in one folder would remove each other's runs, whichever locks of the machine they have.
    """

    def __init__(self, machine: Path, cores: Collection[int]) -> None:
        self._machine = machine
        self._cores = cores
        self._locks: list[FileLock] = []
        self.held = False

    @property
    def descriptors(self) -> tuple[int, ...]:
        """The file descriptors of the locks that were taken."""
        return tuple(lock.fd for lock in self._locks)

    def take(self, study: str, waiting: Callable[[str], None], folder: Callable[[], Path]) -> None:
        """Take all locks, in an order that prevents deadlocks; ``folder`` makes the folder's file.

        Raises:
            MeasurementError: where one is not available.
        """
        whole = self._open(self._machine)
        if self._cores:
            whole.share(waiting)
            for core in sorted(self._cores):
                path = self._machine.with_name(f"{self._machine.name}.cpu{core}")
                self._open(path).acquire(study, waiting, f"on CPU {core}")
        else:
            whole.acquire(study, waiting)
        self._open(folder()).acquire(study, waiting, "in this folder")
        self.held = True

    def release(self) -> None:
        """Release all locks."""
        for lock in reversed(self._locks):
            lock.release()
        self._locks.clear()
        self.held = False

    def _open(self, path: Path) -> FileLock:
        self._locks.append(FileLock(path))
        return self._locks[-1]


def _open(path: Path) -> int:
    """Open the file, shared by all users; never through a link that someone put there.

    In a sticky folder the kernel may refuse O_CREAT on another user's file, so it is used for a new file only.
    """
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(path, flags)
    except FileNotFoundError:
        pass
    try:
        fd = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError:
        return os.open(path, flags)
    os.fchmod(fd, 0o666)
    return fd


def say_nothing(_: str) -> None:
    """Report to nobody."""


class EngineSetup(Struct, frozen=True):
    """What an engine is made from: benchmarks of the subject in the folder ``root``, on this machine.

    ``trees`` has the files of revisions; ``secrets`` names variables whose values are masked; ``waiting`` is called
    with a sentence where the engine has to wait. ``store``, the ``machines`` of the pool by their names, and what else
    is ``asked`` of batches are for engines whose jobs run elsewhere.
    """

    root: Path
    benchmarks: tuple[Benchmark, ...]
    machine: Machine
    trees: Trees | None = None
    secrets: tuple[str, ...] = ()
    waiting: Callable[[str], None] = say_nothing
    store: SqlStore | None = None
    machines: tuple[str, ...] = ()
    asked: Requirements | None = None


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
        self._locks = Locks(lock or default_path(), pinned_cores(benchmarks))
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
