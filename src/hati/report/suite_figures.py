"""Figure data of a suite beside what it is compared with."""

from __future__ import annotations

from typing import NamedTuple

from hati.report.document import Chart, ChartKind, Document
from hati.report.quantities import tidy
from hati.report.suite_tables import suite_answer, suite_facts, suite_tables
from hati.studies.suite import SuiteConclusion, SuiteScale


class QuantilePoint(NamedTuple):
    """One point of a Q-Q plot."""

    suite: float
    other: float


class SuiteBox(NamedTuple):
    """One box of a box plot: whiskers to the extremes."""

    name: str
    minimum: float
    lower: float
    median: float
    upper: float
    maximum: float


class SuiteFigure(NamedTuple):
    """The suite's distribution beside another's; values in ``unit``, the metric's own tidied."""

    metric: str
    unit: str
    other: str
    scale: SuiteScale
    points: tuple[QuantilePoint, ...]
    boxes: tuple[SuiteBox, ...]


def suite_figure(conclusion: SuiteConclusion) -> SuiteFigure | None:
    """The data of the Q-Q and the box plot, where there is something to compare with."""
    found = conclusion.against
    if found is None:
        return None
    unit, factor = tidy(conclusion.metric.unit, found.pairs.ravel().tolist())
    boxes = tuple(
        SuiteBox(b.name, *(v * factor for v in (b.minimum, b.lower, b.median, b.upper, b.maximum))) for b in found.boxes
    )
    points = tuple(QuantilePoint(one * factor, other * factor) for one, other in found.pairs.tolist())
    return SuiteFigure(conclusion.metric.name, unit, found.kind, conclusion.scale, points, boxes)


def suite_document(conclusion: SuiteConclusion) -> Document:
    """What a suite found: the distribution over the space, the strata, comparisons."""
    return Document(
        f"{conclusion.subject}: {conclusion.metric.name} over the whole space",
        suite_answer(conclusion),
        facts=suite_facts(conclusion),
        sections=(*suite_tables(conclusion), *_charts(conclusion)),
        failures=conclusion.failures,
        warnings=conclusion.warnings,
        study=conclusion.study,
    )


def _charts(conclusion: SuiteConclusion) -> tuple[Chart, ...]:
    figure = suite_figure(conclusion)
    captions = (
        (ChartKind.QUANTILES, "Q-Q plot: the suite's quantiles against those of what it is compared with."),
        (ChartKind.BOXES, "Box plots of the suite, weighted, and of what it is compared with."),
    )
    return tuple(Chart(kind, kind.value, caption, figure) for kind, caption in captions if figure is not None)
