"""The life of a finding, as a table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from hati.core import Event, Finding, FindingState, Happening, Size, Spot

TRANSITIONS: Mapping[tuple[FindingState, Happening], FindingState] = {
    (FindingState.NEW, Happening.SEEN): FindingState.CONFIRMED,
    (FindingState.NEW, Happening.GROWN): FindingState.CONFIRMED,
    (FindingState.NEW, Happening.ACKNOWLEDGED): FindingState.ACKNOWLEDGED,
    (FindingState.NEW, Happening.GONE): FindingState.RESOLVED,
    (FindingState.CONFIRMED, Happening.ACKNOWLEDGED): FindingState.ACKNOWLEDGED,
    (FindingState.CONFIRMED, Happening.GONE): FindingState.RESOLVED,
    (FindingState.ACKNOWLEDGED, Happening.GROWN): FindingState.REOPENED,
    (FindingState.ACKNOWLEDGED, Happening.GONE): FindingState.RESOLVED,
    (FindingState.RESOLVED, Happening.SEEN): FindingState.REOPENED,
    (FindingState.RESOLVED, Happening.GROWN): FindingState.REOPENED,
    (FindingState.REOPENED, Happening.ACKNOWLEDGED): FindingState.ACKNOWLEDGED,
    (FindingState.REOPENED, Happening.GONE): FindingState.RESOLVED,
}
"""What becomes of a finding; whatever is not here leaves it as it is. No hand resolves one: only measuring does."""


def findings_of(events: Iterable[Event]) -> tuple[Finding, ...]:
    """All findings of a store, in the order in which they were first seen; events may come in any order."""
    grouped: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        grouped[event.finding].append(event)
    found = [finding_of(own) for own in grouped.values() if any(event.what is Happening.SEEN for event in own)]
    return tuple(sorted(found, key=lambda finding: (finding.since, finding.id)))


def finding_of(events: Sequence[Event]) -> Finding:
    """What the events of one finding make of it: each once, in the order of their times.

    What comes before it was first seen, as the clocks of two machines can have it, counts as nothing.
    """
    ordered = sorted({event.id: event for event in events}.values(), key=lambda event: (event.at, event.id))
    first = next(place for place, event in enumerate(ordered) if event.what is Happening.SEEN)
    opening = ordered[first]
    found = Finding(
        id=opening.finding,
        worse=_worse(opening.finding),
        state=FindingState.NEW,
        reference=opening.reference,
        revision=opening.revision,
        sizes=dict(opening.sizes),
        since=opening.at,
        untold=Happening.SEEN,
        events=tuple(ordered),
    )
    for event in ordered[first + 1 :]:
        found = _after(found, event)
    return found


def _after(found: Finding, event: Event) -> Finding:
    state = found.state if _of_its_own(found, event) else TRANSITIONS.get((found.state, event.what), found.state)
    sizes: dict[Spot, Size] = {**found.sizes, **event.sizes}
    human = event.what is Happening.ACKNOWLEDGED
    return Finding(
        id=found.id,
        worse=found.worse,
        state=state,
        reference=found.reference,
        revision=found.revision,
        sizes=sizes,
        since=found.since,
        author=event.author if human else found.author,
        reason=event.reason if human else found.reason,
        untold=_untold(found, state, event),
        events=found.events,
    )


def _of_its_own(found: Finding, event: Event) -> bool:
    """Whether it is the measurement that opened a finding which sees it at more spots: none confirms itself."""
    opening = next(each for each in found.events if each.what is Happening.SEEN)
    return found.state is FindingState.NEW and event.what is Happening.SEEN and event.study == opening.study


def _untold(found: Finding, state: FindingState, event: Event) -> Happening | None:
    """Growth, resolution and reopening are news; having been told ends it."""
    if event.what is Happening.TOLD:
        return None
    changed = state is not found.state
    if event.what is Happening.GONE:
        return Happening.GONE if changed else found.untold
    if event.what is Happening.GROWN or (changed and state is FindingState.REOPENED):
        return event.what
    return found.untold


def _worse(finding: str) -> bool:
    """A finding's id begins with what it is."""
    return finding.startswith("regression")
