"""Version 1 of ``my_method``."""

from __future__ import annotations


def my_method(values: list[float]) -> list[float]:
    """An insertion sort."""
    for i in range(1, len(values)):
        j, value = i, values[i]
        while j and values[j - 1] > value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value
    return values
