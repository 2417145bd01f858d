"""Revisions in real repositories: what they are called, their files, and that the user's own stay as they are."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path, PurePath

import pytest

from hati.core import InputError, MeasurementError, Outcome, Revision, RevisionKind
from hati.subject import Revisions, Sources
from hati.subject.folders import make_own, tree_root
from hati.subject.revisions import GitHistory, Trees
from hati.subject.revisions.trees import PACKAGES, Folder, InPlace, Package, TreeOrigin
from hati.subject.running.programs import RunFailure

Git = Callable[..., str]


@pytest.fixture
def git(tmp_path: Path) -> Git:
    home = tmp_path / "home"
    home.mkdir()

    def run(*words: str, at: Path | None = None) -> str:
        own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        own |= {"HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1", "GIT_ALLOW_PROTOCOL": "file"}
        who = ("-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main")
        command = ["git", *who, "-c", "protocol.file.allow=always", *words]
        return subprocess.run(
            command, cwd=at or tmp_path / "repo", env=own, check=True, capture_output=True, text=True
        ).stdout.strip()

    return run


@pytest.fixture
def repo(tmp_path: Path, git: Git) -> Path:
    """Three commits; the project is in a folder of its own, with a space and an umlaut in its name."""
    top = tmp_path / "repo"
    top.mkdir()
    git("init", "--quiet")
    project = top / "the prüject"
    project.mkdir()
    (top / "shared.h").write_text("one\n")
    for number in (1, 2, 3):
        (project / "program").write_text(f"version {number}\n")
        (project / "program").chmod(0o755)
        if number == 2:
            (project / "link").symlink_to("program")
            (top / ".hidden").write_text("found too\n")
        git("add", "--all")
        git("commit", "--quiet", "--message", f"change {number}: it's\tnew")
    return top


def project(repo: Path) -> Path:
    return repo / "the prüject"


def checksums(folder: Path) -> Iterator[tuple[str, str]]:
    """Of all that is below a folder, the repository too."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and ".hati" not in path.parts:
            yield str(path), hashlib.sha256(path.read_bytes()).hexdigest()


