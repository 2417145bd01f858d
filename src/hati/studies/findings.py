"""Findings, which are reported once: their states after events, and the events of a new measurement.

This module is pure: events in, findings and further events out. The store keeps only events, so that stores can be
merged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated

from msgspec import UNSET, Struct, UnsetType

from hati.core import Event, EventKind, Finding, FindingState, SeriesKey, Size, digest
from hati.core.wording import listed
from hati.document.document import Table, change, change_number, columns_of
from hati.document.publishing import Interval, Joined, Of
from hati.studies.comparison import ChangeVerdict, Comparison
from hati.studies.gate import Broken, GateConclusion

TRANSITIONS: Mapping[tuple[FindingState, EventKind], FindingState] = {
    (FindingState.NEW, EventKind.SEEN): FindingState.CONFIRMED,
    (FindingState.NEW, EventKind.GROWN): FindingState.CONFIRMED,
    (FindingState.NEW, EventKind.ACKNOWLEDGED): FindingState.ACKNOWLEDGED,
    (FindingState.NEW, EventKind.GONE): FindingState.RESOLVED,
    (FindingState.CONFIRMED, EventKind.ACKNOWLEDGED): FindingState.ACKNOWLEDGED,
    (FindingState.CONFIRMED, EventKind.GONE): FindingState.RESOLVED,
    (FindingState.ACKNOWLEDGED, EventKind.GROWN): FindingState.REOPENED,
    (FindingState.ACKNOWLEDGED, EventKind.GONE): FindingState.RESOLVED,
    (FindingState.RESOLVED, EventKind.SEEN): FindingState.REOPENED,
    (FindingState.RESOLVED, EventKind.GROWN): FindingState.REOPENED,
    (FindingState.REOPENED, EventKind.ACKNOWLEDGED): FindingState.ACKNOWLEDGED,
    (FindingState.REOPENED, EventKind.GONE): FindingState.RESOLVED,
}
"""The transitions of a finding; any other event leaves its state. Only a measurement resolves one, never a person."""


def findings_of(events: Iterable[Event]) -> tuple[Finding, ...]:
    """All findings of a store, in the order in which they were first seen; events may come in any order."""
    grouped: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        grouped[event.finding].append(event)
    found = [finding_of(own) for own in grouped.values() if any(event.what is EventKind.SEEN for event in own)]
    return tuple(sorted(found, key=lambda finding: (finding.since, finding.id)))


def finding_of(events: Sequence[Event]) -> Finding:
    """The finding that results from its events, each taken once, in the order of their times.

    Events before it was first seen, which the clocks of two machines can cause, are ignored.
    """
    ordered = sorted({event.id: event for event in events}.values(), key=lambda event: (event.at, event.id))
    first = next(place for place, event in enumerate(ordered) if event.what is EventKind.SEEN)
    opening = ordered[first]
    found = Finding(
        id=opening.finding,
        worse=_worse(opening.finding),
        state=FindingState.NEW,
        reference=opening.reference,
        revision=opening.revision,
        sizes=dict(opening.sizes),
        since=opening.at,
        unreported=EventKind.SEEN,
        events=tuple(ordered),
    )
    for event in ordered[first + 1 :]:
        found = _after(found, event)
    return found


def _after(found: Finding, event: Event) -> Finding:
    state = found.state if _of_its_own(found, event) else TRANSITIONS.get((found.state, event.what), found.state)
    human = event.what is EventKind.ACKNOWLEDGED
    return Finding(
        id=found.id,
        worse=found.worse,
        state=state,
        reference=found.reference,
        revision=found.revision,
        sizes=_sizes_after(found, event),
        since=found.since,
        author=event.author if human else found.author,
        reason=event.reason if human else found.reason,
        unreported=_news(found, state, event),
        events=found.events,
    )


def _sizes_after(found: Finding, event: Event) -> Mapping[SeriesKey, Size]:
    """The sizes after an event: a measurement over another range changes those of the own range only by growth."""
    same_range = (event.reference, event.revision) == (found.reference, found.revision)
    if same_range or event.what is EventKind.GROWN:
        return {**found.sizes, **event.sizes}
    return {**event.sizes, **found.sizes}


def _of_its_own(found: Finding, event: Event) -> bool:
    """Whether the measurement that opened a new finding sees it again, at more spots: it does not confirm itself."""
    opening = next(each for each in found.events if each.what is EventKind.SEEN)
    return found.state is FindingState.NEW and event.what is EventKind.SEEN and event.study == opening.study


def _news(found: Finding, state: FindingState, event: Event) -> EventKind | None:
    """The unreported news after an event: growth, resolution and reopening are news until they are reported."""
    if event.what is EventKind.REPORTED:
        return None
    changed = state is not found.state
    if event.what is EventKind.GONE:
        return EventKind.GONE if changed else found.unreported
    if event.what is EventKind.GROWN or (changed and state is FindingState.REOPENED):
        return event.what
    return found.unreported


def _worse(finding: str) -> bool:
    """Whether a finding is a regression, which its id begins with."""
    return finding.startswith("regression")


_SHORT = 8


class Sighting(Struct, frozen=True):
    """The changes that a measurement from ``reference`` to ``revision`` saw, and the spots shown to be the same.

    ``between`` holds the ids of the revisions after the reference up to the revision: the measurement is about every
    finding in one of them. ``covered`` holds the ids of the findings whose whole range is among them: only for these
    does it show the size, and whether they are gone.
    """

    study: str
    reference: str
    revision: str
    between: frozenset[str]
    worse: Mapping[SeriesKey, Size]
    better: Mapping[SeriesKey, Size]
    same: frozenset[SeriesKey]
    covered: frozenset[str]


class Report(Struct, frozen=True):
    """The report due on a finding: ``news`` if it was not yet reported, ``fails`` if it stops a change."""

    finding: Finding
    news: bool
    fails: bool


def sighting_of(found: GateConclusion, between: frozenset[str], covered: frozenset[str]) -> Sighting:
    """The changes that a regression check saw, over all configurations and in strata."""
    worse: dict[SeriesKey, Size] = {}
    better: dict[SeriesKey, Size] = {}
    same = set()
    for row in (*found.rows, *(each.comparison for each in found.strata)):
        spot = spot_of(row)
        verdict, size = row.change.verdict, _size(found, row)
        if verdict is ChangeVerdict.SAME:
            same.add(spot)
        elif size is not None and verdict is ChangeVerdict.SLOWER:
            worse[spot] = size
        elif size is not None and verdict is ChangeVerdict.FASTER:
            better[spot] = size
    reference, revision = found.reference.id, found.revision.id
    return Sighting(found.study, reference, revision, between, worse, better, frozenset(same), covered)


def finding_id(worse: bool, reference: str, revision: str) -> str:  # noqa: FBT001  # which of the two it is
    """The id of a finding; it is the same for every measurement that first sees the change over the same range."""
    return f"{'regression' if worse else 'improvement'}-{digest([reference, revision])[:_SHORT]}"


def events_of(sighting: Sighting, known: Sequence[Finding], at: datetime) -> list[Event]:
    """The events of a measurement on known findings, and on those that it opens.

    A change belongs to a finding whose revision is in the measured range and that shows at a metric of the same
    benchmark. It has grown if its interval is wholly beyond the reported one, from the same reference if that was
    measured before. A finding is gone if all of its measured spots are the same now. A measurement over only a part of
    a finding's range shows neither that it is gone, nor its size unless it has grown: the rest of the range may have
    the change. A measurement from an earlier reference shows growth only against an earlier one from there. What it has
    in other series, such as a stratum, is the finding if it is not larger, and is then no size of it; if it is larger,
    it may have changed before the finding's range.
    """
    new_events: list[Event] = []
    for worse, sizes in ((True, sighting.worse), (False, sighting.better)):
        about = [one for one in known if one.worse is worse and _about(one, sighting)]
        left = dict(sizes)
        for finding in about:
            whole = finding.id in sighting.covered
            earlier = whole and finding.reference != sighting.reference
            own = {spot: size for spot, size in left.items() if _shows(finding, spot)}
            if earlier:
                own = {
                    spot: size for spot, size in own.items() if spot in finding.sizes or _explains(finding, spot, size)
                }
            if own:
                anywhere = {} if earlier else _reported_sizes(finding.events)
                what = _happening({**anywhere, **_reported_from(finding, sighting.reference)}, own)
                kept = whole or what is EventKind.GROWN
                series = finding.sizes if earlier else own
                reported = {
                    spot: size for spot, size in own.items() if spot in series and (kept or spot not in finding.sizes)
                }
                new_events.append(_event(finding.id, what, sighting, at, reported))
                left = {spot: size for spot, size in left.items() if spot not in own}
            elif whole and _gone(finding, sighting):
                new_events.append(_event(finding.id, EventKind.GONE, sighting, at, {}))
        if left:
            opened = finding_id(worse, sighting.reference, sighting.revision)
            new_events.append(_event(opened, EventKind.SEEN, sighting, at, left))
    return new_events


def concluded(study: str, reference: str, revision: str, at: datetime) -> Event:
    """The event that all of a measurement's findings are stored and reported, if any; it belongs to no finding."""
    return Event("", EventKind.REPORTED, at, study, reference, revision)


