"""Engines and stores that need no program and no file, so that tests are instant and repeatable."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import numpy as np

from hati.core import Evidence, Observations, Outcome, Plan, Resources, Run, StudyId, Task

Measure = Callable[[Task], Mapping[str, Sequence[float]] | str]
"""What a task yields: each metric's values in order, or why it failed."""

_FIRST_START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class FakeEngine:
    """An engine whose runs are a function of the task.

    ``measure`` gives each metric's values, or a text: the failure's detail. ``units`` holds the units of
    metrics that are not in seconds; ``warmup`` how many leading values of a longer run are warm-up;
    ``seconds`` what each run costs by its own account; ``tasks`` every task handed out, in order.

    >>> engine = FakeEngine(lambda task: {"latency": [1.0 + task.repetition]})
    """

    measure: Measure
    units: Mapping[str, str] = field(default_factory=dict)
    warmup: int = 0
    seconds: float = 0.01
    machine: str = "fake"
    tasks: list[Task] = field(default_factory=list)

    def run(self, plan: Plan) -> Iterator[Run]:
        """One run of each task, in the plan's order."""
        for task in plan:
            started = _FIRST_START + timedelta(seconds=self.seconds * len(self.tasks))
            self.tasks.append(task)
            yield self._run(task, started)

    def _run(self, task: Task, started: datetime) -> Run:
        measured = self.measure(task)
        if isinstance(measured, str):
            return Run(task, self.machine, started, self.seconds, Outcome.FAILED, detail=measured, exit=1)
        observations = tuple(self._observations(metric, values) for metric, values in measured.items())
        resources = Resources(self.seconds, self.seconds / 2, self.seconds / 4, 1 << 20, 1, 0, 0.5)
        return Run(
            task,
            self.machine,
            started,
            self.seconds,
            Outcome.DONE,
            exit=0,
            resources=resources,
            observations=observations,
        )

    def _observations(self, metric: str, values: Sequence[float]) -> Observations:
        warmup = self.warmup if len(values) > 1 else 0
        return Observations(metric, self.units.get(metric, "s"), np.asarray(values, dtype=np.float64), warmup)


@dataclass
class MemoryStore:
    """Keeps runs in a list; fills ``hati.core.Store``."""

    kept: list[Run] = field(default_factory=list)

    def record(self, run: Run) -> bool:
        """Keep a run; False where its task had one already."""
        if any(run.task.id == known.task.id for known in self.kept):
            return False
        self.kept.append(run)
        return True

    def evidence(self, study: StudyId) -> Evidence:
        """All runs of a study, in the order in which they were recorded."""
        return Evidence(tuple(run for run in self.kept if run.task.study == study.key))
