"""A measurement as a document, a table and plain values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Struct

from hati.core import Better, Configuration
from hati.document.document import Cell, Column, Document, Shown, Table, columns_of, duration, percent, quantity
from hati.document.publishing import Interval, Of, RunsJson, StudyJson
from hati.studies.measurement import MeasurementConclusion, Summary


def measurement_table(conclusion: MeasurementConclusion) -> Table:
    """A row for each metric (and configuration, where there are several): mean over runs and its spread."""
    several = len({summary.configuration for summary in conclusion.summaries}) > 1
    columns = (
        *((Column("configuration"),) if several else ()),
        *columns_of("metric | > mean | > +-95 % | > median | > min | > max | > sd | > runs"),
    )
    rows = tuple(_row(summary, several=several) for summary in conclusion.summaries)
    return Table(f"Benchmark {conclusion.benchmark}", columns, rows, _notes(conclusion))


class SummaryJson(Struct, frozen=True):
    """The summary of a configuration's measurements of a metric."""

    configuration: Configuration
    metric: Annotated[str, Of("metric.name")]
    unit: Annotated[str, Of("metric.unit")]
    better: Annotated[Better, Of("metric.better")]
    runs: int
    observations: int
    mean: float
    interval: Interval | None
    median: float
    deviation: float | None
    within: float | None
    minimum: float
    maximum: float
    disturbed: list[str]
    mean_undisturbed: Annotated[float | None, Of("undisturbed")]


class MeasurementJson(StudyJson, frozen=True, tag_field="format", tag="hati-run-1"):
    """A measurement."""

    study: str
    benchmark: str
    revision: str
    summaries: list[SummaryJson]
    runs: Annotated[RunsJson, Of()]
    failures: list[str]
    seconds: float
    warnings: list[str]


def _row(summary: Summary, *, several: bool) -> tuple[Cell, ...]:
    unit = summary.metric.unit
    return (
        *((str(summary.configuration),) if several else ()),
        summary.metric.name,
        Shown(quantity(summary.mean, unit), summary.mean),
        _half_width(summary),
        Shown(quantity(summary.median, unit), summary.median),
        Shown(quantity(summary.minimum, unit), summary.minimum),
        Shown(quantity(summary.maximum, unit), summary.maximum),
        None if summary.deviation is None else Shown(quantity(summary.deviation, unit, 2), summary.deviation),
        summary.runs,
    )


def _half_width(summary: Summary) -> Cell:
    if summary.interval is None or not summary.mean:
        return None
    half = (summary.interval[1] - summary.interval[0]) / 2
    return Shown(percent(half / abs(summary.mean), 2), half)


def _notes(conclusion: MeasurementConclusion) -> tuple[str, ...]:
    alike: dict[tuple[object, ...], list[Summary]] = {}
    for summary in conclusion.summaries:
        runs = (summary.runs, summary.disturbed, summary.undisturbed is None)
        alike.setdefault((summary.configuration, *runs), []).append(summary)
    several = len({summary.configuration for summary in conclusion.summaries}) > 1
    disturbed = tuple(_disturbed(each, several=several) for each in alike.values() if each[0].disturbed)
    about = "A run's value is its mean after warm-up; mean, interval and sd are over runs."
    return (about, *disturbed)


def _disturbed(alike: Sequence[Summary], *, several: bool) -> str:
    """How many runs were disturbed and why, and what the means of metrics of the same runs would be without them."""
    first = alike[0]
    names = ", ".join(summary.metric.name for summary in alike)
    number = len(first.disturbed)
    left = [(one.metric, one.undisturbed) for one in alike if one.undisturbed is not None]
    means = ", ".join(quantity(value, metric.unit) for metric, value in left)
    without = f"the mean without {'it' if number == 1 else 'them'}: {means}" if left else "no others are left"
    return (
        f"{names}{f' of {first.configuration}' if several else ''}: {number} of {first.runs} runs "
        f"{'was' if number == 1 else 'were'} disturbed (the first: {first.disturbed[0]}), and counted; {without}."
    )


def measurement_document(conclusion: MeasurementConclusion) -> Document:
    """The runs of each configuration, summarised."""
    done = f"{conclusion.done:,} runs done, {conclusion.failed:,} failed, {duration(conclusion.seconds)} in all."
    return Document(
        f"Benchmark {conclusion.benchmark} at {conclusion.revision}",
        done,
        sections=(measurement_table(conclusion),),
        failures=conclusion.failures,
        warnings=conclusion.warnings,
        study=conclusion.study,
    )
