"""The charts of samples and of load: histories, relations, portability, suites, load curves, classification trees.

Imports Altair, which is slow: see `charts`.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import altair as alt
from msgspec.structs import asdict

from hati.document import general
from hati.render import chart_style as style
from hati.render.chart_style import HEIGHT, ROW, WIDTH, Chart, data, labels, looks, plain, rows, titled
from hati.studies.failure_search import FailureTree
from hati.studies.suite import SuiteScale

if TYPE_CHECKING:
    from hati.generate.plots import DistributionFigure, DistributionPanel, TimelineFigure
    from hati.prediction.document import LoadFigure, LoadPanel
    from hati.studies.assertion.document import RelationFigure, SideFigure
    from hati.studies.assertion.two_machines import PortabilityFigure
    from hati.studies.regression.document import HistoryFigure
    from hati.studies.suite.document import SuiteFigure


_WIDEST = 26.0
_CHANGE_COLOURS = {"slower": style.IMPORTANT, "faster": style.RULE}


def history_chart(figure: HistoryFigure) -> Chart:
    """Values by position, box plots over the space if it was measured (RES paper, Fig. 12), levels and changes."""
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


def _positions(names: list[str]) -> alt.X:
    axis = alt.Axis(labelAngle=-45, labelOverlap=True, labelLimit=110, grid=False)
    return alt.X("position:N", sort=names, title=None, axis=axis)


def _metric(figure: HistoryFigure, field: str) -> alt.Y:
    return alt.Y(f"{field}:Q", title=titled(figure.metric, figure.unit), scale=alt.Scale(zero=False, padding=12))


def _values(figure: HistoryFigure, names: list[str]) -> alt.Chart:
    points = [{"position": name, "value": point.value} for name, point in zip(names, figure.points, strict=True)]
    chart: alt.Chart = (
        alt.Chart(data(points))
        .mark_point(filled=True, size=40, opacity=1, color=style.FIRST)
        .encode(
            x=_positions(names),
            y=_metric(figure, "value"),
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
    bars = alt.Chart(data(known)).mark_rule(color=style.FIRST, opacity=0.45, strokeWidth=3)
    return [bars.encode(x=_positions(names), y=_metric(figure, "low"), y2="high:Q")]


def _boxes(figure: HistoryFigure, names: list[str]) -> list[alt.Chart]:
    fields = ("smallest", "lower", "median", "upper", "largest")
    known: list[dict[str, Any]] = [
        {"position": name, **dict(zip(fields, point.quantiles, strict=True))}
        for name, point in zip(names, figure.points, strict=True)
        if point.quantiles
    ]
    width = min(_WIDEST, 0.6 * WIDTH / len(names))
    base = alt.Chart(data(known)).encode(x=_positions(names))
    tooltip = [alt.Tooltip("position:N", title="at"), *(alt.Tooltip(f"{f}:Q", format=".4~g") for f in fields)]
    return [
        base.mark_rule(color=style.NOT_SHOWN).encode(y=_metric(figure, "smallest"), y2="largest:Q"),
        base.mark_bar(size=width, color=style.FIRST, opacity=0.4).encode(
            y=_metric(figure, "lower"), y2="upper:Q", tooltip=tooltip
        ),
        base.mark_tick(size=width, thickness=2, color=style.INK).encode(y=_metric(figure, "median")),
    ]


def _levels(figure: HistoryFigure, names: list[str]) -> list[alt.Chart]:
    if not figure.levels:
        return []
    segments = [{"first": names[one.first], "last": names[one.last], "level": one.level} for one in figure.levels]
    lines = alt.Chart(data(segments)).mark_rule(color=style.SECOND, strokeWidth=2.5)
    return [
        lines.encode(
            x=alt.X("first:N", sort=names), x2="last:N", y=_metric(figure, "level"), tooltip=alt.Tooltip("level:Q")
        )
    ]


def _changes(figure: HistoryFigure, names: list[str]) -> list[alt.Chart]:
    if not figure.steps:
        return []
    steps = [
        {"position": names[one.place], "change": plain(one.text), "direction": one.direction} for one in figure.steps
    ]
    colour = alt.Color(
        "direction:N", legend=None, scale=alt.Scale(domain=list(_CHANGE_COLOURS), range=list(_CHANGE_COLOURS.values()))
    )
    base = alt.Chart(data(steps)).encode(x=_positions(names), color=colour, tooltip=[alt.Tooltip("change:N")])
    return [
        base.mark_rule(strokeDash=[4, 3], strokeWidth=1.5),
        base.mark_text(align="left", dx=4, dy=10, baseline="top", limit=150).encode(y=alt.value(0), text="change:N"),
    ]


_SIDE_HEIGHT = 90
_SIDE_COLOURS = (style.FIRST, style.SECOND)


def relation_chart(figure: RelationFigure) -> Chart:
    """Histograms of the observations of each side, one below the other on one axis, and the means of their runs."""
    names = labels([side.name for side in figure.sides])
    panels = [
        _spread(figure, side, name, colour)
        for side, name, colour in zip(figure.sides, names, itertools.cycle(_SIDE_COLOURS), strict=False)
    ]
    return alt.concat(
        *panels,
        _means(figure, names),
        columns=1,
        spacing=14,
        **looks(f"Measurements of {figure.text}", "Bars: observations, every run counting alike.", *_reading(figure)),
    )


def _reading(figure: RelationFigure) -> list[str]:
    sentences = ["Points: the means of runs."]
    if figure.limit is not None:
        sentences.append("The dashed line is the limit.")
    if figure.far is not None:
        sentences.append(f"The limit, {general(figure.far)} {figure.unit}, lies outside the chart.")
    if figure.beyond:
        sentences.append(f"The outermost bars hold {figure.beyond:,} observations that lie beyond them.")
    return [" ".join(sentences[:2]), " ".join(sentences[2:])]


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
        height=_SIDE_HEIGHT,
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
            color=alt.Color(
                "label:N", scale=alt.Scale(domain=names, range=list(_SIDE_COLOURS[: len(names)])), legend=None
            ),
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
    rule = alt.Chart(data([{"from": figure.limit}])).mark_rule(strokeDash=[5, 4], color=style.IMPORTANT, strokeWidth=2)
    return [rule.encode(x="from:Q")]


_HISTOGRAM_HEIGHT = 220


def portability_chart(figure: PortabilityFigure) -> Chart:
    """A bar for each bin, with the number of its tests above."""
    labels = [each.label for each in figure.bins]
    base = alt.Chart(data([{"label": each.label, "tests": each.tests} for each in figure.bins])).encode(
        x=alt.X("label:N", sort=labels, title="portability", axis=alt.Axis(labelAngle=0, labelOverlap=False)),
        y=alt.Y("tests:Q", title="tests", axis=alt.Axis(format="d", tickMinStep=1)),
    )
    bars = base.mark_bar(color=style.FIRST, opacity=0.85).encode(
        tooltip=[alt.Tooltip("label:N", title="portability"), alt.Tooltip("tests:Q", title="tests")]
    )
    counts = base.mark_text(dy=-7).encode(text="tests:Q")
    first, second = (plain(name, 30) for name in figure.machines)
    return alt.layer(
        bars,
        counts,
        width=WIDTH,
        height=_HISTOGRAM_HEIGHT,
        **looks(
            f"Portability of tests between {first} and {second}",
            "By what factor the ratio of the compared means differs; 1 is perfectly portable.",
        ),
    )


_BOX = 34


def quantile_chart(figure: SuiteFigure) -> Chart:
    """Q-Q plot of the suite against the other distribution, with the line of equality."""
    ends = [value for point in figure.points for value in point]
    scale = _scale(figure, ends)
    line = (
        alt.Chart(data([{"other": end, "suite": end} for end in (min(ends), max(ends))]))
        .mark_line(strokeDash=[4, 3], color=style.NOT_SHOWN)
        .encode(x="other:Q", y="suite:Q")
    )
    x_title = titled(f"{figure.metric}, {figure.other}", figure.unit)
    y_title = titled(f"{figure.metric}, suite", figure.unit)
    points = (
        alt.Chart(data([{"other": point.other, "suite": point.suite} for point in figure.points]))
        .mark_point(filled=True, size=45, opacity=0.85, color=style.FIRST)
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
    base = alt.Chart(data([asdict(box) for box in figure.boxes])).encode(
        y=alt.Y("name:N", sort=names, title=None, axis=alt.Axis(ticks=False, domain=False, labelPadding=8))
    )
    title = titled(figure.metric, figure.unit)
    whiskers = base.mark_rule(color=style.NOT_SHOWN).encode(
        x=alt.X("minimum:Q", title=title, scale=_scale(figure, ends)), x2="maximum:Q"
    )
    boxes = base.mark_bar(size=_BOX // 2, color=style.FIRST, opacity=0.55).encode(
        x="lower:Q",
        x2="upper:Q",
        tooltip=[
            alt.Tooltip("name:N", title="values of"),
            *(alt.Tooltip(f"{f}:Q", format=".4~g") for f in ("minimum", "lower", "median", "upper", "maximum")),
        ],
    )
    medians = base.mark_tick(size=_BOX // 2 + 6, thickness=2, color=style.INK).encode(x="median:Q")
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


def _scale(figure: SuiteFigure, ends: list[float]) -> alt.Scale:
    if figure.scale is SuiteScale.LOG and min(ends) > 0:
        return alt.Scale(type="log", nice=False, domain=[min(ends) * 0.97, max(ends) * 1.03])
    return alt.Scale(zero=False, padding=12)


_PANEL_HEIGHT = 200


def load_chart(figure: LoadFigure) -> Chart:
    """Response times and utilisations against the load, in panels one below the other on one axis."""
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


def timeline_chart(figure: TimelineFigure) -> Chart:
    """A row for each thread, with bars where its task ran, and narrower ones where it did not run."""
    names = dict(zip(figure.rows, labels(figure.rows), strict=True))
    layers = [
        alt.Chart(
            data(
                [{"label": names[bar.row], "start": bar.start, "end": bar.end} for bar in figure.bars if bar.gap is gap]
            )
        )
        .mark_bar(size=size, color=colour)
        .encode(
            x=alt.X("start:Q", title="time (ms)"),
            x2="end:Q",
            y=rows(list(names.values())),
            tooltip=[
                alt.Tooltip("label:N", title="of"),
                *(alt.Tooltip(f"{f}:Q", format=".4~g") for f in ("start", "end")),
            ],
        )
        for gap, size, colour in ((False, ROW - 8, style.FIRST), (True, ROW - 14, style.SECOND))
    ]
    return alt.layer(
        *layers,
        width=WIDTH,
        height=ROW * len(names),
        **looks(f"Time line of {figure.title}", "Wide bars: the task runs. Narrow bars: gaps in which it does not."),
    )


_DISTRIBUTION_HEIGHT = 120


def distribution_chart(figure: DistributionFigure) -> Chart:
    """Histograms, one below the other, each on its own axes."""
    chart: Chart = alt.concat(
        *map(_histogram, figure.panels),
        columns=1,
        spacing=14,
        **looks(figure.title, "Axes of long tails are logarithmic."),
    ).resolve_scale(x="independent", y="independent")
    return chart


def _histogram(panel: DistributionPanel) -> alt.Chart:
    bins = [
        {"low": low, "high": high, "zero": 0, "count": count}
        for (low, high), count in zip(itertools.pairwise(panel.edges), panel.counts, strict=True)
        if count
    ]
    scale = alt.Scale(
        type="log" if panel.logarithmic else "linear", zero=False, domain=list(panel.edges[:: len(panel.edges) - 1])
    )
    tooltips = [*(alt.Tooltip(f"{field}:Q", format=".4~g") for field in ("low", "high")), alt.Tooltip("count:Q")]
    chart: alt.Chart = (
        alt.Chart(data(bins), width=WIDTH, height=_DISTRIBUTION_HEIGHT)
        .mark_rect(color=style.FIRST, opacity=0.85)
        .encode(
            x=alt.X("low:Q", title=titled(panel.name, panel.unit), scale=scale),
            x2="high:Q",
            y=alt.Y(
                "count:Q", title="observations", axis=alt.Axis(format="d", tickMinStep=1), scale=alt.Scale(zero=True)
            ),
            y2="zero:Q",
            tooltip=tooltips,
        )
    )
    return chart


_LINE = 44
"""The height of a leaf, in pixels."""


def tree_chart(tree: FailureTree) -> Chart:
    """The tree from left to right: each node with its condition and its runs, failing leaves in another colour."""
    nodes = _nodes(tree)
    deepest = max(node["depth"] for node in nodes)
    x = alt.X("depth:Q", axis=None, scale=alt.Scale(domain=[0, deepest + 0.9]))
    y = alt.Y("row:Q", axis=None, scale=alt.Scale(reverse=True))
    base = alt.Chart(data(nodes))
    edges = alt.Chart(data(_edges(tree, nodes))).mark_rule(color=style.NOT_SHOWN).encode(x=x, y=y, x2="to:Q", y2="at:Q")
    tooltip = [
        alt.Tooltip("condition:N", title="condition"),
        alt.Tooltip("failed:Q", title="failed"),
        alt.Tooltip("runs:Q", title="runs"),
    ]
    colours = alt.Scale(domain=["fails", "passes"], range=[style.IMPORTANT, style.FIRST])
    points = base.mark_point(filled=True, size=90, opacity=1).encode(
        x=x,
        y=y,
        color=alt.Color("predicted:N", title="predicted", scale=colours),
        shape=alt.Shape("predicted:N", title="predicted", scale=alt.Scale(domain=["fails", "passes"])),
        tooltip=tooltip,
    )
    conditions = base.mark_text(align="left", dx=8, dy=-8, limit=200, fontWeight="bold").encode(
        x=x, y=y, text="condition:N"
    )
    counts = base.mark_text(align="left", dx=8, dy=8).encode(x=x, y=y, text="count:N")
    leaves = sum(node.leaf for node in tree.nodes)
    return alt.layer(
        edges,
        points,
        conditions,
        counts,
        width=max(WIDTH, 150 * (deepest + 1)),
        height=_LINE * leaves,
        **looks("Classification tree of passed and failed runs", "Under each condition: its failed runs of all runs."),
    )


def _nodes(tree: FailureTree) -> list[dict[str, Any]]:
    """Each node with its depth and row: leaves are one below the other, others in the middle of their children."""
    depths: list[int] = []
    for node in tree.nodes:
        depths.append(0 if node.parent is None else depths[node.parent] + 1)
    rows: dict[int, float] = {}
    for number, node in enumerate(tree.nodes):
        if node.leaf:
            rows[number] = float(len(rows))
    for number in reversed(range(len(tree.nodes))):
        children = [rows[child] for child, node in enumerate(tree.nodes) if node.parent == number]
        if children:
            rows[number] = sum(children) / len(children)
    return [
        {
            "depth": depths[number],
            "row": rows[number],
            "condition": plain(node.condition or "all runs"),
            "count": f"{node.failed} of {node.runs}",
            "failed": node.failed,
            "runs": node.runs,
            "predicted": "fails" if node.fails else "passes",
        }
        for number, node in enumerate(tree.nodes)
    ]


def _edges(tree: FailureTree, nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    ends = [(nodes[node.parent], nodes[number]) for number, node in enumerate(tree.nodes) if node.parent is not None]
    return [{"depth": a["depth"], "row": a["row"], "to": b["depth"], "at": b["row"]} for a, b in ends]
