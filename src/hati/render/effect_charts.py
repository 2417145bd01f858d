"""The charts of effects. Imports Altair: see `charts` for when that is."""

from __future__ import annotations

from typing import Any

import altair as alt

from hati.render import palette
from hati.render.chart_style import HEIGHT, ROW, WIDTH, Chart, data, factor_axis, labels, looks, rows, titled
from hati.report import ALIASED, IMPORTANT, NOT_SHOWN, EffectFigure, change
from hati.studies.screening import Scale

_NAMED = 12
_LINE = 16
"""Pixels from one name to the next."""
_ROOM = 1.4
"""The x axis beyond the last point, where its name stands, as a part of the axis before it."""


def half_normal_chart(figure: EffectFigure) -> Chart:
    """Sizes of effects against half-normal coordinates; important effects are named, the threshold is a line."""
    base = alt.Chart(data(_points(figure)))
    furthest = max(point.coordinate for point in figure.points) or 1.0
    at = {
        "x": alt.X("coordinate:Q", title="half-normal quantile", scale=alt.Scale(domain=[0, furthest * _ROOM])),
        "y": alt.Y("size:Q", title=_size_title(figure), **_size_axis(figure)),
    }
    points = base.mark_point(filled=True, size=70, opacity=0.9).encode(
        **at, color=_colour(), shape=_shape(), tooltip=_tooltip(figure)
    )
    names = (
        alt.Chart(data(_names(figure)))
        .mark_text(align="left", baseline="middle", dx=9, limit=190)
        .encode(x="coordinate:Q", y="text_at:Q", text="label:N")
    )
    layers = [points, names]
    if figure.threshold is not None:
        layers.append(_threshold(figure.threshold).encode(y="size:Q"))
    return alt.layer(
        *layers,
        width=WIDTH,
        height=HEIGHT,
        **looks(
            f"Half-normal plot of the effects on {figure.metric}",
            "Effects of noise alone lie near a line from the origin; those that matter stand out.",
            _beyond(figure),
        ),
    )


def pareto_chart(figure: EffectFigure) -> Chart:
    """Effects by size, with the threshold as a line."""
    points = _points(figure)
    base = alt.Chart(data(points)).encode(y=rows([point["label"] for point in points]))
    bars = base.mark_bar(height=alt.RelativeBandSize(0.7)).encode(
        x=alt.X("size:Q", title=_size_title(figure), **_size_axis(figure)), color=_colour(), tooltip=_tooltip(figure)
    )
    texts = base.mark_text(align="left", dx=5).encode(x="text_at:Q", text="change:N")
    layers = [bars, texts]
    if figure.threshold is not None:
        layers.insert(1, _threshold(figure.threshold).encode(x="size:Q"))
    are = "effect is" if figure.left_out == 1 else "effects are"
    left_out = f" {figure.left_out:,} smaller {are} not drawn." if figure.left_out else ""
    return alt.layer(
        *layers,
        width=WIDTH,
        height=ROW * len(points),
        **looks(
            f"Effects on {figure.metric} by size",
            "Beside the bars: how the second setting changes the mean.",
            _beyond(figure) + left_out,
        ),
    )


def _points(figure: EffectFigure) -> list[dict[str, Any]]:
    names = labels([point.label for point in figure.points])
    return [
        {
            "label": name,
            "coordinate": point.coordinate,
            "size": point.size,
            "text_at": max(point.size, figure.threshold or 0.0),
            "change": change(point.relative),
            "verdict": point.verdict,
        }
        for name, point in zip(names, figure.points, strict=True)
    ]


def _threshold(size: float) -> alt.Chart:
    line: alt.Chart = alt.Chart(data([{"size": size}])).mark_rule(
        color=palette.RULE, strokeDash=[6, 4], strokeWidth=1.5
    )
    return line


def _beyond(figure: EffectFigure) -> str:
    return "" if figure.threshold is None else "Beyond the dashed line an effect is significant."


def _names(figure: EffectFigure) -> list[dict[str, Any]]:
    """The largest important effects' names, each beside its point or as far below as keeps it off the one above.

    Right of a point there are only points above it, so that there the plot is empty.
    """
    important = sorted((p for p in figure.points if p.important), key=lambda p: -p.size)[:_NAMED]
    if not important:
        return []
    line = important[0].size * _LINE / HEIGHT
    names: list[dict[str, Any]] = []
    for label, point in zip(labels([p.label for p in important]), important, strict=True):
        highest = names[-1]["text_at"] - line if names else point.size
        names.append({"label": label, "coordinate": point.coordinate, "text_at": min(point.size, highest)})
    return names


def _size_title(figure: EffectFigure) -> str:
    if figure.scale is Scale.LOG:
        return "size of the effect (factor between the two settings)"
    return titled("size of the effect", figure.unit)


def _size_axis(figure: EffectFigure) -> dict[str, Any]:
    if figure.scale is not Scale.LOG:
        return {}
    largest = max((point.size for point in figure.points), default=0.0)
    return {"axis": factor_axis(max(largest, figure.threshold or 0.0))}


def _colour() -> alt.Color:
    scale = alt.Scale(
        domain=[IMPORTANT, ALIASED, NOT_SHOWN], range=[palette.IMPORTANT, palette.ALIASED, palette.NOT_SHOWN]
    )
    return alt.Color("verdict:N", scale=scale, title=None, legend=alt.Legend(orient="top"))


def _shape() -> alt.Shape:
    scale = alt.Scale(domain=[IMPORTANT, ALIASED, NOT_SHOWN], range=["diamond", "triangle-up", "circle"])
    return alt.Shape("verdict:N", scale=scale, title=None, legend=alt.Legend(orient="top"))


def _tooltip(figure: EffectFigure) -> list[alt.Tooltip]:
    size = [] if figure.scale is Scale.LOG else [alt.Tooltip("size:Q", title=_size_title(figure), format=".4~g")]
    return [
        alt.Tooltip("label:N", title="effect of"),
        alt.Tooltip("change:N", title="change"),
        *size,
        alt.Tooltip("verdict:N", title="verdict"),
    ]
