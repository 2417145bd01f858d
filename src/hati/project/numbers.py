"""Numbers of a project file, with their bounds."""

from __future__ import annotations

from typing import TypeVar

from hati.core import InputError, parse_duration
from hati.project.document import Value

_Number = TypeVar("_Number", int, float)


def number(value: Value) -> float:
    """A value as a number.

    Raises:
        InputError: where it is none.
    """
    if isinstance(value.data, bool) or not isinstance(value.data, int | float):
        raise value.error(f"{value.name}: expected a number", fix="write a number above 0")
    return float(value.data)


def positive(value: Value, found: _Number) -> _Number:
    """The number that a value is, if above zero.

    Raises:
        InputError: where it is not.
    """
    if not 0 < found < float("inf"):
        raise value.error(f"{value.name}: expected a number above 0, found {found:g}")
    return found


def duration(value: Value) -> float:
    """Seconds, of a text such as ``"30s"``.

    Raises:
        InputError: for what is none.
    """
    try:
        return parse_duration(value.text())
    except InputError as error:
        if error.place:
            raise
        raise value.error(error.message, fix=error.fix) from None


def share(value: Value) -> float:
    """A share such as ``"1%"`` or 0.01.

    Raises:
        InputError: for what is none, or not between 0 and 1.
    """
    text = value.data.strip() if isinstance(value.data, str) else ""
    try:
        found = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1) if text else number(value)
    except ValueError:
        found = -1.0
    if not 0.0 < found < 1.0:
        raise value.error(f"{value.name}: expected a share between 0 and 100 %", fix='write it as "1%" or 0.01')
    return found