def is_concluded(study: str, last: datetime, events: Iterable[Event]) -> bool:
    """Whether a measurement was reported completely; ``last`` is the time when its last run was started."""
    return any(event.study == study and not event.finding and event.at >= last for event in events)


def not_yet_said(events: Iterable[Event], said: Sequence[Event]) -> list[Event]:
    """The measurement's present events that were not among its earlier ones."""
    return [event for event in events if not any(_says(earlier, event) for earlier in said)]


def _says(earlier: Event, event: Event) -> bool:
    return (earlier.finding, earlier.what) == (event.finding, event.what) and event.sizes.keys() <= earlier.sizes.keys()


def reports(
    before: Sequence[Finding], after: Sequence[Finding], events: Sequence[Event], merged: frozenset[str]
) -> Iterator[Report]:
    """The reports that are due on the findings of a measurement's ``events``.

    ``before`` and ``after`` are all findings without and with these events. A regression fails the measured revision
    unless it is known: acknowledged, or found at another revision that is ``merged`` by now. If it has grown since, it
    fails again, and each time the revision at which it grew is measured, until it is acknowledged.
    """
    were = {finding.id: finding for finding in before}
    measured = {event.finding: event for event in events}
    for finding in after:
        event = measured.get(finding.id)
        if event is None:
            continue
        known = _known(were.get(finding.id), event.revision, merged) and event.what is not EventKind.GROWN
        there = finding.worse and event.what is not EventKind.GONE
        yield Report(finding, finding.unreported is not None, there and not known)


