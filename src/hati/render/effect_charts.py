"""The charts of a screening: of effects, means and runs. Imports Altair, which is slow: see `charts`."""

from __future__ import annotations

from typing import Any

import altair as alt

from hati.document import change
from hati.render import chart_style as style
from hati.render.chart_style import HEIGHT, ROW, WIDTH, Chart, data, factor_axis, labels, looks, plain, rows, titled
from hati.studies.screening import EffectScale
from hati.studies.screening.figures import EffectFigure, Interaction, Interactions, MainEffectsFigure, RunOrder
from hati.studies.screening.words import ALIASED, IMPORTANT, NOT_SHOWN

_NAMED = 12
_LINE = 16
"""The distance between names, in pixels."""
_ROOM = 1.4
"""The length of the x axis relative to its last point, so that the name of the point fits."""


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
            "Next to the bars: how the second setting changes the mean.",
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
    line: alt.Chart = alt.Chart(data([{"size": size}])).mark_rule(color=style.RULE, strokeDash=[6, 4], strokeWidth=1.5)
    return line


def _beyond(figure: EffectFigure) -> str:
    return "" if figure.threshold is None else "Beyond the dashed line an effect is significant."


def _names(figure: EffectFigure) -> list[dict[str, Any]]:
    """The names of the largest important effects, each next to its point, or lower if it would overlap the one above.

    To the right of a point all points are higher, so the plot is empty there.
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
    if figure.scale is EffectScale.LOG:
        return "size of the effect (factor between the two settings)"
    return titled("size of the effect", figure.unit)


def _size_axis(figure: EffectFigure) -> dict[str, Any]:
    if figure.scale is not EffectScale.LOG:
        return {}
    largest = max((point.size for point in figure.points), default=0.0)
    return {"axis": factor_axis(max(largest, figure.threshold or 0.0))}


def _colour() -> alt.Color:
    scale = alt.Scale(domain=[IMPORTANT, ALIASED, NOT_SHOWN], range=[style.IMPORTANT, style.ALIASED, style.NOT_SHOWN])
    return alt.Color("verdict:N", scale=scale, title=None, legend=alt.Legend(orient="top"))


def _shape() -> alt.Shape:
    scale = alt.Scale(domain=[IMPORTANT, ALIASED, NOT_SHOWN], range=["diamond", "triangle-up", "circle"])
    return alt.Shape("verdict:N", scale=scale, title=None, legend=alt.Legend(orient="top"))


def _tooltip(figure: EffectFigure) -> list[alt.Tooltip]:
    size = [] if figure.scale is EffectScale.LOG else [alt.Tooltip("size:Q", title=_size_title(figure), format=".4~g")]
    return [
        alt.Tooltip("label:N", title="effect of"),
        alt.Tooltip("change:N", title="change"),
        *size,
        alt.Tooltip("verdict:N", title="verdict"),
    ]


_PANEL = 170
_COLUMNS = 3
_SETTINGS = ["first setting", "second setting", "further settings"]
_SHAPES = ["circle", "square", "diamond"]
_COLOURS = [style.FIRST, style.SECOND, style.NOT_SHOWN]


def main_effects_chart(figure: MainEffectsFigure) -> Chart:
    """The means of each option in a row, with their intervals."""
    names = labels([option.option for option in figure.options])
    title = titled(f"mean {figure.metric}", figure.unit)
    base = alt.Chart(data(_settings(figure, names))).encode(y=rows(names))
    x = alt.X("mean:Q", title=title, scale=alt.Scale(domain=_domain(figure), nice=False), axis=alt.Axis(tickCount=8))
    link = base.mark_rule(color=style.NOT_SHOWN, strokeWidth=2).encode(x=alt.X("min(mean):Q"), x2="max(mean):Q")
    intervals = (
        base.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=5, opacity=0.35)
        .encode(x="low:Q", x2="high:Q", color=_setting_colour())
    )
    points = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=x,
        color=_setting_colour(),
        shape=alt.Shape("which:N", scale=alt.Scale(domain=_SETTINGS, range=_SHAPES), title=None),
        tooltip=[
            alt.Tooltip("label:N", title="option"),
            alt.Tooltip("setting:N", title="setting"),
            alt.Tooltip("mean:Q", title=title, format=".4~g"),
            alt.Tooltip("low:Q", title="95 % interval from", format=".4~g"),
            alt.Tooltip("high:Q", title="to", format=".4~g"),
        ],
    )
    named = base.encode(x="text_at:Q", text="setting:N")
    texts = [
        named.transform_filter(alt.datum.side == "low").mark_text(align="right", dx=-8, limit=110),
        named.transform_filter(alt.datum.side == "high").mark_text(align="left", dx=8, limit=110),
    ]
    centre = (
        alt.Chart(data([{"mean": figure.mean}])).mark_rule(strokeDash=[3, 3], color=style.NOT_SHOWN).encode(x="mean:Q")
    )
    return alt.layer(
        centre,
        link,
        intervals,
        points,
        *texts,
        width=WIDTH,
        height=(ROW + 4) * len(names),
        **looks(
            f"Mean {figure.metric} at the settings of each option",
            "Options as they rank; bands are 95 % intervals; the dashed line is the mean over the whole design.",
            "Options whose effect could not be estimated are left out." if figure.left_out else "",
        ),
    )


def interactions_chart(figure: Interactions) -> Chart:
    """The means of the four combinations of each pair; lines that are not parallel show an interaction."""
    title = titled(f"mean {figure.metric}", figure.unit)
    panels = [_panel(pair, title if i % _COLUMNS == 0 else None) for i, pair in enumerate(figure.pairs)]
    return alt.concat(
        *panels,
        columns=_COLUMNS,
        spacing=28,
        resolve=alt.Resolve(scale=alt.ScaleResolveMap(y="shared")),
        **looks(
            f"Pairs of options with the largest interactions on {figure.metric}",
            "Parallel lines: the options act independently. A pair may stand for others that it is aliased with.",
        ),
    )


def run_order_chart(figure: RunOrder) -> Chart:
    """The value of every run in the order of the runs."""
    repeated = max(run.repetition for run in figure.runs)
    points = data(
        [
            {
                "order": run.order,
                "value": run.value,
                "repetition": str(run.repetition),
                "configuration": plain(run.configuration, 400),
            }
            for run in figure.runs
        ]
    )
    values = [run.value for run in figure.runs]
    if figure.scale is EffectScale.LOG and min(values) > 0:
        scale = alt.Scale(type="log", nice=False, domain=[min(values) * 0.9, max(values) * 1.1])
    else:
        scale = alt.Scale(zero=False, padding=12)
    colour = alt.Color(
        "repetition:N",
        scale=alt.Scale(range=list(style.REPETITIONS)),
        sort=[str(i + 1) for i in range(repeated)],
        legend=alt.Legend(orient="top", title="repetition", titleOrient="left") if repeated > 1 else None,
    )
    title = titled(figure.metric, figure.unit)
    chart = (
        alt.Chart(points)
        .mark_point(filled=True, size=45, opacity=0.85)
        .encode(
            x=alt.X(
                "order:Q",
                title="run, in the order made",
                scale=alt.Scale(nice=False, padding=8),
                axis=alt.Axis(grid=False, format="d"),
            ),
            y=alt.Y("value:Q", title=title, scale=scale),
            color=colour,
            tooltip=[
                alt.Tooltip("order:Q", title="run"),
                alt.Tooltip("value:Q", title=title, format=".4~g"),
                alt.Tooltip("repetition:N", title="repetition"),
                alt.Tooltip("configuration:N", title="configuration"),
            ],
        )
    )
    return alt.layer(
        chart,
        width=WIDTH,
        height=HEIGHT,
        **looks(
            f"Every run's {figure.metric}, in the order made",
            "A slope or a step over time: something else than the options changed. Failed runs are not drawn.",
        ),
    )


def _settings(figure: MainEffectsFigure, names: list[str]) -> list[dict[str, Any]]:
    points = []
    for name, option in zip(names, figure.options, strict=True):
        lowest, highest = (extreme(option.settings, key=lambda at: at.mean) for extreme in (min, max))
        for place, at in enumerate(option.settings):
            low, high = at.interval or (None, None)
            end = low if at is lowest else high
            points.append(
                {
                    "label": name,
                    "which": _SETTINGS[min(place, len(_SETTINGS) - 1)],
                    "setting": plain(at.setting, 40),
                    "mean": at.mean,
                    "low": low,
                    "high": high,
                    "text_at": at.mean if end is None else end,
                    "side": "low" if at is lowest else "high" if at is highest else "between",
                }
            )
    return points


def _domain(figure: MainEffectsFigure) -> list[float]:
    """The domain of the axis, with space for the settings' names; below zero only for negative values."""
    settings = [at for option in figure.options for at in option.settings]
    ends = [end for at in settings for end in (at.mean, *(at.interval or ()))]
    low, high = min(ends), max(ends)
    room = 0.16 * (high - low) or 0.1 * abs(high) or 1.0
    return [max(0.0, low - room) if low >= 0 else low - room, high + room]


