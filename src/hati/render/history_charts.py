"""The charts of histories. Imports Altair: see `charts` for when that is."""

from __future__ import annotations

from typing import Any

import altair as alt

from hati.render import palette
from hati.render.chart_style import HEIGHT, WIDTH, Chart, data, labels, looks, plain, titled
from hati.report import HistoryFigure

_WIDEST = 26.0
_COLOURS = {"slower": palette.IMPORTANT, "faster": palette.RULE}


def history_chart(figure: HistoryFigure) -> Chart:
    """Values by position, box plots over the space where it was measured (RES paper, Fig. 12), levels and changes."""
    names = labels([point.position for point in figure.points])
    boxed = any(point.quantiles for point in figure.points)
    layers = [*_changes(figure, names), *(_boxes(figure, names) if boxed else []), *_errors(figure, names)]
    layers += [_values(figure, names), *_levels(figure, names)]
    return alt.layer(
        *layers,
        width=WIDTH,
        height=HEIGHT,
        **looks(
            f"History of {figure.title}",
            "Box: the middle half of the space. Line: the median. Whiskers: the extremes." if boxed else "",
            "Points: the values that are tested, with two standard errors where several runs show them.",
            "Horizontal lines: levels. Dashed lines: where the level changed.",
        ),
    )


def _x(names: list[str]) -> alt.X:
    axis = alt.Axis(labelAngle=-45, labelOverlap=True, labelLimit=110, grid=False)
    return alt.X("position:N", sort=names, title=None, axis=axis)


def _y(figure: HistoryFigure, field: str) -> alt.Y:
    return alt.Y(f"{field}:Q", title=titled(figure.metric, figure.unit), scale=alt.Scale(zero=False, padding=12))


def _values(figure: HistoryFigure, names: list[str]) -> alt.Chart:
    points = [{"position": name, "value": point.value} for name, point in zip(names, figure.points, strict=True)]
    chart: alt.Chart = (
        alt.Chart(data(points))
        .mark_point(filled=True, size=40, opacity=1, color=palette.FIRST)
        .encode(
            x=_x(names),
            y=_y(figure, "value"),
            tooltip=[
                alt.Tooltip("position:N", title="at"),
                alt.Tooltip("value:Q", title=titled(figure.metric, figure.unit), format=".4~g"),
            ],
        )
    )
    return chart


def _errors(figure: HistoryFigure, names: list[str]) -> list[alt.Chart]:
    known = [
        {"position": name, "low": point.low, "high": point.high}
        for name, point in zip(names, figure.points, strict=True)
        if point.low is not None
    ]
    if not known:
        return []
    bars = alt.Chart(data(known)).mark_rule(color=palette.FIRST, opacity=0.45, strokeWidth=3)
    return [bars.encode(x=_x(names), y=_y(figure, "low"), y2="high:Q")]


def _boxes(figure: HistoryFigure, names: list[str]) -> list[alt.Chart]:
    fields = ("smallest", "lower", "median", "upper", "largest")
    known: list[dict[str, Any]] = [
        {"position": name, **dict(zip(fields, point.quantiles, strict=True))}
        for name, point in zip(names, figure.points, strict=True)
        if point.quantiles
    ]
    width = min(_WIDEST, 0.6 * WIDTH / len(names))
    base = alt.Chart(data(known)).encode(x=_x(names))
    tooltip = [alt.Tooltip("position:N", title="at"), *(alt.Tooltip(f"{f}:Q", format=".4~g") for f in fields)]
    return [
        base.mark_rule(color=palette.NOT_SHOWN).encode(y=_y(figure, "smallest"), y2="largest:Q"),
        base.mark_bar(size=width, color=palette.FIRST, opacity=0.4).encode(
            y=_y(figure, "lower"), y2="upper:Q", tooltip=tooltip
        ),
        base.mark_tick(size=width, thickness=2, color=palette.INK).encode(y=_y(figure, "median")),
    ]


def _levels(figure: HistoryFigure, names: list[str]) -> list[alt.Chart]:
    if not figure.levels:
        return []
    segments = [{"first": names[one.first], "last": names[one.last], "level": one.level} for one in figure.levels]
    lines = alt.Chart(data(segments)).mark_rule(color=palette.SECOND, strokeWidth=2.5)
    return [
        lines.encode(x=alt.X("first:N", sort=names), x2="last:N", y=_y(figure, "level"), tooltip=alt.Tooltip("level:Q"))
    ]


def _changes(figure: HistoryFigure, names: list[str]) -> list[alt.Chart]:
    if not figure.steps:
        return []
    steps = [
        {"position": names[one.place], "change": plain(one.text), "direction": one.direction} for one in figure.steps
    ]
    colour = alt.Color(
        "direction:N", legend=None, scale=alt.Scale(domain=list(_COLOURS), range=list(_COLOURS.values()))
    )
    base = alt.Chart(data(steps)).encode(x=_x(names), color=colour, tooltip=[alt.Tooltip("change:N")])
    return [
        base.mark_rule(strokeDash=[4, 3], strokeWidth=1.5),
        base.mark_text(align="left", dx=4, dy=10, baseline="top", limit=150).encode(y=alt.value(0), text="change:N"),
    ]
