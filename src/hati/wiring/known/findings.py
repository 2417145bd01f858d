"""Findings of a project: kept in its store, and reported once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime

from hati.core import (
    Benchmark,
    Configuration,
    Event,
    EventKind,
    Finding,
    FindingState,
    InputError,
    Metric,
    Revision,
    RevisionKind,
)
from hati.core.wording import suggestion
from hati.store import Selection, SqlStore
from hati.studies.findings import Report, concluded, events_of, findings_of, not_yet_said, reports, sighting_of
from hati.studies.gate import GateConclusion
from hati.subject import Revisions
from hati.wiring.known.screenings import representatives
from hati.wiring.workplace import Workplace

_RECORDED = {RevisionKind.GIT, RevisionKind.SVN}


def record_findings(store: SqlStore, found: GateConclusion, revisions: Revisions) -> tuple[Report, ...]:
    """Keep a check's findings, and return the reports that are due.

    A check that concludes again from the same runs reports nothing new; with further runs, it reports what is new.
    """
    known = store.events()
    own = [event for event in known if event.study == found.study and event.what is not EventKind.REPORTED]
    before = findings_of(event for event in known if event not in own)
    between = _between(found, revisions)
    covered = frozenset(one.id for one in before if _covers(found, revisions, between, one))
    last = max((run.started for run in store.runs(Selection(study=found.study))), default=None)
    if not own or (last is not None and max(event.at for event in own) < last):
        said = events_of(sighting_of(found, between, covered), before, datetime.now(UTC))
        own += not_yet_said(said, own)
    store.add_events(own)
    after = findings_of(store.events())
    return tuple(reports(before, after, own, _merged(revisions, before)))


def stored_reports(store: SqlStore, found: GateConclusion, revisions: Revisions) -> tuple[Report, ...]:
    """The reports that are due on a check's findings, in their current state."""
    known = store.events()
    own = [event for event in known if event.study == found.study and event.what is not EventKind.REPORTED]
    before = findings_of(event for event in known if event not in own)
    return tuple(reports(before, findings_of(known), own, _merged(revisions, before)))


def shown_in(place: Workplace, line: Sequence[Revision], benchmark: Benchmark, metric: Metric) -> Configuration | None:
    """The configuration in which a finding among these revisions is largest; None without such a finding.

    It is the configuration that represents the finding's stratum.
    """
    within = {revision.id for revision in line}
    sizes = {
        spot.stratum: abs(math.log(size.ratio))
        for finding in findings_of(place.store.events())
        if {finding.reference, finding.revision} <= within
        for spot, size in finding.sizes.items()
        if (spot.benchmark, spot.metric) == (benchmark.name, metric.name) and size.ratio > 0.0
    }
    cells = [cell for cell in representatives(place, benchmark.name).cells if str(cell.stratum) in sizes]
    if not cells:
        return None
    return max(cells, key=lambda cell: sizes[str(cell.stratum)]).configuration


def mark_reported(store: SqlStore, found: GateConclusion, made: Sequence[Report]) -> None:
    """Record that a check's reports were made, so that they are not repeated."""
    now = datetime.now(UTC)
    news = [Event(one.finding.id, EventKind.REPORTED, now) for one in made if one.news]
    store.add_events([*news, concluded(found.study, found.reference.id, found.revision.id, now)])


def acknowledge(store: SqlStore, name: str, author: str, reason: str) -> Finding:
    """Record that somebody knows of a finding; ``name`` is its id, or the beginning of it.

    Raises:
        InputError: for an unknown finding, a resolved one, or a missing author or reason.
    """
    finding = find(store, name)
    if finding.state is FindingState.RESOLVED:
        raise InputError(f"{finding.id} is resolved", fix="there is nothing to acknowledge")
    store.add_events([Event(finding.id, EventKind.ACKNOWLEDGED, datetime.now(UTC), author=author, reason=reason)])
    return find(store, finding.id)


def find(store: SqlStore, name: str) -> Finding:
    """The finding with the id ``name``, or whose id begins with it.

    Raises:
        InputError: where there is none, or several.
    """
    known = findings_of(store.events())
    matching = [one for one in known if one.id == name] or [one for one in known if one.id.startswith(name)]
    if len(matching) != 1:
        what = "there is no finding" if not matching else f"{len(matching)} findings begin with"
        raise InputError(f"{what} {name!r}", fix=suggestion(name, [one.id for one in known]))
    return matching[0]


def _between(found: GateConclusion, revisions: Revisions) -> frozenset[str]:
    """The revisions that the check covers: its revision, and those since the reference if there is a history."""
    ids = {found.revision.id}
    history = revisions.history
    if history is not None and found.reference.kind in _RECORDED:
        last = found.revision if found.revision.kind in _RECORDED else history.base()
        ids |= set() if last is None else set(history.inside(found.reference, last))
    return frozenset(ids)


def _covers(found: GateConclusion, revisions: Revisions, between: frozenset[str], finding: Finding) -> bool:
    """Whether the check's range contains the whole range in which a finding was made."""
    if finding.revision not in between or finding.reference == found.reference.id:
        return finding.revision in between
    history, kind = revisions.history, found.reference.kind
    if history is None or kind not in _RECORDED:
        return False
    try:
        return between.issuperset(history.inside(Revision(finding.reference, kind), Revision(finding.revision, kind)))
    except InputError:  # a folder, a release, or a commit that a shallow clone lacks
        return False


def _merged(revisions: Revisions, findings: Sequence[Finding]) -> frozenset[str]:
    """The findings' revisions that are on the main branch."""
    history = revisions.history
    main = None if history is None else history.main()
    if history is None or main is None:
        return frozenset()
    commits = {finding.revision for finding in findings}
    return frozenset(one for one in commits if history.contains(main, one))
