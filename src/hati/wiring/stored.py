"""Concluding from what a store holds, without measuring."""

from __future__ import annotations

import json

from hati.core import InputError
from hati.store import StudyRecord
from hati.studies.screening import Choice, Screening, ScreeningConclusion
from hati.wiring.workplace import Workplace


def conclude_stored(place: Workplace, key: str | None) -> ScreeningConclusion:
    """The conclusion of a screening study from what the store holds: that of a key, or the last one.

    Raises:
        InputError: where there is no such study, or the project no longer fits it.
        MeasurementError: where nothing was measured.
    """
    records = [record for record in place.store.studies() if record.id.kind == "screening" and record.choice]
    chosen = [record for record in records if key in {None, record.id.key}]
    if not chosen:
        known = ", ".join(record.id.key for record in records)
        fix = f"there are: {known}" if known else "make one by `hati screen`"
        raise InputError(f"there is no study {key}" if key else "there is no study to report", fix=fix)
    return _study_of(place, chosen[-1]).conclude(place.store.evidence(chosen[-1].id))


def _study_of(place: Workplace, record: StudyRecord) -> Screening:
    """The study of a record, for its own revision, as long as the project describes the same options."""
    parameters = json.loads(record.id.parameters)
    space = place.project.space
    if parameters["space"] != space.digest or parameters["options"] != list(space.names):
        raise InputError(
            f"the options in {place.project.file} are not those of {record.id.key}",
            fix="report another study, or bring the options back",
        )
    benchmark = place.project.benchmark(parameters["benchmark"])
    metric = next(metric for metric in record.metrics if metric.name == parameters["metric"])
    return Screening(
        id=record.id,
        subject=parameters["subject"],
        benchmark=benchmark,
        metric=metric,
        revision=parameters["revision"],
        space=space,
        choice=Choice.from_json(record.choice or ""),
    )
