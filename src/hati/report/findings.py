"""Findings as plain values, as a table, and in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from hati.core import Event, EventKind, Finding, FindingState, SeriesKey, Size
from hati.report.quantities import change, change_number
from hati.report.table import Align, Column, Plain, Table
from hati.studies.findings import Report

_SHORT = 12
_WORDS = {
    EventKind.SEEN: "new",
    EventKind.GROWN: "grown",
    EventKind.GONE: "resolved",
}


def finding_json(found: Finding) -> dict[str, Plain]:
    """What a finding is, with all that happened to it."""
    return {
        "id": found.id,
        "kind": "regression" if found.worse else "improvement",
        "state": found.state.value,
        "reference": found.reference,
        "revision": found.revision,
        "since": found.since.isoformat(),
        "sizes": [_size_json(spot, size) for spot, size in sorted(found.sizes.items())],
        "author": found.author,
        "reason": found.reason,
        "events": [_event_json(event) for event in found.events],
    }


def report_json(told: Report) -> dict[str, Plain]:
    """A finding as a gate tells it."""
    return {**finding_json(told.finding), "news": told.news, "fails": told.fails}


def _size_json(spot: SeriesKey, size: Size) -> Plain:
    return {
        "benchmark": spot.benchmark,
        "metric": spot.metric,
        "stratum": spot.stratum,
        "workload": spot.workload,
        "machine": spot.machine,
        "ratio": size.ratio,
        "interval": [size.low, size.high],
    }


def _event_json(event: Event) -> Plain:
    return {
        "what": event.what.value,
        "at": event.at.isoformat(),
        "study": event.study,
        "revision": event.revision,
        "author": event.author,
        "reason": event.reason,
    }


def findings_table(found: Sequence[Finding]) -> Table:
    """A row for each finding."""
    columns = (
        Column("finding"),
        Column("state"),
        Column("range"),
        Column("where"),
        Column("change", align=Align.RIGHT),
        Column("interval", align=Align.RIGHT),
        Column("since"),
    )
    rows = tuple((one.id, one.state.value, _range(one), *_largest(one), f"{one.since:%Y-%m-%d}") for one in found)
    open_ones = sum(one.worse and one.state is not FindingState.RESOLVED for one in found)
    told = f"{open_ones} of {len(found)} are regressions that are not resolved." if found else "There are none."
    return Table("Findings", columns, rows, (told,))


def report_sentence(told: Report) -> str:
    """What is told of a finding, in a sentence."""
    finding = told.finding
    where, size, interval = _largest(finding)
    what = _WORDS.get(finding.untold, finding.state.value) if finding.untold else finding.state.value
    by = f", acknowledged by {finding.author}: {finding.reason}" if finding.state is FindingState.ACKNOWLEDGED else ""
    return f"{finding.id} ({what}): {where} {size} ({interval}), {_range(finding)}{by}"


def _range(found: Finding) -> str:
    return f"{found.reference[:_SHORT]}..{found.revision[:_SHORT]}"


def _largest(found: Finding) -> tuple[str, str, str]:
    """Where it is largest, and how large it is there."""
    spot, size = max(found.sizes.items(), key=lambda one: abs(one[1].ratio - 1.0))
    others = len(found.sizes) - 1
    more = f" and {others} more" if others else ""
    where = " ".join(filter(None, (spot.benchmark, spot.metric, spot.stratum)))
    return f"{where}{more}", change(size.ratio - 1.0), f"{change_number(size.low - 1.0)} to {change(size.high - 1.0)}"
