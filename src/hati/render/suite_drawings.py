"""The charts of a suite beside what it is compared with. Imports Altair: see `charts` for when that is."""

from __future__ import annotations

from typing import Any

import altair as alt

from hati.render import palette
from hati.render.chart_style import HEIGHT, WIDTH, Chart, data, looks, plain, titled
from hati.report import SuiteBox, SuiteFigure
from hati.studies.suite import SuiteScale

_BOX = 34


def quantile_chart(figure: SuiteFigure) -> Chart:
    """Q-Q plot: quantiles of the suite against those of the other distribution, with the line of equality."""
    ends = [value for point in figure.points for value in point]
    scale = _scale(figure, ends)
    line = (
        alt.Chart(data([{"other": end, "suite": end} for end in (min(ends), max(ends))]))
        .mark_line(strokeDash=[4, 3], color=palette.NOT_SHOWN)
        .encode(x="other:Q", y="suite:Q")
    )
    x_title = titled(f"{figure.metric}, {figure.other}", figure.unit)
    y_title = titled(f"{figure.metric}, suite", figure.unit)
    points = (
        alt.Chart(data([{"other": point.other, "suite": point.suite} for point in figure.points]))
        .mark_point(filled=True, size=45, opacity=0.85, color=palette.FIRST)
        .encode(
            x=alt.X("other:Q", title=x_title, scale=scale),
            y=alt.Y("suite:Q", title=y_title, scale=scale),
            tooltip=[
                alt.Tooltip("other:Q", title=plain(figure.other), format=".4~g"),
                alt.Tooltip("suite:Q", title="suite", format=".4~g"),
            ],
        )
    )
    return alt.layer(
        line,
        points,
        width=HEIGHT,
        height=HEIGHT,
        **looks(
            f"Quantiles of {figure.metric}: suite against {figure.other}",
            "On the dashed line the two distributions are equal.",
        ),
    )


def box_chart(figure: SuiteFigure) -> Chart:
    """Box plots of both: the box holds the middle half, the line is the median, whiskers reach to the extremes."""
    names = [box.name for box in figure.boxes]
    ends = [value for box in figure.boxes for value in (box.minimum, box.maximum)]
    base = alt.Chart(data([_row(box) for box in figure.boxes])).encode(
        y=alt.Y("name:N", sort=names, title=None, axis=alt.Axis(ticks=False, domain=False, labelPadding=8))
    )
    title = titled(figure.metric, figure.unit)
    whiskers = base.mark_rule(color=palette.NOT_SHOWN).encode(
        x=alt.X("minimum:Q", title=title, scale=_scale(figure, ends)), x2="maximum:Q"
    )
    boxes = base.mark_bar(size=_BOX // 2, color=palette.FIRST, opacity=0.55).encode(
        x="lower:Q",
        x2="upper:Q",
        tooltip=[
            alt.Tooltip("name:N", title="values of"),
            *(alt.Tooltip(f"{f}:Q", format=".4~g") for f in ("minimum", "lower", "median", "upper", "maximum")),
        ],
    )
    medians = base.mark_tick(size=_BOX // 2 + 6, thickness=2, color=palette.INK).encode(x="median:Q")
    return alt.layer(
        whiskers,
        boxes,
        medians,
        width=WIDTH,
        height=_BOX * len(names),
        **looks(
            f"Distribution of {figure.metric}: suite and {figure.other}",
            "Box: the middle half, by weight. Line: the median. Whiskers: the extremes.",
        ),
    )


def _row(box: SuiteBox) -> dict[str, Any]:
    return box._asdict()


def _scale(figure: SuiteFigure, ends: list[float]) -> alt.Scale:
    if figure.scale is SuiteScale.LOG and min(ends) > 0:
        return alt.Scale(type="log", nice=False, domain=[min(ends) * 0.97, max(ends) * 1.03])
    return alt.Scale(zero=False, padding=12)
