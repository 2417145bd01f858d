"""``hati design --covering``."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import pytest
from nested_options import PROJECT, run


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "hati.toml").write_text(PROJECT)
    return tmp_path


def test_all_pairs_occur_and_runs_of_a_file_are_kept(project: Path) -> None:
    status, text = run(str(project), "--covering", "2", "--format", "json")
    made = json.loads(text)
    assert status == 0
    pairs = {
        (names, tuple(each.get(name) for name in names)) for each in made["runs"] for names in combinations("abcd", 2)
    }
    # a:b 4, a:c and a:d 4 each, b:c and b:d 8 each, c:d 3
    assert made["covered"] == made["valid"] == len(pairs) == 4 + 2 * 4 + 2 * 8 + 3
    assert made["invalid"] == 4 + 1
    csv = project / "runs.csv"
    assert run(str(project), "--covering", "2", "--format", "csv", "--output", str(csv))[0] == 0
    again = json.loads(run(str(project), "--covering", "3", "--augment", str(csv), "--format", "json")[1])
    assert again["augmented"] == len(made["runs"])
    assert again["runs"][: len(made["runs"])] == made["runs"]
    status, text = run(str(project), "--covering", "3", "--augment", str(csv), "--format", "markdown")
    assert "runs were given; they lack" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--covering", "2"], "give its PATH"),
        ([".", "--covering", "2", "--runs", "8"], "leave the other options out"),
        ([".", "--covering", "2", "--optimal", "D"], "leave the other options out"),
        ([".", "--covering", "2", "--augment", "/nowhere.csv"], "cannot be read"),
    ],
)
def test_what_cannot_be_asked(project: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str) -> None:
    monkeypatch.chdir(project)
    status, text = run(*words)
    assert status != 0
    assert message in text
