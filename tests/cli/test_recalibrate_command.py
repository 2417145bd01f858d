"""When ``hati check`` asks for a recalibration, and what ``hati screen --recalibrate`` makes of it."""

from __future__ import annotations

import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

Hati = Callable[..., Any]

POLICY = """
[check.recalibrate]
checks = 3
residuals = "1%"
options = true
"""
ANOTHER = ('"b"] == "on" else 1.0\n', '"b"] == "on" else 1.0\nlatency *= 1.4 if settings["c"] == "on" else 1.0\n')


@pytest.fixture
def evolving(fake_project: Path) -> Path:
    """The project in a repository, with a policy; d, e and f are left out, so that all configurations are few."""
    file = fake_project / "hati.toml"
    kept = file.read_text().partition("\n[options.d]")[0]
    file.write_text(kept + POLICY)
    commit(fake_project, "first")
    return fake_project


def commit(folder: Path, message: str) -> None:
    for command in (["init", "--quiet"], ["add", "hati.toml", "subject.py"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    who = ["-c", "user.name=me", "-c", "user.email=me@here"]
    subprocess.run(["git", *who, "commit", "--quiet", "--message", message], cwd=folder, check=True)


def change(file: Path, before: str, after: str) -> None:
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))


def checked(hati: Hati, *more: str) -> Any:
    done = hati("check", ".", "--reference", "HEAD", "--fail-on", "", "--format", "json", *more)
    assert done.status == 0, done.err
    return done.json["recalibration"]


def screened(hati: Hati, *more: str) -> Any:
    done = hati("screen", ".", "--metric", "latency", "--budget", "16", "--format", "json", *more)
    assert done.status == 0, done.err
    return done.json


@pytest.mark.acceptance
def test_a_check_says_when_important_options_are_due_and_a_recalibration_what_changed(
    hati: Hati, evolving: Path
) -> None:
    change(evolving / "subject.py", "0.010\n", "0.0101\n")
    assert conditions(checked(hati)) == ["unscreened"]
    first = screened(hati)
    assert set(first["important"]) == {"a", "b"}
    assert hati("suite", ".", "--metric", "latency", "--runs", "8").status == 0
    change(evolving / "subject.py", "0.0101\n", "0.0102\n")
    assert checked(hati) == {"due": False, "reasons": []}

    change(evolving / "subject.py", *ANOTHER)
    told = checked(hati)
    assert told["due"]
    assert conditions(told) == ["residuals", "residuals"]
    assert {reason["metric"] for reason in told["reasons"]} == {"latency", "throughput"}
    assert all(reason["screening"] == first["study"] and reason["value"] < 0.01 for reason in told["reasons"])

    again = screened(hati, "--recalibrate")
    assert again["study"] != first["study"]
    assert again["runs"]["done"] == 16
    assert again["changes"]["became_important"] == [["c"]]
    assert (again["changes"]["before"], again["changes"]["after"]) == (first["study"], again["study"])
    [c] = [effect for effect in again["changes"]["effects"] if effect["options"] == ["c"]]
    assert c["moved"]
    assert c["before"] == pytest.approx(0.0, abs=0.01)
    assert c["after"] == pytest.approx(0.4, abs=0.02)
    change(evolving / "subject.py", "0.0102\n", "0.0103\n")
    assert checked(hati) == {"due": False, "reasons": []}


def conditions(told: Any) -> list[str]:
    return [reason["condition"] for reason in told["reasons"]]


@pytest.mark.acceptance
def test_options_that_came_and_went_are_a_reason_and_told(hati: Hati, evolving: Path) -> None:
    first = screened(hati)
    change(evolving / "hati.toml", "[options.c]", "[options.z]")
    change(evolving / "hati.toml", "c={}", "z={}")
    change(evolving / "subject.py", "0.010\n", "0.0101\n")
    done = hati("check", ".", "--reference", "HEAD", "--fail-on", "")
    assert f"z was added and c was removed since {first['study']}" in " ".join(done.out.split())
    changes = screened(hati, "--recalibrate")["changes"]
    assert (changes["added"], changes["removed"]) == (["z"], ["c"])
    assert changes["became_important"] == []
    assert [effect["change"] for effect in changes["effects"][:2]] == ["still important"] * 2


@pytest.mark.acceptance
def test_checks_are_counted_from_the_last_screening(hati: Hati, evolving: Path) -> None:
    screened(hati)
    found = []
    for number in range(1, 4):
        change(evolving / "subject.py", "0.010", f"0.0100{number}" if number == 1 else "0.0100" + str(number))
        found.append(conditions(checked(hati, "--fresh")))
        change(evolving / "subject.py", f"0.0100{number}", "0.010")
    assert found == [[], [], ["checks"]]
    screened(hati, "--recalibrate")
    change(evolving / "subject.py", "0.010\n", "0.0107\n")
    assert checked(hati)["due"] is False


