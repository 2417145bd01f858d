"""Relative standard deviations of a run, from which noise is drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from hati.core import InputError, generator
from hati.space import Space
from hati.subject.table.encoding import encoded
from hati.subject.table.metrics import numbers
from hati.subject.table.sheet import Sheet


class Deviations(Struct, frozen=True):
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


def read_deviations(sheet: Sheet, space: Space, columns: Mapping[str, str]) -> Deviations:
    """The deviations in a table: ``columns`` maps a metric's name to the column that holds its deviations.

    Where a configuration has several rows, the root of their mean square counts.

    Raises:
        InputError: for cells that are no settings, or no fractions from 0 on, with their places.
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
    return Deviations(means)


def same_everywhere(share: float) -> Deviations:
    """One relative standard deviation for all configurations.

    Raises:
        InputError: where it is no fraction from 0 on.
    """
    if not 0.0 <= share < math.inf:
        raise InputError(f"{share} is not a valid relative deviation", fix="write a fraction such as 0.02, or 2%")
    return Deviations({}, share)


def _root(squares: Sequence[float]) -> float:
    return math.sqrt(float(np.mean(squares)))
