"""The histogram of portability. Imports Altair: see `charts` for when that is."""

from __future__ import annotations

import altair as alt

from hati.render import palette
from hati.render.chart_style import WIDTH, Chart, data, looks, plain
from hati.report import PortabilityFigure

_HEIGHT = 220


def portability_chart(figure: PortabilityFigure) -> Chart:
    """A bar of each bin, with the number of its tests above."""
    labels = [each.label for each in figure.bins]
    base = alt.Chart(data([{"label": each.label, "tests": each.tests} for each in figure.bins])).encode(
        x=alt.X("label:N", sort=labels, title="portability", axis=alt.Axis(labelAngle=0, labelOverlap=False)),
        y=alt.Y("tests:Q", title="tests", axis=alt.Axis(format="d", tickMinStep=1)),
    )
    bars = base.mark_bar(color=palette.FIRST, opacity=0.85).encode(
        tooltip=[alt.Tooltip("label:N", title="portability"), alt.Tooltip("tests:Q", title="tests")]
    )
    counts = base.mark_text(dy=-7).encode(text="tests:Q")
    first, second = (plain(name, 30) for name in figure.machines)
    return alt.layer(
        bars,
        counts,
        width=WIDTH,
        height=_HEIGHT,
        **looks(
            f"Portability of tests between {first} and {second}",
            "By what factor the ratio of the compared means differs; 1 is perfectly portable.",
        ),
    )
