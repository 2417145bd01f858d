"""Hati's own folder: whole or not at all.

What Hati wrote into a project's folder is remembered as its own.
"""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from hati.core import MeasurementError
from hati.subject import Revisions, remember_output
from hati.subject.folders import clear, make_disposable, make_own, outputs, remedy, tidy, tree_root, work_root


def test_a_folder_that_a_full_disk_leaves_unfinished_is_taken_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, *_: object, **__: object) -> int:
        path.touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full)
        with pytest.raises(OSError, match="No space left"):
            make_own(tmp_path)
    assert not (tmp_path / ".hati").exists()
    make_own(tmp_path)
    assert "\n*\n" in (tmp_path / ".hati" / ".gitignore").read_text()


def test_an_empty_list_of_ignored_files_is_written_again_and_another_kept(tmp_path: Path) -> None:
    make_own(tmp_path)
    ignored = tmp_path / ".hati" / ".gitignore"
    whole = ignored.read_text()
    for before, after in (("", whole), ("work\n", "work\n")):
        ignored.write_text(before)
        make_own(tmp_path)
        assert ignored.read_text() == after


@pytest.mark.parametrize(
    ("number", "fix"),
    [
        (errno.ENOSPC, "free some space"),
        (errno.EDQUOT, "free some space"),
        (errno.EROFS, "copy the project to where hati may write"),
        (errno.EACCES, "let hati write there, or copy the project"),
    ],
)
def test_the_remedy_fits_the_reason(number: int, fix: str) -> None:
    assert remedy(OSError(number, "")) == fix


def foreign(folder: Path) -> Path:
    """A file of the user's."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "thesis.tex").write_text("years of work")
    return folder / "thesis.tex"


@pytest.mark.parametrize("name", ["work", "trees", "builds"])
def test_files_where_a_link_leads_are_kept(tmp_path: Path, name: str) -> None:
    root, thesis = tmp_path / "project", foreign(tmp_path / "home")
    root.mkdir()
    make_own(root)
    (root / ".hati" / name).symlink_to(thesis.parent)
    with pytest.raises(MeasurementError, match=r"holds files that hati did not make, such as `thesis.tex`") as caught:
        tidy(root)
    assert caught.value.fix == "move them away, or let the link lead to an empty folder"
    assert thesis.exists()


@pytest.mark.parametrize("name", ["work", "trees", "builds"])
def test_files_where_a_link_of_the_whole_folder_leads_are_kept(tmp_path: Path, name: str) -> None:
    root, home = tmp_path / "project", tmp_path / "home"
    thesis = foreign(home / name)
    root.mkdir()
    (root / ".hati").symlink_to(home)
    with pytest.raises(MeasurementError, match="did not make"):
        tidy(root)
    assert thesis.exists()


def test_files_of_the_user_are_kept_where_nothing_is_a_link(tmp_path: Path) -> None:
    thesis = foreign(tmp_path / ".hati/work")
    with pytest.raises(MeasurementError, match="did not make") as caught:
        tidy(tmp_path)
    assert caught.value.fix == "move them away"
    assert thesis.exists()


def test_a_link_to_an_empty_folder_is_used_and_tidied(tmp_path: Path) -> None:
    root, scratch = tmp_path / "project", tmp_path / "scratch"
    root.mkdir()
    scratch.mkdir()
    make_own(root)
    work_root(root).symlink_to(scratch)
    tidy(root)
    (scratch / "stale").mkdir()
    tidy(root)
    assert [path.name for path in scratch.iterdir()] == ["CACHEDIR.TAG"]


def test_what_an_earlier_hati_left_is_removed(tmp_path: Path) -> None:
    make_own(tmp_path)
    for folder in (work_root(tmp_path), tree_root(tmp_path)):
        (folder / "stale").mkdir(parents=True)
    tidy(tmp_path)
    assert not (work_root(tmp_path) / "stale").exists()
    assert not (tree_root(tmp_path) / "stale").exists()


def test_a_tag_of_another_program_gives_no_leave_to_delete(tmp_path: Path) -> None:
    thesis = foreign(tmp_path)
    (tmp_path / "CACHEDIR.TAG").write_text("Signature: 8a477f597d28d172789f06886806bc55\n")
    clear(tmp_path)
    assert thesis.exists()
    with pytest.raises(MeasurementError, match="did not make"):
        make_disposable(tmp_path)


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
