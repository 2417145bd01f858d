"""What a file holds, however SQLite has spread it over its pages and its write-ahead log."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path


def content(file: Path) -> bytes:
    """The SQL that makes a database, and of any other file its bytes."""
    if file.suffix != ".sqlite":
        return file.read_bytes()
    with closing(sqlite3.connect(f"{file.as_uri()}?mode=rw", uri=True)) as connection:
        return "\n".join(connection.iterdump()).encode()
