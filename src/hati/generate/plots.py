"""The figures of an experiment's observations: a time line for each task, histograms, and gaps by their length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from hati.core import FloatArray
from hati.core.wording import counted
from hati.document.document import Chart, ChartKind, Document, tidy
from hati.generate.observations import (
    LoadObservations,
    LoadRunJson,
    SensorSeries,
    by_sensor,
    load_run_table,
    sensor_title,
)
from hati.generate.tasks import Sensor

_BARS = 1000
"""The most bars of a row: what is closer than the width of one is drawn together."""
_ROWS, _PANELS = 40, 24
_BINS = 40
_TAIL = 20.0
"""The largest over the median from which the bins of a histogram are logarithmic."""


class TimelineBar(NamedTuple):
    """A part of a row in ms since the start, in which a task ran, or did not run (``gap``)."""

    row: str
    start: float
    end: float
    gap: bool


class TimelineFigure(NamedTuple):
    """The time line of the tasks with a sensor of response times or gaps: a row for each thread."""

    title: str
    rows: tuple[str, ...]
    bars: tuple[TimelineBar, ...]


class DistributionPanel(NamedTuple):
    """A histogram: ``edges`` in ``unit`` and one more than ``counts``; on a logarithmic axis if ``logarithmic``."""

    name: str
    unit: str
    edges: tuple[float, ...]
    counts: tuple[int, ...]
    logarithmic: bool


class DistributionFigure(NamedTuple):
    """Histograms, one for each sensor."""

    title: str
    panels: tuple[DistributionPanel, ...]


def load_run_document(run: LoadRunJson, found: LoadObservations) -> Document:
    """The quantiles of the sensors with the charts of their observations."""
    observed = sum(each.values.size for each in found.series)
    answer = f"{counted(observed, 'observation')} of {counted(len(run.sensors), 'sensor')}."
    problem = (run.problem,) if run.problem else ()
    return Document(
        run.task_set,
        answer,
        sections=(load_run_table(run), *_charts(run.task_set, found)),
        warnings=tuple(run.warnings),
        failures=problem,
    )


def _charts(title: str, found: LoadObservations) -> Iterator[Chart]:
    groups = [group for group in by_sensor(found) if sum(each.values.size for each in group) > 1]
    gaps = [group for group in groups if group[0].sensor is Sensor.GAPS]
    others = [group for group in groups if group[0].sensor is not Sensor.GAPS]
    timeline = timeline_figure(title, found)
    if timeline.bars:
        caption = "Since the common start. What is too close to be seen apart is drawn together."
        yield Chart(ChartKind.TIMELINE, "timeline", caption, timeline)
    for name, kind, chosen in (("histograms", "Observations", others), ("gaps", "Gaps by their length", gaps)):
        if chosen:
            figure = DistributionFigure(f"{kind}: {title}", tuple(map(_panel, chosen[:_PANELS])))
            yield Chart(ChartKind.DISTRIBUTION, name, "The table has the quantiles.", figure)


def timeline_figure(title: str, found: LoadObservations) -> TimelineFigure:
    """The time line of all threads, in the order of their series; at most 40 rows."""
    rows: dict[str, list[TimelineBar]] = {}
    shown = [each for each in found.series if each.sensor in {Sensor.RESPONSE, Sensor.GAPS} and each.values.size]
    span = max((float((each.starts + each.values).max()) for each in shown), default=0.0)
    for each in shown:
        row = f"{each.role} {each.task}" + (f" {each.thread}" if _threads(found, each) > 1 else "")
        if row in rows or len(rows) < _ROWS:
            rows.setdefault(row, []).extend(_bars(row, each, span / _BARS))
    ordered = sorted((bar for bars in rows.values() for bar in bars), key=lambda bar: bar.gap)
    return TimelineFigure(title, tuple(rows), tuple(ordered))


def _threads(found: LoadObservations, series: SensorSeries) -> int:
    return sum(
        (each.role, each.task, each.sensor) == (series.role, series.task, series.sensor) for each in found.series
    )


def _bars(row: str, series: SensorSeries, width: float) -> Iterator[TimelineBar]:
    """The bars of a series: observations with less than ``width`` ns between them are one, and none is thinner."""
    order = np.argsort(series.starts, kind="stable")
    starts = series.starts[order].astype(np.float64)
    ends = np.maximum.accumulate(starts + np.maximum(series.values[order], width))
    new = np.flatnonzero(np.concatenate([[True], starts[1:] - ends[:-1] >= width]))
    last = np.concatenate([new[1:] - 1, [starts.size - 1]])
    for first, end in zip(starts[new] / 1e6, ends[last] / 1e6, strict=True):
        yield TimelineBar(row, float(first), float(end), series.sensor is Sensor.GAPS)


def _panel(group: Sequence[SensorSeries]) -> DistributionPanel:
    sensor = group[0].sensor
    values = np.concatenate([each.values for each in group]) * 1e-9
    scale = tidy("" if sensor is Sensor.UTILISATION else "s", [float(np.median(values))])
    scaled = values * scale.factor
    edges, logarithmic = _edges(scaled)
    counts = np.histogram(scaled, edges)[0]
    name = f"{group[0].role} {group[0].task}: {sensor_title(sensor)}"
    return DistributionPanel(name, scale.unit, tuple(map(float, edges)), tuple(map(int, counts)), logarithmic)


def _edges(values: FloatArray) -> tuple[FloatArray, bool]:
    """The edges of bins that hold all values; logarithmic for long tails of positive values."""
    low, high = float(values.min()), float(values.max())
    if low == high:
        return np.array([low - 0.5, low + 0.5]), False
    if low > 0.0 and high > _TAIL * float(np.median(values)):
        edges = np.geomspace(low, high, _BINS + 1)
        edges[[0, -1]] = low, high
        return edges, True
    return np.linspace(low, high, _BINS + 1), False
