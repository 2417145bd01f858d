"""``hati compare`` of two benchmarks that are measured now, from outside."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Hati = Callable[..., Any]

SUBJECT = """
import json, random, sys
settings = dict(word.split("=") for word in sys.argv[1:])
if settings.get("broken") == "yes":
    sys.exit("no licence")
rng = random.Random(" ".join(sys.argv[1:]))
mean = float(settings["mean"]) * (1.2 if settings["cache"] == "off" else 1.0)
print(json.dumps({"metric": "time", "values": [9.0, mean * rng.gauss(1, 0.005)]}))
"""

PROJECT = """
[subject]
name = "tiny"
[options.cache]
settings = ["on", "off"]
argument = "cache={}"
[options.broken]
settings = ["no", "yes"]
argument = "broken={}"
"""

BENCHMARK = """
[[benchmark]]
name = "NAME"
command = ["PYTHON", "-S", "subject.py", "mean=MEAN", "n={repetition}", "side=NAME"]
warmup = 1
[[benchmark.metric]]
name = "time"
unit = "s"
"""


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """Three benchmarks, of which one takes a tenth longer, and an option that costs a fifth."""
    means = {"old": "0.010", "new": "0.011", "alike": "0.010"}
    benchmarks = (BENCHMARK.replace("NAME", name).replace("MEAN", mean) for name, mean in means.items())
    (tmp_path / "hati.toml").write_text(PROJECT + "".join(benchmarks).replace("PYTHON", sys.executable))
    (tmp_path / "subject.py").write_text(SUBJECT)
    return tmp_path


def test_two_benchmarks_are_measured_until_it_is_decided(hati: Hati, tiny: Path) -> None:
    done = hati("compare", "old", "new", "--alpha", "0.1")
    assert done.status == 1, done.err
    assert done.out.startswith("new against old\n")
    assert next(line for line in done.out.splitlines() if line.startswith("time")).endswith("slower")
    assert "10 runs done, 0 failed" in done.out
    again = hati("compare", "old", "new", "--alpha", "0.1")
    assert again.out == done.out
    assert "was measured before; --fresh measures again" in again.err
    assert len(hati("runs", "--format", "json").json) == 10


def test_json_has_what_a_comparison_of_files_has_and_how_it_was_measured(hati: Hati, tiny: Path) -> None:
    (found,) = hati("compare", "old", "alike", "--format", "json", "--seed", "5").json
    assert found["verdict"] == "same"
    assert set(found) >= {
        *("benchmark", "metric", "unit", "verdict", "ratio", "interval", "p_value", "detectable", "runs_needed"),
        *("estimate", "q_value", "before", "after", "alpha", "margin", "statistic"),
    }
    assert (found["stopping"], found["pairs"], found["looks"], found["seed"]) == ("anytime", 8, 1, 5)
    assert 0.0 < found["e_value"] < 100.0
    assert found["before"]["benchmark"] == "old"
    assert found["runs"] == {"done": 16, "failed": 0}


def test_one_benchmark_with_two_settings(hati: Hati, tiny: Path) -> None:
    done = hati("compare", "old", "old", "--set-after", "cache=off", "--stop", "fixed", "--budget", "10")
    assert done.status == 1
    assert done.out.startswith("cache=off against cache=on\n")
    assert "10 runs done" in done.out
    better = hati(
        "compare", "old", "old", "--set-before", "cache=off", "--set", "cache=on", "--alpha", "0.1", "--format", "json"
    )
    assert better.status == 0
    assert better.json[0]["verdict"] == "faster"


def test_what_is_undecided_has_a_status_of_its_own_and_goes_on(hati: Hati, tiny: Path) -> None:
    asked = ("compare", "old", "alike", "--margin", "0.1%", "--alpha", "0.1")
    few = hati(*asked, "--budget", "10")
    assert few.status == 3
    assert " 5 of " in few.out
    assert hati(*asked, "--budget", "14", "--format", "json").json[0]["pairs"] == 7
    assert len(hati("runs", "--format", "json").json) == 14


def test_a_dry_run_shows_the_tasks_and_measures_nothing(hati: Hati, tiny: Path) -> None:
    planned = hati("compare", "old", "new", "--dry-run", "--format", "json").json
    assert len(planned) == 64
    assert {planned[0]["stage"], planned[1]["stage"]} == {"before", "after"}
    assert hati("runs", "--format", "json").json == []


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (("old", "newer"), 2, "'newer' is no file, and no benchmark of hati.toml; did you mean 'new'?"),
        (("old", "new", "--metric", "memory"), 2, "no metric 'memory' in common; they share time"),
        (("old", "new", "--budget", "8"), 2, "8 are the fewest that can decide at alpha 0.01; give --budget 16"),
        (("old", "new", "--set-after", "cash=on"), 2, "cash"),
        (("old", "old", "--set-after", "broken=yes"), 4, "no licence"),
        (("hati.toml", "old", "--budget", "8"), 2, "--budget is for benchmarks that are measured now"),
        (("old", "new", "--tests"), 2, "--tests is for files of samples"),
        (("old", "new", "--project", "elsewhere"), 2, "old"),
    ],
)
def test_what_is_refused(hati: Hati, tiny: Path, words: tuple[str, ...], status: int, message: str) -> None:
    done = hati("compare", *words)
    assert (done.status, done.out) == (status, "")
    assert message in done.err
    assert "Traceback" not in done.err


def test_markdown_and_junit(hati: Hati, tiny: Path) -> None:
    command = ("compare", "old", "new", "--alpha", "0.1")
    assert "| time |" in hati(*command, "--format", "markdown").out
    assert '<failure message="slower: ' in hati(*command, "--format", "junit").out
    hati(*command, "--format", "json", "--output", "found.json")
    assert json.loads((tiny / "found.json").read_text())[0]["pairs"] == 5
