"""What Hati wrote into a project's folder is remembered as its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from hati.subject import Revisions, remember_output
from hati.subject.files.folders import outputs


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project" / ".hati").mkdir(parents=True)
    (tmp_path / "project" / "subject.py").write_text("1")
    return tmp_path / "project"


def test_an_output_stays_out_of_all_revisions(project: Path) -> None:
    before = Revisions(project).find(".").id
    for text in ("{}", "{1}"):
        (project / "answer.json").write_text(text)
        remember_output(project / "answer.json")
    assert Revisions(project).find(".").id == before
    (project / "subject.py").write_text("2")
    changed = Revisions(project).find(".").id
    (project / "answer.json").write_text("{2}")
    assert Revisions(project).find(".").id == changed != before
    assert (project / ".hati" / "outputs").read_text() == "answer.json\n"


def test_it_is_remembered_by_the_project_around_it(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "results").mkdir()
    (project / "results" / "a b.json").touch()
    monkeypatch.chdir(project.parent)
    remember_output(Path("project/results/a b.json"))
    assert outputs(project) == {Path("results/a b.json")}


@pytest.mark.parametrize("path", ["project/.hati/store.sqlite", "elsewhere.json", "project/missing"])
def test_other_files_are_not(project: Path, path: str) -> None:
    if "missing" not in path:
        (project.parent / path).touch()
    remember_output(project.parent / path)
    assert outputs(project) == frozenset()


def test_what_earlier_versions_remembered_is_known(project: Path) -> None:
    (project / ".hati" / "outputs").write_text(f"{'0' * 64}  answer.json\nstore  runs.sqlite\nplain.txt\n")
    assert outputs(project) == {Path("answer.json"), Path("runs.sqlite"), Path("plain.txt")}
