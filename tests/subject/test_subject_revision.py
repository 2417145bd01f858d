from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePath

import pytest

from hati.subject import directory_revision, modified_since
from hati.subject.revision import tree_files


def git(root: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True)


@pytest.fixture(params=["plain", "git"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    folder = tmp_path / "subject"
    (folder / "src").mkdir(parents=True)
    (folder / "src/main.c").write_text("int main;")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    if request.param == "git":
        if shutil.which("git") is None:
            pytest.skip("needs git: apt-get install git")
        git(folder, "init", "-q")
        (folder / ".gitignore").write_text("*.o\n__pycache__/\n")
        git(folder, "add", ".")
        git(folder, "commit", "-qm", "first")
    return folder


CHANGES: dict[str, Callable[[Path], object]] = {
    "content": lambda root: (root / "run.sh").write_text("#!/bin/bash\n"),
    "mode": lambda root: (root / "run.sh").chmod(0o755),
    "name": lambda root: (root / "run.sh").rename(root / "go.sh"),
    "new file": lambda root: (root / "new").touch(),
    "deleted": lambda root: (root / "run.sh").unlink(),
    "link": lambda root: (root / "link").symlink_to("src"),
}


@pytest.mark.parametrize("change", list(CHANGES))
def test_what_matters_changes_the_revision(root: Path, change: str) -> None:
    before = directory_revision(root)
    assert directory_revision(root) == before
    CHANGES[change](root)
    assert directory_revision(root) != before


def test_what_does_not_matter_does_not(root: Path) -> None:
    before = directory_revision(root)
    for path in (".hati/hati.db", "src/__pycache__/a.pyc", ".git/x"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("x")
    os.utime(root / "run.sh", (0, 0))
    assert directory_revision(root) == before


def test_the_project_file_is_that_of_the_project_alone(root: Path) -> None:
    within = PurePath("src")
    (root / "hati.toml").write_text("# another's")
    before = tree_files(root, within)
    (root / "src" / "hati.toml").write_text("# its own")
    assert tree_files(root, within) == before
    assert Path("hati.toml") in before
    assert Path("hati.toml") not in tree_files(root)


def test_it_is_short_and_the_same_elsewhere(root: Path, tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere"
    shutil.copytree(root, copy, symlinks=True)
    assert directory_revision(copy) == directory_revision(root)
    assert len(directory_revision(root)) == 12


def test_git_ignored_files_do_not_count_unless_all_are(tmp_path: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("needs git: apt-get install git")
    git(tmp_path, "init", "-q")
    (tmp_path / ".gitignore").write_text("*.o\n/inner/\n")
    (tmp_path / "a.o").touch()
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner/b.c").touch()
    assert tree_files(tmp_path) == [Path(".gitignore")]
    assert tree_files(tmp_path / "inner") == [Path("b.c")]


def test_what_was_modified_since_is_told(root: Path) -> None:
    moment = datetime.now(UTC) + timedelta(hours=1)
    assert modified_since(root, moment) == ()
    changed, later = tree_files(root)[0], moment.timestamp() + 60
    os.utime(root / changed, (later, later))
    assert modified_since(root, moment) == (changed.as_posix(),)


def test_a_commit_alone_changes_nothing(tmp_path: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("needs git: apt-get install git")
    git(tmp_path, "init", "-q")
    (tmp_path / "a").write_text("a")
    before = directory_revision(tmp_path)
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "a")
    assert directory_revision(tmp_path) == before
