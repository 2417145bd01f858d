"""The commands that answers print run as they are, about the same subject, template, benchmark and metric."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from gate_projects import evolving

from conftest import Hati, printed_commands

TWO = '\n[[benchmark]]\nname = "other"\ncommand = ["true"]\nreader = "process"\n'


def printed(text: str) -> list[list[str]]:
    """The words of each command for a study, without the program's name."""
    return [command for command in printed_commands(text) if command[0] in {"screen", "validate"}]


def runs(hati: Hati, commands: list[list[str]]) -> None:
    for command in commands:
        done = hati(*command, "--dry-run")
        assert done.status == 0, (command, done.err)


@pytest.fixture
def table(fake_project: Path) -> Path:
    """Two builds in one table, in a folder of its own; a matters most."""
    rows = (
        f"{','.join(row)},{900 if row[0] == 'on' else 100 + 7 * (row[1] == 'on') + place % 5},{build}"
        for place, row in enumerate(product(("off", "on"), repeat=6))
        for build in (1, 2)
    )
    (fake_project / "old runs").mkdir()
    file = fake_project / "old runs" / "t.csv"
    file.write_text("\n".join(("a,b,c,d,e,f,latency,build", *rows)))
    return file


def test_commands_about_a_table_run_as_printed_also_in_a_later_report(hati: Hati, table: Path) -> None:
    asked = ("screen", "old runs/t.csv", "--space", "hati.toml", "--metric", "latency", "--where", "build=1")
    kept = ("--store", "my store.db")
    measured = hati(*asked, *kept, "--set", "f=on", "--budget", "16")
    reported = hati("report", *kept)
    assert measured.status == reported.status == 0
    shown = printed(measured.out)
    assert shown == printed(reported.out)
    same = (
        "screen",
        *asked[1:4],
        "--where",
        "build=1",
        *kept,
        "--metric",
        "latency",
        "--set",
        "f=on",
        "--set",
        "a=off",
    )
    assert shown == [[*same, "--budget", "16"]]
    runs(hati, shown)


@pytest.mark.acceptance
def test_aliased_effects_of_a_table_are_confirmed_by_commands_that_find_its_screening(hati: Hati, table: Path) -> None:
    asked = ("screen", str(table), "--space", "hati.toml", "--metric", "latency", "--where", "build=1", "--runs", "8")
    measured = hati(*asked, "--budget", "16", "--store", "s.db")
    assert measured.status == 0
    shown = printed(measured.out)
    assert {command[0] for command in shown} == {"screen", "validate"}
    runs(hati, shown)
    assert {command[0] for command in printed(hati(*asked, "--budget", "16").out)} == {"screen"}


@pytest.mark.acceptance
def test_aliased_effects_of_one_of_several_benchmarks_in_another_store(hati: Hati, fake_project: Path) -> None:
    file = fake_project / "hati.toml"
    file.write_text(file.read_text() + TWO)
    kept = ("--store", "elsewhere.db", "--set", "f=on")
    measured = hati("screen", "--benchmark", "main", "--metric", "latency", "--runs", "8", "--budget", "16", *kept)
    assert measured.status == 0
    shown = printed(measured.out)
    assert {command[0] for command in shown} == {"screen", "validate"}
    assert shown == printed(hati("report", *kept[:2]).out)
    runs(hati, shown)


def test_commands_that_check_history_run_and_compare_print_run_as_printed(hati_here: Hati, tmp_path: Path) -> None:
    made = evolving(tmp_path)
    made.commit()
    made.commit()
    outputs = (
        hati_here("check", "--reference", "HEAD~1", "--fail-on", "none"),
        hati_here("history", "--revisions", "HEAD~1..HEAD", "--budget", "8"),
        hati_here("run", "--set", "a=on"),
    )
    assert [done.status for done in outputs] == [0, 0, 0], outputs
    assert hati_here("export", "--output", "both.json").status == 0
    several = hati_here("compare", "both.json", "both.json")
    assert several.status == 2
    shown = [command for done in (*outputs, several) for command in printed_commands(f"{done.out}\n{done.err}")]
    assert {command[0] for command in shown} >= {"screen", "export"}
    for command in shown:
        done = hati_here(*command, *(("--dry-run",) if command[0] == "screen" else ()))
        assert done.status == 0, (command, done.err)
    assert hati_here("compare", "FILE", "FILE").status == 0
