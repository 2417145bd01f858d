"""``hati design --optimal``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from nested_options import PROJECT, run


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "hati.toml").write_text(PROJECT)
    return tmp_path


@pytest.mark.parametrize("criterion", ["D", "I", "bayes"])
def test_json_holds_what_was_promised(project: Path, criterion: str) -> None:
    status, text = run(str(project), "--optimal", criterion, "--runs", "14", "--format", "json", "--seed", "3")
    made = json.loads(text)
    assert status == 0
    assert {"d_efficiency", "terms", "largest_standard_error", "seconds", "runs"} <= made.keys()
    assert len(made["runs"]) == 14
    assert all(("b" in each) == each["a"] for each in made["runs"])
    assert made["terms"] == ["a", "b", "c", "d"]
    again = json.loads(run(str(project), "--optimal", criterion, "--runs", "14", "--format", "json", "--seed", "3")[1])
    assert again["runs"] == made["runs"]


def test_csv_can_be_augmented(project: Path) -> None:
    runs = project / "runs.csv"
    assert run(str(project), "--optimal", "D", "--runs", "8", "--format", "csv", "-o", str(runs))[0] == 0
    words = [str(project), "--optimal", "D", "--order", "2", "--runs", "10", "--augment", str(runs), "--format", "json"]
    made = json.loads(run(*words)[1])
    assert (made["augmented"], len(made["runs"])) == (8, 18)
    assert "a:c" in made["terms"]
    assert "c:d" in made["dropped"]


def test_text_names_what_counts(project: Path) -> None:
    status, text = run(str(project), "--optimal", "bayes", "--runs", "12", "--format", "markdown")
    assert status == 0
    assert "D-efficiency" in text
    assert "Potential terms" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--optimal", "D"], "needs a space and a size"),
        (["--optimal", "D", "--runs", "4", "--resolution", "4"], "leave the other options out"),
        (["--runs", "4", "--order", "2"], "--order and --augment are of optimal designs"),
        (["--optimal", "D", "--runs", "3"], "cannot fit the 6 parameters"),
        (["--optimal", "D", "--runs", "3", "--augment", "/nowhere.csv"], "cannot be read"),
    ],
)
def test_what_cannot_be_asked(project: Path, words: list[str], message: str) -> None:
    status, text = run(str(project), *words)
    assert status != 0
    assert message in text
