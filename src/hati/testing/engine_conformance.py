"""What every engine must do: subclass the suite, give it an engine and tasks, and pytest checks them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from datetime import timedelta

import numpy as np
import pytest

from hati.core import Engine, Outcome, Plan, Task


class EngineConformance:
    """The duties of an engine. A subclass overrides the three fixtures.

    ``engine`` is under test; ``good_tasks`` are at least three different tasks of which every run succeeds;
    ``bad_task`` is one of which every run fails.
    """

    @pytest.fixture
    def engine(self) -> Engine:
        """The engine, ready."""
        raise pytest.UsageError("a subclass of EngineConformance needs the fixture `engine`")

    @pytest.fixture
    def good_tasks(self) -> tuple[Task, ...]:
        """Three tasks or more that succeed."""
        raise pytest.UsageError("a subclass of EngineConformance needs the fixture `good_tasks`")

    @pytest.fixture
    def bad_task(self) -> Task:
        """A task that fails."""
        raise pytest.UsageError("a subclass of EngineConformance needs the fixture `bad_task`")

    def test_nothing_comes_of_an_empty_plan(self, engine: Engine) -> None:
        """No task, no run."""
        assert list(engine.run(Plan())) == []

    def test_every_task_is_run(self, engine: Engine, good_tasks: tuple[Task, ...]) -> None:
        """At least once each, and nothing else."""
        counted = Counter(run.task.id for run in engine.run(Plan(good_tasks)))
        assert set(counted) == {task.id for task in good_tasks}

    def test_runs_carry_their_tasks_unchanged(self, engine: Engine, good_tasks: tuple[Task, ...]) -> None:
        """A run's task equals the one that was handed out."""
        assert {run.task for run in engine.run(Plan(good_tasks))} == set(good_tasks)

    def test_a_good_run_has_observations(self, engine: Engine, good_tasks: tuple[Task, ...]) -> None:
        """Finite ones, of at least one metric, each metric once, with what the run cost."""
        for run in engine.run(Plan(good_tasks)):
            assert run.outcome is Outcome.DONE, run.detail
            assert len({o.metric for o in run.observations}) == len(run.observations) > 0
            assert all(np.isfinite(o.values).all() and o.steady.size for o in run.observations)
            assert run.resources is not None
            assert run.resources.wall_time <= run.seconds

    def test_runs_say_where_and_when(self, engine: Engine, good_tasks: tuple[Task, ...]) -> None:
        """Every run has its machine, and starts in UTC."""
        for run in engine.run(Plan(good_tasks)):
            assert run.machine
            assert run.started.utcoffset() == timedelta(0)
            assert run.seconds > 0

    def test_a_failure_is_a_run_with_its_reason(self, engine: Engine, bad_task: Task) -> None:
        """It is neither an exception nor silence."""
        runs = list(engine.run(Plan((bad_task,))))
        assert runs
        assert all(run.outcome is not Outcome.DONE and run.detail and not run.observations for run in runs)

    def test_a_failure_does_not_end_the_plan(
        self, engine: Engine, good_tasks: tuple[Task, ...], bad_task: Task
    ) -> None:
        """The tasks after it are run."""
        plan = Plan((good_tasks[0], bad_task, *good_tasks[1:]))
        done = {run.task.id for run in engine.run(plan) if run.outcome is Outcome.DONE}
        assert done == {task.id for task in good_tasks}

    def test_a_plan_can_be_left_unfinished(self, engine: Engine, good_tasks: tuple[Task, ...]) -> None:
        """After the first run, without an error."""
        runs = engine.run(Plan(good_tasks))
        assert next(runs).task in good_tasks
        if isinstance(runs, Generator):
            runs.close()

    def test_it_serves_one_plan_after_the_other(self, engine: Engine, good_tasks: tuple[Task, ...]) -> None:
        """Also after one that was left unfinished."""
        left = engine.run(Plan(good_tasks))
        next(left)
        if isinstance(left, Generator):
            left.close()
        assert {run.task for run in engine.run(Plan(good_tasks))} == set(good_tasks)
