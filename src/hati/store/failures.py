"""What a database complains of, told as what the user can mend."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError

from hati.core import InputError, MeasurementError


@contextmanager
def explained(store: str) -> Iterator[None]:
    """Turn a database's errors into errors with a fix.

    Raises:
        MeasurementError: where the disk is full or the database stays locked: nothing can be kept.
        InputError: where the store cannot be opened, read or written.
    """
    try:
        yield
    except DBAPIError as error:
        reason = str(error.orig)
        if "full" in reason or "disk I/O error" in reason:
            raise MeasurementError(
                f"the store {store} cannot be written: {reason}",
                fix="free some space there and start again: what was recorded is kept",
            ) from error
        if "locked" in reason:
            raise MeasurementError(
                f"the store {store} stays locked by another program", fix="end that program, or give another --store"
            ) from error
        if "readonly" in reason or "unable to open" in reason:
            raise InputError(
                f"the store {store} cannot be written: {reason}",
                fix="give yourself the right to write there, or name another place by --store",
            ) from error
        raise InputError(
            f"the store {store} cannot be used: {reason}",
            fix="is it a store of Hati's? another can be named by --store",
        ) from error
