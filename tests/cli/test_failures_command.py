"""`hati failures` from outside, on a shell script that fails under two settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Hati

SUBJECT = """
for word; do eval "$word"; done
if [ "$a" = on ] && [ "$c" = y ]; then echo "no such mode" >&2; exit 3; fi
echo "time: 1"
"""
PROJECT = """
[subject]
name = "script"

[[benchmark]]
name = "main"
command = ["sh", "subject.sh"]
reader = "regex"
timeout = "20s"
metric = [{ name = "time", unit = "s", pattern = 'time: (\\d+)' }]

[options.c]
settings = ["x", "y", "z"]
argument = "c={}"
""" + "".join(f'\n[options.{name}]\nsettings = ["off", "on"]\nargument = "{name}={{}}"\n' for name in "abd")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "hati.toml").write_text(PROJECT)
    (tmp_path / "subject.sh").write_text(SUBJECT)
    return tmp_path


def test_the_settings_that_fail_are_named(project: Path, hati: Hati) -> None:
    done = hati("failures", ".", "--format", "json")
    assert done.status == 0, done.err
    [one] = done.json["combinations"]
    assert (one["settings"], one["verdict"]) == ({"a": "on", "c": "y"}, "certain")
    assert one["failed"] == one["runs"] >= 6
    assert (one["without_failed"], one["without_runs"] >= 6) == (0, True)
    assert one["message"] == "the command ended with exit status 3: no such mode"
    coverage = done.json["coverage"]
    assert (coverage["excluded"], coverage["valid"] - coverage["passing"]) == (1, 1)
    assert done.json["tree"]["rules"][0]["conditions"] == ["a=on", "c=y"]
    stored = hati("tree", ".", "--format", "json")
    assert (stored.json["benchmark"], stored.json["tree"]) == ("main", done.json["tree"])
    shown = hati("failures", ".")
    assert f"c=y and a=on fail: {one['runs']} of {one['runs']} runs" in " ".join(shown.out.split())
    assert "was measured before" in shown.err


def test_a_tree_needs_runs_of_one_benchmark(project: Path, hati: Hati) -> None:
    none = hati("tree", ".")
    assert (none.status, "Traceback" in none.err) == (2, False)
    assert hati("failures", ".", "--budget", "3").status == 0
    few = hati("tree", ".")
    assert (few.status, "three of each are needed" in " ".join(few.out.split())) == (0, True), few.err
    unknown = hati("tree", ".", "--benchmark", "other")
    assert (unknown.status, "the store has no runs of a benchmark" in unknown.err) == (2, True)


def test_a_search_goes_on_where_its_budget_ended(project: Path, hati: Hati) -> None:
    short = hati("failures", ".", "--budget", "6")
    assert (short.status, "repeat with a larger --budget" in " ".join(short.out.split())) == (0, True), short.err
    whole = hati("failures", ".", "--format", "json")
    assert whole.json["complete"] is True
    runs = hati("runs", ".", "--format", "json").json
    assert len(runs) == sum(whole.json["runs"].values())


def test_a_command_that_is_not_there_is_not_a_failure_of_settings(project: Path, hati: Hati) -> None:
    (project / "hati.toml").write_text(PROJECT.replace('"sh"', '"no-such-shell"'))
    done = hati("failures", ".")
    assert done.status != 0
    assert "no run could be started" in done.err
    assert "no-such-shell" in done.err


@pytest.mark.parametrize("words", [("--strength", "1"), ("--strength", "5"), ("--budget", "0")])
def test_what_cannot_be_asked_is_refused(project: Path, hati: Hati, words: tuple[str, ...]) -> None:
    done = hati("failures", ".", *words)
    assert done.status == 2
    assert "Traceback" not in done.err


def test_it_fails_by_the_verdicts_that_it_is_asked_for(project: Path, hati: Hati) -> None:
    assert hati("failures", ".", "--fail-on", "certain").status == 1
    assert hati("failures", ".", "--fail-on", "flaky,unconfirmed").status == 0
    early = hati("failures", ".", "--seed", "2", "--budget", "2", "--fail-on", "unconfirmed")
    assert early.status == 3, early.err
    wrong = hati("failures", ".", "--fail-on", "slower")
    assert (wrong.status, "write certain, flaky, unconfirmed, or none" in wrong.err) == (2, True)


def test_usage_is_reported_and_checked(project: Path, hati: Hati) -> None:
    file = project / "hati.toml"
    file.write_text(PROJECT.replace('argument = "c={}"', 'argument = "c={}"\nusage = [1, 8, 1]'))
    done = hati("failures", ".", "--format", "json")
    [one] = done.json["combinations"]
    assert one["usage"] == pytest.approx(0.8)
    assert "Usage: by `usage` of hati.toml" in " ".join(hati("failures", ".").out.split())
    key = hati("studies", ".", "--format", "json").json[0]["study"]
    again = hati("report", ".", "--study", key, "--format", "json")
    assert again.json["combinations"] == done.json["combinations"], again.err
    for wrong in ("[1, 2]", "[0, 0, 0]", "[1, -1, 1]", "3", '["x", 1, 1]'):
        file.write_text(PROJECT.replace('argument = "c={}"', f'argument = "c={{}}"\nusage = {wrong}'))
        refused = hati("failures", ".")
        assert (refused.status, "Traceback" in refused.err) == (2, False), wrong
        assert "hati.toml" in refused.err
