"""examples/fig12, for real: the days that changed are found, with the last day's strata, as the benchmark says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.fig12 import CELLS, days, right, silent, tried
from examples.fig12.make_repository import make_repository

pytestmark = pytest.mark.acceptance

HATI = str(Path(sys.executable).with_name("hati"))
TRIES = 3
QUIET_TRIES = 20


def test_the_command_finds_the_days_and_the_strata(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HATI_LOCK", str(tmp_path / "lock"))
    make_repository(tmp_path / "days")
    words = [HATI, "history", "--revisions", "day-1..day-10", "--format", "json"]
    done = subprocess.run(words, cwd=tmp_path / "days", capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout)
    line = ["git", "log", "--reverse", "--format=%H"]
    commits = subprocess.run(line, cwd=tmp_path / "days", capture_output=True, text=True, check=True).stdout.split()
    names = {commit[:12]: f"day-{number + 1}" for number, commit in enumerate(commits)}
    for series in answer["series"]:
        for change in series["change_points"]:
            change["position"] = names[change["position"]]
    for affected in answer["affected"]:
        affected["position"] = names[affected["position"]]
    assert right(answer)
    simulated = tried(1, unchanged=False)
    for stratum in ({}, *(dict(cell.stratum) for cell in CELLS)):
        assert days(answer, stratum) == days(simulated, stratum)


def test_changes_are_found_and_nothing_else() -> None:
    for seed in range(1, TRIES + 1):
        assert right(tried(seed, unchanged=False))
    loud = sum(not silent(tried(seed, unchanged=True)) for seed in range(1, QUIET_TRIES + 1))
    assert loud <= 0.05 * QUIET_TRIES


def test_the_script_builds_a_repository_once(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "examples.fig12.make_repository", str(tmp_path / "days")]
    root = Path(__file__).resolve().parents[2]
    assert subprocess.run(command, cwd=root, check=False).returncode == 0
    again = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert again.returncode == 1
    assert "name a folder that does not" in again.stderr
