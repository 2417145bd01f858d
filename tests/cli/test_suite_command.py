"""``hati suite`` from outside: on a program, on a table, against others, resumed, and refused."""

from __future__ import annotations

import csv
import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Hati = Callable[..., Any]

KEYS = {"study", "metric", "unit", "scale", "options", "strata", "quantiles", "mean", "against", "runs", "warnings"}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """All 96 configurations of five options: an option with three settings and b decide."""
    file = tmp_path / "all.csv"
    with file.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow([*"abcdef", "time"])
        for row in itertools.product(("p", "q", "r"), *[(0, 1)] * 5):
            log = {"p": 0.0, "q": 0.6, "r": 1.0}[row[0]] + 0.4 * row[1] + 0.05 * row[2] * row[3] + 0.01 * row[5]
            writer.writerow([*row, f"{math.exp(log):.6f}"])
    options = "".join(f"[options.{name}]\nsettings = [0, 1]\n" for name in "bcdef")
    (tmp_path / "hati.toml").write_text(f'[options.a]\nsettings = ["p", "q", "r"]\n{options}')
    return file


def test_a_table_against_itself(hati: Hati, table: Path) -> None:
    words = ("suite", "all.csv", "--space", "hati.toml", "--metric", "time", "--options", "a,b", "--runs", "24")
    done = hati(*words, "--against", "all.csv", "--seed", "3", "--format", "json")
    assert done.status == 0, done.err
    told = done.json
    assert told.keys() >= KEYS
    assert told["options"] == ["a", "b"]
    assert {(s["setting"]["a"], s["setting"]["b"]): s["weight"] for s in told["strata"]} == {
        (a, b): 16 for a in "pqr" for b in (0, 1)
    }
    assert list(told["quantiles"]) == ["0.05", "0.25", "0.5", "0.75", "0.95"]
    with table.open() as rows:
        truth = [float(row["time"]) for row in csv.DictReader(rows)]
    assert told["mean"] == pytest.approx(sum(truth) / len(truth), rel=0.01)
    low, high = told["mean_interval"]
    assert low < sum(truth) / len(truth) < high
    against = told["against"]
    assert against["values"] == 96
    assert against["ks"] < 0.1
    assert against["range"] > 0.9
    assert against["equivalent"] is True
    assert against["mann_whitney"].keys() >= {"p_value", "power", "detectable"}
    assert hati(*words, "--against", "all.csv", "--seed", "3", "--format", "json").json == told
    assert hati(*words, "--seed", "4", "--format", "json").json["mean"] != told["mean"]


def test_a_full_data_set_that_may_be_cut_off_is_told(hati: Hati, table: Path) -> None:
    (table.parent / "cut.csv").write_text(table.read_text().rstrip()[:-3])
    words = ("suite", "all.csv", "--space", "hati.toml", "--metric", "time", "--options", "a,b", "--runs", "24")
    done = hati(*words, "--against", "cut.csv")
    assert (done.status, "all.csv:97: this last line" in done.err) == (0, False)
    assert "warning: cut.csv:97: this last line has no line end" in done.err
    both = hati("suite", "cut.csv", *words[2:], "--against", "cut.csv")
    assert both.err.count("this last line has no line end") == 1
    drawn = hati(*words, "--deviation", "cut.csv", "--against", "cut.csv")
    assert (drawn.status, drawn.err.count("this last line has no line end")) == (0, 1), drawn.err


def test_text_markdown_and_the_report(hati: Hati, table: Path) -> None:
    words = ("suite", "all.csv", "--space", "hati.toml", "--metric", "time", "--options", "a,b", "--runs", "24")
    done = hati(*words, "--against", "all.csv", "--quantiles", "10%,0.9")
    assert done.status == 0, done.err
    assert max(map(len, done.out.splitlines())) <= 80
    assert "equivalent" in done.out
    assert "10 %" in done.out
    page = (table.parent / next(line for line in done.err.splitlines() if line.startswith("report: "))[8:]).read_text()
    assert "<svg" in page
    assert 'src="http' not in page
    assert "Q-Q plot" in page
    markdown = hati(*words, "--format", "markdown").out
    assert "| a | b | weight |" in markdown
    planned = hati(*words, "--dry-run", "--format", "json").json["tasks"]
    assert len(planned) == 24


@pytest.mark.acceptance
def test_the_options_of_the_last_screening_and_a_random_sample(hati: Hati, fake_project: Path) -> None:
    words = ("suite", ".", "--metric", "latency", "--runs", "16", "--format", "json")
    refused = hati(*words)
    assert refused.status == 2
    assert "--options" in refused.err
    assert hati("screen", ".", "--metric", "latency", "--budget", "16").status == 0
    done = hati(*words, "--against", "random")
    assert done.status == 0, done.err
    told = done.json
    assert set(told["options"]) == {"a", "b"}
    assert told["runs"] == {"done": 32, "failed": 0}
    assert told["against"]["values"] == 16
    # The mean over a and b of 0.010 x (1 or 1.5) x (1 or 0.8), to within the noise of half a per cent.
    assert told["mean"] == pytest.approx(0.01125, rel=0.01)
    assert "left out" not in " ".join(told["warnings"])
    few = hati(*words[:-4], "--runs", "4", *words[-2:])
    assert few.json["options"] == ["a"]
    assert "important too, but left out of the strata for want of runs: b; 8 configurations" in few.json["warnings"][0]
    eight = hati(*words[:-4], "--runs", "8", *words[-2:]).json
    assert (set(eight["options"]), eight["warnings"]) == ({"a", "b"}, [])
    again = hati(*words, "--against", "random")
    assert again.json == told
    assert "--fresh" in again.err
    fresh = hati(*words, "--against", "random", "--fresh").json
    assert fresh["study"] != told["study"]


def test_a_budget_in_runs_repeats_the_suite(hati: Hati, fake_project: Path) -> None:
    words = ("suite", ".", "--metric", "latency", "--options", "a", "--format", "json")
    told = hati(*words, "--runs", "8", "--budget", "16").json
    assert told["design"] == {"runs": 16, "configurations": 8, "repetitions": 2, "strata": 2}
    assert told["runs"]["done"] == 16
    assert hati(*words, "--budget", "12").json["design"]["configurations"] == 12


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--options", "a,b,c", "--runs", "7"), "cannot cover the 8 valid combinations"),
        (("--options", "a,bb"), "unknown option 'bb'"),
        (("--options", "a,a"), "option 'a' is named twice"),
        (("--options", ""), "--options names none"),
        (("--options", "a", "--runs", "1"), "1 run cannot cover"),
        (("--options", "a", "--quantiles", "x"), "is not a percentage"),
        (("--options", "a", "--quantiles", "1"), "'1' is not a percentage from 0 to below 100 %"),
        (("--options", "a", "--margin", "0"), "margin"),
        (("--options", "a", "--against", "nothing.csv"), "nothing.csv"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line_or_three(
    hati: Hati, fake_project: Path, words: tuple[str, ...], said: str
) -> None:
    done = hati("suite", ".", "--metric", "latency", *words)
    assert done.status == 2
    assert said in done.err
    assert len(done.err.strip().splitlines()) <= 3
