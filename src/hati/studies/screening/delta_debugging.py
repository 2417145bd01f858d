"""Delta debugging: the fewest of several elements that fail together."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from hati.core import Setting

Element = tuple[str, Setting]
"""An option with one of its settings."""


def fewest_failing(elements: tuple[Element, ...], fails: Callable[[tuple[Element, ...]], bool]) -> tuple[Element, ...]:
    """A part of elements that fail together, of which no smaller part was seen to fail.

    This is ddmin (Zeller and Hildebrandt 2002): halves, then smaller parts and what they leave.
    """
    number = 2
    while len(elements) > 1:
        parts = _parts(elements, number)
        rests = [tuple(e for e in elements if e not in part) for part in parts] if number > 2 else []
        failing = next((some for some in (*parts, *rests) if fails(some)), None)
        if failing is not None:
            number = 2 if failing in parts else max(number - 1, 2)
            elements = failing
        elif number >= len(elements):
            break
        else:
            number = min(2 * number, len(elements))
    return elements


def _parts(elements: tuple[Element, ...], number: int) -> list[tuple[Element, ...]]:
    """That many parts of about one size."""
    ends = [len(elements) * part // number for part in range(number + 1)]
    return [elements[start:end] for start, end in pairwise(ends) if end > start]
