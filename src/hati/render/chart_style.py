"""The common style of charts: colours, sizes, type, labels and axes. Imports Altair, which is slow: see `charts`.

Colour-blind readers can distinguish the colours, which stand out on white and on dark grey (Okabe and Ito 2008). Colour
is never the only mark: important items also differ in shape or are labelled.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import altair as alt

IMPORTANT = "#d55e00"
ALIASED = "#cc79a7"
NOT_SHOWN = "#8b95a1"
FIRST = "#0072b2"
SECOND = "#e69f00"
RULE = "#009e73"
REPETITIONS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8b95a1", "#f0e442")
INK = "#24292f"
GRID = "#e3e7ec"


Chart = alt.LayerChart | alt.FacetChart | alt.ConcatChart

WIDTH = 600
HEIGHT = 340
ROW = 22
_FONT = "Arial, 'Liberation Sans', Helvetica, sans-serif"
"""Fonts with equal metrics: a drawing is laid out with one of them and may be shown with another."""
_LONGEST = 60
_TICKS = 6
_FACTORS = (1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 7.0)


def looks(title: str, *reading: str) -> dict[str, Any]:
    """The arguments of a chart for its title, the lines on how to read it, and the common style.

    Methods of a chart, such as ``.properties()``, would copy the whole chart each time.
    """
    heading = alt.TitleParams(
        plain(title, 100),
        subtitle=[plain(line, 120) for line in reading if line],
        anchor="start",
        frame="bounds",
        offset=14,
    )
    config = alt.Config(
        font=_FONT,
        aria=False,  # the page describes each chart as a whole
        title=alt.TitleConfig(fontSize=15, fontWeight=600, color=INK, subtitleFontSize=12, subtitleColor=INK),
        axis=alt.AxisConfig(
            labelFontSize=11,
            titleFontSize=12,
            titleFontWeight="normal",
            labelColor=INK,
            titleColor=INK,
            gridColor=GRID,
            domainColor=NOT_SHOWN,
            tickColor=NOT_SHOWN,
            labelLimit=260,
        ),
        legend=alt.LegendConfig(labelFontSize=12, titleFontSize=12, labelColor=INK, titleColor=INK),
        text=alt.MarkConfig(fontSize=11, color=INK),
        view=alt.ViewConfig(stroke=None),
    )
    return {"title": heading, "background": "white", "padding": 12, "config": config}


def plain(text: str, longest: int = _LONGEST) -> str:
    """The text on one line, without unprintable characters, truncated if it is too long for a chart."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def labels(names: Sequence[str]) -> list[str]:
    """One label for each name, distinct even if names are truncated."""
    unique: dict[str, None] = {}
    for name in map(plain, names):
        numbered = (f"{name} ({number})" for number in itertools.count(2))
        unique[next(label for label in itertools.chain([name], numbered) if label not in unique)] = None
    return list(unique)


def titled(name: str, unit: str) -> str:
    """An axis's title: the name with its unit."""
    return plain(f"{name} ({unit})" if unit else name)


def rows(order: Sequence[str]) -> alt.Y:
    """One row for each label, in the given order."""
    return alt.Y("label:N", sort=list(order), title=None, axis=alt.Axis(ticks=False, domain=False, labelPadding=8))


def factor_axis(largest: float) -> alt.Axis:
    """An axis of differences of logarithms whose labels are factors: 0 is x1, ln 2 is x2."""
    values = [math.log(factor) for factor in _factors(math.exp(min(largest, 500.0)))]
    return alt.Axis(values=values, labelExpr="'×' + format(exp(datum.value), '.4~g')", labelOverlap=True)


def data(rows_of: Sequence[dict[str, Any]]) -> alt.InlineData:
    """Rows as inline data."""
    return alt.InlineData(values=list(rows_of))


def _factors(largest: float) -> list[float]:
    if largest > 3:
        decades = range(math.ceil(math.log10(largest)) + 1)
        candidates = [factor * 10.0**decade for decade in decades for factor in _FACTORS]
        if largest > 100:
            candidates = [10.0**decade for decade in decades[:: 1 + len(decades) // (2 * _TICKS)]]
        return [factor for factor in candidates if factor <= largest * 1.1]
    rough = max(largest - 1, 1e-6) / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(nice * power for nice in (1, 2, 5, 10) if nice * power >= rough)
    return [1 + i * step for i in range(_TICKS + 2)]
