"""Altair charts of figure data: one definition for the interactive page, for PNG and for SVG.

Altair takes most of a second to load. It is imported where a chart is made, here and in
the modules that draw, so that programs that draw nothing start at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hati.render.chart_library import require_charts
from hati.render.drawing import Drawing, ImageKind, draw
from hati.report import half_normal, interactions, main_effects, pareto, run_order
from hati.studies.screening import ScreeningConclusion

if TYPE_CHECKING:
    from hati.render.chart_style import Chart


def screening_charts(conclusion: ScreeningConclusion) -> dict[str, Chart]:
    """The charts for which there are data, by name: pareto, half_normal, main_effects, interactions, run_order.

    Raises:
        NotInstalledError: without the extra ``charts``.
    """
    require_charts()
    from hati.render import effect_charts, mean_charts

    charts: dict[str, Chart] = {}
    if conclusion.effects:
        charts["pareto"] = effect_charts.pareto_chart(pareto(conclusion))
        charts["half_normal"] = effect_charts.half_normal_chart(half_normal(conclusion))
    means = main_effects(conclusion)
    if means.options:
        charts["main_effects"] = mean_charts.main_effects_chart(means)
    pairs = interactions(conclusion)
    if pairs.pairs:
        charts["interactions"] = mean_charts.interactions_chart(pairs)
    runs = run_order(conclusion)
    if runs.runs:
        charts["run_order"] = mean_charts.run_order_chart(runs)
    return charts


def chart_images(charts: Mapping[str, Chart], kind: ImageKind) -> dict[str, Drawing]:
    """Images of charts by their names: PNG at twice the nominal size, or SVG."""
    return dict(zip(charts, draw([specification(chart) for chart in charts.values()], kind), strict=True))


def specification(chart: Chart) -> dict[str, Any]:
    """The chart in Vega-Lite. It is not validated, which takes longer than to draw it: charts differ by data alone."""
    return chart.to_dict(validate=False)