def _setting_colour() -> alt.Color:
    scale = alt.Scale(domain=_SETTINGS, range=_COLOURS)
    return alt.Color("which:N", scale=scale, title=None, legend=alt.Legend(orient="top", symbolOpacity=1))


def _panel(pair: Interaction, title: str | None) -> alt.LayerChart | alt.FacetChart:
    x_settings, line_settings = (labels(settings) for settings in (pair.x_settings, pair.line_settings))
    points = [
        {"x": x_settings[i], "line": line_settings[j], "which": _SETTINGS[j], "mean": pair.means[i][j]}
        for i in range(2)
        for j in range(2)
    ]
    upper, lower = sorted((0, 1), key=lambda j: -pair.means[1][j])
    base = alt.Chart(data(points)).encode(
        x=alt.X("x:N", sort=x_settings, title=plain(pair.x, 30), axis=alt.Axis(labelAngle=0, labelLimit=80)),
        y=alt.Y(
            "mean:Q",
            title=title,
            scale=alt.Scale(zero=False, padding=18),
            axis=alt.Axis(titleLimit=_PANEL, tickCount=5),
        ),
    )
    colour = alt.Color("which:N", scale=alt.Scale(domain=_SETTINGS, range=_COLOURS), legend=None)
    lines = base.mark_line(strokeWidth=2.5).encode(color=colour)
    tooltip = [
        alt.Tooltip("x:N", title=plain(pair.x)),
        alt.Tooltip("line:N", title=plain(pair.line)),
        alt.Tooltip("mean:Q", title="mean", format=".4~g"),
    ]
    dots = base.mark_point(filled=True, size=60, opacity=1).encode(
        color=colour,
        shape=alt.Shape("which:N", scale=alt.Scale(domain=_SETTINGS, range=_SHAPES), legend=None),
        tooltip=tooltip,
    )
    ends = [
        base.transform_filter((alt.datum.x == x_settings[1]) & (alt.datum.line == line))
        .mark_text(align="left", dx=9, dy=shift, limit=80)
        .encode(text="line:N")
        for line, shift in ((line_settings[upper], -6), (line_settings[lower], 7))
    ]
    heading = alt.TitleParams(
        f"{plain(pair.x, 26)} x {plain(pair.line, 26)}",
        subtitle=f"lines: {plain(pair.line, 30)}" + ("; important" if pair.important else ""),
        fontSize=12,
        subtitleFontSize=11,
        anchor="start",
    )
    return alt.layer(lines, dots, *ends, width=_PANEL, height=_PANEL, title=heading)
