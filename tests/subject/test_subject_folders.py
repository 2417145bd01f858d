"""Hati's own folder: whole or not at all."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from hati.subject.folders import make_own, remedy


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
