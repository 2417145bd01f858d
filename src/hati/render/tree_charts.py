"""The chart of a classification tree. Imports Altair, which is slow: see `charts`."""

from __future__ import annotations

from typing import Any

import altair as alt

from hati.render import chart_style as style
from hati.render.chart_style import WIDTH, Chart, data, looks, plain
from hati.studies.failure_search import FailureTree

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
