"""The engine that runs the two tasks of a pair at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path

from hati.core import Benchmark, Machine, Plan, Run, Task
from hati.engine.local import LocalEngine, say_nothing
from hati.subject import Supervisor, Trees


class DuetEngine(LocalEngine):
    """Runs tasks of the same repetition that follow each other in a plan at the same time, on ``cores`` in their order.

    The order of a plan decides which of the two has which core. What has to be built is built before. All else is as of
    a `LocalEngine`.
    """

    def __init__(
        self,
        root: Path,
        benchmarks: Sequence[Benchmark],
        machine: Machine,
        cores: tuple[int, int],
        waiting: Callable[[str], None] = say_nothing,
        lock: Path | None = None,
        trees: Trees | None = None,
        secrets: Collection[str] = (),
    ) -> None:
        super().__init__(root, benchmarks, machine, waiting, lock, trees, secrets)
        self._cores = cores
        self._second: Supervisor | None = None

    def run(self, plan: Plan) -> Iterator[Run]:
        """One run of each task, in the plan's order; those that are made at once follow each other.

        Raises:
            InputError: where a task's benchmark is not known.
            MeasurementError: where nothing can be measured.
        """
        self._subject.check(plan.tasks)
        for _, group in groupby(plan, key=lambda task: task.repetition):
            tasks = list(group)
            for start in range(0, len(tasks), len(self._cores)):
                yield from self._at_once(tasks[start : start + len(self._cores)])

    def _end(self) -> None:
        if self._second is not None:
            self._second.close()
            self._second = None
        super()._end()

    def _at_once(self, tasks: Sequence[Task]) -> list[Run]:
        supervisors = self._both(tasks[0].study)
        for task in tasks:
            self._subject.build(task, supervisors[0])
        with ThreadPoolExecutor(len(tasks)) as pool:
            made = [
                pool.submit(self._subject.measure, task, supervisor, (core,))
                for task, supervisor, core in zip(tasks, supervisors, self._cores, strict=False)
            ]
            try:
                return [future.result() for future in made]
            except BaseException:
                for supervisor in supervisors:
                    supervisor.abandon()  # so that whoever waits for it goes on
                for future in made:
                    future.exception()
                self._end()
                raise

    def _both(self, study: str) -> tuple[Supervisor, Supervisor]:
        first = self._ready(study)
        if self._second is None:
            self._second = Supervisor(*self._locks.descriptors, masking=self._subject.masking)
        return first, self._second
