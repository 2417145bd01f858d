"""What is particular to stores in SQLite's files."""

from __future__ import annotations

import sqlite3
from pathlib import Path

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
