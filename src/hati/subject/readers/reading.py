"""What a reader finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hati.core import FloatArray, InputError, Place

OUTPUT = "standard output"


class MissingMetricError(InputError):
    """An output without the metric of that name."""

    def __init__(self, metric: str, message: str, *, place: Place, fix: str | None = None) -> None:
        super().__init__(message, place=place, fix=fix)
        self.metric = metric


@dataclass(frozen=True)
class Reading:
    """Values of one metric, in order, as they stood in one place of the output.

    ``values`` has shape (n,) and is finite, in ``unit`` (None: the metric's own); ``warmup`` says that the
    benchmark marked them; ``per_run`` that they are one figure for the whole run, such as a throughput.
    """

    metric: str
    values: FloatArray
    place: Place
    unit: str | None = None
    warmup: bool = False
    per_run: bool = False


def numbers(values: Sequence[object], metric: str, place: Place) -> FloatArray:
    """The values as an array of shape (n,).

    Raises:
        InputError: where one is no finite number; a boolean is none.
    """
    if not set(map(type, values)) <= {int, float}:
        wrong = next(value for value in values if type(value) not in {int, float})
        raise InputError(f"{metric!r} has the value {shown(wrong)}, which is no number", place=place)
    try:
        array = np.array(values, dtype=np.float64)
    except OverflowError:
        raise InputError(f"{metric!r} has a value that is too large for a number", place=place) from None
    if not np.all(np.isfinite(array)):
        wrong = values[int(np.argmin(np.isfinite(array)))]
        raise InputError(f"{metric!r} has the value {wrong}, which is no finite number", place=place)
    return array


def shown(value: object) -> str:
    """A value short enough for a message."""
    text = repr(value) if not isinstance(value, list | dict) else "a list" if isinstance(value, list) else "an object"
    return text if len(text) <= 40 else f"{text[:37]}..."
