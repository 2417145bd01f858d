"""What Hati wrote into the folder is no change of the subject."""

from __future__ import annotations

import subprocess
from hashlib import sha256
from pathlib import Path

import pytest

from hati.subject import directory_revision, remember_output, remember_store
from hati.subject.revision import tree_files


def git(root: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True)


@pytest.fixture
def tracked(tmp_path: Path) -> Path:
    """A file that git tracks in a project."""
    (tmp_path / ".hati").mkdir()
    (tmp_path / ".hati" / ".gitignore").write_text("*")
    (tmp_path / "bench.py").write_text("1")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message", "first")
    return tmp_path / "bench.py"


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
    assert (tmp_path / ".hati" / "outputs").read_text() == f"{sha256(b'{}').hexdigest()}  answer.json\n"


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


def test_a_tracked_file_that_was_restored_is_the_subjects(tracked: Path) -> None:
    root = tracked.parent
    before = directory_revision(root)
    tracked.write_text("{}")
    remember_output(root, tracked)
    assert tracked.relative_to(root) not in tree_files(root)
    git(root, "checkout", "--quiet", "bench.py")
    assert directory_revision(root) == before
    assert tracked.relative_to(root) in tree_files(root)


def test_a_tracked_file_that_was_listed_before_contents_were_is_the_subjects(tracked: Path) -> None:
    (tracked.parent / ".hati" / "outputs").write_text("bench.py\nreport.json\n")
    (tracked.parent / "report.json").write_text("{}")
    assert tree_files(tracked.parent) == [Path("bench.py")]


def test_a_store_that_git_tracks_is_none_of_the_subject(tracked: Path) -> None:
    root, store = tracked.parent, tracked.with_name("store.sqlite")
    before = directory_revision(root)
    store.write_text("a run")
    remember_store(root, store)
    git(root, "add", "--all")
    store.write_text("two runs")
    assert directory_revision(root) == before
