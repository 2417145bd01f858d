"""The knowledge in the store about a subject, benchmark and metric, as entries of ``hati.knowledge``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from hati.core import Benchmark, HatiError, InputError, Metric, conversion, replace
from hati.knowledge import (
    FEWEST_LEFT,
    Entry,
    ImportantOptions,
    KnownEffect,
    MeasuredScreening,
    Provenance,
    Variation,
    by_information,
    variation,
)
from hati.store import StudyRecord
from hati.studies.screening import (
    NOTHING_ISOLATED,
    RELEVANT,
    AnyScreening,
    Isolated,
    ScreeningConclusion,
    isolated_of,
    read_choice,
)
from hati.studies.screening.planning.tasks import STAGE
from hati.wiring.screening.stored import study_over
from hati.wiring.workplace import Workplace

if TYPE_CHECKING:
    from hati.space import Space


def important_options(
    place: Workplace, benchmark: Benchmark, metric: Metric, now: datetime | None = None
) -> Entry[ImportantOptions] | None:
    """The important options from the most informative screening of the same space; None where there is none.

    If ``--set`` narrowed the space and the narrowed space was not screened, those of the whole space that are left.
    ``now`` is the time at which ages are computed [default: the clock's].
    """
    known = screened(place, benchmark, metric, now)
    if known is not None:
        _, found, entry = known
        return Entry(_important(found), entry.provenance, entry.age, entry.preferred)
    if place.whole is None:
        return None
    whole = replace(place, project=replace(place.project, space=place.whole), whole=None)
    of_all = important_options(whole, benchmark, metric, now)
    if of_all is None:
        return None
    provenance = replace(of_all.provenance, space="the whole space")
    return replace(of_all, value=of_all.value.among(place.project.space.names), provenance=provenance)


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

    Only screenings of ``revision`` count if it is given; effects below ``relevant`` are not important.
    """
    records = {record.id.key: record for record in _compatible(place, benchmark, metric, revision)}
    measured = _all_measured(place, benchmark, metric, revision)
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


def known_variation(
    place: Workplace, benchmark: Benchmark, metric: Metric, now: datetime | None = None
) -> Entry[Variation] | None:
    """The variation of a metric, from the most informative screening with enough degrees of freedom left."""
    measured = _all_measured(place, benchmark, metric, None)
    for one, reason in by_information(measured, benchmark.definition):
        found = variation(one.sums, FEWEST_LEFT)
        if found is not None:
            return Entry(found, one.provenance, (now or datetime.now(UTC)) - one.provenance.measured, reason)
    return None


def failing_settings(place: Workplace, benchmark: Benchmark, now: datetime | None = None) -> Entry[Isolated] | None:
    """The failing settings found by the newest screening of the same space on this machine; None without any."""
    spans = place.store.spans()
    records = [record for record in _screenings(place, benchmark) if record.id.key in spans]
    own = [record for record in records if record.id.machine in place.measured_on.fingerprints]
    isolated = isolated_of(own[-1].choice) if own else NOTHING_ISOLATED
    if not isolated.formulas:
        return None
    key, span = own[-1].id.key, spans[own[-1].id.key]
    age = (now or datetime.now(UTC)) - span.last
    revision = _other(json.loads(own[-1].id.parameters)["revision"], place.revision)
    origin = Provenance(key, span.runs, span.last, revision)
    return Entry(isolated, origin, age, "the newest screening of this space on this machine")


def working_space(place: Workplace, benchmark: Benchmark, now: datetime | None = None) -> tuple[Space, str]:
    """The project's space without settings that are known to fail, and a text that names these settings."""
    from hati.space import narrowed

    known = failing_settings(place, benchmark, now)
    if known is None:
        return place.project.space, ""
    listed = ", ".join(known.value.described)
    space = narrowed(place.project.space, known.value.formulas)
    return space, f"left out because it does not work: {listed} (by {known.source})"


def _compatible(place: Workplace, benchmark: Benchmark, metric: Metric, revision: str | None) -> Iterator[StudyRecord]:
    """The screenings of a benchmark over the same options and constraints in which the metric was measured."""
    for record in _screenings(place, benchmark):
        same = revision in {None, json.loads(record.id.parameters)["revision"]}
        if same and any(known.name == metric.name for known in record.metrics):
            yield record


def _screenings(place: Workplace, benchmark: Benchmark) -> Iterator[StudyRecord]:
    """The screenings of a benchmark over the same options and constraints that have a design."""
    project = place.project
    own = (project.name, benchmark.name, project.space.digest, list(project.space.names))
    for record in place.store.studies():
        if record.id.kind == "screening" and record.choice:
            then = json.loads(record.id.parameters)
            if (then["subject"], then["benchmark"], then["space"], then["options"]) == own:
                yield record


def _all_measured(
    place: Workplace, benchmark: Benchmark, metric: Metric, revision: str | None
) -> list[MeasuredScreening]:
    """The compatible screenings with values of the metric, the newest first."""
    records = reversed(tuple(_compatible(place, benchmark, metric, revision)))
    return [one for record in records if (one := _measured(place, record, metric)) is not None]


def _measured(place: Workplace, record: StudyRecord, metric: Metric) -> MeasuredScreening | None:
    """A screening's design runs that have a value of the metric; None without any."""
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
        provenance=Provenance(
            record.id.key,
            len(values),
            max(run.started for run, _ in values),
            _other(parameters["revision"], place.revision),
            "" if record.id.machine in place.measured_on.fingerprints else record.id.machine,
        ),
        definition=parameters["definition"],
        configurations=tuple(run.task.configuration for run, _ in values),
        values=np.array(numbers, dtype=np.float64),
        complete=len(values) / planned,
        recalibrates=parameters.get("recalibrates"),
        machines=tuple(run.machine for run, _ in values),
    )


def _other(then: str, now: str) -> str:
    return then if then != now else ""


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
