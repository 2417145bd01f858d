"""Figure data of a relation: how the observations of each side are spread, and the means of its runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hati.core import FloatArray
from hati.logic.interpret import Limit, Measured
from hati.report.quantities import tidy
from hati.studies.assertion import Atom, Book, side_of

BINS = 40
_TAIL = 0.005
"""The share of a side's observations at either end that must not make the rest narrow."""
_FAR = 4.0
"""In widths of what was measured: a limit that is farther away is told, not drawn."""
_MAGNITUDES = 30.0
"""From this quotient of the ends on the axis is logarithmic."""


class SideFigure(NamedTuple):
    """A side that was measured: the share of its observations in each bin, every run counting alike; its run means."""

    name: str
    shares: tuple[float, ...]
    means: tuple[float, ...]


class RelationFigure(NamedTuple):
    """Both sides over common bins, of which the outermost hold what lies ``beyond`` them; one side where it is a limit.

    Values are in ``unit``, tidied. ``limit`` is None where there is none, or it is too far away: ``far``.
    """

    text: str
    unit: str
    logarithmic: bool
    edges: tuple[float, ...]
    sides: tuple[SideFigure, ...]
    limit: float | None
    far: float | None
    beyond: int


def relation_figure(atom: Atom, book: Book) -> RelationFigure | None:
    """What was measured of a relation's sides, as its verdict took it; None where something is missing or unfit."""
    if not atom.is_told_by(book):
        return None
    named = ((str(atom.relation.left), atom.resolved.left), (str(atom.relation.right), atom.resolved.right))
    taken = [(name, side_of(side, book)) for name, side in named]
    measured = [(name, side) for name, side in taken if isinstance(side, Measured)]
    limits = [side.value for _, side in taken if isinstance(side, Limit)]
    low, high = _range([side for _, side in measured])
    near = [limit for limit in limits if low - _FAR * (high - low) <= limit <= high + _FAR * (high - low)]
    low, high = min([low, *near]), max([high, *near])
    unit, factor = tidy(atom.unit, (low, high))
    logarithmic = low > 0.0 and high / low > _MAGNITUDES
    space = np.geomspace if logarithmic else np.linspace
    edges = space(low, high, BINS + 1)
    return RelationFigure(
        text=atom.text,
        unit=unit,
        logarithmic=logarithmic,
        edges=tuple((edges * factor).tolist()),
        sides=tuple(_side(name, side, edges, factor) for name, side in measured),
        limit=next((limit * factor for limit in near), None),
        far=next((limit * factor for limit in limits if limit not in near), None),
        beyond=sum(int(((run < low) | (run > high)).sum()) for _, side in measured for run in side.runs),
    )


def _range(sides: Sequence[Measured]) -> tuple[float, float]:
    """That of all but the tails, and of all run means; never empty."""
    ends = [float(np.quantile(np.concatenate(side.runs), share)) for side in sides for share in (_TAIL, 1.0 - _TAIL)]
    means = [float(mean) for side in sides for mean in side.means]
    low, high = min(*ends, *means), max(*ends, *means)
    if high - low > 1e-9 * max(abs(low), abs(high)):
        return low, high
    half = 0.01 * abs(low) or 1.0
    return low - half, high + half


def _side(name: str, side: Measured, edges: FloatArray, factor: float) -> SideFigure:
    shares = sum((_shares(run, edges) for run in side.runs), np.zeros(len(edges) - 1)) / len(side.runs)
    return SideFigure(name, tuple(shares.tolist()), tuple((side.means * factor).tolist()))


def _shares(run: FloatArray, edges: FloatArray) -> FloatArray:
    counts, _ = np.histogram(np.clip(run, edges[0], edges[-1]), bins=edges)
    return counts / math.fsum(counts)
