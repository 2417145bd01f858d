"""A change between two samples as plain values and in a few characters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Struct

from hati.report.publishing import Interval, Of
from hati.report.quantities import change, change_number
from hati.report.table import Shown
from hati.studies.comparison import Change, ChangeVerdict, Comparison

_TINY_P = 1e-4
_NOTHING = "~"
WITH_POWER = "with 80 % probability, if the estimate and the noise hold"
"""How sure a number of runs that would decide is."""


class ChangeJson(Struct, frozen=True):
    """A change: its verdict and evidence; ``estimate`` is a fraction, ``ratio`` after over before."""

    verdict: Annotated[ChangeVerdict, Of("change.verdict")]
    estimate: Annotated[float | None, Of(lambda of: None if of.change.ratio is None else of.change.ratio - 1.0)]
    ratio: Annotated[float | None, Of("change.ratio")]
    interval: Annotated[Interval | None, Of("change.interval")]
    p_value: Annotated[float | None, Of("change.p_value")]
    q_value: Annotated[float | None, Of("change.q_value")]
    detectable: Annotated[float | None, Of("change.detectable")]
    runs_needed: Annotated[int | None, Of("change.runs_needed")]


def change_text(found: Change) -> Shown:
    """The change in percent; ``~`` where the ratio does not exist."""
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
