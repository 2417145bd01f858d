"""What no run has shown yet: no p-value beside a limit is less than the probability that a kind of run is unseen."""

from __future__ import annotations

from hati.stats import fewest_of_a_share

UNSEEN = 0.3
"""The share of runs that may be of a kind of their own, such as a second mode."""


def unseen(runs: int) -> float:
    """The probability that none of so many runs is of a kind that three in ten are of.

    >>> round(unseen(5), 3), round(unseen(13), 4)
    (0.168, 0.0097)
    """
    return float((1.0 - UNSEEN) ** runs)


def fewest_alone(alpha: float) -> int:
    """Runs that it takes to decide beside a limit, 13 at 1 %: of fewer ``unseen`` is above alpha."""
    return fewest_of_a_share(alpha, 1.0 - UNSEEN)
