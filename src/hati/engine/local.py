"""The engine that runs tasks on this machine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from hati.core import Benchmark, Machine, MeasurementError, Plan, Run
from hati.engine.lock import Locks, default_path
from hati.subject import LocalSubject, Supervisor, Trees, pinned_cores


def say_nothing(_: str) -> None:
    """Tell nobody."""


class LocalEngine:
    """Runs the tasks of the subject in the folder ``root``, one at a time under the locks of machine and folder.

    A context manager. The locks are taken with the first plan and kept until the engine is closed;
    ``waiting`` is called once for each that another hati has. Closing the engine, an exception while a run is
    under way (Ctrl-C), and the death of this process all end the run's whole process tree.

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
        self._subject = LocalSubject(root, benchmarks, machine, trees=trees, secrets=secrets)
        self._waiting = waiting
        self._locks = Locks(lock or default_path(), pinned_cores(benchmarks))
        self._supervisor: Supervisor | None = None

    def hold(self, study: str) -> None:
        """Take the locks now, and not with the first plan: what others have measured meanwhile is known after it.

        Raises:
            MeasurementError: where they cannot be had.
        """
        self._ready(study)

    def run(self, plan: Plan) -> Iterator[Run]:
        """One run of each task, in the plan's order.

        Raises:
            InputError: where a task's benchmark is not known.
            MeasurementError: where nothing can be measured.
        """
        self._subject.check(plan.tasks)
        for task in plan:
            supervisor = self._ready(task.study)
            try:
                run = self._subject.measure(task, supervisor)
            except BaseException:
                self._end()
                raise
            yield run

    def close(self) -> None:
        """End what runs, a server with its `cleanup`, and give the locks up."""
        with suppress(MeasurementError):  # nothing is left to end where the supervisor has gone
            if self._supervisor is not None:
                self._subject.retire()
        self._end()

    def _end(self) -> None:
        if self._supervisor is not None:
            self._supervisor.close()
            self._supervisor = None
        if self._locks.held:  # else what is in the project's folders is another's
            self._subject.close()
        self._locks.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _ready(self, study: str) -> Supervisor:
        if self._supervisor is None:
            try:
                self._locks.take(study, self._waiting, self._subject.lock_file)
                self._subject.tidy()
                self._supervisor = Supervisor(*self._locks.descriptors, masking=self._subject.masking)
            except BaseException:
                self.close()
                raise
        return self._supervisor
