"""The classification tree of runs: its factors, its rules in words, its document and its chart."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import numpy as np
import pytest

from hati.core import Configuration, Machine, Observations, Outcome, Run, Setting, Task, Workload
from hati.document import Chart, Table
from hati.render.html import chart_in_altair
from hati.studies.failure_search import FailureTree, failure_tree
from hati.studies.failure_search.document import NOTHING, tree_sections

pytest.importorskip("sklearn")
LINUX = Machine.of({"name": "one", "system": "Linux"})
MACOS = Machine.of({"name": "two", "system": "macOS"})
Case = dict[str, Setting]


def run_of(case: Case, failed: bool, machine: Machine, outcome: Outcome = Outcome.FAILED) -> Run:
    own = {name: setting for name, setting in case.items() if name not in ("revision", "size")}
    workload = Workload({"size": case["size"]}) if "size" in case else Workload()
    task = Task("s", "array", "b", Configuration(own), str(case.get("revision", "1")), workload, 0)
    began = datetime(2026, 1, 1, tzinfo=UTC)
    if failed:
        return Run(task, machine.fingerprint, began, 1.0, outcome, "broken", 1)
    seen = (Observations("latency", "s", np.ones(1)),)
    return Run(task, machine.fingerprint, began, 1.0, Outcome.DONE, observations=seen)


def grown(fails: Callable[[Case, str], bool], **settings: tuple[Setting, ...]) -> FailureTree | None:
    rng = np.random.default_rng(1)
    runs = []
    for _ in range(120):
        case = {name: each[int(rng.integers(len(each)))] for name, each in settings.items()}
        machine = (LINUX, MACOS)[int(rng.integers(2))]
        runs.append(run_of(case, fails(case, machine.name), machine))
    return failure_tree(runs, 1, (LINUX, MACOS))


def rules(tree: FailureTree | None) -> list[str]:
    assert tree is not None
    return [rule.text for rule in tree.rules]


OPTIONS = dict.fromkeys("abcd", (False, True))


def test_settings_are_named_by_what_they_are() -> None:
    tree = grown(lambda case, _: bool(case["a"]) and case["z"] == "y", **OPTIONS, z=("x", "y", "z"))
    assert rules(tree) == ["a=true and z=y"]
    assert tree is not None
    [rule] = tree.rules
    assert rule.failed == rule.runs == tree.nodes[0].failed


def test_numbers_are_compared() -> None:
    tree = grown(lambda case, _: int(case["threads"]) > 4 and not case["b"], **OPTIONS, threads=(1, 2, 4, 8, 16))
    assert rules(tree) == ["b=false and threads>4"]


def test_many_numbers_are_compared_too() -> None:
    tree = grown(lambda case, _: int(str(case["level"])) > 700, level=tuple(range(1000)), a=(False, True))
    [rule] = rules(tree)
    assert 650 < float(rule.removeprefix("level>")) < 750
    assert tree is not None
    assert tree.left_out == ()


def test_a_factor_of_many_texts_is_left_out_and_named() -> None:
    tree = grown(lambda case, _: bool(case["a"]), a=(False, True), tag=tuple(f"t{number}" for number in range(200)))
    assert rules(tree) == ["a=true"]
    assert tree is not None
    assert tree.left_out == ("tag",)
    table = tree_sections(tree)[0]
    assert isinstance(table, Table)
    assert any("not numbers: tag." in note for note in table.notes)


def test_a_machine_is_a_factor() -> None:
    assert rules(grown(lambda case, machine: machine == "two" and bool(case["c"]), **OPTIONS)) == [
        "c=true and machine=two"
    ]


def test_revisions_and_workloads_are_factors() -> None:
    tree = grown(
        lambda case, _: case["revision"] == "2" and case["size"] == 9, **OPTIONS, revision=("1", "2", "3"), size=(1, 9)
    )
    assert rules(tree) == ["revision=2 and workload size=9"]


def test_runs_that_were_not_started_are_no_evidence() -> None:
    options = [{"a": bool(n & 1), "b": bool(n & 2), "c": bool(n & 4)} for n in range(8)]
    runs = [run_of(each, False, LINUX) for each in options]
    runs += [run_of(each, True, LINUX, Outcome.NOT_STARTED) for each in options]
    assert failure_tree(runs, 1) is None


def test_the_document_says_what_the_tree_is_not() -> None:
    tree = grown(lambda case, _: bool(case["a"]) and bool(case["b"]), **OPTIONS)
    assert tree is not None
    table, chart = tree_sections(tree)
    assert isinstance(table, Table)
    assert table.rows[0][0] == "a=true and b=true"
    assert "confirms no cause" in " ".join(table.notes)
    assert "guessing: 50 %" in " ".join(table.notes)
    assert isinstance(chart, Chart)
    drawn = chart_in_altair(chart).to_dict()
    texts = {row.get("condition") for rows in drawn["datasets"].values() for row in rows}
    assert {"all runs", "a=true", "b=true"} <= texts


@pytest.mark.acceptance
def test_where_nothing_separates_that_is_said() -> None:
    said = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        tree = grown(lambda *_, rng=rng: bool(rng.random() < 0.2), **OPTIONS)
        assert tree is not None
        table = tree_sections(tree)[0]
        assert isinstance(table, Table)
        assert (NOTHING in table.notes) == (tree.rules == ())
        said += NOTHING in table.notes
    assert said >= 4
