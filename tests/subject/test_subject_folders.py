"""Hati's own folder: whole or not at all."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from hati.core import MeasurementError
from hati.subject.files.folders import clear, make_disposable, make_own, remedy, tidy, tree_root, work_root


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
