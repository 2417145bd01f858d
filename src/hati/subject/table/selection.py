"""Which rows of a table are meant."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from hati.core import InputError
from hati.core.wording import listed
from hati.subject.table.sheet import Sheet, distinct


class Condition(Struct, frozen=True):
    """A column and the text that its cells must have."""

    column: str
    value: str

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Read ``revision=2.1.0``.

        Raises:
            InputError: where it has no column or no ``=``.
        """
        column, equals, value = text.partition("=")
        if not column.strip() or not equals:
            raise InputError(f"{text!r} selects no rows", fix="write a column and its value, as in revision=2.1.0")
        return cls(column.strip(), value.strip())

    def __str__(self) -> str:
        return f"{self.column}={self.value}"


def selected(sheet: Sheet, conditions: Sequence[Condition]) -> Sheet:
    """The rows that meet all conditions; numbers are equal however they are written, where none is written so.

    Raises:
        InputError: for an unknown column, with the nearest, and where no row is left, with the column's values.
    """
    for condition in conditions:
        if condition.column not in sheet:
            raise sheet.missing(condition.column, f"for --where {condition}")
        values, codes = distinct(sheet.texts(condition.column))
        alike = _alike if condition.value not in {value.strip() for value in values} else _equal
        meant = np.array([alike(value, condition.value) for value in values], dtype=bool)
        if not meant.any():
            raise sheet.error(
                f"no row has {condition}", column=condition.column, fix=f"its values are: {listed(values)}"
            )
        sheet = sheet.only(meant[codes])
    return sheet


def _equal(text: str, wanted: str) -> bool:
    return text.strip() == wanted


def _alike(text: str, wanted: str) -> bool:
    try:
        return float(text) == float(wanted)
    except ValueError:
        return False
