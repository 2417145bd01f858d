"""examples/history, for real: what its commits did is told rightly, in every try."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks import history_example
from benchmarks.history_example import COUNTED, RIGHT, tried

# Instructions are counted, so that two may run at once.
pytestmark = [pytest.mark.acceptance, pytest.mark.statistical]

ROOT = Path(__file__).resolve().parents[2]
TRIES = 3


def test_a_slowdown_an_improvement_and_no_change_are_told_apart(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HATI_LOCK", str(tmp_path / "lock"))
    for seed in range(1, TRIES + 1):
        assert tried(COUNTED, seed).verdicts == RIGHT


def test_the_benchmark_counts_what_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = history_example.Try({**RIGHT, "tidying costs nothing": "INCONCLUSIVE"}, 54, 20.0)
    late = history_example.Try(RIGHT, 54, 120.0)
    good = history_example.Try(RIGHT, 54, 20.0)
    for tries, held in (([good] * 19 + [wrong], True), ([good] * 18 + [wrong, late], False)):
        left = iter([*tries, *tries])
        monkeypatch.setattr(history_example, "tried", lambda *_, left=left: next(left))
        text, told = history_example.result()
        assert told is held
        assert f"**{tries.count(good)} of 20**" in text


def test_the_script_makes_a_repository_once(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "examples/history/make_repository.py"), str(tmp_path / "made")]
    first = subprocess.run(command, capture_output=True, text=True, check=True)
    assert first.stdout == "commits: begin, filter-lists, profiled, tidied, standard\n"
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode == 1
    assert "not there yet" in again.stderr
