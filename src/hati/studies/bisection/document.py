"""A bisection as a document, a table and plain values."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from hati.core.wording import counted
from hati.document.document import (
    Document,
    Shown,
    Table,
    change,
    change_number,
    columns_of,
    duration,
    percent,
)
from hati.document.publishing import Interval, Of, StudyJson
from hati.studies.bisection import BisectionConclusion
from hati.studies.gate.document import RevisionJson


class CulpritJson(Struct, frozen=True):
    """A commit with its part of the change; ``candidates`` where it is one of several."""

    revision: Annotated[str, Of(lambda culprit: culprit.revisions[-1].id)]
    title: Annotated[str, Of(lambda culprit: culprit.revisions[-1].title)]
    candidates: Annotated[list[str], Of(lambda culprit: [each.id for each in culprit.revisions])]
    ratio: float
    interval: Interval | None
    confidence: float


class BisectionJson(StudyJson, frozen=True, tag_field="format", tag="hati-bisect-1"):
    """The commits that changed a metric, and what finding them cost."""

    commits: Annotated[list[CulpritJson], Of("culprits")]
    good: RevisionJson
    bad: RevisionJson
    benchmark: str
    metric: Annotated[str, Of("metric.name")]
    ratio: float | None
    interval: Interval | None
    margin: float
    same: bool
    open: Annotated[list[list[str]], Of(lambda found: [[each.id for each in ends] for ends in found.open_ranges])]
    skipped: Annotated[list[str], Of(lambda found: [each.id for each in found.skipped])]
    probes: int
    runs: int
    failed: int
    seconds: float
    study: str


def bisection_table(found: BisectionConclusion) -> Table:
    """A row for each commit that changed the metric."""
    columns = columns_of("revision | > change | > interval | > confidence (%) | title")
    rows = tuple(
        (
            " or ".join(revision.short for revision in culprit.revisions),
            Shown(change(culprit.ratio - 1.0), culprit.ratio),
            _interval(culprit.interval),
            Shown(f"{100.0 * culprit.confidence:.3g}", culprit.confidence),
            culprit.revisions[-1].title,
        )
        for culprit in found.culprits
    )
    return Table(f"From {found.good} to {found.bad}", columns, rows, tuple(_notes(found)))


def _interval(interval: tuple[float, float] | None) -> str:
    return "none yet" if interval is None else f"{change_number(interval[0] - 1.0)} to {change(interval[1] - 1.0)}"


def _notes(found: BisectionConclusion) -> list[str]:
    whole = "not known" if found.ratio is None else f"{change(found.ratio - 1.0)} ({_interval(found.interval)})"
    notes = [
        f"{found.metric.name} of {found.benchmark} in all: {whole}. {counted(found.probes, 'revision')} measured "
        f"with the good one, {counted(found.runs, 'run')}, {duration(found.seconds)}."
    ]
    for first, last in found.open_ranges:
        notes.append(f"Not decided yet: between {first} and {last}; a larger --budget goes on.")
    if found.skipped:
        notes.append(f"Could not be measured: {', '.join(revision.short for revision in found.skipped)}.")
    if any(culprit.confidence == 0.0 for culprit in found.culprits):
        notes.append("Confidence 0: the runs of this revision alone show no change.")
    return notes


def bisection_document(found: BisectionConclusion) -> Document:
    """Which commits changed the metric."""
    return Document(
        f"{found.metric.name} of {found.benchmark} from {found.good} to {found.bad}",
        _answer(found),
        sections=(bisection_table(found),),
        study=found.study,
    )


def _answer(found: BisectionConclusion) -> str:
    if found.culprits:
        named = (
            f"{' or '.join(revision.short for revision in each.revisions)} ({change(each.ratio - 1.0)})"
            for each in found.culprits
        )
        return f"Changed by {', '.join(named)}."
    if found.interval is None:
        return "Too few runs to decide whether the two revisions differ."
    if found.same:
        return f"The two revisions are the same within {percent(found.margin)}: there is nothing to bisect."
    if not found.open_ranges:
        return "These runs show no difference between the two revisions: there is nothing to bisect."
    return "Not decided yet."
