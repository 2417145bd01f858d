"""``hati screen --recommend`` from a screening that is known, and its rules, on a server where one option dominates."""

from __future__ import annotations

import re
import shlex
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import hati.studies.recommendation.study  # noqa: F401  # before its rules are those of an earlier version
from hati.core import Run
from hati.store import SqlStore
from hati.studies.recommendation import conclusion

Hati = Callable[..., Any]

SERVER = """
import json, sys
from random import Random
on = {word.split("=")[0]: word.endswith("on") for word in sys.argv[1:]}
tps, memory = 1000.0, 100.0
if on["jit"]:
    tps *= 0.04
elif not on["fsync"]:
    tps *= 1.41 if on["commit"] else 1.42
elif not on["commit"]:
    tps *= 1.31
if on["buffers"]:
    tps *= 1.15
    memory *= 1.5
noise = Random(" ".join(sys.argv[1:]))
print(json.dumps({"metric": "tps", "unit": "1/s", "value": tps * (1 + noise.gauss(0, 0.02))}))
print(json.dumps({"metric": "memory", "unit": "B", "value": memory * (1 + noise.gauss(0, 0.01))}))
"""

PROJECT = f"""
[subject]
name = "server"

[[benchmark]]
name = "main"
command = ["{sys.executable}", "-S", "server.py", "run={{repetition}}"]
reader = "hati"

[[benchmark.metric]]
name = "tps"
unit = "1/s"
better = "higher"

[[benchmark.metric]]
name = "memory"
unit = "B"
"""

OPTION = """
[options.{name}]
settings = ["off", "on"]
default = "{default}"
argument = "{name}={{}}"
"""

DEFAULTS = {"jit": "off", "fsync": "on", "commit": "on", "buffers": "off", "log": "off", "trace": "off"}
RECOMMEND = ("screen", ".", "--metric", "tps", "--budget", "90", "--recommend", "--format", "json")


@pytest.fixture
def server(tmp_path: Path) -> Path:
    """jit=on (not the default) makes all but buffers irrelevant; commit=off gains nothing where fsync is off."""
    options = [OPTION.format(name=name, default=default) for name, default in DEFAULTS.items()]
    (tmp_path / "hati.toml").write_text(PROJECT + "".join(options))
    (tmp_path / "server.py").write_text(SERVER)
    return tmp_path


def stages(hati: Hati) -> list[str]:
    return [run["stage"] for run in hati("runs", ".", "--format", "json").json]


def restrict(folder: Path, option: str, line: str) -> None:
    file = folder / "hati.toml"
    file.write_text(file.read_text().replace(f"[options.{option}]\n", f"[options.{option}]\n{line}\n"))


def test_the_known_screening_is_continued_and_every_setting_has_a_confirmed_gain(hati_here: Hati, server: Path) -> None:
    screened = hati_here("screen", ".", "--metric", "tps", "--budget", "64", "--format", "json").json
    before = len(stages(hati_here))
    done = hati_here(*RECOMMEND)
    assert done.status == 0, done.err
    assert done.json["study"] == screened["study"]
    assert f"important options from {screened['study']}: 64 runs" in done.err
    advice = done.json["recommendation"]
    (one,) = advice["configurations"]
    assert one["set"] == {"buffers": "on", "fsync": "off"}
    assert (one["confirmed"], one["metric"]) == (True, "tps")
    assert one["change"] == pytest.approx(1.41 * 1.15 - 1, abs=0.06)
    assert {gain["option"]: gain["confirmed"] for gain in one["gains"]} == {"buffers": True, "fsync": True}
    assert len(stages(hati_here)) - before == advice["runs"]["done"] <= 90
    assert hati_here(*RECOMMEND).json == done.json
    report = hati_here("report", ".", "--metric", "tps", "--format", "json").json
    assert report["recommendation"] == advice
    text = " ".join(hati_here("report", ".", "--metric", "tps").out.split())
    assert re.search(r"Set fsync=off, buffers=on: tps is better by .* runs; memory is worse by [45]\d(\.\d)? %", text)


