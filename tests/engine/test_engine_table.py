"""The engine that looks runs up."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from hati.core import Batch, BatchOrder, Configuration, Machine, Metric, Outcome, Run, Task, Workload
from hati.engine import TableEngine
from hati.space import Option, Space
from hati.subject.table import MeasuredTable, MetricColumn, assembled, read_sheet
from hati.testing.conformance import AnyEngine, AnyWork, EngineConformance

SPACE = Space((Option("a", (1, 2, 3, 4), 1),))
MACHINE = Machine.of({"table": "t.csv"})
METRICS = (MetricColumn(Metric("latency", "ms"), "latency"), MetricColumn(Metric("memory", "B"), "memory"))


def a_task(setting: int, repetition: int = 0) -> Task:
    return Task("s", "design", "table", Configuration({"a": setting}), "r", Workload(), repetition)


@pytest.fixture
def table(tmp_path: Path) -> MeasuredTable:
    file = tmp_path / "t.csv"
    file.write_text("a,latency,memory\n1,10@11,5\n2,20,\n3,30,7\n")
    return assembled(read_sheet(file), SPACE, METRICS, None)


class TestTableEngine(EngineConformance):
    @pytest.fixture
    def engine(self, table: MeasuredTable) -> AnyEngine:
        return TableEngine(table, MACHINE)

    @pytest.fixture
    def good_jobs(self) -> tuple[Task, ...]:
        return (a_task(1), a_task(2), a_task(3))

    @pytest.fixture
    def bad_job(self) -> Task:
        return a_task(4)

    def test_a_good_run_has_observations(self, engine: AnyEngine, good_jobs: tuple[AnyWork, ...]) -> None:
        """As in the suite, but nothing is known of what the run used."""
        for run in runs_of(engine, good_jobs):
            assert run.outcome is Outcome.DONE, run.detail
            assert len({o.metric for o in run.observations}) == len(run.observations) > 0
            assert all(np.isfinite(o.values).all() and o.steady.size for o in run.observations)
            assert run.resources is None

    def test_runs_say_where_and_when(self, engine: AnyEngine, good_jobs: tuple[AnyWork, ...]) -> None:
        """As in the suite, but a lookup costs nothing."""
        for run in runs_of(engine, good_jobs):
            assert run.machine == MACHINE.fingerprint
            assert run.started.utcoffset() == timedelta(0)
            assert run.seconds == 0.0

    def test_those_together_run_at_the_same_time(self, engine: AnyEngine, good_jobs: tuple[AnyWork, ...]) -> None:
        """A lookup takes no time: nothing can be at the same time."""
        engine.submit(Batch(good_jobs[:2], BatchOrder.TOGETHER))
        assert len({run.machine for run in engine.completed()}) == 1


def runs_of(engine: AnyEngine, work: tuple[AnyWork, ...]) -> list[Run]:
    engine.submit(Batch(work))
    return list(engine.completed())


def test_runs_hold_what_the_table_says(table: MeasuredTable) -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    tasks = (a_task(1), a_task(1, 1), a_task(1, 2), a_task(2), a_task(4))
    with TableEngine(table, MACHINE, lambda: at) as engine:
        runs = list(engine.run(tasks))
    said = [{o.metric: (o.unit, o.values.tolist()) for o in run.observations} for run in runs]
    assert said == [
        {"latency": ("ms", [10.0]), "memory": ("B", [5.0])},
        {"latency": ("ms", [11.0])},
        {},
        {"latency": ("ms", [20.0])},
        {},
    ]
    assert [run.detail for run in runs if run.outcome is Outcome.FAILED] == [
        "the table has 2 runs, and no more, of a=1",
        "the table has no row of a=4",
    ]
    assert {run.started for run in runs} == {at}
