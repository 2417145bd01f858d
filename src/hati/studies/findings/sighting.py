"""What a measurement says of findings: of those there are, and of new ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from hati.core import Event, Finding, FindingState, Happening, Size, Spot, digest
from hati.studies.comparison import Comparison, Verdict
from hati.studies.gate import GateConclusion

_SHORT = 8


class Sighting(Struct, frozen=True):
    """What a measurement from ``reference`` to ``revision`` saw: changes, and spots that are shown to be the same.

    ``between`` has the ids of the revisions after the reference up to the revision: whatever is found in one of them
    is a thing that this measurement is about. ``covered`` are the findings all of whose range is among them, by id: of
    these alone it tells the size, and whether they are gone.
    """

    study: str
    reference: str
    revision: str
    between: frozenset[str]
    worse: Mapping[Spot, Size]
    better: Mapping[Spot, Size]
    same: frozenset[Spot]
    covered: frozenset[str]


class Report(Struct, frozen=True):
    """What is to be told of a finding now: ``news`` where nobody was told of it, ``fails`` where it stops a change."""

    finding: Finding
    news: bool
    fails: bool


def sighting_of(found: GateConclusion, between: frozenset[str], covered: frozenset[str]) -> Sighting:
    """What a gate saw, over all configurations and in strata."""
    worse: dict[Spot, Size] = {}
    better: dict[Spot, Size] = {}
    same = set()
    for row in (*found.rows, *(each.comparison for each in found.strata)):
        spot = spot_of(row)
        verdict, size = row.change.verdict, _size(row)
        if verdict is Verdict.SAME:
            same.add(spot)
        elif size is not None and verdict is Verdict.SLOWER:
            worse[spot] = size
        elif size is not None and verdict is Verdict.FASTER:
            better[spot] = size
    reference, revision = found.reference.id, found.revision.id
    return Sighting(found.study, reference, revision, between, worse, better, frozenset(same), covered)


def finding_id(worse: bool, reference: str, revision: str) -> str:  # noqa: FBT001  # which of the two it is
    """The same for whoever sees a change first over the same range."""
    return f"{'regression' if worse else 'improvement'}-{digest([reference, revision])[:_SHORT]}"


def events_of(sighting: Sighting, known: Sequence[Finding], at: datetime) -> list[Event]:
    """What happened to findings by a measurement, and to those that it opens.

    A change belongs to a finding whose revision is in the measured range and that shows at one of the same benchmarks'
    metrics; there it has grown where its interval is wholly beyond what people were told, from the same reference where
    that was measured from before. A finding is gone where all of its spots that were measured are the same now. What
    was measured over a part of a finding's range alone says neither that it is gone, nor how large it is unless it has
    grown: the rest of the range may have the change.
    """
    told: list[Event] = []
    for worse, sizes in ((True, sighting.worse), (False, sighting.better)):
        about = [one for one in known if one.worse is worse and _about(one, sighting)]
        left = dict(sizes)
        for finding in about:
            own = {spot: size for spot, size in left.items() if _shows(finding, spot)}
            whole = finding.id in sighting.covered
            if own:
                what = _happening(finding, own, sighting.reference)
                kept = whole or what is Happening.GROWN
                sizes_told = {spot: size for spot, size in own.items() if kept or spot not in finding.sizes}
                told.append(_event(finding.id, what, sighting, at, sizes_told))
                left = {spot: size for spot, size in left.items() if spot not in own}
            elif whole and _gone(finding, sighting):
                told.append(_event(finding.id, Happening.GONE, sighting, at, {}))
        if left:
            opened = finding_id(worse, sighting.reference, sighting.revision)
            told.append(_event(opened, Happening.SEEN, sighting, at, left))
    return told


def concluded(study: str, reference: str, revision: str, at: datetime) -> Event:
    """That all which a measurement says of findings is kept and told, also where that is nothing: of no finding."""
    return Event("", Happening.TOLD, at, study, reference, revision)


def is_concluded(study: str, last: datetime, events: Iterable[Event]) -> bool:
    """Whether a measurement was told of to its end; ``last`` is when its last run was started."""
    return any(event.study == study and not event.finding and event.at >= last for event in events)


def not_yet_said(events: Iterable[Event], said: Sequence[Event]) -> list[Event]:
    """Of what a measurement says now that which it did not say before it went on."""
    return [event for event in events if not any(_says(earlier, event) for earlier in said)]


def _says(earlier: Event, event: Event) -> bool:
    return (earlier.finding, earlier.what) == (event.finding, event.what) and event.sizes.keys() <= earlier.sizes.keys()


def reports(
    before: Sequence[Finding], after: Sequence[Finding], events: Sequence[Event], merged: frozenset[str]
) -> Iterator[Report]:
    """What is to be told of the findings that the ``events`` of a measurement are about.

    ``before`` and ``after`` are all findings without and with these events. A regression fails the revision that was
    measured unless it is known: acknowledged, or found at another revision that is ``merged`` by now; it fails again
    where it has grown since, at the revision at which it did each time that is measured, until it is acknowledged.
    """
    were = {finding.id: finding for finding in before}
    measured = {event.finding: event for event in events}
    for finding in after:
        event = measured.get(finding.id)
        if event is None:
            continue
        known = _known(were.get(finding.id), event.revision, merged) and event.what is not Happening.GROWN
        there = finding.worse and event.what is not Happening.GONE
        yield Report(finding, finding.untold is not None, there and not known)


def _known(finding: Finding | None, revision: str, merged: frozenset[str]) -> bool:
    if finding is None or _grew_at(finding, revision):
        return False
    acknowledged = finding.state is FindingState.ACKNOWLEDGED
    return acknowledged or (finding.revision in merged and finding.revision != revision)


def _grew_at(finding: Finding, revision: str) -> bool:
    """Whether the revision made it worse, and nobody acknowledged that."""
    said = [place for place, event in enumerate(finding.events) if event.what is Happening.ACKNOWLEDGED]
    since = finding.events[said[-1] + 1 :] if said else finding.events
    return any(event.what is Happening.GROWN and event.revision == revision for event in since)


def _about(finding: Finding, sighting: Sighting) -> bool:
    return finding.revision in sighting.between or finding.revision == sighting.revision


def _shows(finding: Finding, spot: Spot) -> bool:
    return any((spot.benchmark, spot.metric) == (known.benchmark, known.metric) for known in finding.sizes)


def _happening(finding: Finding, sizes: Mapping[Spot, Size], reference: str) -> Happening:
    anywhere = _as_told(finding.events)
    alike = _as_told([event for event in finding.events if not event.sizes or event.reference == reference])
    for spot, size in sizes.items():
        known = alike.get(spot, anywhere.get(spot))
        if known is not None and (size.low > known.high if known.ratio > 1.0 else size.high < known.low):
            return Happening.GROWN
    return Happening.SEEN


def _as_told(events: Sequence[Event]) -> Mapping[Spot, Size]:
    """The sizes that people know: those of when they were told last, or acknowledged it.

    What opens a finding, or opens it again, and what has grown is to be told, and counts at once. What is merely seen
    again does not: else many small steps would never be a growth.
    """
    seen: dict[Spot, Size] = {}
    told: dict[Spot, Size] = {}
    resolved = False
    for event in events:
        seen |= event.sizes
        if event.what in {Happening.TOLD, Happening.ACKNOWLEDGED}:
            told = dict(seen)
        elif event.what is Happening.GROWN or resolved:
            told |= event.sizes
        else:
            told = {**event.sizes, **told}
        resolved = event.what is Happening.GONE or (resolved and not event.sizes)
    return told


def _gone(finding: Finding, sighting: Sighting) -> bool:
    measured = [spot for spot in finding.sizes if spot in sighting.same]
    still = [spot for spot in finding.sizes if spot in sighting.worse or spot in sighting.better]
    return bool(measured) and not still


def _event(finding: str, what: Happening, sighting: Sighting, at: datetime, sizes: Mapping[Spot, Size]) -> Event:
    return Event(
        finding=finding,
        what=what,
        at=at,
        study=sighting.study,
        reference=sighting.reference,
        revision=sighting.revision,
        sizes=dict(sizes),
    )


def spot_of(row: Comparison) -> Spot:
    """Where a comparison is of: its configuration is the stratum's, and empty over all."""
    return Spot(row.benchmark, row.metric.name, str(row.configuration), str(row.workload), row.after.machine)


def _size(row: Comparison) -> Size | None:
    change = row.change
    if change.ratio is None or change.interval is None:
        return None
    low, high = change.interval
    return Size(change.ratio, low, high)
