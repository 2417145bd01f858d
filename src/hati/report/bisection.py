"""A bisection as a document, a table and plain values."""

from __future__ import annotations

from hati.core.wording import counted
from hati.report.document import Document
from hati.report.gate import revision_json
from hati.report.quantities import change, change_number, duration, percent
from hati.report.table import Align, Column, Plain, Shown, Table
from hati.studies.bisection import BisectionConclusion, Culprit


def bisection_json(found: BisectionConclusion) -> Plain:
    """An object: the commits with their share of the change, and what finding them cost."""
    return {
        "commits": [_culprit_json(culprit) for culprit in found.culprits],
        "good": revision_json(found.good),
        "bad": revision_json(found.bad),
        "benchmark": found.benchmark,
        "metric": found.metric.name,
        "ratio": found.ratio,
        "interval": None if found.interval is None else list(found.interval),
        "margin": found.margin,
        "same": found.same,
        "open": [[first.id, last.id] for first, last in found.open_ranges],
        "skipped": [revision.id for revision in found.skipped],
        "probes": found.probes,
        "runs": found.runs,
        "failed": found.failed,
        "seconds": found.seconds,
        "study": found.study,
    }


def _culprit_json(culprit: Culprit) -> Plain:
    return {
        "revision": culprit.revisions[-1].id,
        "title": culprit.revisions[-1].title,
        "candidates": [revision.id for revision in culprit.revisions],
        "ratio": culprit.ratio,
        "interval": None if culprit.interval is None else list(culprit.interval),
        "confidence": culprit.confidence,
    }


def bisection_table(found: BisectionConclusion) -> Table:
    """A row for each commit that changed the metric."""
    columns = (
        Column("revision"),
        Column("change", align=Align.RIGHT),
        Column("interval", align=Align.RIGHT),
        Column("confidence", "%", align=Align.RIGHT),
        Column("title"),
    )
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
        f"beside the good one, {counted(found.runs, 'run')}, {duration(found.seconds)}."
    ]
    for first, last in found.open_ranges:
        notes.append(f"Not decided yet: between {first} and {last}; a larger --budget goes on.")
    if found.skipped:
        notes.append(f"Could not be measured: {', '.join(revision.short for revision in found.skipped)}.")
    if any(culprit.confidence == 0.0 for culprit in found.culprits):
        notes.append("Confidence 0: the runs show no change there by itself.")
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
        return "Too few runs to tell whether the two differ."
    if found.same:
        return f"The two are the same, within {percent(found.margin)}: nothing is looked for."
    if not found.open_ranges:
        return "The two do not differ by as much as this number of runs can show: there is nothing to find."
    return "Not decided yet."
