"""What Hati wrote into the folder is no change of the subject."""

from __future__ import annotations

from pathlib import Path

from hati.subject import directory_revision, remember_output


def test_a_remembered_output_does_not_change_the_revision(tmp_path: Path) -> None:
    (tmp_path / ".hati").mkdir()
    (tmp_path / "subject.py").write_text("1")
    before = directory_revision(tmp_path)
    report = tmp_path / "answer.json"
    report.write_text("{}")
    assert directory_revision(tmp_path) != before
    remember_output(tmp_path, report)
    remember_output(tmp_path, report)
    assert directory_revision(tmp_path) == before
    report.write_text("changed")
    assert directory_revision(tmp_path) == before
    assert (tmp_path / ".hati" / "outputs").read_text() == "answer.json\n"


def test_what_is_in_hatis_own_folder_need_not_be_remembered(tmp_path: Path) -> None:
    (tmp_path / ".hati").mkdir()
    remember_output(tmp_path, tmp_path / ".hati" / "store.sqlite")
    assert not (tmp_path / ".hati" / "outputs").exists()


def test_a_file_elsewhere_is_none_of_its_business(tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / ".hati").mkdir(parents=True)
    remember_output(root, tmp_path / "elsewhere.json")
    assert not (root / ".hati" / "outputs").exists()


def test_the_project_file_is_not_the_subject(tmp_path: Path) -> None:
    (tmp_path / "subject.py").write_text("1")
    before = directory_revision(tmp_path)
    (tmp_path / "hati.toml").write_text("# a comment")
    assert directory_revision(tmp_path) == before
