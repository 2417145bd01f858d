"""The conformance suite of engines can fail: what reorders, splits, or runs a duet in turns is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from hati.core import Batch, BatchOrder, Configuration, Run, Task, Workload
from hati.testing import FakeEngine, FakeMachines
from hati.testing.conformance import EngineConformance

SUITE = EngineConformance()


def a_task(number: int) -> Task:
    return Task("s", "design", "b", Configuration({"level": number}), "r", Workload(), 0)


GOOD = tuple(map(a_task, range(3)))


def measured(task: Task) -> dict[str, list[float]]:
    return {"latency": [1.0]}


def level(task: Task) -> int:
    return int(task.configuration["level"])


class Sorting(FakeEngine):
    """Runs what waits in the order of its configurations, which saves builds."""

    def completed(self) -> Iterator[Run]:
        waiting = sorted((each.batch for each in self._out), key=lambda batch: level(batch.members[0]))
        self.close()
        for batch in waiting:
            self.submit(batch)
        yield from super().completed()


class SortingWithin(FakeEngine):
    """Does so within each batch."""

    def submit(self, batch: Batch[Task]) -> None:
        super().submit(Batch(tuple(sorted(batch.members, key=level)), batch.order))


class Splitting(FakeMachines):
    """Uses all machines for each batch."""

    def submit(self, batch: Batch[Task]) -> None:
        for task in batch.members:
            super().submit(Batch((task,)))


class InTurns(FakeMachines):
    """Has one core."""

    def submit(self, batch: Batch[Task]) -> None:
        super().submit(Batch(batch.members))


class Greedy(FakeMachines):
    """Starts whatever it is given at once."""

    def withdraw(self, batch: Batch[Task]) -> bool:
        return False


class Losing(FakeEngine):
    """Loses each second run."""

    def completed(self) -> Iterator[Run]:
        for number, run in enumerate(super().completed()):
            if number % 2 == 0:
                yield run


class Late(FakeEngine):
    """Keeps its place until its runs were read."""

    def capacity(self) -> int:
        return 0 if self.tasks else 1


class Unforgiving(FakeEngine):
    """Makes no run any more after its iterator was closed."""

    left = False

    def completed(self) -> Iterator[Run]:
        if self.left:
            return
        try:
            yield from super().completed()
        except GeneratorExit:
            self.left = True
            raise


class Undying(FakeEngine):
    """Goes on after it was closed."""

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("engine", "duty", "message"),
    [
        (Sorting, SUITE.test_batches_begin_in_the_order_of_their_release, "did not begin in the order"),
        (SortingWithin, SUITE.test_a_sequence_is_kept_on_one_machine, "a sequence was not kept"),
        (Splitting, SUITE.test_a_sequence_is_kept_on_one_machine, "a batch was split"),
        (Splitting, SUITE.test_a_free_batch_stays_on_one_machine, "a batch was split"),
        (Splitting, SUITE.test_those_together_run_at_the_same_time, "a batch was split"),
        (InTurns, SUITE.test_those_together_run_at_the_same_time, "did not run at the same time"),
        (Greedy, SUITE.test_what_waits_can_be_withdrawn, None),
        (Losing, SUITE.test_every_job_is_run, None),
        (Late, SUITE.test_room_is_there_when_a_run_is_handed_over, None),
        (Unforgiving, SUITE.test_it_can_be_left_unfinished, None),
        (Undying, SUITE.test_closing_ends_all, None),
    ],
)
def test_what_does_not_do_its_duty_is_refused(
    engine: Callable[..., FakeEngine], duty: Callable[..., None], message: str | None
) -> None:
    honest = FakeMachines if isinstance(engine, type) and issubclass(engine, FakeMachines) else FakeEngine
    duty(honest(measured, seconds=1.0), GOOD)
    with pytest.raises(AssertionError, match=message):
        duty(engine(measured, seconds=1.0), GOOD)


def test_together_is_at_once_and_free_is_in_order() -> None:
    engine = FakeMachines(measured, lasting=lambda *_: 1.0)
    engine.submit(Batch(GOOD, BatchOrder.TOGETHER))
    assert len({run.started for run in engine.completed()}) == 1
