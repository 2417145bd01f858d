"""From the tasks that a study plans to the jobs that an engine takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct

from hati.core import Batch, Benchmark, Engine, InputError, Job, Run, Task


class JobMaker(Struct, frozen=True):
    """Joins tasks with the definitions of their benchmarks and with the digest of the ``sources`` of their revision."""

    benchmarks: Mapping[str, Benchmark]
    sources: Callable[[str], str]

    def job(self, task: Task) -> Job:
        """The task as a job.

        Raises:
            InputError: where its benchmark is not there.
        """
        if task.benchmark not in self.benchmarks:
            raise InputError(
                f"there is no benchmark {task.benchmark!r}", fix=f"there are: {', '.join(self.benchmarks)}"
            )
        return Job(task, self.benchmarks[task.benchmark], self.sources(task.revision))


class Dispatcher(Struct, frozen=True):
    """Takes batches of tasks, and hands them to an engine as jobs."""

    engine: Engine[Job]
    make: JobMaker

    def hold(self, study: str) -> None:
        """Reserve what a study needs."""
        self.engine.hold(study)

    def capacity(self) -> int:
        """How many batches the engine would start now."""
        return self.engine.capacity()

    def submit(self, batch: Batch[Task]) -> None:
        """Hand a batch over.

        Raises:
            InputError: where a task's benchmark is not there, or can never be run.
        """
        self.engine.submit(self._joined(batch))

    def withdraw(self, batch: Batch[Task]) -> bool:
        """Take back a batch that has not begun; False where part of it has."""
        return self.engine.withdraw(self._joined(batch))

    def completed(self) -> Iterator[Run]:
        """Runs as they end."""
        return self.engine.completed()

    def close(self) -> None:
        """End all runs in progress."""
        self.engine.close()

    def _joined(self, batch: Batch[Task]) -> Batch[Job]:
        return Batch(tuple(map(self.make.job, batch.members)), batch.order)