def _known(finding: Finding | None, revision: str, merged: frozenset[str]) -> bool:
    if finding is None or _grew_at(finding, revision):
        return False
    acknowledged = finding.state is FindingState.ACKNOWLEDGED
    return acknowledged or (finding.revision in merged and finding.revision != revision)


def _grew_at(finding: Finding, revision: str) -> bool:
    """Whether the finding grew at the revision and was not acknowledged since."""
    said = [place for place, event in enumerate(finding.events) if event.what is EventKind.ACKNOWLEDGED]
    since = finding.events[said[-1] + 1 :] if said else finding.events
    return any(event.what is EventKind.GROWN and event.revision == revision for event in since)


def _about(finding: Finding, sighting: Sighting) -> bool:
    return finding.revision in sighting.between or finding.revision == sighting.revision


def _shows(finding: Finding, spot: SeriesKey) -> bool:
    return any((spot.benchmark, spot.metric) == (known.benchmark, known.metric) for known in finding.sizes)


def _explains(finding: Finding, spot: SeriesKey, size: Size) -> bool:
    """Whether a change in another series of the metric is not wholly beyond what is known of the finding.

    A finding over all strata explains that of one, and the reverse, but not one stratum another.
    """
    about = [
        known
        for own, known in finding.sizes.items()
        if (own.benchmark, own.metric) == (spot.benchmark, spot.metric) and "" in (own.stratum, spot.stratum)
    ]
    return any(not _beyond(size, known) for known in about)


