"""What a store shows of a project's benchmarks: the statistic of a run, and their findings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
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
    Sample,
    StudyId,
)
from hati.core.wording import suggestion
from hati.knowledge import Entry, Provenance
from hati.store import Selection, SqlStore, StudyRecord
from hati.studies.comparison import (
    VERSION,
    ChoiceBasis,
    Question,
    Statistic,
    StatisticChoice,
    StatisticChoices,
    VarianceRatios,
    candidate_values,
    choose_statistic,
    variance_ratios,
)
from hati.studies.findings import Report, concluded, events_of, findings_of, not_yet_said, reports, sighting_of
from hati.studies.gate import GateConclusion
from hati.subject import Revisions
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


def unshown_findings(
    store: SqlStore, found: GateConclusion, revisions: Revisions, reported: Sequence[Report]
) -> tuple[Finding, ...]:
    """The acknowledged regressions in a check's range and metrics on which it reports nothing."""
    named, between = {report.finding.id for report in reported}, _between(found, revisions)
    measured = {(row.benchmark, row.metric.name) for row in found.rows}
    return tuple(
        one
        for one in findings_of(store.events())
        if one.worse
        and one.state is FindingState.ACKNOWLEDGED
        and one.id not in named
        and one.revision in between
        and any((key.benchmark, key.metric) in measured for key in one.sizes)
    )


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
    from hati.wiring.known.screenings import representatives  # loads all that screenings need

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
        with suppress(InputError):  # the repository no longer has one of the commits
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


_KINDS = ("gate", "paired", "replay")
"""The studies that keep their choices."""
_ON_RUNS = (ChoiceBasis.HISTORY, ChoiceBasis.OTHERS)


def statistics_of(
    place: Workplace, study: StudyId, question: Question, benchmarks: Sequence[Benchmark]
) -> StatisticChoices:
    """The statistics of a run in a campaign: those stored with it, else those of an earlier one, else by stored runs.

    A campaign from before choices were stored continues with the mean. Runs of the campaign itself are not used.
    A requested statistic overrides any choice.
    """
    if isinstance(question.statistic, Statistic):
        return StatisticChoices()
    records = place.store.studies()
    begun = next((record for record in records if record.id.key == study.key), None)
    if begun is not None:
        return StatisticChoices.from_json(begun.choice) if begun.choice else StatisticChoices()
    rows: list[tuple[str, str, StatisticChoice]] = []
    for benchmark in benchmarks:
        names = [metric.name for metric in benchmark.metrics]
        known = {name: _kept(records, benchmark.name, name) for name in names}
        left = [name for name in names if known[name] is None]
        samples = _samples(place) if left else ()
        rows += [
            (benchmark.name, name, _chosen(samples, benchmark.name, name) if found is None else found[1])
            for name, found in known.items()
        ]
    return StatisticChoices(tuple(rows))


def known_statistic(
    place: Workplace, benchmark: str, metric: str, without: str = "", now: datetime | None = None
) -> Entry[StatisticChoice] | None:
    """The statistic of a run that a new check would use; None if neither earlier studies nor stored runs decide.

    Runs of the study whose key is ``without`` are not used.
    """
    time = now or datetime.now(UTC)
    kept, spans = _kept(place.store.studies(), benchmark, metric), place.store.spans()
    if kept is not None and kept[0].id.key in spans:
        record, choice = kept
        span = spans[record.id.key]
        machine = "" if record.id.machine in place.measured_on.fingerprints else record.id.machine
        origin = Provenance(record.id.key, span.runs, span.last, machine=machine)
        return Entry(choice, origin, time - span.last, "the newest study that chose one")
    samples = _samples(place, without)
    choice = _chosen(samples, benchmark, metric)
    own = [one for one in samples if (one.benchmark == benchmark) is (choice.basis is ChoiceBasis.HISTORY)]
    runs = [run for one in own if one.metric.name == metric for run in one.runs if run.started is not None]
    if choice.basis not in _ON_RUNS or not runs:
        return None
    last = max(run.started for run in runs if run.started is not None)
    return Entry(choice, Provenance("stored samples", len(runs), last), time - last, choice.reason)


def known_statistics(place: Workplace, benchmark: Benchmark, without: str) -> dict[str, Entry[StatisticChoice]]:
    """The known statistics of a benchmark's metrics, by their names, without the runs of a study."""
    found = {metric.name: known_statistic(place, benchmark.name, metric.name, without) for metric in benchmark.metrics}
    return {name: entry for name, entry in found.items() if entry is not None}


def _kept(records: Sequence[StudyRecord], benchmark: str, metric: str) -> tuple[StudyRecord, StatisticChoice] | None:
    """The newest choice by the current version of the rule that is based on runs, and its study."""
    known = (
        (record, choice)
        for record in reversed(records)
        if record.id.kind in _KINDS and record.choice
        for name, other, choice in StatisticChoices.from_json(record.choice).rows
        if (name, other) == (benchmark, metric) and choice.version == VERSION
    )
    return next(((record, choice) for record, choice in known if choice.basis in _ON_RUNS), None)


def _samples(place: Workplace, without: str = "") -> tuple[Sample, ...]:
    """The stored samples of this machine, without those of a study."""
    store = place.store
    if without:
        keys = (record.id.key for record in store.studies() if record.id.key != without)
        found = [sample for key in keys for sample in store.samples(Selection(study=key))]
    else:
        found = list(store.samples(Selection()))
    return tuple(sample for sample in found if sample.machine in place.machine.fingerprints)


def _chosen(samples: Sequence[Sample], benchmark: str, metric: str) -> StatisticChoice:
    """The choice by the runs of this benchmark, else by those of the others."""
    ratios: dict[str, VarianceRatios] = {}
    grouped: dict[str, list[Sample]] = {}
    for sample in samples:
        if sample.metric.name == metric:
            grouped.setdefault(sample.benchmark, []).append(sample)
    for name, own in grouped.items():
        found = variance_ratios([candidate_values(sample) for sample in own])
        if found is not None and all(_positive(sample) for sample in own):
            ratios[name] = found
    return choose_statistic(ratios.get(benchmark), [found for name, found in ratios.items() if name != benchmark])


def _positive(sample: Sample) -> bool:
    return min(float(values.min()) for values in sample.steady) > 0.0
