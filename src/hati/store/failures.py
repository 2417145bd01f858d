"""What a database complains of, told as what the user can mend."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError

from hati.store.database import Database


@contextmanager
def explained(database: Database) -> Iterator[None]:
    """Turn a database's errors into errors with a fix.

    Raises:
        MeasurementError: where nothing can be kept for now: the disk is full, the database locked, the server away.
        InputError: where the store cannot be opened, read or written.
    """
    try:
        yield
    except DBAPIError as error:
        raise database.told(error) from error
