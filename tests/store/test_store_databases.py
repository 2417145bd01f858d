"""What is particular to stores in SQLite's files."""

from __future__ import annotations

import errno
import os
import sqlite3
import tempfile
from pathlib import Path
from typing import NoReturn

import pytest
from sqlalchemy.exc import OperationalError

from hati.store.databases import Sqlite


class Contended:
    """A connection to a file of which others set the journal's mode, so often at the same time."""

    def __init__(self, reason: str, times: int) -> None:
        self.asked: list[str] = []
        self._reason, self._times = reason, times

    def exec_driver_sql(self, statement: str) -> None:
        self.asked.append(statement)
        if "journal_mode" in statement and self.asked.count(statement) <= self._times:
            raise OperationalError(statement, None, sqlite3.OperationalError(self._reason))


def test_a_file_that_others_are_making_is_waited_for() -> None:
    connection = Contended("database is locked", 3)
    Sqlite.at(Path("store.sqlite")).prepare(connection)  # type: ignore[arg-type]  # all that it asks of a connection
    assert connection.asked[:4] == ["PRAGMA journal_mode=WAL"] * 4
    assert connection.asked[-1] == "BEGIN IMMEDIATE"


def test_what_waiting_does_not_mend_is_told_at_once() -> None:
    connection = Contended("attempt to write a readonly database", 1)
    with pytest.raises(OperationalError, match="readonly"):
        Sqlite.at(Path("store.sqlite")).prepare(connection)  # type: ignore[arg-type]  # as above
    assert len(connection.asked) == 1


@pytest.mark.parametrize("reason", ["unable to open database file", "database or disk is full", "disk I/O error"])
def test_the_folder_of_temporary_files_is_named_where_it_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    full, file = tmp_path / "full", tmp_path / "store.sqlite"
    full.mkdir()
    file.touch()
    monkeypatch.setenv("TMPDIR", str(full))

    def failing(**_: object) -> NoReturn:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tempfile, "TemporaryFile", failing)
    said = str(Sqlite.at(file).refused(reason))
    assert said.startswith(f"{full} cannot be used for temporary files of the store: No space left on device (")
    assert said.endswith("; free some space there, or set TMPDIR to another folder")
    monkeypatch.undo()
    assert "TMPDIR" not in str(Sqlite.at(file).refused(reason))


def test_a_store_in_a_folder_that_is_missing_is_named_whatever_the_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "nowhere"))
    said = str(Sqlite.at(tmp_path / "none" / "store.sqlite").refused("unable to open database file"))
    assert "there is no folder" in said


def test_a_store_below_a_file_says_that_it_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    said = str(Sqlite.at(tmp_path / "taken" / "store.sqlite").refused("unable to open database file"))
    assert f"{tmp_path / 'taken'} is not a folder; rename it" in said
