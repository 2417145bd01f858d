"""The charts of a relation's sides. Imports Altair: see `charts` for when that is."""

from __future__ import annotations

import itertools
from typing import Any

import altair as alt

from hati.render import palette
from hati.render.chart_style import ROW, WIDTH, Chart, data, labels, looks, plain, rows, titled
from hati.report import RelationFigure, SideFigure, general

_HEIGHT = 90
_COLOURS = (palette.FIRST, palette.SECOND)


def relation_chart(figure: RelationFigure) -> Chart:
    """How the observations of each side are spread, one below the other on one axis, and the means of their runs."""
    names = labels([side.name for side in figure.sides])
    panels = [
        _spread(figure, side, name, colour)
        for side, name, colour in zip(figure.sides, names, itertools.cycle(_COLOURS), strict=False)
    ]
    return alt.concat(
        *panels,
        _means(figure, names),
        columns=1,
        spacing=14,
        **looks(
            f"What was measured for {figure.text}", "Bars: observations, every run counting alike.", *_reading(figure)
        ),
    )


def _reading(figure: RelationFigure) -> list[str]:
    told = ["Points: the means of runs."]
    if figure.limit is not None:
        told.append("The dashed line is the limit.")
    if figure.far is not None:
        told.append(f"The limit, {general(figure.far)} {figure.unit}, lies beyond what is drawn.")
    if figure.beyond:
        told.append(f"The outermost bars hold {figure.beyond:,} observations that lie beyond them.")
    return [" ".join(told[:2]), " ".join(told[2:])]


def _spread(figure: RelationFigure, side: SideFigure, name: str, colour: str) -> Chart:
    bins = [
        {"from": low, "to": high, "share": share, "none": 0.0}
        for (low, high), share in zip(itertools.pairwise(figure.edges), side.shares, strict=True)
        if share
    ]
    bars = (
        alt.Chart(data(bins))
        .mark_bar(color=colour, opacity=0.75)
        .encode(
            x=_x(figure, None),
            x2="to:Q",
            y=alt.Y("share:Q", title="share", axis=alt.Axis(format=".0%", tickCount=3), scale=alt.Scale(domainMin=0)),
            y2="none:Q",
            tooltip=[
                alt.Tooltip("from:Q", title="from", format=".5~g"),
                alt.Tooltip("to:Q", title="to", format=".5~g"),
                alt.Tooltip("share:Q", title="share of observations", format=".2%"),
            ],
        )
    )
    return alt.layer(
        bars,
        *_limit(figure),
        width=WIDTH,
        height=_HEIGHT,
        title=alt.TitleParams(plain(name, 80), fontSize=12, anchor="start"),
    )


def _means(figure: RelationFigure, names: list[str]) -> Chart:
    points = [
        {"label": name, "from": mean, "run": number}
        for name, side in zip(names, figure.sides, strict=True)
        for number, mean in enumerate(side.means, start=1)
    ]
    marks = (
        alt.Chart(data(points))
        .mark_point(filled=True, size=45, opacity=0.7)
        .encode(
            x=_x(figure, titled("mean of a run", figure.unit)),
            y=rows(names),
            color=alt.Color("label:N", scale=alt.Scale(domain=names, range=list(_COLOURS[: len(names)])), legend=None),
            tooltip=[
                alt.Tooltip("label:N", title="side"),
                alt.Tooltip("run:Q", title="run"),
                alt.Tooltip("from:Q", title="mean", format=".5~g"),
            ],
        )
    )
    return alt.layer(marks, *_limit(figure), width=WIDTH, height=ROW * len(names) + 8)


def _x(figure: RelationFigure, title: str | None) -> alt.X:
    kind: Any = "log" if figure.logarithmic else "linear"
    scale = alt.Scale(type=kind, domain=[figure.edges[0], figure.edges[-1]], nice=False, zero=False)
    return alt.X("from:Q", title=title, scale=scale, axis=alt.Axis(tickCount=8, labelOverlap=True))


def _limit(figure: RelationFigure) -> list[alt.Chart]:
    if figure.limit is None:
        return []
    rule = alt.Chart(data([{"from": figure.limit}])).mark_rule(
        strokeDash=[5, 4], color=palette.IMPORTANT, strokeWidth=2
    )
    return [rule.encode(x="from:Q")]
