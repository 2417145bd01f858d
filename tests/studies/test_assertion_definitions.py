"""Runs of several definitions of a benchmark: one of them is taken, the others are told."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

from hati.core import Configuration, Observations, Outcome, Run, Task, Workload
from hati.studies.assertion import DefinedRun, Former, SetAside, TakenRuns, taken_runs

START = datetime(2026, 1, 1, tzinfo=UTC)
BOTH = ("here", "there")


def defined(command: str, version: str = "") -> str:
    return json.dumps({"command": command, "version": version})


def unversioned(definition: str) -> str:
    return json.dumps({**json.loads(definition), "version": ""}) if definition else ""


def made(definition: str, machine: str, minute: int, benchmark: str = "b") -> DefinedRun:
    task = Task(f"s{minute}", "assert", benchmark, Configuration(), "tree", Workload(), minute)
    values = (Observations("time", "s", [1.0], 0),)
    return DefinedRun(
        Run(task, machine, START + timedelta(minutes=minute), 1.0, Outcome.DONE, observations=values), definition
    )


def taken(*runs: DefinedRun, now: str = "") -> tuple[list[int], TakenRuns]:
    found = taken_runs(runs, {"b": now}, BOTH, unversioned)
    return [run.task.repetition for run in found.runs], found


OLD, NEW = defined("old"), defined("new")


def test_the_definition_of_now_is_taken_where_both_machines_have_it() -> None:
    runs = [made(NEW, "here", 1), made(NEW, "there", 2), made(OLD, "here", 3), made(OLD, "there", 4)]
    numbers, found = taken(*runs, now=NEW)
    assert numbers == [1, 2]
    assert found.set_aside == (SetAside("b", "here", 1, ("command",)), SetAside("b", "there", 1, ("command",)))
    assert (found.former, found.unlike) == ((), {})


def test_else_the_latest_that_both_have_and_that_is_told() -> None:
    older = defined("older")
    runs = [made(older, m, n) for n, m in enumerate(BOTH)] + [made(OLD, m, n + 2) for n, m in enumerate(BOTH)]
    numbers, found = taken(*runs, made(NEW, "here", 9), now=NEW)
    assert numbers == [2, 3]
    assert found.former == (Former("b", ("command",)),)
    assert [(left.machine, left.runs) for left in found.set_aside] == [("here", 1), ("there", 1), ("here", 1)]


def test_what_the_machines_do_not_share_is_not_compared() -> None:
    numbers, found = taken(made(NEW, "here", 1), made(OLD, "there", 2), now=NEW)
    assert (numbers, found.set_aside, found.unlike) == ([], (), {"b": ("command",)})


def test_another_interpreter_is_no_other_definition_between_machines_but_is_on_one() -> None:
    runs = [made(defined("c", v), m, n) for n, (v, m) in enumerate([("1", "here"), ("2", "here"), ("3", "there")])]
    numbers, found = taken(*runs, now=defined("c", "1"))
    assert (numbers, found.set_aside) == ([0, 2], (SetAside("b", "here", 1, ("version",)),))
    assert taken(*runs, now=defined("c", "9"))[0] == [1, 2]


def test_what_is_not_known_of_old_runs_is_told_so() -> None:
    numbers, found = taken(made(NEW, "here", 1), made(NEW, "there", 2), made("", "there", 3), now=NEW)
    assert (numbers, found.set_aside) == ([1, 2], (SetAside("b", "there", 1, ("not known",)),))
    assert taken(made("", "here", 1), made("", "there", 2), now=NEW)[1].former == (Former("b", ("not known",)),)


def test_machines_that_are_not_asked_for_do_not_count() -> None:
    numbers, found = taken(made(NEW, "here", 1), made(NEW, "there", 2), made(OLD, "elsewhere", 3), now=NEW)
    assert (numbers, found.set_aside) == ([1, 2], ())
