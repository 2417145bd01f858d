"""Files that are written as a whole: content, permissions, and what is left after an error or a kill."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hati.cli.output import write_files
from hati.whole_files import durable_file, replace_file


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def test_a_file_is_created_and_replaced_with_its_permissions(tmp_path: Path) -> None:
    file, plain = tmp_path / "a", tmp_path / "plain"
    plain.touch()
    replace_file(file, [b"one ", b"two"])
    assert file.read_bytes() == b"one two"
    assert file.stat().st_mode == plain.stat().st_mode
    file.chmod(0o640)
    replace_file(file, [b"three"])
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"three", 0o640)
    assert names(tmp_path) == ["a", "plain"]


def test_where_a_piece_fails_the_file_is_as_before(tmp_path: Path) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"new"
        raise RuntimeError("no more")

    file = tmp_path / "a"
    file.write_bytes(b"old")
    with pytest.raises(RuntimeError, match="no more"):
        replace_file(file, pieces())
    assert file.read_bytes() == b"old"
    assert names(tmp_path) == ["a"]


def test_the_longest_name_is_possible(tmp_path: Path) -> None:
    file = tmp_path / ("a" * 255)
    replace_file(file, [b"x"])
    assert names(tmp_path) == [file.name]


def test_it_is_durable_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = list[list[str]]()
    monkeypatch.setattr(os, "fsync", lambda _: synced.append(names(tmp_path)))
    with durable_file(tmp_path, [b"x"]) as written:
        assert synced == [[written.name]]
    assert names(tmp_path) == []


def test_a_kill_leaves_the_old_content(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"old")
    program = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom hati.whole_files import replace_file\n"
        "os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)\nreplace_file(Path(sys.argv[1]), [b'new'])"
    )
    assert subprocess.run([sys.executable, "-c", program, str(file)], check=False).returncode == -9
    assert file.read_bytes() == b"old"


def replace_as_init_does(file: Path, pieces: list[bytes]) -> None:
    write_files({file: b"".join(pieces).decode()})


WRITERS = pytest.mark.parametrize("replace", [replace_file, replace_as_init_does])


@WRITERS
def test_a_pipe_is_written_to(tmp_path: Path, replace: Callable[[Path, list[bytes]], None]) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    keep = os.open(pipe, os.O_RDWR)  # so that nobody waits for the other end
    try:
        replace(pipe, [b"one ", b"two"])
        assert pipe.is_fifo()
        assert os.read(keep, 100) == b"one two"
    finally:
        os.close(keep)
    assert names(tmp_path) == ["pipe"]


@WRITERS
def test_a_link_stays_and_its_target_is_replaced(tmp_path: Path, replace: Callable[[Path, list[bytes]], None]) -> None:
    folder, link = tmp_path / "folder", tmp_path / "link"
    folder.mkdir()
    link.symlink_to("folder/real")
    replace(link, [b"one"])
    (folder / "real").chmod(0o600)
    replace(link, [b"two"])
    assert link.is_symlink()
    assert ((folder / "real").read_bytes(), (folder / "real").stat().st_mode & 0o777) == (b"two", 0o600)
    assert (names(tmp_path), names(folder)) == (["folder", "link"], ["real"])


@WRITERS
def test_permissions_are_kept(tmp_path: Path, replace: Callable[[Path, list[bytes]], None]) -> None:
    file = tmp_path / "a"
    file.touch(0o600)
    replace(file, [b"x"])
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"x", 0o600)


def test_a_link_to_itself_is_an_error(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(link)
    with pytest.raises(OSError, match="symbolic links"):
        replace_file(link, [b"x"])
    assert link.is_symlink()
