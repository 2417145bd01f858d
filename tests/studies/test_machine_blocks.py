"""Comparisons and suites: what differs between machines is not what differs between versions or configurations."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from hati.core import (
    Assignment,
    Benchmark,
    Configuration,
    Evidence,
    Metric,
    Observations,
    Outcome,
    Reader,
    ReaderKind,
    Run,
    Task,
    Workload,
)
from hati.studies.gate.rounds import Cell, Stage, pairs_of
from hati.studies.paired.study import STAGES, complete
from hati.studies.suite.conclusion import measured

LATENCY = Metric("latency", "s")
BENCHMARK = Benchmark("main", ("true",), Reader(ReaderKind.HATI), (LATENCY,))
START = datetime(2026, 1, 1, tzinfo=UTC)


def run(stage: str, repetition: int, machine: str, value: float = 1.0, setting: str = "on") -> Run:
    task = Task("s", stage, "main", Configuration({"a": setting}), "r", Workload({}), repetition)
    values = (Observations("latency", "s", np.array([value])),)
    return Run(task, machine, START + timedelta(seconds=repetition), 1.0, Outcome.DONE, exit=0, observations=values)


def pair(stages: Sequence[str], repetition: int, *machines: str) -> list[Run]:
    return [run(stage, repetition, machine) for stage, machine in zip(stages, machines, strict=True)]


def test_a_pair_is_of_one_machine() -> None:
    runs = [*pair(STAGES, 0, "one", "one"), *pair(STAGES, 1, "one", "two"), *pair(STAGES, 2, "two", "two")]
    assert [before.task.repetition for before, _ in complete(Evidence(tuple(runs)), LATENCY)] == [0, 2]


def test_a_pair_of_a_round_is_of_one_machine() -> None:
    cells = [Cell(BENCHMARK, Configuration({"a": "on"}), Assignment({}), 1.0)]
    stages = [Stage.EXPLORING.side(side) for side in (0, 1)]
    runs = [*pair(stages, 0, "one", "one"), *pair(stages, 1, "one", "two"), run(stages[0], 2, "two")]
    assert sorted(pairs_of(Evidence(tuple(runs)), cells, Stage.EXPLORING)) == [(0, 0), (2, 0)]


SETTINGS = ("on", "off", "auto")
VALUES = {"on": 1.0, "off": 2.0, "auto": 4.0}


def suite_runs(repetitions: Sequence[str], lost: int = 0) -> Evidence:
    """Each repetition on the machine of that name; two is 30 % slower. The last runs may be lost."""
    factor = {"one": 1.0, "two": 1.3}
    runs = [
        run("suite", number, machine, factor[machine] * VALUES[setting], setting)
        for number, machine in enumerate(repetitions)
        for setting in SETTINGS
    ]
    return Evidence(tuple(runs[: len(runs) - lost]))


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_a_configuration_that_ran_on_the_slower_machine_is_not_slower(lost: int) -> None:
    found = measured(suite_runs(["one", "two"], lost), LATENCY, [Configuration({"a": each}) for each in SETTINGS])
    mean_machine = np.sqrt(1.3)
    assert found.values == pytest.approx([mean_machine * VALUES[each] for each in SETTINGS])
    assert found.runs.tolist() == [2] * (3 - lost) + [1] * lost
    assert not found.apart


def test_machines_that_share_no_configuration_are_not_known_apart() -> None:
    runs = tuple(run("suite", 0, "two" if each == "auto" else "one", VALUES[each], each) for each in SETTINGS)
    found = measured(Evidence(runs), LATENCY, [Configuration({"a": each}) for each in SETTINGS])
    assert found.apart
    assert found.values.tolist() == list(VALUES.values())


def test_one_machine_is_left_as_it_is() -> None:
    found = measured(suite_runs(["one", "one"]), LATENCY, [Configuration({"a": each}) for each in SETTINGS])
    assert (found.values.tolist(), found.apart) == (list(VALUES.values()), False)
