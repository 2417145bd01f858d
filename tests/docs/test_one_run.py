"""The functions that the page on one run's way names are called, in its order."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from hati.cli import main

PAGE = Path(__file__).parent.parent.parent / "docs" / "explanation" / "one-run.md"
STEP = re.compile(r"^\| (\d+) \|.*\| `([\w.]+)` \| [\w ]+ \|$", re.MULTILINE)
PROJECT = """
[subject]
name = "four"

[[benchmark]]
name = "main"
command = ["sh", "-c", "echo time: 1{a}"]
reader = "regex"
metric = [{ name = "time", unit = "s", pattern = "time: ([0-9]+)" }]

[options.a]
settings = [1, 2]

[options.b]
settings = [1, 2]
"""


def test_a_screening_takes_this_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    (tmp_path / "hati.toml").write_text(PROJECT)
    monkeypatch.chdir(tmp_path)
    steps = STEP.findall(PAGE.read_text())
    assert [int(number) for number, _ in steps] == list(range(1, 13))
    called: dict[CodeType, str] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code not in called:
            module = str(frame.f_globals.get("__name__", "")).removeprefix("hati.")
            called[frame.f_code] = f"{module}.{frame.f_code.co_qualname}"

    sys.setprofile(note)
    try:
        assert main(["screen", "--budget", "8"]) == 0
    finally:
        sys.setprofile(None)
    names = [name for _, name in steps]
    assert [name for name in called.values() if name in set(names)] == names