@pytest.mark.acceptance
def test_every_recalibration_is_measured_anew_and_told_in_text(hati: Hati, evolving: Path) -> None:
    first = screened(hati)
    second = screened(hati, "--recalibrate")
    done = hati("screen", ".", "--metric", "latency", "--budget", "16", "--recalibrate")
    assert f"What changed since {second['study']}" in done.out
    assert "The same effects are important as before" in done.out
    runs = hati("runs", ".", "--format", "json").json
    assert len(runs) == 48
    assert len({first["study"], second["study"]}) == 2
    markdown = hati("screen", ".", "--metric", "latency", "--budget", "16", "--recalibrate", "--format", "markdown")
    assert "What changed since" in markdown.out
    for name in ("html", "text", "markdown"):
        report = hati("report", ".", "--metric", "latency", "--format", name)
        assert "What changed since" in report.out, report.err
    earlier = hati("report", ".", "--metric", "latency", "--format", "html", "--study", first["study"])
    assert "What changed since" not in earlier.out
    told = hati("report", ".", "--metric", "latency", "--format", "json", "--study", second["study"]).json
    assert told["changes"] == second["changes"]


@pytest.mark.acceptance
@pytest.mark.parametrize("lost", [4, 12])
def test_a_recalibration_that_was_broken_off_goes_on(hati: Hati, evolving: Path, lost: int) -> None:
    first = screened(hati)
    second = screened(hati, "--recalibrate")
    with closing(sqlite3.connect(evolving / ".hati" / "store.sqlite")) as store, store:
        newest = "SELECT number FROM run WHERE study = ? ORDER BY number DESC LIMIT ?"
        for table, column in (("observations", "run"), ("run", "number")):
            store.execute(f"DELETE FROM {table} WHERE {column} IN ({newest})", (second["study"], lost))
    again = screened(hati, "--recalibrate")
    assert again["study"] == second["study"]
    assert again["runs"]["done"] == 16
    assert again["changes"]["before"] == first["study"]
    assert len(hati("runs", ".", "--format", "json").json) == 32


def test_there_is_nothing_to_recalibrate_before_a_screening(hati: Hati, evolving: Path) -> None:
    done = hati("screen", ".", "--metric", "latency", "--budget", "16", "--recalibrate")
    assert done.status == 2
    assert "main was never screened here; leave --recalibrate out" in done.err


@pytest.mark.acceptance
def test_without_a_policy_nothing_is_ever_due(hati: Hati, evolving: Path) -> None:
    change(evolving / "hati.toml", POLICY, "")
    change(evolving / "subject.py", "0.010\n", "0.0101\n")
    assert checked(hati) == {"due": False, "reasons": []}


TABLE_SPACE = "".join(f'[options.{name}]\nsettings = ["off", "on"]\n' for name in "abcd")


def table(folder: Path) -> Path:
    """All configurations of four options at two releases: b matters at the first, c at the second."""
    rows = ["a,b,c,d,revision,time"]
    for release, second in (("1.0", 1), ("2.0", 2)):
        for number in range(16):
            on = [number >> place & 1 for place in range(4)]
            noise = 1 + 0.004 * ((number * 7 + 3 * second) % 11 - 5) / 5
            value = 10 * (1.5 if on[0] else 1) * (1.3 if on[second] else 1) * noise
            rows.append(",".join([*("on" if one else "off" for one in on), release, f"{value:.6f}"]))
    (folder / "space.toml").write_text(TABLE_SPACE)
    (folder / "releases.csv").write_text("\n".join(rows) + "\n")
    return folder / "releases.csv"


@pytest.mark.acceptance
def test_releases_of_a_table_are_screened_again(hati: Hati, tmp_path: Path) -> None:
    command = ("screen", table(tmp_path).name, "--space", "space.toml", "--budget", "16", "--store", "kept.sqlite")
    first = hati(*command, "--where", "revision=1.0", "--format", "json")
    assert set(first.json["important"]) == {"a", "b"}
    again = hati(*command, "--where", "revision=2.0", "--format", "json", "--recalibrate").json
    assert set(again["important"]) == {"a", "c"}
    assert again["changes"]["before"] == first.json["study"]
    assert (again["changes"]["became_important"], again["changes"]["no_longer_shown"]) == ([["c"]], [["b"]])


@pytest.mark.parametrize("verb", [("check", "2.0"), ("compare-effects", "1.0", "2.0"), ("bisect", "1.0", "2.0")])
def test_what_runs_programs_refuses_a_table(hati: Hati, tmp_path: Path, verb: tuple[str, ...]) -> None:
    done = hati(*verb, "--project", table(tmp_path).name)
    assert done.status == 2
    assert "releases.csv is a table of measurements, and this command runs a program" in done.err


def test_then_and_now_are_judged_by_the_same_relevant_effect(hati: Hati, evolving: Path) -> None:
    assert set(screened(hati)["important"]) == {"a", "b"}
    again = screened(hati, "--recalibrate", "--relevant", "25%")
    assert set(again["important"]) == {"a"}
    assert again["changes"]["no_longer_shown"] == []
