"""When important options are to be determined again: the table ``[check.recalibrate]``."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from hati.core import InputError
from hati.project.document import Table, Value

if TYPE_CHECKING:
    from hati.studies.recalibration import Policy

_Number = TypeVar("_Number", int, float)


def read_policy(check: Table) -> Policy | None:
    """Read ``recalibrate`` of ``[check]``; None where there is none.

    Raises:
        InputError: for what is wrong, with its place.
    """
    value = check.get("recalibrate")
    if value is None:
        return None
    from hati.studies.recalibration import Policy  # loads what screenings need: not for projects without a policy

    table = value.table()
    table.only("checks", "days", "residuals", "options")
    checks, days = table.get("checks"), table.get("days")
    residuals, options = table.get("residuals"), table.get("options")
    try:
        return Policy(
            None if checks is None else _positive(checks, checks.natural()),
            None if days is None else _positive(days, _number(days)),
            None if residuals is None else _share(residuals),
            options is not None and options.truth(),
        )
    except InputError as error:
        if error.place is not None:
            raise
        raise table.error(error.message, fix=error.fix) from None


def _number(value: Value) -> float:
    if isinstance(value.data, bool) or not isinstance(value.data, int | float):
        raise value.error(f"{value.name}: expected a number", fix="write a number above 0")
    return float(value.data)


def _positive(value: Value, number: _Number) -> _Number:
    if not 0 < number < float("inf"):
        raise value.error(f"{value.name}: expected a number above 0, found {number:g}")
    return number


def _share(value: Value) -> float:
    """A level such as ``"1%"`` or 0.01."""
    text = value.data.strip() if isinstance(value.data, str) else ""
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1) if text else _number(value)
    except ValueError:
        share = -1.0
    if not 0.0 < share < 1.0:
        raise value.error(f"{value.name}: expected a level between 0 and 1", fix='write it as "1%" or 0.01')
    return share
