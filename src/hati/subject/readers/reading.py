"""What a reader finds."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, InputError, Place, replace

OUTPUT = "standard output"


class MissingMetricError(InputError):
    """An output without the metric of that name."""

    def __init__(self, metric: str, message: str, *, place: Place, fix: str | None = None) -> None:
        super().__init__(message, place=place, fix=fix)
        self.metric = metric


class Reading(Struct, frozen=True):
    """Values of one metric, in order, as they stood in one place of the output.

    ``values`` has shape (n,) and is finite, in ``unit`` (None: the metric's own); ``warmup`` says that the
    benchmark marked them; ``per_run`` that they are one figure for the whole run, such as a throughput. ``lines`` are
    those of single values, where each stood in a line of its own.
    """

    metric: str
    values: FloatArray
    place: Place
    unit: str | None = None
    warmup: bool = False
    per_run: bool = False
    lines: Sequence[int] = ()

    def place_of(self, index: int) -> Place:
        """Where a value stood."""
        return replace(self.place, line=self.lines[index]) if self.lines else self.place


def numbers(values: Sequence[object], metric: str, place: Place, lines: Sequence[int] = ()) -> FloatArray:
    """The values as an array of shape (n,); ``lines`` are where each stood, if each had a line of its own.

    Raises:
        InputError: where one is not a finite number; a boolean is not a number.
    """

    def wrong(index: int, what: str) -> InputError:
        where = replace(place, line=lines[index]) if lines else place
        return InputError(f"{metric!r} has {what}", place=where)

    if not set(map(type, values)) <= {int, float}:
        index = next(index for index, value in enumerate(values) if type(value) not in {int, float})
        raise wrong(index, f"the value {shown(values[index])}, which is not a number")
    try:
        array = np.array(values, dtype=np.float64)
    except OverflowError:
        sizes = (abs(value) if isinstance(value, int) else 0 for value in values)
        index = next(index for index, size in enumerate(sizes) if size > sys.float_info.max)
        raise wrong(index, "a value that is too large for a number") from None
    if not np.all(np.isfinite(array)):
        index = int(np.argmin(np.isfinite(array)))
        raise wrong(index, f"the value {values[index]}, which is not a finite number")
    return array


def shown(value: object) -> str:
    """A value short enough for a message."""
    text = repr(value) if not isinstance(value, list | dict) else "a list" if isinstance(value, list) else "an object"
    return text if len(text) <= 40 else f"{text[:37]}..."
