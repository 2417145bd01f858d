"""The examples in C++ and Go: built by their own tools, measured by their own benchmarks, compared."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.acceptance

ROOT = Path(__file__).resolve().parents[2]
HATI = str(Path(sys.executable).with_name("hati"))
RUNS = 16
REPETITIONS = 5


@pytest.fixture(autouse=True)
def lock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A lock of its own: no measured time is asserted."""
    monkeypatch.setenv("HATI_LOCK", str(tmp_path / "lock"))


def compared(name: str, folder: Path, before: str, after: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What is told of a comparison, and the samples that it rests on."""
    project = folder / name
    shutil.copytree(ROOT / "examples" / name, project, ignore=shutil.ignore_patterns(".hati"))
    command = [HATI, "compare", before, after, "--project", str(project), "--budget", str(RUNS)]
    told = subprocess.run(
        [*command, "--stop", "fixed", "--fail-on", "none", "--format", "json"],
        capture_output=True,
        text=True,
        check=True,
    )
    samples: list[dict[str, Any]] = []
    for benchmark in (before, after):
        export = [HATI, "export", str(project), "--benchmark", benchmark]
        done = subprocess.run(export, capture_output=True, text=True, check=True)
        samples += json.loads(done.stdout)["samples"]
    return json.loads(told.stdout)["comparisons"], samples


@pytest.mark.usefixtures("google_benchmark")
def test_two_sorts_in_cpp(tmp_path: Path) -> None:
    told, samples = compared("cpp", tmp_path, "insertion", "standard")
    assert [(s["benchmark"], s["metric"], s["unit"]) for s in samples] == [
        ("insertion", "real_time", "us"),
        ("standard", "real_time", "us"),
    ]
    for sample in samples:
        assert sample["workload"] == {"n": 2000}
        assert len(sample["runs"]) == RUNS // 2
        for run in sample["runs"]:
            assert len(run["observations"]) == REPETITIONS
            assert all(0 < value < 1e5 for value in run["observations"])
    assert len(list((tmp_path / "cpp/.hati/builds").glob("*/sorting"))) == 1
    assert len(told) == 1


@pytest.mark.usefixtures("go")
def test_two_ways_to_join_in_go(tmp_path: Path) -> None:
    told, samples = compared("go", tmp_path, "plus", "builder")
    assert {(s["metric"], s["unit"]) for s in samples} == {("time", "us/op"), ("memory", "kB/op")}
    assert len(samples) == 4
    for sample in samples:
        assert len(sample["runs"]) == RUNS // 2
        assert {len(run["observations"]) for run in sample["runs"]} == {REPETITIONS}
    verdicts = {found["metric"]: found["verdict"] for found in told}
    assert set(verdicts) == {"time", "memory"}
    assert verdicts["memory"] == "faster"
    assert not list((tmp_path / "go").glob("*.test"))
