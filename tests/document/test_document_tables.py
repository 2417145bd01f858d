"""Tables of configurations, measured runs, designs, plans and checked spaces."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np

from hati.core import Configuration, Metric, Observations, Outcome, Plan, Run, Sample, Task, Workload, sampled
from hati.design import by_runs, from_generators
from hati.design.document import design_table
from hati.document import Joined, SamplesJson, cell_value, publish
from hati.harness.document import plan_table
from hati.render import to_plain
from hati.space import Option, Space, check, parse_formula
from hati.space.document import configurations_table, diagnosis_table, measured_table


def a_task(settings: dict[str, int], repetition: int = 0, workload: Workload | None = None) -> Task:
    return Task("s", "design", "b", Configuration(settings), "r", workload or Workload(), repetition)


def a_run(task: Task, value: float | None) -> Run:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    if value is None:
        return Run(task, "m", start, 1.0, Outcome.FAILED, "no")
    return Run(task, "m", start, 1.0, Outcome.DONE, observations=(Observations("t", "s", np.array([9.0, value]), 1),))


def test_inactive_options_are_empty_cells() -> None:
    table = configurations_table(["a", "b"], [Configuration({"a": 1}), Configuration({"a": 2, "b": 3})])
    assert table.rows == ((1, None), (2, 3))


def test_measured_runs_have_a_row_each_and_failures_none() -> None:
    runs = [a_run(a_task({"a": 1}), 0.5), a_run(a_task({"a": 1}, 1), 0.7), a_run(a_task({"a": 2}), None)]
    runs.append(a_run(a_task({"a": 1}, workload=Workload({"n": 5})), 0.9))
    table = measured_table(runs)
    assert [column.name for column in table.columns] == [
        *("benchmark", "study", "stage", "revision", "machine", "workload", "run", "repetition"),
        *("a", "t"),
    ]
    ids = [run.task.id for run in runs]
    assert [tuple(map(cell_value, row)) for row in table.rows] == [
        ("b", "s", "design", "r", "m", None, ids[0], 0, 1, 0.5),
        ("b", "s", "design", "r", "m", None, ids[1], 1, 1, 0.7),
        ("b", "s", "design", "r", "m", '{"n":5}', ids[3], 0, 1, 0.9),
    ]


def test_repetitions_are_the_tasks_own() -> None:
    table = measured_table([a_run(a_task({"a": 1}, 2), 0.5), a_run(a_task({"a": 1}, 0), 0.7)])
    assert [row[7] for row in table.rows] == [2, 0]


def test_a_metric_in_two_units_has_a_column_for_each() -> None:
    task = a_task({"a": 1}, 1)
    slow = Run(
        task,
        "m",
        datetime(2026, 1, 1, tzinfo=UTC),
        1.0,
        Outcome.DONE,
        observations=(Observations("t", "ms", np.array([7.0])), Observations("u", "1", np.array([3.0]))),
    )
    table = measured_table([a_run(a_task({"a": 1}), 0.5), slow])
    assert [column.name for column in table.columns[9:]] == ["t (s)", "t (ms)", "u"]
    assert [row[9:] for row in table.rows] == [(0.5, None, None), (None, 7.0, 3.0)]


def test_no_two_columns_have_the_same_name() -> None:
    names = [column.name for column in measured_table([a_run(a_task({"stage": 1, "t": 2}), 0.5)]).columns]
    assert names[8:] == ["option stage", "t", "metric t"]


def test_runs_of_an_exported_sample_know_their_study_and_stage() -> None:
    run = a_run(a_task({"a": 1}, 4), 0.5)
    sample = Sample("b", Metric("t", "s"), (sampled(run, run.observations[0]),), run.task.configuration, "r")
    ((exported,),) = (one["runs"] for one in to_plain(publish(Joined(samples=[sample]), SamplesJson))["samples"])
    assert (exported["study"], exported["stage"], exported["repetition"]) == ("s", "design", 4)


def test_an_export_of_nothing_is_valid() -> None:
    assert to_plain(publish(Joined(samples=[]), SamplesJson)) == {"format": "hati-samples-1", "samples": []}


def test_a_designs_notes_tell_what_its_matrix_tells() -> None:
    notes = " ".join(design_table(by_runs(tuple("ABCDEFGHIJKLMN"), 128), 3).notes)
    assert "resolution IV" in notes
    assert "A4 = 3" in notes
    assert "Clear two-factor interactions: 73" in notes
    few = design_table(from_generators(tuple("ABCDE"), ["D=AB", "E=AC"]), 3).notes
    assert "Shortest words: ABD, ACE." in few
    printed = ["H=ABC", "I=ABDE", "J=ABDF", "K=ACEF", "L=ACDG", "M=ABDFG", "N=BCDEFG"]
    notes = " ".join(design_table(from_generators(tuple("ABCDEFGHIJKLMN"), printed), 3).notes)
    assert "resolution III" in notes
    assert "GJM" in notes


def test_a_plan_says_what_it_costs() -> None:
    plan = Plan.of((a_task({"a": 1}), a_task({"a": 2})))
    assert "about 3" in plan_table(plan, "why", 3.0, ["a"]).notes[1]
    assert "not known" in plan_table(plan, "why", None, ["a"]).notes[1]


def test_a_plans_options_are_in_the_order_given_and_inactive_ones_empty() -> None:
    table = plan_table(Plan.of((a_task({"a": 1}), a_task({"a": 2, "b": 3}))), "why", None, ["b", "a"])
    assert [column.name for column in table.columns[3:]] == ["b", "a"]
    assert [row[3:] for row in table.rows] == [(None, 1), (3, 2)]


def test_each_finding_of_a_check_has_its_row() -> None:
    options = (Option("a", (1, 2), 1), Option("b", (1, 2, 3), 1), Option("c", (1, 2), 1))
    space = Space(options, (parse_formula("a == 2"), parse_formula("b <= 2")))
    table = diagnosis_table(space, check(space))
    assert {(row[0], row[1]) for row in table.rows} >= {
        ("forced", "a = 2"),
        ("dead setting", "b = 3"),
        ("default not valid", "a == 2"),
    }
    contradictory = Space(options, (parse_formula("a == 2"), parse_formula("a == 1"), parse_formula("b == 1")))
    rows = diagnosis_table(contradictory, check(contradictory)).rows
    assert {row[1] for row in rows if row[0] == "contradiction"} == {"a == 2", "a == 1"}
