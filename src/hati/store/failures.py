"""What a database complains of, told as what the user can mend."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError

from hati.core import HatiError, MeasurementError
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


UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, HatiError)
"""What reading a row raises that was written otherwise, or by nobody."""


def damaged(name: str, row: str, reason: object, remedy: str = "") -> MeasurementError:
    """That a row of a store cannot be what was written."""
    fix = f"restore the store from a copy{remedy and f', or {remedy}'}"
    return MeasurementError(f"the store {name} is damaged: {row} is not as it was written ({reason})", fix=fix)