@pytest.mark.acceptance
def test_a_recommendation_by_earlier_rules_is_neither_shown_nor_continued(
    hati_here: Hati, server: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr(conclusion, "RULES_VERSION", 1)
        first = hati_here(*RECOMMEND)
    assert first.json["recommendation"]["configurations"]
    before = len(stages(hati_here))
    assert "recommendation" not in hati_here("report", ".", "--metric", "tps", "--format", "json").json
    again = hati_here(*RECOMMEND)
    assert again.json["study"] == first.json["study"]
    assert len(stages(hati_here)) - before == again.json["recommendation"]["runs"]["done"]


@pytest.mark.acceptance
def test_a_recommendation_by_the_rules_of_version_2_is_shown_and_says_so(
    hati_here: Hati, server: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr(conclusion, "RULES_VERSION", 2)
        first = hati_here(*RECOMMEND)
    before = len(stages(hati_here))
    shown = hati_here("report", ".", "--metric", "tps", "--format", "json").json["recommendation"]
    assert shown["configurations"] == first.json["recommendation"]["configurations"]
    (said,) = (text for text in shown["warnings"] if "earlier version" in text)
    assert "`hati screen --metric tps --recommend --budget 90` makes it again by the present ones" in said
    assert said[1:].replace("`", "") in " ".join(hati_here("report", ".", "--metric", "tps").out.split())
    words = ("report", str(server), "--metric", "tps", "--format", "json")
    elsewhere = hati_here(*words, folder=server.parent).json["recommendation"]["warnings"]
    assert any(f"`hati screen {server} --metric tps --recommend --budget 90`" in text for text in elsewhere)
    again = hati_here(*RECOMMEND).json["recommendation"]
    assert not any("earlier version" in text for text in again["warnings"])
    assert len(stages(hati_here)) - before == again["runs"]["done"]
    assert hati_here("report", ".", "--metric", "tps", "--format", "json").json["recommendation"] == again


@pytest.mark.acceptance
def test_a_screening_of_another_revision_is_named_beside_what_was_measured_now(hati_here: Hati, server: Path) -> None:
    assert hati_here("screen", ".", "--metric", "tps", "--budget", "64").status == 0
    (server / "server.py").write_text(SERVER + "# another revision\n")
    done = hati_here(*RECOMMEND)
    assert done.status == 0, done.err
    (said,) = (text for text in done.json["recommendation"]["warnings"] if "another revision" in text)
    assert said.startswith("the screening is of another revision (")


def test_a_small_effect_beside_a_dominating_option_is_refused_with_the_way_to_fix_it(
    hati_here: Hati, server: Path
) -> None:
    words = ("screen", ".", "--metric", "tps", "--budget", "40", "--detect", "3%")
    refused = hati_here(*words)
    assert refused.status == 2, refused.out
    assert "fix an option that dominates by --set OPTION=SETTING" in " ".join(refused.err.split())
    narrowed = hati_here(*words, "--set", "jit=off")
    assert "option that dominates" not in " ".join(narrowed.err.split())


@pytest.mark.acceptance
def test_what_is_ruled_out_is_not_recommended(hati_here: Hati, server: Path) -> None:
    restrict(server, "fsync", "recommend = false")
    restrict(server, "buffers", 'recommend = ["off"]')
    done = hati_here(*RECOMMEND)
    assert done.status == 0, done.err
    (one,) = done.json["recommendation"]["configurations"]
    assert (one["set"], one["confirmed"]) == ({"commit": "off"}, True)
    reasons = {option: each["reason"] for each in done.json["recommendation"]["left_out"] for option in each["set"]}
    assert (reasons["fsync"], reasons["buffers"]) == ("ruled out", "ruled out")
    text = " ".join(hati_here(*RECOMMEND[:-2]).out.split())
    assert "ruled out by `recommend` in hati.toml" in text


@pytest.mark.acceptance
def test_a_rule_has_to_be_shown(hati_here: Hati, server: Path) -> None:
    hati_here("screen", ".", "--metric", "tps", "--budget", "64")
    done = hati_here(*RECOMMEND, "--keep", "memory <= 1.1 * default")
    assert done.status == 0, done.err
    (one,) = done.json["recommendation"]["configurations"]
    assert (one["set"], one["confirmed"]) == ({"fsync": "off"}, True)
    ((rule,)) = one["keep"]
    assert (rule["rule"], rule["shown"]) == ("memory <= 1.1 * default", True)
    assert rule["change"] < rule["bound"] <= 0.1
    [buffers] = [each for each in done.json["recommendation"]["left_out"] if "buffers" in each["set"]]
    assert buffers["reason"] == "rule broken"
    assert buffers["broken"][0]["change"] == pytest.approx(0.5, abs=0.05)
    strict = hati_here(*RECOMMEND, "--keep", "memory <= 0.999 * default")
    assert not any(one["confirmed"] for one in strict.json["recommendation"]["configurations"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--keep", "memory < 2"), "error: --keep:1: expected METRIC <= FACTOR * default; write --keep 'METRIC <= 1.1"),
        (("--keep", "memory <= 1.1.1 * default"), "error: --keep:11: '1.1.1' is not a number"),
        (("--keep", "memry <= 1.1 * default"), "benchmark 'main' has no metric 'memry'; did you mean 'memory'?"),
        (("--keep", "memory <= 0 * default"), "the factor of --keep is a number above 0, not 0"),
    ],
)
def test_a_wrong_rule_is_refused_before_a_run(hati_here: Hati, server: Path, words: tuple[str, ...], said: str) -> None:
    done = hati_here("screen", ".", "--metric", "tps", "--budget", "64", "--recommend", *words)
    assert (done.status, done.out) == (2, "")
    assert said in done.err
    assert not (server / ".hati").exists() or stages(hati_here) == []


def test_a_rule_without_a_recommendation_is_refused(hati_here: Hati, server: Path) -> None:
    done = hati_here("screen", ".", "--metric", "tps", "--keep", "memory <= default")
    assert done.status == 2
    assert "add --recommend" in done.err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("recommend = 3", "expected false, or a list of the settings that may be recommended"),
        ('recommend = ["of"]', "'of' is not a setting of option 'fsync'; did you mean 'off'?"),
    ],
)
def test_a_wrong_restriction_is_shown_with_its_place(hati_here: Hati, server: Path, line: str, said: str) -> None:
    restrict(server, "fsync", line)
    done = hati_here("space", "count", ".")
    assert done.status == 2
    assert said in done.err
    assert "hati.toml:" in done.err


