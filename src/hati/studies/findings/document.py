"""Findings as plain values, as a table, and in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Struct

from hati.core import EventKind, Finding, FindingState
from hati.document.document import Table, change, change_number, columns_of
from hati.document.publishing import Interval, Joined, Of
from hati.studies.findings import Report

_SHORT = 12
_WORDS = {
    EventKind.SEEN: "new",
    EventKind.GROWN: "grown",
    EventKind.GONE: "resolved",
}


class SizeJson(Struct, frozen=True):
    """How large a finding is in one series."""

    benchmark: str
    metric: str
    stratum: str
    workload: str
    machine: str
    ratio: float
    interval: Annotated[Interval, Of(lambda of: (of.low, of.high))]


class EventJson(Struct, frozen=True):
    """What happened to a finding."""

    what: EventKind
    at: Annotated[str, Of(lambda event: event.at.isoformat())]
    study: str
    revision: str
    author: str
    reason: str


class FindingJson(Struct, frozen=True):
    """What a finding is, with all that happened to it."""

    id: str
    kind: Annotated[str, Of(lambda found: "regression" if found.worse else "improvement")]
    state: FindingState
    reference: str
    revision: str
    since: Annotated[str, Of(lambda found: found.since.isoformat())]
    sizes: Annotated[list[SizeJson], Of(lambda of: [Joined(spot, size) for spot, size in sorted(of.sizes.items())])]
    author: str
    reason: str
    events: list[EventJson]


class ReportJson(FindingJson, frozen=True):
    """A finding as a check reports it."""

    news: bool
    fails: bool


class FindingsJson(Struct, frozen=True, tag_field="format", tag="hati-findings-1"):
    """The findings of a store."""

    findings: list[FindingJson]


def findings_table(found: Sequence[Finding]) -> Table:
    """A row for each finding."""
    columns = columns_of("finding | state | range | where | > change | > interval | since")
    rows = tuple((one.id, one.state.value, _range(one), *_largest(one), f"{one.since:%Y-%m-%d}") for one in found)
    open_ones = sum(one.worse and one.state is not FindingState.RESOLVED for one in found)
    note = f"{open_ones} of {len(found)} are regressions that are not resolved." if found else "There are none."
    return Table("Findings", columns, rows, (note,))


def report_sentence(report: Report) -> str:
    """The news of a finding, in a sentence."""
    finding = report.finding
    where, size, interval = _largest(finding)
    what = _WORDS.get(finding.unreported, finding.state.value) if finding.unreported else finding.state.value
    by = f", acknowledged by {finding.author}: {finding.reason}" if finding.state is FindingState.ACKNOWLEDGED else ""
    return f"{finding.id} ({what}): {where} {size} ({interval}), {_range(finding)}{by}"


def _range(found: Finding) -> str:
    return f"{found.reference[:_SHORT]}..{found.revision[:_SHORT]}"


def _largest(found: Finding) -> tuple[str, str, str]:
    """The series in which the finding is largest, with size and interval."""
    spot, size = max(found.sizes.items(), key=lambda one: abs(one[1].ratio - 1.0))
    others = len(found.sizes) - 1
    more = f" and {others} more" if others else ""
    where = " ".join(filter(None, (spot.benchmark, spot.metric, spot.stratum)))
    return f"{where}{more}", change(size.ratio - 1.0), f"{change_number(size.low - 1.0)} to {change(size.high - 1.0)}"
