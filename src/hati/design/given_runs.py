"""Runs that were made already, read from a table of their settings."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from hati.core import Configuration, InputError, Place
from hati.core.nearest import suggestion
from hati.design.coding import Levels, levels

if TYPE_CHECKING:  # a space is only looked at here; its solver need not be loaded
    from hati.space import Space


def read_runs(text: str, space: Space, file: str = "runs.csv") -> Levels:
    """The runs in a CSV text with a column for every option; other columns are left alone.

    Settings are read as by ``Space.parse``; an option without influence is empty. A configuration may come twice.

    Raises:
        InputError: with the line, for a row that is no valid configuration, or where a column is missing.
    """
    lines = text.removeprefix("\ufeff").splitlines()
    reader = csv.DictReader(lines, strict=True)
    try:
        header = [name.strip() for name in reader.fieldnames or ()]
        reader.fieldnames = header
        _check_header(header, space, Place(file, 1))
        found = [_configuration(row, space, Place(file, reader.line_num)) for row in reader]
    except csv.Error as error:
        raise InputError(f"this is not CSV: {error}", place=Place(file, reader.line_num)) from error
    if not found:
        return np.empty((0, len(space.options)), dtype=np.int16)
    return levels(found, space)


def _check_header(header: list[str], space: Space, place: Place) -> None:
    for name in space.names:
        if name not in header:
            raise InputError(
                f"there is no column for option {name!r}", place=place, fix=suggestion(name, [h for h in header if h])
            )
        if header.count(name) > 1:
            raise InputError(f"there are two columns for option {name!r}", place=place, fix="keep one")


def _configuration(row: Mapping[str, str | None], space: Space, place: Place) -> Configuration:
    texts = {name: row[name] for name in space.names}
    missing = [name for name, text in texts.items() if text is None]
    if missing:
        raise InputError(f"this row ends before column {missing[0]!r}", place=place)
    try:
        configuration = space.parse({name: text or "" for name, text in texts.items()})
    except InputError as error:
        raise InputError(error.message, place=place, fix=error.fix) from error
    if not space.valid(configuration):
        raise InputError("this configuration is not valid: it breaks a constraint", place=place, fix="drop the row")
    return configuration
