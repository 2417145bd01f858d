"""When important options are to be determined again: the table ``[check.recalibrate]``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hati.core import InputError
from hati.project.document import Table
from hati.project.numbers import number, positive, share

if TYPE_CHECKING:
    from hati.studies.recalibration import Policy


def read_policy(check: Table) -> Policy | None:
    """Read ``recalibrate`` of ``[check]``; None where there is none.

    Raises:
        InputError: for what is wrong, with its place.
    """
    value = check.get("recalibrate")
    if value is None:
        return None
    from hati.studies.recalibration import (
        TOLERANCE,
        Policy,
    )  # loads what screenings need: not for projects without a policy

    table = value.table()
    table.only("checks", "days", "residuals", "tolerance", "options")
    checks, days = table.get("checks"), table.get("days")
    residuals, tolerance = table.get("residuals"), table.get("tolerance")
    options = table.get("options")
    if tolerance is not None and residuals is None:
        raise tolerance.error("tolerance: of what is not tested", fix='add residuals = "1%"')
    try:
        return Policy(
            None if checks is None else positive(checks, checks.natural()),
            None if days is None else positive(days, number(days)),
            None if residuals is None else share(residuals),
            options is not None and options.truth(),
            TOLERANCE if tolerance is None else share(tolerance),
        )
    except InputError as error:
        if error.place is not None:
            raise
        raise table.error(error.message, fix=error.fix) from None
