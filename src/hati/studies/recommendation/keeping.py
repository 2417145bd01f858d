"""What has to hold besides the gain: a metric's limit relative to its value at the default configuration."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hati.core import InputError, Place

_RULE = re.compile(
    r"\s*(?P<metric>.+?)\s*(?P<comparator><=|>=)\s*(?:(?P<before>[0-9.eE+-]+)\s*\*\s*)?default"
    r"(?:\s*\*\s*(?P<after>[0-9.eE+-]+))?\s*"
)
_FIX = "write --keep 'METRIC <= 1.1 * default', or >="


@dataclass(frozen=True)
class KeepRule:
    """``metric <= factor * default``, or >= where the limit is a ``lower`` one."""

    metric: str
    factor: float
    lower: bool = False

    def __post_init__(self) -> None:
        if not 0.0 < self.factor < float("inf"):
            raise InputError(f"the factor of --keep is a number above 0, not {self.factor:g}", fix=_FIX)

    def __str__(self) -> str:
        return f"{self.metric} {'>=' if self.lower else '<='} {self.factor:g} * default"

    def holds(self, change: float) -> bool:
        """Whether a change, a fraction of the default's value, is within the limit."""
        return 1.0 + change >= self.factor if self.lower else 1.0 + change <= self.factor


def parse_keep(text: str) -> KeepRule:
    """Read ``memory <= 1.1 * default``, ``memory <= default * 1.1`` or ``tps >= default``.

    Raises:
        InputError: for anything else, with the place and the fix.
    """
    match = _RULE.fullmatch(text)
    if match is None or (match["before"] and match["after"]):
        raise InputError("expected METRIC <= FACTOR * default", place=Place("--keep", None, 1, text), fix=_FIX)
    written = match["before"] or match["after"] or "1"
    try:
        factor = float(written)
    except ValueError:
        column = text.index(written) + 1
        raise InputError(f"{written!r} is not a number", place=Place("--keep", None, column, text), fix=_FIX) from None
    return KeepRule(match["metric"], factor, match["comparator"] == ">=")
