"""`hati history` from a file to its answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hati.cli import main

Hati = Callable[..., Any]


@dataclass(frozen=True)
class Done:
    """What became of a command."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def hati(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Hati:
    """Runs the program's function in the test's folder: a process for each command would take longer than its work."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments: str) -> Done:
        capfd.readouterr()
        return Done(main(arguments), *capfd.readouterr())

    return run


def recorded(folder: Path, size: int = 120, step: float = 1.5) -> Path:
    noise = np.random.default_rng(3).normal(size=size)
    rows = [f"r{place:03d},{20.0 + 0.4 * noise[place] + step * (place >= 80):.4f}\n" for place in range(size)]
    file = folder / "series.csv"
    file.write_text("revision,latency (ms)\n" + "".join(rows))
    return file


def test_a_step_in_a_file_is_told(tmp_path: Path, hati: Hati) -> None:
    recorded(tmp_path)
    found = hati("history", "series.csv", "--format", "json")
    assert found.status == 0
    assert {"change_points", "trend", "warnings", "detectable"} <= set(found.json)
    (change,) = found.json["change_points"]
    assert {"index", "before", "after", "interval", "p_value"} <= set(change)
    assert change["index"] == 80
    assert change["position"] == "r080"
    assert change["unit"] == "ms"
    assert change["verdict"] == "slower"
    assert change["interval"][0] < 1.5 < change["interval"][1]

    text = hati("history", "series.csv")
    assert text.out.splitlines()[-1].startswith("answer  Slower by ")
    assert "in the middle is found with 80 % power" in text.out
    markdown = hati("history", "series.csv", "--format", "markdown", "--better", "higher")
    assert "## the history of latency" in markdown.out
    assert "**Faster by " in markdown.out

    assert hati("history", "series.csv", "--output", "found.txt").out == ""
    assert (tmp_path / "found.txt").read_text() == text.out


def test_several_series_are_a_list(tmp_path: Path, hati: Hati) -> None:
    noise = np.random.default_rng(4).normal(size=(2, 60))
    rows = [
        f"{place},{name},{10 + noise[number, place] + (8 if name == 'b' and place >= 30 else 0)}\n"
        for place in range(60)
        for number, name in enumerate("ab")
    ]
    (tmp_path / "s.csv").write_text("position,benchmark,value\n" + "".join(rows))
    found = hati("history", "s.csv", "--format", "json").json["series"]
    assert [(one["benchmark"], len(one["change_points"])) for one in found] == [("a", 0), ("b", 1)]
    assert [one["alpha"] for one in found] == [0.025, 0.025]
    one = hati("history", "s.csv", "--where", "benchmark=b", "--format", "json", "--baseline", "40").json
    assert one["benchmark"] == "b"
    assert one["trend"]["baseline"] == "40"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("none.csv",), "none.csv: there is no such file"),
        (("series.csv", "--metric", "latncy"), "did you mean 'latency (ms)'?"),
        (("series.csv", "--alpha", "0"), "--alpha 0 finds nothing"),
        (("series.csv", "--alpha", "much"), "'much' is no share"),
        (("series.csv", "--baseline", "r999"), "there is no position 'r999' to pin the baseline to"),
        (("series.csv", "--where", "machine=a"), "there is no column 'machine'"),
        (("short.csv",), "the series has 3 values; a change can be found from 8 values on"),
        (("series.csv", "--output", "no/such/folder.txt"), "cannot be written"),
    ],
)
def test_what_is_wrong_ends_with_2(tmp_path: Path, hati: Hati, arguments: tuple[str, ...], said: str) -> None:
    recorded(tmp_path)
    (tmp_path / "short.csv").write_text("position,value\n1,2\n2,3\n3,4\n")
    found = hati("history", *arguments)
    assert found.status == 2
    assert said in found.err.replace("\n", " ")
    assert "Traceback" not in found.err
