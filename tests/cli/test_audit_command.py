"""``hati audit`` from outside."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Hati = Callable[..., Any]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    draw = random.Random(1)
    samples = [
        {
            "benchmark": name,
            "metric": "time",
            "unit": "s",
            "better": "lower",
            "runs": [{"warmup": 1, "observations": [9.0, draw.gauss(1.0, 0.02)]} for _ in range(runs)],
        }
        for name, runs in (("one", 8), ("two", 9), ("few", 3))
    ]
    (tmp_path / "a.json").write_text(json.dumps({"format": "hati-samples-1", "samples": samples}))
    (tmp_path / "few.json").write_text(json.dumps({"format": "hati-samples-1", "samples": samples[2:]}))
    (tmp_path / "bad.json").write_text('{"format": "hati-samples-1", "samples": [{}]}')
    return tmp_path


def test_an_audit_is_told(hati: Hati, files: Path) -> None:
    done = hati("audit", "a.json", "--splits", "5")
    assert done.status == 0, done.err
    assert "5 times random halves of the runs of 2 benchmarks, 4 and 4 runs" in done.out
    assert "of 10 comparisons" in done.out
    assert any(line.startswith("one ") for line in done.out.splitlines())
    assert "left out: few" in " ".join(done.out.split())
    assert "\n\nFalse alarms: " in done.out


def test_json_and_markdown(hati: Hati, files: Path) -> None:
    found = hati("audit", "a.json", "--splits", "20", "--alpha", "0.05", "--seed", "7", "--format", "json").json
    assert (found["splits"], found["comparisons"], found["seed"], found["alpha"]) == (20, 40, 7, 0.05)
    low, high = found["interval"]
    assert 0.0 <= low <= found["false_alarm_rate"] <= high <= 1.0
    assert found["false_alarm_rate"] == pytest.approx((found["slower"] + found["faster"]) / 40)
    assert 0.0 < found["detectable_80"] < 1.0
    assert [row["runs"] for row in found["benchmarks"]] == [4, 4]
    assert found["left_out"] == [{"benchmark": "few", "runs": 3}]
    assert found["in_time"]["order"] == "file"
    told = hati("audit", "a.json", "--splits", "5", "--format", "markdown", "--output", "a.md")
    assert (told.status, told.out) == (0, "")
    assert "| one |" in (files / "a.md").read_text()
    one = hati("audit", "a.json", "--benchmark", "two", "--splits", "5", "--format", "json").json
    assert [row["benchmark"] for row in one["benchmarks"]] == ["two"]


def test_runs_are_measured_now(hati: Hati, fake_project: Path) -> None:
    plan = hati("audit", ".", "--budget", "6", "--dry-run", "--format", "json").json
    assert len(plan["tasks"]) == 6
    done = hati("audit", "--budget", "6", "--splits", "5", "--metric", "latency", "--format", "json")
    assert done.status == 0, done.err
    (row,) = done.json["benchmarks"]
    assert (row["benchmark"], row["metric"], row["runs"]) == ("main", "latency", 3)
    assert done.json["in_time"]["order"] == "started"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("few.json",), "no benchmark has the 4 runs that two halves take: the most are 3"),
        (("none.json",), "none.json"),
        (("bad.json",), "bad.json"),
        ((), "there is no hati.toml here"),
        (("a.json", "--splits", "0"), "an audit takes 1 to 10,000 splits"),
        (("a.json", "--metric", "memory"), "a.json has no samples of the metric 'memory'"),
        (("a.json", "--benchmark", "three"), "a.json has no benchmark 'three'"),
        (("a.json", "--alpha", "0"), "alpha is a probability"),
        (("a.json", "--margin", "200%"), "percentage"),
        (("a.json", "--output", "no/where"), "cannot be written"),
    ],
)
def test_what_is_refused(hati: Hati, files: Path, words: tuple[str, ...], message: str) -> None:
    done = hati("audit", *words)
    assert (done.status, done.out) == (2, "")
    assert message in done.err
    assert "Traceback" not in done.err
