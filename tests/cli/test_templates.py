"""``--set``: a template narrows the space of a study, and is part of its identity."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Hati = Callable[..., Any]

SCREEN = ("screen", ".", "--metric", "latency", "--budget", "16", "--format", "json")


def test_a_fixed_option_is_not_screened_and_stays_at_its_setting(hati_here: Hati, fake_project: Path) -> None:
    whole = hati_here(*SCREEN).json
    done = hati_here(*SCREEN, "--set", "a=on")
    assert done.status == 0, done.err
    assert "fixed: a=on; 5 of 6 options are left" in done.err
    assert "default configuration (a=off) does not satisfy --set; the nearest valid configuration is used" in done.err
    found = done.json
    assert found["study"].split("-")[1] != whole["study"].split("-")[1]
    assert (sorted(found["ranking"]), found["important"]) == (list("bcdef"), ["b"])
    assert found["space"] == {"options": 5, "configurations": 32}
    assert found["design"]["runs"] == 16
    listed = hati_here("export", ".", "--where", "a=on", "--format", "csv").out.splitlines()
    assert len(listed) > 16
    again = hati_here(*SCREEN, "--set", "a == 'on'")
    assert (again.json["study"], "measured before" in again.err) == (found["study"], True)
    assert (
        hati_here("report", ".", "--study", found["study"], "--metric", "latency", "--format", "json").json["study"]
        == (found["study"])
    )
    report = ("report", ".", "--metric", "latency", "--format", "json")
    assert hati_here(*report, "--study", found["study"]).json["study"] == found["study"]
    assert hati_here(*report).json["study"] == found["study"]


@pytest.mark.parametrize("design", [(), ("--resolution", "3")], ids=["default", "fraction"])
def test_the_report_says_by_what_the_space_was_narrowed(
    hati_here: Hati, fake_project: Path, design: tuple[str, ...]
) -> None:
    done = hati_here(*SCREEN, *design, "--set", "a=on")
    assert done.json["template"] == ["a == 'on'"]
    assert hati_here(*SCREEN, *design).json["template"] == []
    report = ("report", ".", "--study", done.json["study"], "--metric", "latency", "--format")
    sentence = "5 options, 32 configurations, where a == 'on'"
    for text in ("text", "markdown"):
        assert sentence in hati_here(*report, text).out
    assert sentence.replace("'", "&#39;") in hati_here(*report, "html").out


def test_a_constraint_narrows_a_screening_by_a_model(hati_here: Hati, fake_project: Path) -> None:
    done = hati_here(*SCREEN, "--set", "a == 'off' or b == 'off'", "--set", "c=off")
    assert done.status == 0, done.err
    assert done.json["space"] == {"options": 5, "configurations": 24}
    assert all("c" not in effect["options"] for effect in done.json["effects"])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("z=on", "error: --set:1: unknown option 'z'; there are: a, b, c, d, e, f\n  z=on\n  ^"),
        ("a=om", "error: --set:3: 'om' is not a setting of option 'a'; there are: off, on\n  a=om\n    ^"),
        ("a == on", "error: --set:6: unknown option 'on'; write 'on' if the setting is meant\n  a == on\n       ^"),
    ],
)
@pytest.mark.parametrize(
    "verb",
    [
        ("run", "."),
        SCREEN,
        ("validate", "."),
        ("suite", "."),
        ("check", "."),
        ("compare-effects", ".", "."),
        ("history", "--revisions", "a..b"),
    ],
    ids=lambda words: words[0],
)
def test_all_verbs_refuse_a_wrong_one(
    hati_here: Hati, fake_project: Path, verb: tuple[str, ...], given: str, said: str
) -> None:
    done = hati_here(*verb, "--set", given)
    assert (done.status, done.out) == (2, "")
    assert said in done.err


def test_what_nothing_satisfies_is_refused(hati_here: Hati, fake_project: Path) -> None:
    done = hati_here(*SCREEN, "--set", "a=on", "--set", "not (a == 'on')")
    assert done.status == 2
    assert "no valid configuration has a == 'on' and not (a == 'on'); leave one of them out" in done.err
    assert hati_here("runs", ".", "--format", "json").json == []


def test_run_measures_the_default_under_a_template(hati_here: Hati, fake_project: Path) -> None:
    def configurations(*words: str) -> list[dict[str, str]]:
        done = hati_here("run", ".", "--budget", "2", "--format", "json", *words)
        assert done.status == 0, done.err
        told = [one["configuration"] for one in done.json["summaries"] if one["metric"] == "latency"]
        return [{name: setting for name, setting in one.items() if setting == "on"} for one in told]

    assert configurations("--set", "a=on", "--set", "b=on") == [{"a": "on", "b": "on"}]
    assert configurations("--set", "a=on", "--set", "a=off,b=on") == [{"a": "on"}, {"b": "on"}]
    assert configurations("--set", "a == 'on' or b == 'on'", "--set", "a != 'on'") == [{"b": "on"}]


def test_a_suite_and_a_validation_are_of_the_screening_under_the_same_template(
    hati_here: Hati, fake_project: Path
) -> None:
    hati_here(*SCREEN)
    by_whole = hati_here("suite", ".", "--metric", "latency", "--set", "a=on", "--runs", "8", "--format", "json")
    assert (by_whole.status, by_whole.json["options"]) == (0, ["b"])
    screened = hati_here(*SCREEN, "--set", "a=on").json["study"]
    suite = hati_here("suite", ".", "--metric", "latency", "--set", "a=on", "--runs", "8", "--format", "json")
    assert suite.status == 0, suite.err
    assert suite.json["options"] == ["b"]
    validated = hati_here("validate", ".", "--metric", "latency", "--set", "a=on", "--budget", "4", "--format", "json")
    assert validated.status == 0, validated.err
    assert validated.json["screening"] == screened
    assert hati_here("validate", ".", "--study", screened, "--metric", "latency", "--budget", "4").status == 0
    whole = hati_here("suite", ".", "--metric", "latency", "--runs", "8", "--format", "json")
    assert set(whole.json["options"]) == {"a", "b"}


def test_a_table_is_narrowed_to_its_rows(hati_here: Hati, fake_project: Path) -> None:
    lines = ["a,b,c,d,e,f,time"]
    for row in range(64):
        bits = [row >> place & 1 for place in range(6)]
        lines.append(
            ",".join(["off", "on"][bit] for bit in bits) + f",{(1 + bits[0]) * (1 + bits[1]) + 0.001 * (row * 37 % 11)}"
        )
    (fake_project / "table.csv").write_text("\n".join(lines) + "\n")
    words = ("screen", "table.csv", "--space", "hati.toml", "--metric", "time", "--budget", "32", "--format", "json")
    done = hati_here(*words, "--set", "a=on")
    assert done.status == 0, done.err
    assert (done.json["important"], done.json["runs"]["failed"]) == (["b"], 0)