@pytest.mark.acceptance
def test_a_dry_run_shows_the_first_round(hati_here: Hati, server: Path) -> None:
    hati_here("screen", ".", "--metric", "tps", "--budget", "64")
    before = len(stages(hati_here))
    done = hati_here(*RECOMMEND, "--dry-run")
    assert {task["stage"] for task in done.json["tasks"]} <= {"follow-up", "confirmation"}
    assert len(stages(hati_here)) == before


def forget(folder: Path, study: str, runs: int) -> None:
    """Remove the last runs of a study from the store, as if it had been interrupted before them."""
    with closing(sqlite3.connect(folder / ".hati" / "store.sqlite")) as store, store:
        newest = "SELECT number FROM run WHERE study = ? ORDER BY number DESC LIMIT ?"
        for table, column in (("observations", "run"), ("run", "number")):
            store.execute(f"DELETE FROM {table} WHERE {column} IN ({newest})", (study, runs))


def test_a_larger_budget_continues_what_is_known_and_makes_the_runs_that_are_left(
    hati_here: Hati, server: Path
) -> None:
    screened = hati_here("screen", ".", "--metric", "tps", "--budget", "40", "--format", "json").json
    forget(server, screened["study"], 5)
    larger = ("screen", ".", "--metric", "tps", "--budget", "100", "--recommend", "--format", "json")
    done = hati_here(*larger)
    assert done.status == 0, done.err
    assert f"continues {screened['study']}: " in done.err
    assert done.json["study"] == screened["study"]
    assert done.json["runs"]["done"] == screened["runs"]["done"]
    advice = done.json["recommendation"]
    assert len(stages(hati_here)) <= 35 + 100
    forget(server, advice["study"], 7)
    said = " ".join(hati_here("report", ".", "--metric", "tps").out.split())
    (left, shown) = re.findall(r"(\d+) runs of the round are left, .*?: hati (.*?) makes them", said)[0]
    assert int(left) == 7
    again = hati_here(*(word if word != "100" else "120" for word in shlex.split(shown)), "--format", "json")
    assert again.json["recommendation"]["study"] == advice["study"]
    assert again.json["recommendation"]["runs"]["done"] == advice["runs"]["done"]


