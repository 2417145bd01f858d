"""examples/history, for real: what its commits did is told rightly, in every try."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks import history_example
from benchmarks.history_example import COUNTED, RIGHT, tried

pytestmark = pytest.mark.acceptance

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "history"
HATI = str(Path(sys.executable).with_name("hati"))
PAGE = (EXAMPLE / "README.md").read_text()
VERDICTS = dict(re.findall(r"^\|.*\| `([^`]+)` \| (HOLDS|VIOLATED|INCONCLUSIVE) \|$", PAGE, re.MULTILINE))
COMMANDS = [
    line for block in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL) for line in block.splitlines()
]
TRIES = 3


def typed(command: str, folder: Path) -> str:
    """What a command of the page prints, with another place for the repository."""
    programs = {"python3": sys.executable, "hati": HATI}
    program, *words = shlex.split(command.replace("/tmp/documents", str(folder)))
    done = subprocess.run([programs[program], *words], cwd=EXAMPLE, capture_output=True, text=True, check=True)
    return done.stdout


def test_the_commands_of_the_page_give_its_verdicts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HATI_LOCK", str(tmp_path / "lock"))
    made, counted, timed = COMMANDS
    typed(made, tmp_path / "documents")
    told = json.loads(typed(f"{counted} --format json", tmp_path / "documents"))["formulas"]
    assert {each["formula"]: each["verdict"] for each in told} == VERDICTS
    foreseen = json.loads(typed(f"{timed} --dry-run --format json", tmp_path / "documents"))
    assert foreseen["reason"] == f"6 methods in rounds, until {len(VERDICTS)} formulas are decided"


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
