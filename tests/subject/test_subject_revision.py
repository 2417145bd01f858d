"""A folder's content is its revision."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hati.subject import Revisions, Sources
from hati.subject.revisions.trees import Folder


def git(root: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True)


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    folder = tmp_path / "subject"
    (folder / "src").mkdir(parents=True)
    (folder / "src/main.c").write_text("int main;")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    return folder


@pytest.fixture(params=["plain", "git"])
def root(request: pytest.FixtureRequest, plain: Path) -> Path:
    if request.param == "git":
        if shutil.which("git") is None:
            pytest.skip("needs git: apt-get install git")
        git(plain, "init", "-q")
        git(plain, "add", ".")
        git(plain, "commit", "-qm", "first")
    return plain


def revision(root: Path) -> str:
    return Folder(root).revision("here").id


CHANGES: dict[str, Callable[[Path], object]] = {
    "content": lambda root: (root / "run.sh").write_text("#!/bin/bash\n"),
    "mode": lambda root: (root / "run.sh").chmod(0o755),
    "name": lambda root: (root / "run.sh").rename(root / "go.sh"),
    "deleted": lambda root: (root / "run.sh").unlink(),
    "link": lambda root: (root / "run.sh").unlink() or (root / "run.sh").symlink_to("src"),
}


@pytest.mark.parametrize("change", list(CHANGES))
def test_what_matters_changes_the_revision(root: Path, change: str) -> None:
    before = revision(root)
    assert revision(root) == before
    CHANGES[change](root)
    assert revision(root) != before


def test_what_does_not_matter_does_not(root: Path) -> None:
    before = revision(root)
    for path in (".hati/hati.db", "src/__pycache__/a.pyc", ".git/x", "hati.toml"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("x")
    os.utime(root / "run.sh", (0, 0))
    assert revision(root) == before


def test_it_is_short_and_the_same_elsewhere(root: Path, tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere"
    shutil.copytree(root, copy, symlinks=True)
    assert revision(copy) == revision(root)
    assert len(revision(root)) == 12


def test_what_was_modified_since_is_told(root: Path) -> None:
    moment = datetime.now(UTC) + timedelta(hours=1)
    folder = Folder(root)
    folder.revision("here")
    assert folder.modified_since(moment) == ()
    later = moment.timestamp() + 60
    os.utime(root / "run.sh", (later, later))
    assert folder.modified_since(moment) == ("run.sh",)


def test_a_commit_alone_changes_nothing(plain: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("needs git: apt-get install git")
    before = revision(plain)
    git(plain, "init", "-q")
    git(plain, "add", ".")
    assert revision(plain) == before
    git(plain, "commit", "-qm", "a")
    assert revision(plain) == before


class TestBaseline:
    """Without version control, new files are left out as long as no other changes."""

    @pytest.fixture
    def plain(self, plain: Path) -> Path:
        (plain / ".hati").mkdir()
        return plain

    @staticmethod
    def look(root: Path, *patterns: str) -> tuple[str, list[str]]:
        """The revision, and what is left out."""
        left_out: list[tuple[Path, ...]] = []
        found = Revisions(root, sources=Sources(patterns), on_left_out=left_out.append).find(".")
        return found.id, [str(path) for paths in left_out for path in paths]

    def test_a_new_file_is_told_and_changes_nothing(self, plain: Path) -> None:
        before, _ = self.look(plain)
        (plain / "result.txt").write_text("1")
        assert self.look(plain) == (before, ["result.txt"])
        (plain / "result.txt").write_text("2")
        assert self.look(plain) == (before, ["result.txt"])

    def test_once_another_file_has_changed_it_counts(self, plain: Path) -> None:
        before, _ = self.look(plain)
        (plain / "new.c").write_text("1")
        (plain / "run.sh").write_text("make new.c")
        changed, left_out = self.look(plain)
        assert (changed != before, left_out) == (True, [])
        (plain / "new.c").write_text("2")
        assert self.look(plain)[0] not in {before, changed}

    @pytest.mark.parametrize("change", list(CHANGES))
    def test_what_was_there_and_changed_is_always_another_revision(self, plain: Path, change: str) -> None:
        before, _ = self.look(plain)
        CHANGES[change](plain)
        assert self.look(plain)[0] != before

    def test_what_the_project_asks_for_counts_at_once(self, plain: Path) -> None:
        before, _ = self.look(plain, "**")
        (plain / "new.c").write_text("1")
        changed, left_out = self.look(plain, "**")
        assert (changed != before, left_out) == (True, [])

    def test_its_copy_is_without_what_is_left_out(self, plain: Path, tmp_path: Path) -> None:
        self.look(plain)
        (plain / "result.txt").write_text("1")
        revisions = Revisions(plain)
        tree = revisions.trees(plain).tree(revisions.find(".").id)
        assert (tree.folder / "run.sh").exists()
        assert not (tree.folder / "result.txt").exists()

    def test_a_folder_in_which_nothing_was_measured_has_none(self, plain: Path) -> None:
        (plain / ".hati").rmdir()
        before, _ = self.look(plain)
        (plain / "new.c").write_text("1")
        assert self.look(plain)[0] != before
