"""``hati compare`` of two benchmarks that are measured now, from outside."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

Hati = Callable[..., Any]

SUBJECT = """
import json, sys
settings = dict(word.split("=") for word in sys.argv[1:])
if settings.get("broken") == "yes":
    sys.exit("no licence")
noise = sum(ord(c) * (i + 7) * 37 for i, c in enumerate(" ".join(sys.argv[1:]))) % 97 / 97 - 0.5
mean = float(settings["mean"]) * (1.2 if settings["cache"] == "off" else 1.0)
print(json.dumps({"metric": "time", "values": [9.0, mean * (1 + 0.01 * noise)]}))
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
    first = next(line for line in done.out.splitlines() if line.startswith("time"))
    assert re.match(r"time +\+\S+ % +\+\S+ to \+\S+ % +slower +", first), first
    assert "10 runs done, 0 failed" in done.out
    again = hati("compare", "old", "new", "--alpha", "0.1", "--format", "junit", "--output", "found.xml")
    assert "was measured before; --fresh measures again" in again.err
    written = (tiny / "found.xml").read_text()
    assert '<failure message="slower: ' in written
    suite = ET.fromstring(written)
    taken = sum(run["took"] for run in hati("runs", "--format", "json").json)
    assert float(suite.get("time", "0")) == pytest.approx(taken, abs=0.002)


def test_json_has_what_a_comparison_of_files_has_and_how_it_was_measured(hati: Hati, tiny: Path) -> None:
    (found,) = hati("compare", "old", "alike", "--format", "json", "--seed", "5").json
    assert found["verdict"] == "same"
    assert set(found) >= {
        *("benchmark", "metric", "unit", "verdict", "ratio", "interval", "p_value", "detectable", "runs_needed"),
        *("estimate", "q_value", "before", "after", "alpha", "margin", "statistic", "clusters"),
    }
    assert (found["stopping"], found["pairing"], found["seed"]) == ("anytime", "interleaved", 5)
    assert (found["pairs"], found["looks"]) == (8, 1)
    assert 0.0 < found["e_value"] < 100.0
    assert found["before"]["benchmark"] == "old"
    assert found["runs"] == {"done": 16, "failed": 0}


@pytest.mark.acceptance
def test_one_benchmark_with_two_settings_and_a_fixed_number(hati: Hati, tiny: Path) -> None:
    words = ("--set-before", "cache=off", "--set", "cache=on", "--stop", "fixed", "--budget", "8")
    done = hati("compare", "old", "old", *words, "--format", "markdown")
    assert done.status == 0
    assert "cache=on against cache=off" in done.out
    assert "| faster |" in done.out
    assert "8 runs done" in done.out


@pytest.mark.acceptance
def test_what_is_undecided_has_a_status_of_its_own_and_goes_on(hati: Hati, tiny: Path) -> None:
    asked = ("compare", "old", "alike", "--margin", "0.1%", "--alpha", "0.1")
    few = hati(*asked, "--budget", "10")
    assert few.status == 3
    assert " 5 of " in few.out
    more = hati(*asked, "--budget", "14", "--format", "json").json[0]
    assert (more["pairs"], more["runs"]["done"]) == (7, 14)


@pytest.mark.acceptance
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")
def test_a_duet(hati: Hati, tiny: Path) -> None:
    done = hati("compare", "old", "new", "--duet", "--alpha", "0.1")
    assert done.status == 1, done.err
    assert "run at the same time, each on one of two cores at random" in " ".join(done.out.split())
    assert "10 runs done, 0 failed" in done.out


def test_a_dry_run_shows_the_tasks_and_measures_nothing(hati: Hati, tiny: Path) -> None:
    planned = hati("compare", "old", "new", "--dry-run", "--format", "json").json["tasks"]
    assert len(planned) == 64
    assert {planned[0]["stage"], planned[1]["stage"]} == {"before", "after"}
    assert not list((tiny / ".hati").glob("work/*"))


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (("old", "newer"), 2, "'newer' is neither a file nor a benchmark of hati.toml; did you mean 'new'?"),
        (("old", "new", "--budget", "8"), 2, "8 are the fewest that can decide at alpha 0.01; give --budget 16"),
        (("old", "old", "--set-after", "broken=yes"), 4, "no licence"),
        (("hati.toml", "old", "--stop", "fixed"), 2, "--stop is for benchmarks that are measured now"),
        (("old", "new", "--interval", "bootstrap"), 2, "--interval is for files of samples"),
        (("old", "new", "--tests"), 2, "--tests is for files of samples"),
    ],
)
def test_what_is_refused(hati: Hati, tiny: Path, words: tuple[str, ...], status: int, message: str) -> None:
    done = hati("compare", *words)
    assert (done.status, done.out) == (status, "")
    assert message in done.err
    assert "Traceback" not in done.err


def test_folders_that_are_called_like_benchmarks_are_not_meant(hati: Hati, tiny: Path) -> None:
    for name in ("old", "new"):
        (tiny / name).mkdir()
    assert hati("compare", "old", "new", "--dry-run").status == 0
    assert "old" in hati("compare", "./old", "./new").err
    assert hati("compare", "./old", "./new").status == 2


def test_a_benchmark_without_runs_has_an_empty_list(hati: Hati, tiny: Path) -> None:
    assert hati("run", "--benchmark", "old", "--budget", "1").status == 0
    done = hati("runs", "--benchmark", "new", "--format", "json")
    assert (done.status, done.json) == (0, [])
    assert "note: the store has no runs of the benchmark new yet" in done.err
    assert "there is no study nope" in hati("runs", "--benchmark", "new", "--study", "nope").err
    unknown = hati("runs", "--benchmark", "nwe", "--format", "json")
    assert (unknown.status, unknown.out) == (2, "")
    assert "the store has no runs of a benchmark 'nwe'" in unknown.err


STALLED = """
import json, random, sys
settings = dict(word.split("=") for word in sys.argv[1:])
rng = random.Random(" ".join(sys.argv[1:]))
stalls = rng.random() * 0.2
values = [float(settings["mean"]) * rng.gauss(1, 0.01) * (9 if rng.random() < stalls else 1) for _ in range(40)]
print(json.dumps({"metric": "time", "values": values}))
"""


@pytest.mark.acceptance
def test_the_statistic_is_chosen_from_stored_runs_and_kept(hati: Hati, tiny: Path) -> None:
    """Means of stalled runs differ by tens of percent, their medians hardly."""
    (tiny / "subject.py").write_text(STALLED)
    first = hati("compare", "old", "new", "--budget", "40", "--format", "json").json[0]
    assert first["statistic_choice"]["basis"] == "default"
    assert hati("run", "--benchmark", "old", "--budget", "12").status == 0
    done = hati("compare", "old", "new", "--seed", "2", "--budget", "60")
    assert "slower" in next(line for line in done.out.splitlines() if line.startswith("time"))
    text = " ".join(done.out.split())
    assert "(auto, version 1)" in text
    assert "earlier sample" in text
    kept = hati("compare", "old", "new", "--seed", "2", "--format", "json").json[0]["statistic_choice"]
    assert (kept["basis"], kept["version"]) == ("history", 1)
    later = hati("compare", "old", "new", "--seed", "3", "--budget", "40", "--format", "json").json[0]
    assert later["statistic_choice"] == kept
    means = hati("compare", "old", "new", "--seed", "2", "--budget", "40", "--statistic", "mean", "--format", "json")
    assert (means.json[0]["statistic"], means.json[0]["verdict"]) == ("mean", "inconclusive")
