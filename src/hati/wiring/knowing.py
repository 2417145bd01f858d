"""What the store knows of a subject, benchmark and metric, as entries of ``hati.knowledge``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime

import numpy as np

from hati.core import Benchmark, HatiError, InputError, Metric, conversion
from hati.knowledge import Entry, ImportantOptions, KnownEffect, MeasuredScreening, Provenance, by_information
from hati.store import StudyRecord
from hati.studies.screening import RELEVANT, AnyScreening, ScreeningConclusion, read_choice
from hati.studies.screening.tasks import STAGE
from hati.wiring.stored import study_over
from hati.wiring.workplace import Workplace


def important_options(
    place: Workplace, benchmark: Benchmark, metric: Metric, now: datetime | None = None
) -> Entry[ImportantOptions] | None:
    """The important options from the most informative screening of the same space; None where there is none.

    ``now`` is the time from which ages count [default: the clock's].
    """
    known = screened(place, benchmark, metric, now)
    if known is None:
        return None
    _, found, entry = known
    return Entry(_important(found), entry.provenance, entry.age, entry.preferred)


def screened(
    place: Workplace,
    benchmark: Benchmark,
    metric: Metric,
    now: datetime | None = None,
    *,
    revision: str | None = None,
    relevant: float = RELEVANT,
) -> tuple[AnyScreening, ScreeningConclusion, Entry[str]] | None:
    """The most informative screening that can be concluded, its conclusion, and an entry with its key.

    Of one ``revision`` only, where it is given; effects below ``relevant`` are not important.
    """
    records = {record.id.key: record for record in _compatible(place, benchmark, metric, revision)}
    newest_first = reversed(records.values())
    measured = [one for record in newest_first if (one := _measured(place, record, metric)) is not None]
    for one, reason in by_information(measured, benchmark.definition):
        provenance = one.provenance
        try:
            study = study_over(place, records[provenance.study], place.project.space, metric.name, relevant)
            found = study.conclude(place.store.evidence(study.id))
        except HatiError:  # its choice or its runs can no longer be read
            continue
        age = (now or datetime.now(UTC)) - provenance.measured
        return study, found, Entry(provenance.study, provenance, age, reason)
    return None


def _compatible(place: Workplace, benchmark: Benchmark, metric: Metric, revision: str | None) -> Iterator[StudyRecord]:
    """The screenings of a benchmark over the same options and constraints in which the metric was measured."""
    project = place.project
    own = (project.name, benchmark.name, project.space.digest, list(project.space.names))
    for record in place.store.studies():
        if record.id.kind != "screening" or not record.choice:
            continue
        then = json.loads(record.id.parameters)
        same = (then["subject"], then["benchmark"], then["space"], then["options"]) == own
        same = same and revision in {None, then["revision"]}
        if same and any(known.name == metric.name for known in record.metrics):
            yield record


def _measured(place: Workplace, record: StudyRecord, metric: Metric) -> MeasuredScreening | None:
    """The design's runs with a value of the metric; None where there is none."""
    parameters = json.loads(record.id.parameters)
    runs = place.store.evidence(record.id).stage(STAGE).runs
    values = [(run, observed) for run in runs if (observed := run.of(metric.name)) is not None]
    if not values:
        return None
    try:
        numbers = [observed.mean * conversion(observed.unit, metric.unit) for _, observed in values]
        planned = read_choice(record.choice or "").runs
    except InputError:  # the metric had another dimension then, or the choice is not readable
        return None
    return MeasuredScreening(
        provenance=Provenance(record.id.key, len(values), max(run.started for run, _ in values)),
        definition=parameters["definition"],
        configurations=tuple(run.task.configuration for run, _ in values),
        values=np.array(numbers, dtype=np.float64),
        complete=len(values) / planned,
        recalibrates=parameters.get("recalibrates"),
    )


def _important(found: ScreeningConclusion) -> ImportantOptions:
    return ImportantOptions(
        metric=found.metric.name,
        options=found.influential,
        ranking=found.ranking,
        effects=tuple(
            KnownEffect(effect.options, effect.relative, effect.relative_interval, effect.aliases)
            for effect in found.effects
            if effect.shown
        ),
    )