def _beyond(size: Size, known: Size) -> bool:
    return size.low > known.high if known.ratio > 1.0 else size.high < known.low


def _reported_from(finding: Finding, reference: str) -> Mapping[SeriesKey, Size]:
    return _reported_sizes([event for event in finding.events if not event.sizes or event.reference == reference])


def _happening(known: Mapping[SeriesKey, Size], sizes: Mapping[SeriesKey, Size]) -> EventKind:
    """Whether sizes are seen again, or have grown beyond the known ones."""
    for spot, size in sizes.items():
        before = known.get(spot)
        if before is not None and _beyond(size, before):
            return EventKind.GROWN
    return EventKind.SEEN


def _reported_sizes(events: Sequence[Event]) -> Mapping[SeriesKey, Size]:
    """The reported sizes: those at the last report or acknowledgement.

    The sizes of an opening, a reopening or a growth count at once. Those of a mere repetition do not: otherwise many
    small steps would never be a growth.
    """
    seen: dict[SeriesKey, Size] = {}
    new_events: dict[SeriesKey, Size] = {}
    resolved = False
    for event in events:
        seen |= event.sizes
        if event.what in {EventKind.REPORTED, EventKind.ACKNOWLEDGED}:
            new_events = dict(seen)
        elif event.what is EventKind.GROWN or resolved:
            new_events |= event.sizes
        else:
            new_events = {**event.sizes, **new_events}
        resolved = event.what is EventKind.GONE or (resolved and not event.sizes)
    return new_events


def _gone(finding: Finding, sighting: Sighting) -> bool:
    measured = [spot for spot in finding.sizes if spot in sighting.same]
    still = [spot for spot in finding.sizes if spot in sighting.worse or spot in sighting.better]
    return bool(measured) and not still


def _event(finding: str, what: EventKind, sighting: Sighting, at: datetime, sizes: Mapping[SeriesKey, Size]) -> Event:
    return Event(
        finding=finding,
        what=what,
        at=at,
        study=sighting.study,
        reference=sighting.reference,
        revision=sighting.revision,
        sizes=dict(sizes),
    )


def spot_of(row: Comparison) -> SeriesKey:
    """The series of a comparison; its configuration is that of the stratum, and empty over all."""
    return SeriesKey(row.benchmark, row.metric.name, str(row.configuration), str(row.workload), row.after.machine)


def _size(found: GateConclusion, row: Comparison) -> Size | None:
    change = row.change
    if change.ratio is None or change.interval is None:
        return None
    most = found.most_affected(row)
    return Size(change.ratio, *change.interval, "" if most is None else most.settings)


