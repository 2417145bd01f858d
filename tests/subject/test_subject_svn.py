"""Revisions in real working copies of Subversion, and that they stay as they are."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from socket import create_server

import pytest

from hati.core import InputError, Outcome, RevisionKind
from hati.subject import Revisions
from hati.subject.revisions import SvnHistory
from hati.subject.revisions import svn as svn_revisions
from hati.subject.revisions.git import CommandError, asked
from hati.subject.revisions.svn import number_of
from hati.subject.revisions.trees import Folder
from hati.subject.running.programs import RunFailure

Svn = Callable[..., str]
PROJECT = "the prüject @1"


def run(*words: str, at: Path) -> str:
    command = ["svn", "--non-interactive", "--username", "t", *words]
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    return subprocess.run(command, cwd=at, env=environment, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def svn(tmp_path: Path) -> Svn:
    return lambda *words, at=None: run(*words, at=at or tmp_path / "trunk")


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory, subversion: None) -> Path:
    """A repository and a working copy: r1 makes its folders, r2 to r4 change the program in the trunk."""
    top = tmp_path_factory.mktemp("origin")
    subprocess.run(["svnadmin", "create", "a repository"], cwd=top, check=True)
    url = (top / "a repository").as_uri()
    run("mkdir", *(f"{url}/{name}" for name in ("trunk", "branches", "tags")), "-m", "folders", at=top)
    run("checkout", f"{url}/trunk", "trunk", at=top)
    project = top / "trunk" / PROJECT
    project.mkdir()
    (top / "trunk" / "shared.h").write_text("one\n")
    for number in (1, 2, 3):
        (project / "program").write_text(f"version {number}\n")
        (project / "program").chmod(0o755)
        if number == 1:
            (project / "link").symlink_to("program")
            run("add", ".", "--force", at=top / "trunk")
        run("commit", "-m", f"change {number}: it's <new>\nand more", at=top / "trunk")
    return top


@pytest.fixture
def url(tmp_path: Path, origin: Path) -> str:
    """Of the test's own copy of them."""
    shutil.copytree(origin, tmp_path, symlinks=True, dirs_exist_ok=True)
    url = (tmp_path / "a repository").as_uri()
    run("relocate", f"{url}/trunk", at=tmp_path / "trunk")
    return url


@pytest.fixture
def project(tmp_path: Path, url: str) -> Path:
    return tmp_path / "trunk" / PROJECT


@pytest.fixture
def branch(tmp_path: Path, url: str, svn: Svn) -> Path:
    """The project on a branch: r5 makes it, r6 is the trunk's, r7 the branch's; with nothing merged."""
    svn("copy", f"{url}/trunk", f"{url}/branches/fast er", "-m", "branch", at=tmp_path)
    (tmp_path / "trunk" / PROJECT / "program").write_text("trunk\n")
    svn("commit", "-m", "on the trunk")
    svn("checkout", f"{url}/branches/fast er", "branch", at=tmp_path)
    (tmp_path / "branch" / PROJECT / "program").write_text("branch\n")
    svn("commit", "-m", "on the branch", at=tmp_path / "branch")
    return tmp_path / "branch" / PROJECT


