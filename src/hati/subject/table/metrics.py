"""The measured values in a table: which column holds a metric, its cells as numbers, and deviations from which
noise is drawn.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from msgspec import Struct

from hati.core import LARGEST, Better, InputError, Metric, generator
from hati.core.wording import listed
from hati.space import Space
from hati.subject.table.options import ORIGIN, encoded
from hati.subject.table.sheet import Sheet

SEPARATOR = "@"
"""Between several values in one cell: repetitions, each a run of its own."""

_WITH_UNIT = re.compile(r"(.+) \((.+)\)")
_MISSING = frozenset({"", "nan", "na", "n/a", "null", "none"})


class MetricColumn(Struct, frozen=True):
    """A metric and the name of its column."""

    metric: Metric
    name: str


def metric_column(
    sheet: Sheet,
    name: str | None,
    others: Collection[str],
    known: Mapping[str, Metric],
    *,
    unit: str | None = None,
    better: Better | None = None,
) -> MetricColumn:
    """The column of a metric; without a name, the only one that can be one.

    The columns ``others`` are of options. ``unit`` and ``better`` win over a heading such as ``latency (ms)``, and that
    over the metrics that are ``known``; without any, the unit is 1 and lower is better.

    Raises:
        InputError: where the column does not exist, or more than one fits.
    """
    candidates = [column for column in sheet.columns if column and column not in others and column not in ORIGIN]
    column = _only(sheet, candidates) if name is None else _named(sheet, name, candidates)
    split = _WITH_UNIT.fullmatch(column)
    plain = (split[1] if split else column).removeprefix("metric ")
    defined = known.get(column) or known.get(plain) or Metric(plain, "1")
    written = split[2] if split else None
    return MetricColumn(Metric(plain, unit or written or defined.unit, better or defined.better), column)


def numbers(sheet: Sheet, column: str) -> list[tuple[float, ...]]:
    """Each row's values in a column, in order; none where the cell is empty or says that there is none.

    Raises:
        InputError: for a cell that is not a finite number, with its place.
    """
    return [_values(sheet, column, row, text) for row, text in enumerate(sheet.texts(column))]


def _values(sheet: Sheet, column: str, row: int, text: str) -> tuple[float, ...]:
    if text.strip().lower() in _MISSING:
        return ()
    values = []
    for part in text.split(SEPARATOR):
        try:
            value = float(part)
        except ValueError:
            value = math.inf
        if not math.isfinite(value) or "_" in part:
            raise sheet.error(
                f"{text!r} is not a valid number" if part == text else f"{part!r} in {text!r} is not a valid number",
                column=column,
                row=row,
                fix="write it as in 0.25 or 1e-3; leave the cell empty where nothing was measured",
            )
        if abs(value) > LARGEST:
            fix = f"give values of at most {LARGEST:g}, in a larger unit"
            raise sheet.error(f"{part!r} is too large to compute with", column=column, row=row, fix=fix)
        values.append(value)
    return tuple(values)


def _only(sheet: Sheet, candidates: Sequence[str]) -> str:
    numeric = [name for name in candidates if _numeric(sheet.texts(name))]
    if len(numeric) == 1:
        return numeric[0]
    if not numeric:
        raise sheet.error("the table has no numeric column other than its options", column=sheet.columns[0])
    fix = f"say which by --metric: {listed(numeric)}"
    raise sheet.error("several columns could be the metric", column=numeric[0], fix=fix)


def _numeric(texts: Sequence[str]) -> bool:
    """Whether a column may be a metric: it begins with a number, and is neither constant nor of zeros and ones."""
    if len(set(texts)) == 1 or set(texts) <= {"0", "1"}:
        return False
    first = next((text for text in texts if text.strip().lower() not in _MISSING), "")
    try:
        return all(math.isfinite(float(part)) for part in first.split(SEPARATOR))
    except ValueError:
        return False


def _named(sheet: Sheet, name: str, candidates: Sequence[str]) -> str:
    if name in candidates:
        return name
    for candidate in candidates:
        split = _WITH_UNIT.fullmatch(candidate)
        if name in {split[1] if split else candidate, candidate.removeprefix("metric ")}:
            return candidate
    if name in sheet:
        raise sheet.error(
            f"the column {name!r} is not a metric but an option, or says where rows come from", column=name
        )
    raise sheet.missing(name, "for --metric", candidates)


class RunDeviations(Struct, frozen=True):
    """A standard deviation for each configuration and metric, as a fraction of its value.

    ``by_row`` maps a configuration's row of indexes, as bytes, to the metrics' deviations; ``everywhere`` is used
    where it has none.
    """

    by_row: Mapping[bytes, Mapping[str, float]]
    everywhere: float | None = None

    def of(self, key: bytes, metric: str) -> float | None:
        """The deviation of a configuration's metric, or None where it is not known."""
        return self.by_row.get(key, {}).get(metric, self.everywhere)


def noisy(value: float, deviation: float, seed: int, *purpose: str) -> float:
    """A value with the noise of one run: log-normal with mean ``value`` and that relative standard deviation.

    The same seed and purpose give the same value. With z standard normal it is value exp(s z - s^2 / 2),
    s^2 = ln(1 + deviation^2): mean and variance of the log-normal distribution, solved for its parameters.
    """
    scale = math.sqrt(math.log1p(deviation**2))
    normal = float(generator(seed, *purpose).standard_normal())
    return value * math.exp(scale * normal - scale**2 / 2)


def read_deviations(sheet: Sheet, space: Space, columns: Mapping[str, str]) -> RunDeviations:
    """The deviations in a table: ``columns`` maps a metric's name to the column that holds its deviations.

    Where a configuration has several rows, the root of their mean square counts.

    Raises:
        InputError: for cells that are not settings, or not fractions from 0 on, with their places.
    """
    codes, _ = encoded(sheet, space)
    squares: dict[bytes, dict[str, list[float]]] = {}
    keys = [row.tobytes() for row in codes]
    for metric, column in columns.items():
        for row, values in enumerate(numbers(sheet, column)):
            if any(value < 0 for value in values):
                raise sheet.error("a deviation is a fraction from 0 on", column=column, row=row, fix="0.02 for 2 %")
            squares.setdefault(keys[row], {}).setdefault(metric, []).extend(value**2 for value in values)
    means = {key: {m: _root(found) for m, found in by.items() if found} for key, by in squares.items()}
    return RunDeviations(means)


def same_everywhere(share: float) -> RunDeviations:
    """One relative standard deviation for all configurations.

    Raises:
        InputError: where it is not a fraction from 0 on.
    """
    if not 0.0 <= share < math.inf:
        raise InputError(f"{share} is not a valid relative deviation", fix="write a fraction such as 0.02, or 2%")
    return RunDeviations({}, share)


def _root(squares: Sequence[float]) -> float:
    return math.sqrt(float(np.mean(squares)))
