"""Engines and stores without programs and files, so that tests are fast and repeatable."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import numpy as np

from hati.core import Batch, BatchOrder, Evidence, Observations, Outcome, Resources, Run, StudyId, Task
from hati.engine import SerialEngine

Measure = Callable[[Task], Mapping[str, Sequence[float]] | str]
"""The result of a task: each metric's values in order, or the reason of its failure."""

FIRST_START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class FakeEngine(SerialEngine[Task]):
    """An engine whose runs are a function of the task.

    ``measure`` returns each metric's values, or a text: the failure's detail. ``units`` are the units of metrics that
    are not in seconds. ``warmup`` is the number of leading values of a longer run that are warm-up. ``seconds`` is the
    recorded time of each run. ``tasks`` are all tasks run, in order.

    >>> engine = FakeEngine(lambda task: {"latency": [1.0 + task.repetition]})
    """

    measure: Measure
    units: Mapping[str, str] = field(default_factory=dict)
    warmup: int = 0
    seconds: float = 0.01
    machine: str = "fake"
    tasks: list[Task] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def execute(self, task: Task, /) -> Run:
        """Run a task."""
        return self.execute_together((task,))[0]

    def execute_together(self, tasks: Sequence[Task], /) -> Sequence[Run]:
        """Run tasks that start at the same time."""
        started = FIRST_START + timedelta(seconds=self.seconds * len(self.tasks))
        self.tasks += tasks
        return [self.run_at(task, started, self.seconds, self.machine) for task in tasks]

    def run_at(self, task: Task, started: datetime, seconds: float, machine: str) -> Run:
        """The run of a task on a machine, with its start and length."""
        measured = self.measure(task)
        if isinstance(measured, str):
            return Run(task, machine, started, seconds, Outcome.FAILED, detail=measured, exit=1)
        return Run(
            task,
            machine,
            started,
            seconds,
            Outcome.DONE,
            exit=0,
            resources=Resources(seconds, seconds / 2, seconds / 4, 1 << 20, 1, 0, 0.5),
            observations=tuple(self._observations(metric, values) for metric, values in measured.items()),
        )

    def _observations(self, metric: str, values: Sequence[float]) -> Observations:
        warmup = self.warmup if len(values) > 1 else 0
        return Observations(metric, self.units.get(metric, "s"), np.asarray(values, dtype=np.float64), warmup)


@dataclass
class FakeMachines(FakeEngine):
    """Several machines that work in parallel: runs come in the order in which they end.

    ``number`` is the number of machines; ``lasting`` returns the seconds of a run on the machine with an index.
    """

    number: int = 2
    lasting: Callable[[Task, int], float] = lambda _task, _machine: 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        self._now = 0.0
        self._free = dict.fromkeys(range(self.number), 0.0)
        self._queue: list[Batch[Task]] = []
        self._begun: list[tuple[float, int, int, Run, Batch[Task]]] = []

    def capacity(self) -> int:
        """The number of idle machines, less the number of waiting batches."""
        return max(0, sum(until <= self._now for until in self._free.values()) - len(self._queue))

    def submit(self, batch: Batch[Task]) -> None:
        """Queue a batch, and start it if a machine is idle."""
        self._queue.append(batch)
        self._start()

    def withdraw(self, batch: Batch[Task]) -> bool:
        """Drop a waiting batch, or the runs of a started one that have not begun."""
        if batch in self._queue:
            self._queue.remove(batch)
        now = FIRST_START + timedelta(seconds=self._now)
        begun = any(each[4] == batch for each in self._begun)
        self._begun = [each for each in self._begun if each[4] != batch or each[3].started <= now]
        return not begun

    def completed(self) -> Iterator[Run]:
        """Runs in the order in which they end."""
        while self._begun:
            self._begun.sort(key=lambda each: each[:3])
            self._now, _, machine, run, _ = self._begun.pop(0)
            self._free[machine] = max([self._now, *(each[0] for each in self._begun if each[2] == machine)])
            self._start()
            yield run

    def close(self) -> None:
        """Drop all batches."""
        self._queue.clear()
        self._begun.clear()

    def _start(self) -> None:
        while self._queue:
            machine = next((each for each, until in self._free.items() if until <= self._now), None)
            if machine is None:
                return
            batch = self._queue.pop(0)
            together, began = batch.order is BatchOrder.TOGETHER, self._now
            for task in batch.members:
                seconds = self.lasting(task, machine)
                run = self.run_at(task, FIRST_START + timedelta(seconds=began), seconds, f"{self.machine}{machine}")
                self._begun.append((began + seconds, len(self.tasks), machine, run, batch))
                self.tasks.append(task)
                self._free[machine] = max(self._free[machine], began + seconds)
                began = began if together else began + seconds


@dataclass
class MemoryStore:
    """Keeps runs in a list; implements ``hati.core.Store``."""

    kept: list[Run] = field(default_factory=list)

    def record(self, run: Run) -> bool:
        """Keep a run; False if its task had one already."""
        if any(run.task.id == known.task.id for known in self.kept):
            return False
        self.kept.append(run)
        return True

    def evidence(self, study: StudyId) -> Evidence:
        """All runs of a study, in the order in which they were recorded."""
        return Evidence(tuple(run for run in self.kept if run.task.study == study.key))