def checksums(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and ".hati" not in path.parts:
            yield str(path), hashlib.sha256(path.read_bytes()).hexdigest()


def history(project: Path) -> SvnHistory:
    found = Revisions(project).history
    assert isinstance(found, SvnHistory)
    return found


def test_revisions_are_called_as_svn_calls_them(project: Path) -> None:
    revisions = Revisions(project)
    called = {"HEAD": 4, "BASE": 4, "PREV": 3, "r3": 3, "2": 2, "^/trunk@r3": 3, "^/trunk": 4}
    for text, number in called.items():
        found = revisions.find(text)
        assert (found.id, found.kind) == (f"r{number}", RevisionKind.SVN)
        assert found.title == f"change {number - 1}: it's <new>"
        assert found.made is not None
        assert str(found) == (f"{text} (r{number})" if text[0] in "HBP^" else f"r{number}")


def test_numbers_in_which_nothing_changed_here_stand_for_the_last_before(project: Path, url: str, svn: Svn) -> None:
    svn("mkdir", f"{url}/tags/unrelated", "-m", "elsewhere")
    revisions = Revisions(project)
    assert revisions.find("5").id == revisions.find("HEAD").id == "r4"
    svn("update")
    assert Revisions(project).find("BASE").id == "r4"
    assert Revisions(project).find("PREV").id == "r3"


def test_what_is_no_revision_is_told(project: Path) -> None:
    revisions = Revisions(project)
    for text in ("r99", "r0", "main", "--targets=x", "^/branches/none", "^/trunk@77", "1:2", ""):
        with pytest.raises(InputError, match="is not a revision of") as caught:
            revisions.find(text)
        assert caught.value.fix
    with pytest.raises(InputError, match="is a date, and no revision") as caught:
        revisions.find("{2026-01-01}")
    assert caught.value.fix == "write the number that svn info -r '{2026-01-01}' says"


def test_the_files_of_a_revision_are_all_there(project: Path) -> None:
    revisions = Revisions(project)
    assert revisions.top == project.parent
    tree = revisions.trees(project).tree(revisions.find("r3").id)
    assert (tree.folder / "program").read_text() == "version 2\n"
    assert os.access(tree.folder / "program", os.X_OK)
    assert (tree.folder / "link").readlink() == Path("program")
    assert (tree.top / "shared.h").read_text() == "one\n"
    assert not list(tree.top.rglob(".svn"))


def test_the_working_copy_stays_as_it_is(project: Path, svn: Svn) -> None:
    (project / "program").write_text("dirty\n")
    (project / "untracked").write_text("new\n")
    before, status = list(checksums(project.parent)), svn("status")
    revisions = Revisions(project)
    trees = revisions.trees(project)
    for name in ("HEAD", "PREV", "r2", "."):
        trees.tree(revisions.find(name).id)
    trees.close()
    (project / ".hati").rmdir()
    assert list(checksums(project.parent)) == before
    assert svn("status") == status


def test_what_is_here_counts_by_its_content(project: Path, svn: Svn) -> None:
    clean = Folder(project).revision("here").id
    svn("propset", "svn:ignore", "*.o", ".", at=project)
    (project / "ignored.o").write_text("object")
    assert Folder(project).revision("here").id == clean
    (project / "new").mkdir()
    (project / "new" / "file").write_text("counts once it is added")
    assert Folder(project).revision("here").id == clean
    svn("add", "new", at=project)
    assert Folder(project).revision("here").id != clean
    assert Revisions(project).find(".").kind is RevisionKind.DIRECTORY


@pytest.mark.acceptance
def test_externals_are_of_what_is_here_and_of_no_revision(project: Path, url: str, svn: Svn) -> None:
    svn("propset", "svn:externals", f"{url}/tags lib", ".", at=project)
    svn("update", at=project)
    svn("commit", "-m", "an external", at=project)
    before = Folder(project).revision("here").id
    (project / "lib" / "library.c").write_text("changed\n")
    assert Folder(project).revision("here").id != before
    revisions = Revisions(project)
    tree = revisions.trees(project).tree(revisions.find("HEAD").id)
    assert not (tree.folder / "lib").exists()


@pytest.mark.acceptance
def test_a_project_that_was_not_there_yet_is_told(project: Path) -> None:
    revisions = Revisions(project)
    with pytest.raises(RunFailure, match="there is no folder") as caught:
        revisions.trees(project).tree(revisions.find("r1").id)
    assert caught.value.outcome is Outcome.NOT_BUILT


def test_revisions_between_two_are_listed(project: Path) -> None:
    known = history(project)
    first, last = known.find("r1"), known.find("HEAD")
    assert first is not None
    assert last is not None
    assert [found.id for found in known.between(first, last)] == ["r2", "r3", "r4"]
    assert known.inside(first, last) == ["r4", "r3", "r2"]
    assert known.inside(last, last) == []
    assert known.before(last).id == "r3"
    assert known.contains(last, "r2")
    assert not known.contains(first, "r2")
    assert not known.contains(last, "3f2c1ab")
    with pytest.raises(InputError, match="does not come after"):
        known.between(last, first)
    with pytest.raises(InputError, match="there is nothing before r1"):
        known.before(first)


def test_a_branch_has_the_revisions_of_what_it_was_copied_from(branch: Path) -> None:
    known = history(branch)
    first, last, main = known.find("r2"), known.find("HEAD"), known.main()
    assert first is not None
    assert last is not None
    assert main is not None
    assert main.id == "r6"
    assert [found.id for found in known.between(first, last)] == ["r3", "r4", "r5", "r7"]
    assert known.merge_base(last, main).id == "r4"
    assert known.inside(main, last) == ["r7", "r5"]
    with pytest.raises(InputError, match="is not one of") as caught:
        known.between(main, last)
    assert caught.value.fix == "go where it is: svn switch ^/trunk"
    trees = Revisions(branch)
    for name, text in (("HEAD", "branch"), ("^/trunk", "trunk"), ("r4", "version 3")):
        tree = trees.trees(branch).tree(trees.find(name).id)
        assert (tree.folder / "program").read_text() == f"{text}\n"


@pytest.mark.acceptance
def test_what_was_merged_into_a_branch_is_below_its_base(branch: Path, url: str, svn: Svn) -> None:
    svn("update", at=branch.parent)
    svn("merge", "--accept", "mine-full", f"{url}/trunk", ".", at=branch.parent)
    svn("commit", "-m", "merged", at=branch.parent)
    known = history(branch)
    last, main = known.base(), known.main()
    assert last is not None
    assert main is not None
    assert (last.id, known.merge_base(last, main).id) == ("r8", "r6")


@pytest.mark.acceptance
def test_a_branch_seen_from_the_trunk(branch: Path, project: Path) -> None:
    known = history(project)
    there, main = known.find("^/branches/fast er"), known.main()
    assert there is not None
    assert main is not None
    assert (there.id, main.id) == ("r7", "r6")
    assert known.merge_base(there, main).id == "r4"
    assert known.before(there).id == "r5"
    assert known.contains(there, "r2")
    assert not known.contains(main, "r7")


@pytest.mark.acceptance
def test_a_revision_of_both_lines_is_told_by_its_path(tmp_path: Path, branch: Path, url: str, svn: Svn) -> None:
    svn("checkout", "--depth", "immediates", url, "all", at=tmp_path)
    for name in ("trunk", "branches"):
        svn("update", "--set-depth", "infinity", name, at=tmp_path / "all")
    for name in ("trunk", "branches/fast er"):
        (tmp_path / "all" / name / "shared.h").write_text(f"{name}\n")
    svn("commit", "-m", "both at once", at=tmp_path / "all")
    revisions = Revisions(tmp_path / "all" / "trunk" / PROJECT)
    assert revisions.top == tmp_path / "all" / "trunk"
    own, other = revisions.find("HEAD"), revisions.find("^/branches/fast er")
    assert (own.id, other.id) == ("r8", "^/branches/fast er@8")
    assert number_of(other.id) == 8
    for found, text in ((own, "trunk"), (other, "branches/fast er")):
        tree = revisions.trees(tmp_path / "x").tree(found.id)
        assert (tree.top / "shared.h").read_text() == f"{text}\n"
    assert revisions.history is not None
    assert not revisions.history.contains(own, other.id)


def test_a_folder_that_svn_does_not_know_is_in_no_repository(project: Path) -> None:
    (project / "new").mkdir()
    with pytest.raises(InputError, match="in no git or svn repository"):
        Revisions(project / "new").find("HEAD")


def test_a_working_copy_that_cannot_be_read_is_told(project: Path) -> None:
    (project.parent / ".svn" / "wc.db").write_text("no database")
    with pytest.raises(InputError, match="svn: E"):
        Revisions(project)


def test_a_repository_that_is_gone_is_told(tmp_path: Path, project: Path) -> None:
    (tmp_path / "a repository").rename(tmp_path / "elsewhere")
    revisions = Revisions(project)
    assert revisions.find(".").kind is RevisionKind.DIRECTORY
    with pytest.raises(InputError, match="svn: E170013"):
        revisions.find("HEAD")


def test_a_server_that_does_not_answer_is_not_waited_for(tmp_path: Path, subversion: None) -> None:
    with create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(InputError, match=r"svn info has not ended within 0\.5 s") as caught:
            asked(("svn", "info", "--non-interactive", f"svn://127.0.0.1:{port}/x"), tmp_path, timeout=0.5)
    assert not isinstance(caught.value, CommandError)


def test_without_svn_it_is_told(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(InputError, match="svn is not installed"):
        Revisions(project)
    assert Folder(project).revision("here").id  # its content can be told all the same


def test_messages_of_any_kind_are_read(project: Path, svn: Svn) -> None:
    (project / "program").write_text("4\n")
    svn("commit", "-m", "\n\n ]]> &amp; „ünï“ \n")
    found = history(project).find("HEAD")
    assert found is not None
    assert found.title == "]]> &amp; „ünï“"
    assert svn_revisions.log(".", project, 5, 5)[0].title == found.title
