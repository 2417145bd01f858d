"""``hati screen`` from outside: its JSON, what it does the second time, its report."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from conftest import printed_commands

Hati = Callable[..., Any]

KEYS = {
    "study", "subject", "metric", "unit", "better", "scale", "space", "design", "effects", "ranking", "important",
    "detectable", "runs", "seconds", "warnings",
}  # fmt: skip
EFFECT_KEYS = {
    "options", "estimate", "unit", "relative", "interval", "standard_error", "share", "important", "aliases",
}  # fmt: skip


def test_the_json_has_the_promised_keys_and_finds_what_matters(hati: Hati, fake_project: Path) -> None:
    done = hati("screen", ".", "--metric", "latency", "--budget", "32", "--seed", "1", "--format", "json")
    assert done.status == 0, done.err
    told = done.json
    assert told.keys() >= KEYS
    assert all(effect.keys() >= EFFECT_KEYS for effect in told["effects"])
    assert told["space"] == {"options": 6, "configurations": 64}
    assert (told["subject"], told["metric"], told["unit"], told["better"]) == ("fake", "latency", "s", "lower")
    assert told["design"]["runs"] == told["runs"]["done"] == 32
    assert told["runs"]["failed"] == 0
    assert set(told["important"]) == {"a", "b"}
    assert told["ranking"][:2] == ["a", "b"]
    assert sorted(told["ranking"]) == list("abcdef")
    effects = {tuple(effect["options"]): effect for effect in told["effects"]}
    # Mean over b of 0.010 (1.5 - 1) (1 + 0.8) / 2, to within the noise of half a per cent.
    assert effects["a",]["estimate"] == pytest.approx(0.0045, rel=0.02)
    assert effects["a",]["relative"] == pytest.approx(0.5, rel=0.02)
    assert effects["b",]["relative"] == pytest.approx(-0.2, rel=0.02)
    low, high = effects["a",]["interval"]
    assert low < effects["a",]["estimate"] < high


def test_a_finished_study_is_not_measured_again_unless_asked(hati: Hati, fake_project: Path) -> None:
    command = ("screen", ".", "--metric", "latency", "--budget", "16", "--format", "json")
    first = hati(*command)
    again = hati(*command)
    assert again.json == first.json
    assert "--fresh" in again.err
    assert len(hati("runs", ".", "--format", "json").json) == 16
    fresh = hati(*command, "--fresh")
    assert fresh.json["study"] != first.json["study"]
    assert len(hati("runs", ".", "--format", "json").json) == 32


def test_another_metric_is_read_from_the_same_runs(hati: Hati, fake_project: Path) -> None:
    command = ("screen", ".", "--budget", "16", "--format", "json", "--metric")
    first = hati(*command, "latency")
    second = hati(*command, "throughput")
    assert second.json["study"] == first.json["study"]
    assert (second.json["metric"], second.json["better"]) == ("throughput", "higher")
    assert len(hati("runs", ".", "--format", "json").json) == 16
    effects = {tuple(e["options"]): e["relative"] for e in second.json["effects"]}
    assert effects["a",] == pytest.approx(1 / 1.5 - 1, rel=0.02)


def test_a_changed_subject_is_measured_anew(hati: Hati, fake_project: Path) -> None:
    command = ("screen", ".", "--metric", "latency", "--budget", "16", "--format", "json")
    first = hati(*command)
    file = fake_project / "subject.py"
    file.write_text(file.read_text().replace("1.5 if", "1.9 if"))
    second = hati(*command)
    assert second.json["study"] != first.json["study"]
    effects = {tuple(e["options"]): e["relative"] for e in second.json["effects"]}
    assert effects["a",] == pytest.approx(0.9, rel=0.05)


def test_a_dry_run_prints_the_tasks_and_stores_nothing(hati: Hati, fake_project: Path) -> None:
    command = ("screen", ".", "--metric", "latency", "--budget", "16", "--format", "json")
    planned = hati(*command, "--dry-run").json["tasks"]
    assert hati("runs", ".", "--format", "json").json == []
    hati(*command)
    made = hati("runs", ".", "--format", "json").json
    assert [row["stage"] for row in planned] == [row["stage"] for row in made] == ["design"] * 16


def test_a_dry_run_says_what_a_budget_in_time_limits(hati_here: Hati, fake_project: Path) -> None:
    command = ("screen", ".", "--metric", "latency", "--dry-run", "--budget")
    words = " ".join(hati_here(*command, "2m").out.split())
    assert "The budget of 2 min is for all runs, each with its setup: pilots, the design, its follow-up, and" in words
    assert "is for all runs" not in hati_here(*command, "16").out


def test_a_large_budget_is_planned_as_far_as_a_design_goes(hati: Hati, fake_project: Path) -> None:
    command = ("screen", ".", "--metric", "latency", "--budget", "10000000", "--format", "json")
    assert 1_000 < len(hati(*command, "--dry-run").json["tasks"]) <= 10_000


def test_a_time_budget_buys_pilots_and_then_a_design(hati: Hati, tmp_path: Path) -> None:
    options = "".join(f"[options.{name}]\nsettings = [1, 2]\n" for name in "abc")
    (tmp_path / "hati.toml").write_text(
        '[[benchmark]]\nname = "b"\ncommand = ["echo", "{a}{b}.{c}{repetition}"]\nreader = "regex"\n'
        '[[benchmark.metric]]\nname = "m"\nunit = "s"\npattern = "(.+)"\n' + options
    )
    done = hati("screen", ".", "--budget", "2s", "--format", "json")
    assert done.status == 0, done.err
    assert "pilot" in done.err
    assert "80 % power" in done.err
    assert done.json["design"]["kind"] == "full factorial"
    assert done.json["ranking"] == ["a", "b", "c"]
    made = hati("runs", ".", "--format", "json").json
    assert sum(row["stage"] == "pilot" for row in made) == 5


def test_the_report_stands_alone_and_can_be_made_again(hati: Hati, fake_project: Path) -> None:
    done = hati("screen", ".", "--metric", "latency", "--budget", "32")
    assert done.status == 0, done.err
    path = fake_project / next(line for line in done.err.splitlines() if line.startswith("report: "))[8:]
    page = path.read_text()
    assert "<html" in page
    assert 'src="http' not in page
    assert max(map(len, done.out.splitlines())) <= 80
    named = ("report", ".", "--metric", "latency")
    again = hati(*named, "--format", "html", "--charts", "charts", "--output", "again.html")
    assert again.status == 0, again.err
    made_again, _, _ = (fake_project / "again.html").read_text().partition("<h2>Known now</h2>")
    assert page.startswith(made_again)
    assert len(list((fake_project / "charts").glob("*.png"))) >= 4
    told = hati(*named, "--format", "json").json
    assert set(told["important"]) == {"a", "b"}


@pytest.mark.acceptance
def test_a_report_is_of_the_metric_that_was_last_screened(hati: Hati, fake_project: Path) -> None:
    screen = ("screen", ".", "--budget", "32", "--format", "json", "--metric")
    first = hati(*screen, "latency").json
    assert without_known(hati("report", ".", "--format", "json").json) == first
    second = hati(*screen, "throughput").json
    assert (second["study"], second["metric"]) == (first["study"], "throughput")
    assert without_known(hati("report", ".", "--format", "json").json) == second
    assert without_known(hati("report", ".", "--metric", "latency", "--format", "json").json) == first
    assert hati("validate", ".", "--format", "json").json["metric"] == "throughput"


def test_a_report_of_a_store_without_the_metric_asks_for_it(hati: Hati, fake_project: Path) -> None:
    assert hati("screen", ".", "--metric", "latency", "--budget", "32").status == 0
    forget_metrics(fake_project)
    done = hati("report", ".")
    assert done.status == 2
    assert "choose one by --metric: latency, throughput" in done.err


@pytest.mark.acceptance
def test_a_design_that_was_planned_for_a_metric_names_it(hati: Hati, fake_project: Path) -> None:
    done = hati("screen", ".", "--metric", "latency", "--budget", "96", "--detect", "3%", "--format", "json")
    assert done.status == 0, done.err
    forget_metrics(fake_project)
    assert without_known(hati("report", ".", "--format", "json").json) == done.json


def test_a_report_says_how_the_metric_varies(hati: Hati, fake_project: Path) -> None:
    study = hati("screen", ".", "--metric", "latency", "--budget", "32", "--format", "json").json["study"]
    known = hati("report", ".", "--format", "json").json["known"]["variation"]
    assert known["study"] == study
    assert 0.0 < known["interactions"] ** 0.5 < 0.01
    assert "configurations vary by" in " ".join(hati("report", ".").out.split())


def without_known(report: dict[str, Any]) -> dict[str, Any]:
    """What a report has that a screening has too."""
    return {key: value for key, value in report.items() if key != "known"}


def forget_metrics(project: Path) -> None:
    """Make the choices of designs in a store those of a Hati that did not keep the metric."""
    with closing(sqlite3.connect(project / ".hati" / "store.sqlite")) as store, store:
        for key, choice in store.execute("SELECT key, choice FROM study WHERE choice IS NOT NULL").fetchall():
            fields = json.loads(choice)
            fields.pop("metric", None)
            store.execute("UPDATE study SET choice = ?, checksum = NULL WHERE key = ?", (json.dumps(fields), key))


def test_failures_are_said_and_the_study_goes_on(hati: Hati, fake_project: Path) -> None:
    file = fake_project / "subject.py"
    file.write_text(
        "import sys\nif 'c=on' in sys.argv and 'd=on' in sys.argv: sys.exit('out of cheese')\n" + file.read_text()
    )
    done = hati("screen", ".", "--metric", "latency", "--budget", "64", "--format", "json")
    assert done.status == 0, done.err
    told = done.json
    assert told["runs"]["failed"] == 0, "what fails is left out"
    assert [each["settings"] for each in told["losses"]["excluded"]] == ["c=on with d=on"]
    assert {"a", "b"} <= set(told["important"])
    assert "out of cheese" in json.dumps(told["failures"])


def test_nothing_measured_is_exit_4_and_soon(hati: Hati, fake_project: Path) -> None:
    (fake_project / "subject.py").write_text("import sys; sys.exit('always')")
    done = hati("screen", ".", "--metric", "latency", "--budget", "64")
    assert done.status == 4
    assert "always" in done.err
    assert "Traceback" not in done.err
    assert len(hati("runs", ".", "--format", "json").json) == 9, "the default is tried five times, as others fail too"


def test_budgets_too_small_for_a_space_are_refused_with_what_will_serve(hati: Hati, fake_project: Path) -> None:
    file = fake_project / "hati.toml"
    file.write_text(file.read_text() + '\n[options.g]\nsettings = [1, 2, 3]\nargument = "g={}"\n')
    done = hati("screen", ".", "--metric", "latency", "--budget", "11")
    assert done.status == 2
    assert "11 runs are too few to screen 7 options" in done.err
    assert "at least 12" in done.err
    assert len(done.err.strip().splitlines()) <= 3


NOISE = """
import json, sys
from random import Random
value = 1.0 + 0.01 * Random(" ".join(sys.argv[1:])).gauss(0.0, 1.0)
print(json.dumps({"metric": "latency", "values": [9.0, value, value]}))
print(json.dumps({"metric": "throughput", "unit": "1/s", "value": 1 / value}))
"""


def test_runs_that_estimate_nothing_say_how_many_would(hati: Hati, fake_project: Path) -> None:
    (fake_project / "subject.py").write_text(NOISE)
    done = hati("screen", ".", "--metric", "latency", "--budget", "10")
    said = " ".join(done.out.split())
    assert "the effects of 6 options cannot be estimated together from 10 runs" in said
    assert "From 13 runs on they can be estimated: `hati screen --metric latency --budget 13`." in said
    enough = hati("screen", "--metric", "latency", "--budget", "13", "--format", "json").json
    assert {tuple(effect["options"]) for effect in enough["effects"]} >= {(name,) for name in "abcdef"}


def test_a_command_shown_of_one_of_several_benchmarks_runs(hati: Hati, fake_project: Path) -> None:
    (fake_project / "subject.py").write_text(NOISE)
    file = fake_project / "hati.toml"
    text = file.read_text()
    other = text[text.index("[[benchmark]]") : text.index("[options.a]")].replace('"main"', '"other"')
    file.write_text(text + other)
    asked = ("screen", str(fake_project), "--metric", "latency", "--benchmark", "main", "--budget")
    (shown,) = printed_commands(hati(*asked, "10", folder=fake_project.parent).out)
    assert shown == ["screen", str(fake_project), "--benchmark", "main", "--metric", "latency", "--budget", "13"]
    assert hati(*shown, folder=fake_project.parent).status == 0


def test_a_command_shown_of_a_table_runs(hati: Hati, fake_project: Path) -> None:
    draws = random.Random(1)
    rows = (
        f"{','.join(row)},{draws.gauss(900.0 if row[0] == 'on' else 100.0, 1.0)},1"
        for row in product(("off", "on"), repeat=6)
    )
    (fake_project / "runs.csv").write_text("\n".join(("a,b,c,d,e,f,latency,build", *rows)))
    asked = ("screen", "runs.csv", "--space", "hati.toml", "--metric", "latency", "--where", "build=1", "--budget")
    (shown,) = printed_commands(hati(*asked, "16").out)
    assert shown[:6] == ["screen", "runs.csv", "--space", "hati.toml", "--where", "build=1"]
    assert shown[6:] == ["--metric", "latency", "--set", "a=off", "--budget", "16"]
    assert hati(*shown).status == 0


def test_effects_of_several_settings_name_those_that_they_are_between(hati: Hati, fake_project: Path) -> None:
    file, subject = fake_project / "hati.toml", fake_project / "subject.py"
    file.write_text(file.read_text() + '\n[options.g]\nsettings = [1, 2, 3]\nargument = "g={}"\n')
    slower = 'latency *= {"1": 1.0, "2": 2.0, "3": 1.3}[settings["g"]]\n'
    subject.write_text(subject.read_text().replace("noise =", f"{slower}noise =", 1))
    times = hati("screen", ".", "--metric", "latency", "--budget", "60").out
    assert "\ng=1 to 2 " in times
    assert "the largest between two (best to worst)" in " ".join(times.split())
    rates = hati("report", ".", "--metric", "throughput", "--format", "markdown").out
    assert "| g=2 to 1 |" in rates
    assert "the largest between two (worst to best)" in rates


def test_the_settings_of_a_tied_option_are_those_between_which_its_change_is(hati: Hati, fake_project: Path) -> None:
    """The setting that a slow one requires has the highest mean, although it is the fastest."""
    (fake_project / "hati.toml").write_text(
        """[space]
