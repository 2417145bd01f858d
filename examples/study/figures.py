"""The study's figures as SVG documents, drawn with Hati's charts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from examples.study.effects import Effects, effects, pair_designs
from examples.study.screenings import Screened
from examples.study.suites import Sample
from examples.study.systems import System

from hati.core import conversion
from hati.document import Chart, ChartKind
from hati.render import ImageKind, chart_images
from hati.studies.screening.figures import EffectFigure, half_normal
from hati.studies.suite import Box
from hati.studies.suite.document import SuiteFigure

BOXES = 5
"""The number of random samples drawn next to a suite, as in the RES paper, Fig. 11."""


def effect_figures(system: System, full: Effects, fractions: list[Screened]) -> dict[str, str]:
    """Half-normal plots (RES paper, Figs. 5 to 7), by name."""
    what, size = system.metric.name, len(system.logs)
    design = next(iter(pair_designs().values()))
    pairs = effects(design.matrix, system.of(design.matrix))
    figures = {
        "full": full.figure(system.names, f"{what}: {size:,} configurations", 1),
        "pairs-full": full.figure(system.names, f"{what} of two options: {size:,} configurations", 2),
        "pairs-2048": pairs.figure(system.names, f"{what} of two options: {design.runs:,} configurations", 2),
    }
    for found in fractions:
        figure = half_normal(found.conclusion)
        figures[found.name] = figure._replace(metric=f"{what}: {found.name}, {found.runs} configurations")
    return _svg(ChartKind.HALF_NORMAL, {name.lower(): figure for name, figure in figures.items()})


def quantile_figure(figure: SuiteFigure) -> str:
    """The Q-Q plot of a suite and full data (RES paper, Fig. 10)."""
    return _svg(ChartKind.QUANTILES, {"quantiles": figure})["quantiles"]


def box_figure(system: System, figure: SuiteFigure, samples: list[Sample]) -> str:
    """Box plots of a suite, full data, and random samples (RES paper, Fig. 11)."""
    factor = conversion(system.metric.unit, figure.unit)
    boxes = tuple(_box(f"random sample {n}", np.exp(s.logs) * factor) for n, s in enumerate(samples, 1))
    beside = figure._replace(boxes=(*figure.boxes, *boxes), other="full data, random samples")
    return _svg(ChartKind.BOXES, {"boxes": beside})["boxes"]


def _svg(kind: ChartKind, figures: Mapping[str, EffectFigure | SuiteFigure]) -> dict[str, str]:
    charts = {name: Chart(kind, name, "", figure) for name, figure in figures.items()}
    return {name: drawing.image.decode() for name, drawing in chart_images(charts, ImageKind.SVG).items()}


def _box(name: str, values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Box:
    lower, median, upper = np.quantile(values, [0.25, 0.5, 0.75], method="hazen").tolist()
    return Box(name, float(values.min()), lower, median, upper, float(values.max()))
