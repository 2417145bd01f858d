"""Bringing the system back to its initial state before a run, or before a repetition."""

from __future__ import annotations

import time
from collections.abc import Mapping

from hati.core import Benchmark, InputError, Outcome, ResetBefore, Task, setting_text
from hati.core.placeholders import fill
from hati.subject.revisions.trees import Tree
from hati.subject.running.programs import Program, Supervisor
from hati.subject.running.run_failure import RunFailure, failure

_LONGEST_SECONDS = 3600.0


class Resets:
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