constraints = ["slow == 'off' or hash == 'jenkins'"]
[options]
hash = { settings = ["jenkins", "murmur", "xxh"] }
slow = { settings = ["off", "on"] }
a = { settings = ["off", "on"] }
b = { settings = ["off", "on"] }
"""
    )
    draws, factors = random.Random(1), {"jenkins": 1.0, "murmur": 1.1, "xxh": 1.05}
    rows = [
        f"{name},{slow},{a},{b},{100.0 * factors[name] * (1.5 if slow == 'on' else 1.0) * draws.gauss(1.0, 0.002)}"
        for name, slow, a, b in product(factors, ("off", "on"), ("off", "on"), ("off", "on"))
        if slow == "off" or name == "jenkins"
    ]
    (fake_project / "runs.csv").write_text("\n".join(("hash,slow,a,b,latency", *rows)))
    asked = ("screen", "runs.csv", "--space", "hati.toml", "--metric", "latency")
    assert "\nhash=jenkins to murmur " in hati(*asked, "--budget", "16").out


def test_options_with_several_settings_and_constraints_are_screened(hati: Hati, fake_project: Path) -> None:
    file = fake_project / "hati.toml"
    constraint = "\n[space]\nconstraints = [\"c == 'on' or d == 'on'\"]\n"
    file.write_text(file.read_text() + '\n[options.g]\nsettings = [1, 2, 3]\nargument = "g={}"\n' + constraint)
    done = hati("screen", ".", "--metric", "latency", "--budget", "40", "--format", "json")
    assert done.status == 0, done.err
    assert {"a", "b"} <= set(done.json["important"])
    assert set(done.json["ranking"][:2]) == {"a", "b"}
    assert sorted(done.json["ranking"]) == list("abcdefg")
    assert (done.json["design"]["runs"], done.json["follow_up"]["planned"]) == (30, 10)
    assert done.json["runs"]["done"] == 30 + done.json["follow_up"]["done"]


def test_by_default_no_main_effect_is_aliased_with_an_interaction(hati: Hati, fake_project: Path) -> None:
    default = hati("screen", ".", "--metric", "latency", "--budget", "32", "--format", "json").json["design"]
    assert (default["resolution"], default["generators"], default["repetitions"]) == (None, [], 1)


@pytest.mark.acceptance
def test_a_fraction_is_measured_where_it_is_asked_for(hati: Hati, fake_project: Path) -> None:
    command = ("screen", ".", "--metric", "latency", "--budget", "16", "--format", "json")
    default = hati(*command).json["study"]
    made = [hati(*command, "--resolution", "4", "--seed", seed).json for seed in ("1", "2")]
    assert len({told["study"] for told in (*made, {"study": default})}) == 3
    assert [(told["design"]["resolution"], told["design"]["runs"]) for told in made] == [(4, 16)] * 2
    assert made[0]["design"]["generators"] != made[1]["design"]["generators"]
    for text in ("E=ABC,F=ABD", "e=abc,f=abd"):
        assert hati(*command, "--design", text).json["design"]["generators"] == ["E=ABC", "F=ABD"]
    made_before = ("design", ".", "--generators", "e=abc,f=-abd", "--format", "csv", "--output", "d.csv")
    assert hati(*made_before).status == 0
    assert hati(*command, "--design", "d.csv").json["design"]["resolution"] == 4
    assert hati(*command, "--runs", "16").json["design"]["resolution"] == 4
    wrong = hati(*command, "--resolution", "4", "--runs", "16")
    assert (wrong.status, "exclude each other" in wrong.err) == (2, True)
    few = hati("screen", ".", "--metric", "latency", "--budget", "15", "--resolution", "4")
    assert (few.status, "--budget 16" in few.err) == (2, True)


@pytest.mark.acceptance
def test_alpha_is_the_error_rate_of_the_study_and_is_kept(hati: Hati, fake_project: Path) -> None:
    command = ("screen", ".", "--metric", "latency", "--budget", "32", "--format", "json")
    strict = hati(*command, "--alpha", "0.001").json
    assert strict["alpha"] == 0.001
    assert strict["study"] != hati(*command).json["study"]
    report = hati("report", ".", "--study", strict["study"], "--metric", "latency", "--format", "json")
    assert report.json["alpha"] == 0.001
    assert hati(*command, "--alpha", "1").status == 2


def test_a_refused_screening_leaves_no_study(hati: Hati, tmp_path: Path) -> None:
    (tmp_path / "hati.toml").write_text(
        '[[benchmark]]\nname = "main"\ncommand = ["true"]\nreader = "process"\n'
        '[[benchmark.metric]]\nname = "wall_time"\nunit = "s"\n'
    )
    refused = hati("screen", ".", "--budget", "4")
    assert refused.status == 2
    assert "there is no option to screen" in refused.err
    assert hati("studies", ".", "--format", "json").json == []