class Ruling(Struct, frozen=True):
    """A check's conclusion with the reports due on findings; ``failing`` are the verdicts that stop a change.

    ``unshown`` are acknowledged regressions in the checked range of which the check shows neither size nor end. Every
    output of a check takes its failures from here, so that all agree.
    """

    gate: GateConclusion
    reports: tuple[Report, ...] = ()
    failing: frozenset[ChangeVerdict] = frozenset({ChangeVerdict.SLOWER, ChangeVerdict.INCONCLUSIVE})
    unshown: tuple[Finding, ...] = ()

    @property
    def verdict(self) -> ChangeVerdict:
        """The worst verdict that is not known: slower anywhere, else inconclusive, faster or the same over all."""
        ranked = (ChangeVerdict.SLOWER, ChangeVerdict.INCONCLUSIVE, ChangeVerdict.FASTER)
        return next((verdict for verdict in ranked if verdict in self._verdicts), ChangeVerdict.SAME)

    @property
    def stopping(self) -> frozenset[ChangeVerdict]:
        """The verdicts because of which the change is stopped."""
        return self.failing & self._verdicts

    @property
    def broken(self) -> tuple[Broken, ...]:
        """The configurations that cannot be measured at the revision, but can at the reference."""
        gate = self.gate
        return tuple(each for each in gate.broken if each.alone and each.revision == gate.revision)

    @property
    def fails(self) -> bool:
        """Whether the change is stopped."""
        return bool(self.broken or self.stopping)

    @property
    def slower(self) -> tuple[Comparison, ...]:
        """The comparisons that are slower and not known, over all configurations and in strata."""
        return tuple(
            row for row in self._rows() if row.change.verdict is ChangeVerdict.SLOWER and self.known(row) is None
        )

    @property
    def known_slower(self) -> tuple[str, ...]:
        """The findings that excuse slower rows, by their ids."""
        return tuple(sorted({one.id for row in self._rows() if (one := self.known(row)) is not None}))

    def known(self, row: Comparison) -> Finding | None:
        """The finding that excuses a slower row; None if the row is not known."""
        if row.change.verdict is not ChangeVerdict.SLOWER:
            return None
        spot = spot_of(row)
        about = [one for one in self.reports if one.finding.worse and spot in one.finding.sizes]
        return about[0].finding if about and not any(one.fails for one in about) else None

    @property
    def _verdicts(self) -> frozenset[ChangeVerdict]:
        """The verdicts of rows that are not known: those over all configurations, and the changes in strata."""
        return frozenset(
            row.change.verdict
            for row in (*self.gate.rows, *(row for row in self._rows() if row.change.changed))
            if self.known(row) is None
        )

    def _rows(self) -> Iterator[Comparison]:
        yield from self.gate.rows
        for each in self.gate.strata:
            yield each.comparison


_SHORT_ID = 12
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
    most_where: Annotated[str | UnsetType, Of(lambda of: of.most_where or None)] = UNSET


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
    rows = tuple(_row(one) for one in found)
    open_ones = sum(one.worse and one.state is not FindingState.RESOLVED for one in found)
    note = f"Regressions that are not resolved: {open_ones} of {len(found)}." if found else "There are none."
    several = (_FIRST,) if any(len(one.sizes) > 1 for one in found) else ()
    return Table("Findings", columns, rows, (note, *several))


_FIRST = "change: that of the first place, the largest over all configurations; of a stratum if none shows there."


def _row(found: Finding) -> tuple[str, ...]:
    places, sizes, intervals, most = zip(*_by_size(found), strict=True)
    where = listed(map("".join, zip(places, most, strict=True)), 1, "; ")
    return found.id, found.state.value, _range(found), where, sizes[0], intervals[0], f"{found.since:%Y-%m-%d}"


def report_sentence(report: Report) -> str:
    """The news of a finding, in a sentence."""
    finding = report.finding
    where = listed((f"{place} {size} ({interval}){most}" for place, size, interval, most in _by_size(finding)), 1, "; ")
    what = _WORDS.get(finding.unreported, finding.state.value) if finding.unreported else finding.state.value
    by = f", acknowledged by {finding.author}: {finding.reason}" if finding.state is FindingState.ACKNOWLEDGED else ""
    return f"{finding.id} ({what}): {where}, {_range(finding)}{by}"


def _range(found: Finding) -> str:
    return f"{found.reference[:_SHORT_ID]}..{found.revision[:_SHORT_ID]}"


def _by_size(found: Finding) -> list[tuple[str, str, str, str]]:
    """The series in which the finding is, with size, interval and where the change is largest.

    Those over all configurations are first, then strata; of each, the largest.
    """
    series = sorted(found.sizes.items(), key=lambda one: (one[0].stratum != "", -abs(one[1].ratio - 1.0)))
    return [
        (
            " ".join(filter(None, (spot.benchmark, spot.metric, spot.stratum))),
            change(size.ratio - 1.0),
            f"{change_number(size.low - 1.0)} to {change(size.high - 1.0)}",
            f", most where {size.most_where}" if size.most_where else "",
        )
        for spot, size in series
    ]
