"""A table of texts as it stands in a file, whose cells know their places."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import InputError, Place, replace
from hati.core.nearest import suggestion

Cells = NDArray[np.object_]
Locate = Callable[[int | None, int], Place]
"""The place of a cell by its row in the file, from 0 (None: the header), and its column, from 0."""


class Sheet(Struct, frozen=True, eq=False):
    """The rows of a table, or some of them.

    ``cells`` holds texts, shape (rows, columns); ``numbers`` the rows' places in the file, from 0; ``content``
    is a hash of the whole file's bytes.

    Raises:
        InputError: for two columns of one name, with their place.
    """

    file: str
    columns: tuple[str, ...]
    cells: Cells
    numbers: NDArray[np.intp]
    content: str
    locate: Locate

    def __post_init__(self) -> None:
        for position, name in enumerate(self.columns):
            if name and name in self.columns[:position]:
                raise self.error(f"there are two columns {name!r}", column=name, at=position, fix="rename one")

    def __len__(self) -> int:
        return len(self.numbers)

    def __contains__(self, column: str) -> bool:
        return column in self.columns

    def texts(self, column: str) -> list[str]:
        """The cells of a column, from top to bottom."""
        texts: list[str] = self.cells[:, self.columns.index(column)].tolist()
        return texts

    def only(self, rows: NDArray[np.intp] | NDArray[np.bool_]) -> Sheet:
        """The table with these rows, in this order."""
        return replace(self, cells=self.cells[rows], numbers=self.numbers[rows])

    def error(
        self, message: str, *, column: str, row: int | None = None, fix: str | None = None, at: int | None = None
    ) -> InputError:
        """An error that points at a cell: ``row`` counts this table's rows from 0, None is the header."""
        number = None if row is None else int(self.numbers[row])
        position = self.columns.index(column) if at is None else at
        return InputError(message, place=self.locate(number, position), fix=fix)

    def missing(self, column: str, meant: str, candidates: Iterable[str] | None = None) -> InputError:
        """The error that a column is not there, ``meant`` to say what for, with the nearest that is."""
        known = [name for name in (self.columns if candidates is None else candidates) if name]
        return InputError(
            f"there is no column {column!r} {meant}", place=self.locate(None, 0), fix=suggestion(column, known)
        )


def distinct(texts: Iterable[str]) -> tuple[tuple[str, ...], NDArray[np.intp]]:
    """The different texts in the order in which they come, and for each text its place among these."""
    places: dict[str, int] = {}
    codes = [places.setdefault(text, len(places)) for text in texts]
    return tuple(places), np.array(codes, dtype=np.intp)
