"""What a gate measures, and when important options are to be determined again: the tables ``[check]`` and
``[check.recalibrate]``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hati.core import Budget, Configuration, InputError, Place, setting_text
from hati.core.values import type_names
from hati.project.document import TomlTable, Value
from hati.project.metrics import number, positive, share
from hati.project.schema import keys_of
from hati.space import Space

if TYPE_CHECKING:
    from hati.studies.recalibration import Policy


def read_policy(check: TomlTable) -> Policy | None:
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
    table.only(*keys_of("recalibrate"))
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


@dataclass(frozen=True)
class Check:
    """``reference`` is a revision's name, ``previous`` or ``merge-base``; None where none is pinned.

    ``configurations`` are measured besides the default one where there is no screening suite; ``budget`` is what a
    check may cost, where nothing else is said. ``reference_place`` is where the reference is named. ``recalibrate`` is
    when important options are to be determined again.
    """

    reference: str | None = None
    configurations: tuple[Configuration, ...] = ()
    budget: str | None = None
    recalibrate: Policy | None = None
    reference_place: Place | None = field(default=None, compare=False)


def read_check(document: TomlTable, space: Space) -> Check:
    """Read ``[check]``; without one all is as it is where nothing is said.

    Raises:
        InputError: for what is wrong, with its place.
    """
    value = document.get("check")
    if value is None:
        return Check()
    table = value.table()
    table.only(*keys_of("check"))
    reference, budget, listed = table.get("reference"), table.get("budget"), table.get("configurations")
    return Check(
        None if reference is None else reference.line(),
        () if listed is None else tuple(_configuration(item, space) for item in listed.items()),
        None if budget is None else _budget(budget),
        read_policy(table),
        None if reference is None else reference.place,
    )


def _configuration(value: Value, space: Space) -> Configuration:
    table = value.table()
    settings = {}
    for name, setting in table.data.items():
        if type(setting) not in type_names:
            raise table.error(f"{name}: expected a setting", key=name, fix="write a boolean, a number or text")
        settings[name] = setting_text(setting)  # type: ignore[arg-type]  # one of its types
    try:
        found = space.parse(settings)
    except InputError as error:
        raise table.error(error.message, fix=error.fix) from None
    if not space.valid(found):
        raise table.error(f"the configuration {found} is not valid", fix="see the constraints")
    return found


def _budget(value: Value) -> str:
    text = str(value.natural()) if isinstance(value.data, int) else value.line()
    try:
        Budget.parse(text)
    except InputError as error:
        raise value.error(error.message, fix=error.fix) from None
    return text