def test_revisions_are_called_as_git_calls_them(repo: Path, git: Git) -> None:
    revisions = Revisions(project(repo))
    head = git("rev-parse", "HEAD")
    git("tag", "v1", "HEAD~2")
    assert revisions.find("HEAD").id == revisions.find(head[:9]).id == head
    found = revisions.find("v1")
    assert (found.id, found.kind, found.name) == (git("rev-parse", "HEAD~2"), RevisionKind.GIT, "v1")
    assert found.title == "change 1: it's\tnew"
    assert str(found) == f"v1 ({found.id[:12]})"
    assert str(revisions.find(head)) == head[:12]
    assert str(revisions.find(found.id)) == str(found)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mian", "'mian' is not a revision of"),
        ("--output=x", "is not a revision of"),
        ("HEAD~9", "is not a revision of"),
        ("./nowhere", "there is no folder"),
        ("", "is not a revision of"),
    ],
)
def test_what_is_no_revision_is_told(repo: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        Revisions(project(repo)).find(text)
    assert caught.value.fix


def test_without_a_repository_folders_and_packages_are_left(tmp_path: Path) -> None:
    (tmp_path / "before").mkdir()
    (tmp_path / "before" / "program").write_text("old")
    revisions = Revisions(tmp_path)
    with pytest.raises(InputError, match="in no git or svn repository"):
        revisions.find("HEAD")
    assert revisions.find(str(tmp_path / "before")).kind is RevisionKind.DIRECTORY
    assert revisions.find("requests==2.31.0") == Revision("requests==2.31.0", RevisionKind.PACKAGE)


def programs(folder: Path, **scripts: str) -> None:
    """Programs that write down what they are started with, before they do what their scripts say."""
    folder.mkdir()
    for name, script in scripts.items():
        file = folder / name
        file.write_text(f'#!/bin/sh\necho "{name} $@" >> {folder}/log\n{script}\n')
        file.chmod(0o755)


@pytest.mark.parametrize(
    ("scripts", "last"),
    [
        ({"own": "", "python3": ""}, "own -m pip install "),
        ({"own": "exit 1", "python3": ""}, "python3 -m pip --python {own} install "),
        ({"own": "exit 1", "python3": "exit 1", "uv": ""}, "uv pip install --quiet --python {own} "),
        ({"own": "exit 1", "uv": ""}, "uv pip install --quiet --python {own} "),
    ],
)
def test_a_release_is_installed_by_its_interpreter_or_for_it(
    scripts: dict[str, str], last: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, top = tmp_path / "bin" / "own", tmp_path / "top"
    programs(own.parent, **scripts)
    top.mkdir()
    monkeypatch.setenv("PATH", str(own.parent))
    Package(Folder(top), str(own)).put("a==1", tmp_path / "tree")
    told = (own.parent / "log").read_text().splitlines()[-1]
    assert told.startswith(last.format(own=own))
    assert told.endswith(f" --target {tmp_path / 'tree' / PACKAGES} a==1")


@pytest.mark.parametrize(
    ("scripts", "wrong"),
    [
        ({"own": 'case "$*" in *install*) echo "ERROR: no such release" >&2; exit 1;; esac'}, "no such release"),
        ({"own": 'case "$*" in *install*) exit 3;; esac'}, "own ended with 3"),
        ({"own": "exit 1", "python3": "exit 1"}, "has no pip"),
        ({}, "there is no "),
    ],
)
def test_a_release_that_cannot_be_installed_says_why(
    scripts: dict[str, str], wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs(tmp_path / "bin", **scripts)
    (tmp_path / "top").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(InputError, match=f"^a==1 cannot be installed: .*{wrong}"):
        Package(Folder(tmp_path / "top"), str(tmp_path / "bin" / "own")).put("a==1", tmp_path / "tree")


def test_the_files_of_a_commit_are_all_there(repo: Path) -> None:
    revisions = Revisions(project(repo))
    second = revisions.find("HEAD~1")
    trees = revisions.trees(project(repo))
    tree = trees.tree(second.id)
    assert (tree.folder / "program").read_text() == "version 2\n"
    assert os.access(tree.folder / "program", os.X_OK)
    assert (tree.folder / "link").readlink() == Path("program")
    assert (tree.top / ".hidden").exists()
    assert (tree.top / "shared.h").read_text() == "one\n"
    assert trees.tree(second.id) == tree
    trees.close()
    assert not tree_root(project(repo)).exists()


def test_the_users_own_files_and_repository_stay_as_they_are(repo: Path, git: Git) -> None:
    (project(repo) / "program").write_text("dirty\n")
    (project(repo) / "untracked").write_text("new\n")
    before = list(checksums(repo))
    status = git("--no-optional-locks", "status", "--porcelain")
    revisions = Revisions(project(repo))
    trees = revisions.trees(project(repo))
    for name in ("HEAD", "HEAD~1", "HEAD~2", "."):
        trees.tree(revisions.find(name).id)
    trees.close()
    (project(repo) / ".hati").rmdir()
    assert list(checksums(repo)) == before
    assert git("--no-optional-locks", "status", "--porcelain") == status
    assert len(git("worktree", "list").splitlines()) == 1


def test_what_is_here_counts_by_its_content(repo: Path) -> None:
    revisions = Revisions(project(repo))
    clean = revisions.find(".")
    (project(repo) / "program").write_text("dirty\n")
    dirty = revisions.find(".")
    assert clean.id != dirty.id
    tree = revisions.trees(project(repo)).tree(dirty.id)
    assert (tree.folder / "program").read_text() == "dirty\n"
    (project(repo) / "program").write_text("version 3\n")
    assert revisions.find(".").id == clean.id


def test_the_content_of_a_commit_is_known_from_an_edited_folder(repo: Path, git: Git) -> None:
    own, contents = project(repo), {}
    for name in ("main~2", "main~1", "main"):
        git("checkout", "--quiet", name)
        contents[name] = InPlace(own).revision
    assert len(set(contents.values())) == 3
    (own / "program").write_text("edited\n")
    (own / "added").write_text("and tracked\n")
    git("add", "--all")
    (repo / "shared.h").write_text("outside of the project\n")
    here, revisions = InPlace(own), Revisions(own)
    assert here.revision not in contents.values()
    assert revisions.content(revisions.find("."), here) == here.revision
    assert {name: revisions.content(revisions.find(name), here) for name in ("main", "main~1")} == {
        name: contents[name] for name in ("main", "main~1")
    }
    (own / "link").unlink()
    assert revisions.content(revisions.find("main"), here) is None
    assert revisions.content(revisions.find("main~2"), InPlace(own)) == contents["main~2"]


@pytest.mark.parametrize(
    ("name", "edit", "told"),
    [
        (".", lambda folder: (folder / "program").write_text("edited\n"), "program"),
        ("./copy", lambda folder: (folder / "program").chmod(0o644), "program"),
        (".", lambda folder: (folder / "program").unlink(), "program"),
        ("./copy", lambda folder: (folder / "a").write_text(" and more behind another start"), "a"),
        (".", lambda folder: [(folder / name).write_text("2") for name in "abcde"], "a, .*b, .*c and 2 more"),
    ],
)
def test_what_was_edited_meanwhile_is_not_taken_for_what_was_found(
    repo: Path, git: Git, monkeypatch: pytest.MonkeyPatch, name: str, edit: Callable[[Path], object], told: str
) -> None:
    for file in "abcde":
        (project(repo) / file).write_text("1")
    git("add", "--all")
    shutil.copytree(project(repo), project(repo) / "copy", symlinks=True)
    monkeypatch.chdir(project(repo))
    revisions = Revisions(project(repo))
    found = revisions.find(name)
    edit(project(repo) / name)
    with pytest.raises(MeasurementError, match=f"was edited before its files were copied: .*{told}; start again"):
        revisions.trees(project(repo)).tree(found.id)
    again = revisions.trees(project(repo)).tree(revisions.find(name).id)
    assert again.top.is_dir()


def test_what_is_added_or_appended_meanwhile_is_not_copied(repo: Path, git: Git) -> None:
    log, edited = project(repo) / "log.txt", project(repo) / "program"
    log.write_text("first\n")
    git("add", "--all")
    before = edited.read_text()
    revisions = Revisions(project(repo))
    found = revisions.find(".")
    for file in (log, edited):
        with file.open("a") as stream:
            stream.write("second\n")
    (project(repo) / "added").write_text("more")
    (project(repo) / "linked").symlink_to("program")
    tree = revisions.trees(project(repo)).tree(found.id).folder
    assert (tree / "log.txt").read_text() == "first\n"
    assert (tree / "program").read_text() == before
    assert not (tree / "added").exists()
    assert not (tree / "linked").is_symlink()
    assert log.read_text() == "first\nsecond\n"


def test_what_goes_while_it_is_copied_is_told(repo: Path, git: Git) -> None:
    (project(repo) / "gone").touch()
    git("add", "--all")
    folder = Folder(project(repo))
    found = folder.revision("here")
    (project(repo) / "gone").unlink()
    with pytest.raises(MeasurementError, match="copied: gone; start again"):
        folder.put(found.id, repo / "tree")


def test_without_git_it_is_told_why_it_is_needed(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(InputError, match=f"^{repo} is in a repository of git, and git is not installed; install git$"):
        Revisions(repo)


def test_what_git_does_not_track_is_no_content_wherever_it_lies(repo: Path) -> None:
    before = Revisions(project(repo)).find(".").id
    (project(repo) / "report.json").write_text("{}")
    (repo / "notes.txt").write_text("a note")
    revisions = Revisions(project(repo))
    assert revisions.find(".").id == before
    assert not (revisions.trees(project(repo)).tree(before).folder / "report.json").exists()
    assert Revisions(project(repo), sources=Sources(("report.json",))).find(".").id != before


def test_sources_are_those_of_other_folders_too(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for name in ("main.c", "result.txt"):
        (other / name).write_text("1")
    monkeypatch.chdir(tmp_path)
    revisions = Revisions(project(repo), sources=Sources(("!*.txt",)))
    before = revisions.find("./other").id
    (other / "result.txt").write_text("2")
    assert revisions.find("./other").id == before
    (other / "main.c").write_text("2")
    assert revisions.find("./other").id != before


def test_a_store_beside_a_project_in_its_repository_is_no_content(repo: Path, git: Git) -> None:
    store = repo / "runs.sqlite"
    store.write_text("a run")
    git("add", "runs.sqlite")
    sources = Sources(own=frozenset({store.resolve()}))
    before = Revisions(project(repo), sources=sources).find(".").id
    store.write_text("two runs")
    assert Revisions(project(repo), sources=sources).find(".").id == before


def test_hatis_own_folder_is_seen_neither_by_git_nor_as_content(repo: Path, git: Git) -> None:
    before = Revisions(project(repo)).find(".").id
    make_own(project(repo))
    (project(repo) / ".hati" / "store.sqlite").write_text("runs")
    assert git("status", "--porcelain") == ""
    assert Revisions(project(repo)).find(".").id == before
    (project(repo) / ".hati" / ".gitignore").unlink()  # by somebody who wants it so
    make_own(project(repo))
    assert not (project(repo) / ".hati" / ".gitignore").exists()
    assert Revisions(project(repo)).find(".").id == before


def test_a_project_that_was_not_there_yet_is_told(repo: Path, git: Git) -> None:
    git("mv", "the prüject", "elsewhere")
    git("commit", "--quiet", "--message", "moved")
    revisions = Revisions(repo / "elsewhere")
    first = revisions.find("HEAD~1")
    with pytest.raises(RunFailure, match="there is no folder elsewhere") as caught:
        revisions.trees(repo / "elsewhere").tree(first.id)
    assert caught.value.outcome is Outcome.NOT_BUILT


def test_commits_between_two_are_those_of_first_parents(repo: Path, git: Git) -> None:
    git("checkout", "--quiet", "-b", "side", "HEAD~1")
    git("commit", "--quiet", "--allow-empty", "--message", "aside")
    git("checkout", "--quiet", "main")
    git("merge", "--quiet", "--no-ff", "side", "--message", "merged")
    history = GitHistory.around(repo)
    assert history is not None
    first, last, side = (history.find(name) for name in ("HEAD~2", "HEAD", "side"))
    assert first is not None
    assert last is not None
    assert side is not None
    assert [found.title for found in history.between(first, last)] == ["change 3: it's\tnew", "merged"]
    assert history.merge_base(side, last).id == side.id
    assert history.before(last).title == "change 3: it's\tnew"
    with pytest.raises(InputError, match="does not come after"):
        history.between(last, first)
    with pytest.raises(InputError, match="by first parents"):
        history.between(side, last)


def test_shallow_clones_will_do_as_far_as_they_reach(repo: Path, git: Git, tmp_path: Path) -> None:
    git("clone", "--quiet", "--depth", "2", repo.as_uri(), "shallow", at=tmp_path)
    revisions = Revisions(tmp_path / "shallow" / "the prüject")
    tree = revisions.trees(tmp_path).tree(revisions.find("HEAD~1").id)
    assert (tree.folder / "program").read_text() == "version 2\n"
    assert revisions.history is not None
    with pytest.raises(InputError, match="has no parent here") as caught:
        revisions.history.before(revisions.find("HEAD~1"))
    assert caught.value.fix == "this clone is shallow: git fetch --unshallow"
    with pytest.raises(InputError, match="'HEAD~2' is not a revision of") as caught:
        revisions.find("HEAD~2")
    assert str(caught.value.fix).endswith("; this clone is shallow: git fetch --unshallow")


def test_submodules_are_those_of_the_commit(repo: Path, git: Git, tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    git("init", "--quiet", at=library)
    for number in (1, 2):
        (library / "lib.c").write_text(f"library {number}\n")
        git("add", "--all", at=library)
        git("commit", "--quiet", "--message", f"library {number}", at=library)
        if number == 1:
            git("submodule", "--quiet", "add", str(library), "third party/lib")
            git("commit", "--quiet", "--all", "--message", "with the library")
    git("-C", "third party/lib", "pull", "--quiet", "origin", "main")
    git("commit", "--quiet", "--all", "--message", "newer library")
    revisions = Revisions(project(repo))
    trees = revisions.trees(project(repo))
    for name, text in (("HEAD~1", "library 1\n"), ("HEAD", "library 2\n")):
        tree = trees.tree(revisions.find(name).id)
        assert (tree.top / "third party" / "lib" / "lib.c").read_text() == text
    git("clone", "--quiet", str(repo), "other", at=tmp_path)
    without = Revisions(tmp_path / "other" / "the prüject")
    empty = without.trees(tmp_path / "x").tree(without.find("HEAD").id)
    assert list((empty.top / "third party" / "lib").iterdir()) == []


def test_a_submodule_without_the_commit_is_told(repo: Path, git: Git, tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    git("init", "--quiet", at=library)
    git("commit", "--quiet", "--allow-empty", "--message", "empty", at=library)
    git("submodule", "--quiet", "add", str(library), "lib")
    git("update-index", "--cacheinfo", f"160000,{'1' * 40},lib")
    git("commit", "--quiet", "--message", "a commit that is nowhere")
    revisions = Revisions(project(repo))
    with pytest.raises(RunFailure, match="the submodule lib has no commit 1111"):
        revisions.trees(project(repo)).tree(revisions.find("HEAD").id)


def test_ten_thousand_commits_are_listed(tmp_path: Path, git: Git) -> None:
    top = tmp_path / "repo"
    top.mkdir()
    git("init", "--quiet")
    stream = "".join(
        f"commit refs/heads/main\nmark :{n}\ncommitter t <t@t> {1_600_000_000 + n} +0000\ndata 2\nc\n"
        + (f"from :{n - 1}\n" if n > 1 else "")
        + f"M 100644 inline file\ndata 6\n{n:05}\n\n"
        for n in range(1, 10_001)
    )
    subprocess.run(["git", "fast-import", "--quiet"], cwd=top, input=stream, text=True, check=True)
    history = GitHistory.around(top)
    assert history is not None
    first, last = history.find("main~9999"), history.find("main")
    assert first is not None
    assert last is not None
    assert len(history.between(first, last)) == 9_999
    history.put(first.id, tmp_path / "tree")
    assert (tmp_path / "tree" / "file").read_text() == "00001\n"


class Nothing:
    """A source of empty folders."""

    def put(self, _: str, folder: Path) -> None:
        folder.mkdir(parents=True)


def test_trees_have_paths_of_one_length(tmp_path: Path) -> None:
    trees = Trees(tmp_path, {name: TreeOrigin(Nothing(), PurePath()) for name in ("x", "a longer name")})
    assert len({len(str(trees.tree(name).folder)) for name in ("x", "a longer name")}) == 1


def test_the_main_branch_is_that_of_origin_else_a_usual_one_else_the_one_checked_out(
    repo: Path, git: Git, tmp_path: Path
) -> None:
    def name(place: Path = repo) -> str:
        history = Revisions(place).history
        assert history is not None
        return history.main_branch()

    git("checkout", "--quiet", "-b", "change")
    assert name() == "main"
    git("branch", "--quiet", "--move", "main", "develop")
    assert name() == "change"
    git("checkout", "--quiet", "develop")
    git("clone", "--quiet", str(repo), str(tmp_path / "clone"), at=tmp_path)
    git("checkout", "--quiet", "-b", "main", at=tmp_path / "clone")
    assert name(tmp_path / "clone") == "develop", "that of origin"
    (tmp_path / "empty").mkdir()
    git("init", "--quiet", "--initial-branch", "first", at=tmp_path / "empty")
    assert name(tmp_path / "empty") == "first"


@pytest.mark.parametrize("name", ["a[1]", "a*", "a\\b"])
def test_changed_files_are_found_in_folders_with_the_signs_of_patterns(tmp_path: Path, git: Git, name: str) -> None:
    project = tmp_path / "repo" / name
    (project / "data").mkdir(parents=True)
    git("init", "--quiet")
    for number in range(2):
        for file in ("bench.py", "data/input", "data/notes"):
            (project / file).write_text(f"{number}")
        git("add", "--all")
        git("commit", "--quiet", "--message", f"{number}")
    known = Revisions(project)
    first, last = known.find("HEAD~"), known.find("HEAD")
    for later in (last, known.find(".")):
        assert known.changed(first, later, ["*.py", "data", "!data/notes"]) == ("bench.py", "data/input")
    assert known.content(first, InPlace(project)) != known.content(last, InPlace(project))


def test_an_edit_in_the_second_of_its_commit_is_a_change(tmp_path: Path, git: Git) -> None:
    project = tmp_path / "repo"
    file, index, second = project / "bench.py", project / ".git" / "index", (1_700_000_000, 1_700_000_000)
    project.mkdir()
    git("init", "--quiet")
    git("config", "core.trustctime", "false")
    file.write_text("1")
    os.utime(file, second)
    git("add", "--all")
    git("commit", "--quiet", "--message", "1")
    os.utime(index, second)
    file.write_text("2")
    os.utime(file, second)
    known = Revisions(project)
    assert known.changed(known.find("HEAD"), known.find("."), ["*.py"]) == ("bench.py",)
