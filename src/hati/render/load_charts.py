"""The charts of load curves. Imports Altair: see `charts` for when that is."""

from __future__ import annotations

import altair as alt

from hati.render import chart_style as style
from hati.render.chart_style import WIDTH, Chart, data, looks, titled
from hati.report import LoadFigure, LoadPanel

_PANEL_HEIGHT = 200


def load_chart(figure: LoadFigure) -> Chart:
    """Response times and utilisations by the load, one panel below the other on one axis."""
    saturates = "Dashed: the load at which the first resource saturates." if figure.saturation is not None else ""
    chart: Chart = alt.concat(
        *(_panel(figure, panel) for panel in figure.panels),
        columns=1,
        spacing=14,
        **looks(f"Load curve of {figure.title}", saturates),
    ).resolve_scale(color="independent", shape="independent")
    return chart


def _panel(figure: LoadFigure, panel: LoadPanel) -> Chart:
    points = [{"load": load, "line": name, "value": value} for name, load, value in panel.points]
    x = alt.X("load:Q", title=titled(figure.load, figure.unit), scale=alt.Scale(domain=list(figure.ends)))
    lines = (
        alt.Chart(data(points))
        .mark_line(point=True)
        .encode(
            x=x,
            y=alt.Y("value:Q", title=titled(panel.name, panel.unit), scale=alt.Scale(domainMin=0)),
            color=alt.Color("line:N", title=None, scale=alt.Scale(range=list(style.REPETITIONS))),
            shape=alt.Shape("line:N", title=None),
            tooltip=[
                alt.Tooltip("line:N", title="of"),
                alt.Tooltip("load:Q", title=titled(figure.load, figure.unit), format=".4~g"),
                alt.Tooltip("value:Q", title=titled(panel.name, panel.unit), format=".4~g"),
            ],
        )
    )
    layers = [lines]
    if figure.saturation is not None and figure.ends[0] <= figure.saturation <= figure.ends[1]:
        limit = alt.Chart(data([{"load": figure.saturation}]))
        layers.append(limit.mark_rule(strokeDash=[4, 3], color=style.IMPORTANT).encode(x=x))
    return alt.layer(*layers, width=WIDTH, height=_PANEL_HEIGHT)
