"""What has to hold besides the gain: a metric's limit relative to its value at the default configuration."""

from __future__ import annotations

import math
import re

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, InputError, Place
from hati.stats import t_quantile

_ROUNDING = 1e-12

_RULE = re.compile(
    r"\s*(?P<metric>.+?)\s*(?P<comparator><=|>=)\s*(?:(?P<before>[0-9.eE+-]+)\s*\*\s*)?default"
    r"(?:\s*\*\s*(?P<after>[0-9.eE+-]+))?\s*"
)
_FIX = "write --keep 'METRIC <= 1.1 * default', or >="


class KeepRule(Struct, frozen=True):
    """``metric <= factor * default``, or >= where the limit is a ``lower`` one."""

    metric: str
    factor: float
    lower: bool = False

    def __post_init__(self) -> None:
        if not 0.0 < self.factor < float("inf"):
            raise InputError(f"the factor of --keep is a number above 0, not {self.factor:g}", fix=_FIX)

    def __str__(self) -> str:
        return f"{self.metric} {'>=' if self.lower else '<='} {self.factor:g} * default"

    def holds(self, value: float, baseline: float) -> bool:
        """Whether a value is within the limit that one at the default configuration sets; rounding decides nothing."""
        limit = self.factor * baseline
        beyond = limit - value if self.lower else value - limit
        return beyond <= _ROUNDING * (abs(value) + abs(limit))

    def margin(self, values: FloatArray, baselines: FloatArray, error: float) -> float | None:
        """How far the mean has to be within the limit to be shown at that error; None with fewer than two runs each.

        That is Welch's one-sided t test of value - factor * baseline, whatever the values are.

        Args:
            values: runs of the configuration, shape (n,).
            baselines: runs of the default one, shape (m,).
            error: of the test, in (0, 0.5).
        """
        if min(len(values), len(baselines)) < 2:
            return None
        parts = np.array(
            [np.var(values, ddof=1) / len(values), self.factor**2 * np.var(baselines, ddof=1) / len(baselines)]
        )
        variance = float(parts.sum())
        if variance == 0.0:
            return 0.0
        df = variance**2 / float((parts**2 / (np.array([len(values), len(baselines)]) - 1)).sum())
        return t_quantile(1.0 - error, df) * math.sqrt(variance)


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
