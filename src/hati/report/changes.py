"""A change between two samples as plain values and in a few characters."""

from __future__ import annotations

from collections.abc import Sequence

from hati.report.quantities import change, change_number
from hati.report.table import Plain, Shown
from hati.studies.comparison import Change, ChangeVerdict, Comparison

_TINY_P = 1e-4
_NOTHING = "~"
WITH_POWER = "with 80 % probability, if the estimate and the noise hold"
"""How sure a number of runs that would decide is."""


def change_json(found: Change) -> dict[str, Plain]:
    """Its verdict and evidence; every number unrounded."""
    return {
        "verdict": found.verdict.value,
        "estimate": None if found.ratio is None else found.ratio - 1.0,
        "ratio": found.ratio,
        "interval": None if found.interval is None else list(found.interval),
        "p_value": found.p_value,
        "q_value": found.q_value,
        "detectable": found.detectable,
        "runs_needed": found.runs_needed,
    }


def change_text(found: Change) -> Shown:
    """The change in percent; ``~`` where there is no ratio."""
    if found.ratio is None:
        return Shown(_NOTHING, None)
    return Shown(change(found.ratio - 1.0), found.ratio)


def needed_notes(rows: Sequence[Comparison], runs: str) -> list[str]:
    """What the numbers of runs that would decide mean, where there are some."""
    undecided = [row.change for row in rows if row.change.verdict is ChangeVerdict.INCONCLUSIVE]
    if all(found.runs_needed is None for found in undecided):
        return []
    return [f"The second number of {runs} would decide {WITH_POWER}."]


def p_text(p_value: float) -> str:
    """A p-value as people read it, never as zero.

    >>> p_text(0.00031), p_text(0.2), p_text(1e-9)
    ('0.0003', '0.20', '<0.0001')
    """
    if p_value < _TINY_P:
        return f"<{_TINY_P}"
    return f"{p_value:.2f}" if p_value >= 0.1 else f"{p_value:.4f}"


def verdict_text(found: Change) -> str:
    """The verdict, marked where it is of the tail alone."""
    return f"{found.verdict.value} (tail)" if found.of_tail else found.verdict.value


def interval_text(interval: tuple[float, float]) -> str:
    """The interval of a ratio as changes in percent, without the sign for it."""
    low, high = (change_number(end - 1.0) for end in interval)
    return f"{low} to {high}"
