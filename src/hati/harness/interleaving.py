"""In which order the two sides of a pair are run."""

from __future__ import annotations

from hati.core import generator


def first_of_pair(seed: int, pair: int) -> int:
    """Which side is run first, 0 or 1: a coin of the seed for each pair, counted from 0.

    What neither side can know makes the difference of a pair as likely as its opposite where the sides are alike,
    however the machine drifts.
    """
    return int(generator(seed, "order", str(pair)).integers(2))
