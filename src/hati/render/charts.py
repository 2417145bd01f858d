"""Altair charts of figure data: one definition for the interactive page, for PNG and for SVG.

Altair takes most of a second to load. It is imported where a chart is made, here and in
the modules that draw, so that programs that draw nothing start at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from hati.render.chart_library import require_charts
from hati.render.drawing import Drawing, ImageKind, draw
from hati.report import Aside, Chart, ChartKind, Document, Part, Section

if TYPE_CHECKING:
    from hati.render.chart_style import Chart as Drawn


def charts_of(document: Document) -> dict[str, Chart]:
    """The charts of a document and its parts, by their names."""
    return {chart.name: chart for chart in _charts(document.sections)}


def specification(chart: Chart) -> Mapping[str, Any]:
    """The chart in Vega-Lite. It is not validated, which takes longer than to draw it: charts differ by data alone."""
    found: dict[str, Any] = chart_in_altair(chart).to_dict(validate=False)
    return found


def chart_in_altair(chart: Chart) -> Drawn:
    """The chart as Altair knows it; its figure is of the kind that the chart says."""
    return _drawers()[chart.kind](chart.figure)


def chart_images(charts: Mapping[str, Chart], kind: ImageKind) -> dict[str, Drawing]:
    """Images of charts by their names: PNG at twice the nominal size, or SVG.

    Raises:
        NotInstalledError: without the extra ``charts``.
    """
    require_charts()
    return dict(zip(charts, draw([specification(chart) for chart in charts.values()], kind), strict=True))


def _charts(sections: Iterable[Section]) -> Iterator[Chart]:
    for section in sections:
        if isinstance(section, Chart):
            yield section
        elif isinstance(section, Aside | Part):
            yield from _charts(section.sections)


def _drawers() -> Mapping[ChartKind, Callable[[Any], Drawn]]:
    from hati.render import (
        effect_charts,
        history_charts,
        portability_charts,
        relation_charts,
        suite_drawings,
    )

    return {
        ChartKind.PARETO: effect_charts.pareto_chart,
        ChartKind.HALF_NORMAL: effect_charts.half_normal_chart,
        ChartKind.MAIN_EFFECTS: effect_charts.main_effects_chart,
        ChartKind.INTERACTIONS: effect_charts.interactions_chart,
        ChartKind.RUN_ORDER: effect_charts.run_order_chart,
        ChartKind.QUANTILES: suite_drawings.quantile_chart,
        ChartKind.BOXES: suite_drawings.box_chart,
        ChartKind.HISTORY: history_charts.history_chart,
        ChartKind.RELATION: relation_charts.relation_chart,
        ChartKind.HISTOGRAM: portability_charts.portability_chart,
    }
