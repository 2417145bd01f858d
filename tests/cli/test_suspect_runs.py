"""``hati screen`` of a subject that is far off once: the run is repeated, named, and replaced by the median."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

Hati = Callable[..., Any]

NAMES = "abcdefg"
SUBJECT = """
import json, pathlib, sys
calls = pathlib.Path(__file__).parent.with_name("calls")
calls.write_text(calls.read_text() + "." if calls.exists() else ".")
call = len(calls.read_text())
settings = dict(word.split("=") for word in sys.argv[1:])
latency = 0.010
latency *= 1.10 if settings["a"] == "on" else 1.0
latency *= 0.92 if settings["b"] == "on" else 1.0
noise = (call * 37 % 101) / 101 - 0.5
far_off = 30 if call == FAR_OFF else 1
print(json.dumps({"metric": "latency", "value": far_off * latency * (1 + 0.01 * noise)}))
"""
PROJECT = """
[subject]
name = "fake"

[[benchmark]]
name = "main"
command = ["PYTHON", "-S", "subject.py"]
reader = "hati"
timeout = "20s"

[[benchmark.metric]]
name = "latency"
unit = "s"
""" + "".join(f'\n[options.{name}]\nsettings = ["off", "on"]\nargument = "{name}={{}}"\n' for name in NAMES)


def written(folder: Path, far_off: int) -> Path:
    """A project whose subject is far off at one call; calls are counted beside it."""
    folder = folder / "project"
    folder.mkdir()
    (folder / "hati.toml").write_text(PROJECT.replace("PYTHON", sys.executable))
    (folder / "subject.py").write_text(SUBJECT.replace("FAR_OFF", str(far_off)))
    return folder


@pytest.mark.acceptance
@pytest.mark.parametrize(
    "design",
    [("--budget", "48"), ("--budget", "34", "--runs", "32"), ("--budget", "32")],
    ids=["default", "asked", "small"],
)
def test_a_run_that_is_far_off_is_repeated_and_named(hati_here: Hati, tmp_path: Path, design: tuple[str, ...]) -> None:
    folder = written(tmp_path, far_off=9)
    done = hati_here("screen", ".", *design, "--seed", "1", "--format", "json", folder=folder)
    assert done.status == 0, done.err
    (suspect,) = done.json["suspects"]
    assert suspect["order"] == 8
    assert suspect["configuration"].keys() == set(NAMES)
    assert suspect["value"] > 20 * suspect["used"]
    assert len(suspect["fresh"]) == 2
    assert suspect["used"] in suspect["fresh"]
    assert {*done.json["important"], *done.json["important_or_aliased"]} == {"a", "b"}
    assert done.json["robust"] is None
    assert len((tmp_path / "calls").read_text()) <= int(design[1])
    text = hati_here("report", ".", folder=folder).out
    assert "1 suspect run was repeated, and the median used in its place." in " ".join(text.split())
    again = hati_here("screen", ".", *design, "--seed", "1", "--format", "json", folder=folder)
    assert again.json == done.json


def test_a_validation_misses_no_run_that_gave_its_place_to_a_suspect_one(hati_here: Hati, tmp_path: Path) -> None:
    folder = written(tmp_path, far_off=9)
    done = hati_here("screen", ".", "--budget", "32", "--seed", "1", "--format", "json", folder=folder)
    assert len(done.json["suspects"]) == 1
    followed = hati_here("validate", ".", "--budget", "4", "--format", "json", folder=folder)
    assert followed.status == 0, followed.err
    assert not any("never made" in warning for warning in followed.json["warnings"])


def test_without_a_suspect_run_none_is_repeated(hati_here: Hati, tmp_path: Path) -> None:
    folder = written(tmp_path, far_off=0)
    done = hati_here("screen", ".", "--budget", "32", "--seed", "1", "--format", "json", folder=folder)
    assert (done.json["suspects"], done.json["runs"]["done"]) == ([], 32)
    assert set(done.json["important"]) == {"a", "b"}


@pytest.mark.acceptance
def test_where_no_budget_is_left_a_robust_fit_is_shown_beside(hati_here: Hati, tmp_path: Path) -> None:
    folder = written(tmp_path, far_off=9)
    done = hati_here("screen", ".", "--budget", "32", "--runs", "32", "--seed", "1", folder=folder)
    said = " ".join(done.out.split())
    assert "1 run is suspect: a robust fit also shows a, b." in said
    assert "--fresh with 2 runs more in the budget" in said


def test_on_a_table_the_verdict_says_where_a_robust_fit_differs(hati_here: Hati, tmp_path: Path) -> None:
    rows, noise = [], Random(1)
    for place, row in enumerate(product((0, 1), repeat=6)):
        value = 0.010 * 1.1 ** row[0] * 0.92 ** row[1] * noise.lognormvariate(0.0, 0.01) * (30 if place == 37 else 1)
        rows.append(f"{','.join(map(str, row))},{value!r}\n")
    (tmp_path / "t.csv").write_text("a,b,c,d,e,f,latency\n" + "".join(rows))
    assert hati_here("space", "import", "t.csv", "--output", "hati.toml").status == 0
    table = ("t.csv", "--space", "hati.toml", "--metric", "latency", "--budget", "64")
    done = hati_here("screen", *table, "--format", "json")
    assert done.status == 0, done.err
    assert done.json["important"] == []
    assert done.json["robust"] == {"shown": ["a", "b"], "added": ["a", "b"], "lost": [], "differs": True}
    (suspect,) = done.json["suspects"]
    assert (suspect["used"], suspect["fresh"]) == (None, [])
    assert list(suspect["configuration"].values()) == [1, 0, 0, 1, 0, 1]