def test_a_continued_screening_that_is_killed_and_repeated_has_one_budget(
    hati_here: Hati, server: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    screened = hati_here("screen", ".", "--metric", "tps", "--budget", "40", "--format", "json").json
    forget(server, screened["study"], 30)
    before = len(stages(hati_here))
    small = ("screen", ".", "--metric", "tps", "--budget", "25", "--recommend", "--format", "json")
    record = SqlStore.record
    made: list[Run] = []

    def killed(store: SqlStore, run: Run) -> bool:
        if len(made) == 6:
            raise KeyboardInterrupt
        made.append(run)
        return record(store, run)

    with monkeypatch.context() as interrupted:
        interrupted.setattr(SqlStore, "record", killed)
        hati_here(*small)
    assert len(stages(hati_here)) == before + 6
    again = hati_here(*small)
    assert re.search(
        rf"continues {screened['study']}: .*: the runs of its plan that were not made come first", again.err
    )
    assert stages(hati_here)[before:].count("design") <= 15
    assert len(stages(hati_here)) <= before + 25
    (said,) = (text for text in again.json["warnings"] if "planned runs" in text)
    assert said.endswith("the budget of 15 is spent, and a larger --budget makes more")
    made_then = len(stages(hati_here))
    hati_here(*small)
    assert len(stages(hati_here)) == made_then


def test_a_screening_that_is_not_continued_is_named_with_the_command_that_continues_it(
    hati_here: Hati, server: Path
) -> None:
    known = hati_here("screen", ".", "--metric", "tps", "--budget", "16", "--set", "log=off", "--format", "json").json
    plan = hati_here("screen", ".", "--metric", "tps", "--budget", "60", "--recommend", "--dry-run")
    reason = rf"not continued: {known['study']} \(--set log=off\), which is of other configurations; `hati ([^`]*)`"
    (shown,) = re.findall(reason, " ".join(plan.err.split()))
    continued = hati_here(*shlex.split(shown), "--dry-run")
    assert (continued.status, "important options from" in continued.err) == (0, True), continued.err
    done = hati_here(*shlex.split(shown), "--format", "json")
    assert (done.status, done.json["study"]) == (0, known["study"])
    (server / "server.py").write_text(SERVER + "# another revision\n")
    asked = ("--relevant", "2%", "--alpha", "1%", "--seed", "7")
    larger = ("--metric", "tps", "--set", "log=off", "--budget", "60", "--recommend", "--dry-run", *asked)
    other = " ".join(hati_here("screen", ".", *larger).err.split())
    (shown,) = re.findall(rf"not continued: {known['study']}: .* at another revision .*; `hati ([^`]*)`", other)
    assert "--relevant 2% --alpha 1% --seed 7" in shown
    assert "important options from" in hati_here(*shlex.split(shown), "--dry-run").err
