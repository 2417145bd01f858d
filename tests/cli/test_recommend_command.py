"""``hati screen --recommend`` and ``--detect`` from outside, on a program and on tables."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

Hati = Callable[..., Any]


@pytest.fixture
def hati(hati_here: Hati) -> Hati:
    """The program's function: a process for each command would take longer than its work."""
    return hati_here


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Every configuration of five options, once: b helps, a hurts the time and spares memory."""
    lines = ["a,b,c,d,e,time,memory"]
    for row in product((0, 1), repeat=5):
        jitter = 1 + 0.002 * (sum(s * (7 * i + 3) ** 2 for i, s in enumerate(row)) % 97 / 97 - 0.5)
        time = (1.5 if row[0] else 1.0) * (0.8 if row[1] else 1.0) * jitter
        lines.append(f"{','.join(map(str, row))},{time!r},{(0.5 if row[0] else 1.0) * 100 * jitter!r}")
    (tmp_path / "table.csv").write_text("\n".join(lines) + "\n")
    options = "".join(f"[options.{name}]\nsettings = [0, 1]\ndefault = 0\n" for name in "abcde")
    (tmp_path / "hati.toml").write_text(f'[subject]\nname = "table"\n{options}')
    return tmp_path


ON_TABLE = ("screen", "table.csv", "--space", "hati.toml")


def test_the_best_is_confirmed_within_the_budget_and_the_same_the_second_time(hati: Hati, fake_project: Path) -> None:
    command = ("screen", ".", "--metric", "latency", "--budget", "32", "--recommend", "--format", "json")
    first = hati(*command)
    assert first.status == 0, first.err
    assert "10 runs of the budget" in first.err
    told = first.json["recommendation"]
    (one,) = told["configurations"]
    assert one.keys() >= {"configuration", "predicted", "measured", "change", "interval", "confirmed"}
    assert one["set"] == {"b": "on"}
    assert one["configuration"] == {**dict.fromkeys("abcdef", "off"), "b": "on"}
    assert one["confirmed"]
    assert one["interval"][0] <= one["change"] <= one["interval"][1]
    assert one["change"] == pytest.approx(-0.2, abs=0.01)
    assert one["predicted"] == pytest.approx(0.008, rel=0.02)
    assert one["measured"] == pytest.approx(0.008, rel=0.02)
    assert [change["metric"] for change in one["metrics"]] == ["latency", "throughput"]
    runs = hati("runs", ".", "--format", "json").json
    assert len(runs) <= 32
    assert sum(run["stage"] == "confirmation" for run in runs) == told["runs"]["done"] >= 10
    assert hati(*command).json == first.json
    assert len(hati("runs", ".", "--format", "json").json) == len(runs)


@pytest.mark.acceptance
def test_people_are_told_what_to_set_and_by_how_much_it_is_better(hati: Hati, fake_project: Path) -> None:
    done = hati("screen", ".", "--metric", "latency", "--budget", "32", "--recommend")
    words = " ".join(done.out.split())
    assert re.search(r"Set b=on: latency is better by 20(\.\d)? % \(.* to .*\) than by default", words)
    page = next((fake_project / ".hati" / "reports").glob("screening-*.html")).read_text()
    assert "Set b=on" in page
    marked = hati("screen", ".", "--metric", "latency", "--budget", "32", "--recommend", "--format", "markdown").out
    assert "### Recommendation" in marked
    assert "Set b=on: latency is better by" in marked


def test_a_table_measured_once_is_looked_up_and_nothing_is_confirmed(hati: Hati, table: Path) -> None:
    done = hati(*ON_TABLE, "--metric", "time", "--budget", "32", "--recommend", "--format", "json")
    assert done.status == 0, done.err
    told = done.json["recommendation"]
    (one,) = told["configurations"]
    assert told["looked_up"]
    assert one["configuration"] == {"a": 0, "b": 1, "c": 0, "d": 0, "e": 0}
    assert one["change"] == pytest.approx(-0.2, abs=0.01)
    assert (one["interval"], one["confirmed"], one["pairs"], one["verdict"]) == (None, False, 1, "looked up")
    text = " ".join(hati(*ON_TABLE, "--metric", "time", "--budget", "32", "--recommend").out.split())
    assert "Not confirmed: time -20" in text
    assert "looked up in the table" in text


def test_a_table_with_noise_confirms(hati: Hati, table: Path) -> None:
    command = (*ON_TABLE, "--metric", "time", "--budget", "64", "--deviation", "2%", "--recommend", "--format", "json")
    (one,) = hati(*command).json["recommendation"]["configurations"]
    assert one["confirmed"]
    assert one["pairs"] >= 5


def test_where_nothing_matters_the_default_stays(hati: Hati, table: Path) -> None:
    command = (*ON_TABLE, "--metric", "time", "--budget", "32", "--relevant", "90%", "--recommend")
    assert "Nothing to set for time" in " ".join(hati(*command).out.split())


def test_a_budget_with_nothing_left_to_screen_is_refused(hati: Hati, table: Path) -> None:
    done = hati(*ON_TABLE, "--metric", "time", "--budget", "10", "--recommend")
    assert done.status == 2
    assert "10 are kept" in done.err


def test_without_recommend_and_detect_nothing_is_said_of_them(hati: Hati, table: Path) -> None:
    done = hati(*ON_TABLE, "--metric", "time", "--budget", "32", "--format", "json")
    assert "recommendation" not in done.json


@pytest.mark.acceptance
def test_the_cheapest_design_is_planned_after_pilot_runs(hati: Hati, fake_project: Path) -> None:
    command = ("screen", ".", "--metric", "latency", "--budget", "96", "--detect", "3%", "--format", "json")
    before = hati(*command, "--dry-run").json
    assert before["design"] is None
    assert {task["stage"] for task in before["tasks"]} == {"pilot"}
    done = hati(*command)
    assert done.status == 0, done.err
    assert done.json["design"]["runs"] == 64
    assert set(done.json["important"]) == {"a", "b"}
    stages = [run["stage"] for run in hati("runs", ".", "--format", "json").json]
    assert (stages.count("pilot"), stages.count("design")) == (12, 64)
    after = hati(*command, "--dry-run").json
    assert after["design"]["resolution"] is None
    assert after["design"]["aliased_main_effects"] == {}
    assert after["design"]["aliased_interactions"] == []
    assert after["tasks"] == []


def test_a_budget_that_does_not_suffice_is_refused_before_the_design(hati: Hati, fake_project: Path) -> None:
    command = ("screen", ".", "--metric", "latency", "--budget", "28", "--detect", "1.05%")
    done = hati(*command)
    assert done.status == 2
    assert re.search(
        r"find effects of \d+(\.\d)? % with 90 % power, not of 1.05 %: these need about \d+ runs", done.err
    )
    assert {run["stage"] for run in hati("runs", ".", "--format", "json").json} == {"pilot"}
    needed = re.search(r"--budget (\d+)", done.err)
    assert needed is not None
    assert int(needed[1]) > 28
    assert hati(*command, "--dry-run").status == 2
    assert len(hati("runs", ".", "--format", "json").json) == 7


def test_what_is_never_important_is_refused_before_the_first_run(hati: Hati, fake_project: Path) -> None:
    done = hati("screen", ".", "--metric", "latency", "--budget", "96", "--detect", "1%")
    assert done.status == 2
    assert "--relevant" in done.err
    assert hati("runs", ".", "--format", "json").json == []


def test_a_table_without_noise_cannot_be_planned_on(hati: Hati, table: Path) -> None:
    done = hati(*ON_TABLE, "--metric", "time", "--budget", "64", "--detect", "3%")
    assert done.status == 2
    assert "--deviation" in done.err


def test_a_dry_run_tells_what_the_design_cannot_tell_apart(hati: Hati, fake_project: Path) -> None:
    default = " ".join(hati("screen", ".", "--metric", "latency", "--budget", "16", "--dry-run").out.split())
    assert "Bayesian D-optimal: D-efficiency" in default
    command = ("screen", ".", "--metric", "latency", "--budget", "16", "--design", "E=ABC,F=ABD", "--dry-run")
    told = " ".join(hati(*command).out.split())
    assert "Resolution IV." in told
    assert "Interactions of two options that share one estimate: a x b = c x e = d x f;" in told
    full = " ".join(hati("screen", ".", "--metric", "latency", "--budget", "128", "--dry-run").out.split())
    assert "Full factorial: no effect shares its estimate with another." in full
    command = ("screen", ".", "--metric", "latency", "--budget", "8", "--resolution", "3", "--dry-run")
    weak = " ".join(hati(*command).out.split())
    assert re.search(r"share their estimates with interactions of two options: a = \w x \w", weak)


def test_a_dry_run_says_how_many_flips_and_repeats_of_suspect_runs_there_may_be(hati: Hati, fake_project: Path) -> None:
    command = ("screen", ".", "--metric", "latency", "--dry-run", "--budget")
    plain = " ".join(hati(*command, "16").out.split())
    assert "The last 2 runs of the design are replaced by repeats where a run is suspect." in plain
    asked = " ".join(hati(*command, "20", "--runs", "16").out.split())
    assert "After the design: up to 2 repeats of suspect runs." in asked
    followed = " ".join(hati(*command, "40").out.split())
    assert (
        "After the design: up to 10 runs of flips, of which up to 4 for repeats of suspect runs and up to 2 for "
        "repeats of suspect flips." in followed
    )
    full = hati(*command, "64").out
    assert "After the design" not in full
