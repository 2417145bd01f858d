"""Conclude from stored runs, without measuring."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

from hati.core import Benchmark, InputError, replace
from hati.store import StudyRecord
from hati.studies.screening import (
    ALPHA,
    RELEVANT,
    AnyScreening,
    ScreeningConclusion,
    isolated_of,
    metric_of,
    read_choice,
    screening,
)
from hati.studies.screening.planning.pilot import with_losses
from hati.wiring.known.named import study_named, unknown_study
from hati.wiring.screening.campaign import chosen_metric, with_budget
from hati.wiring.screening.promises import remedies
from hati.wiring.table import BENCHMARK, table_benchmark
from hati.wiring.templates import space_then, template_of
from hati.wiring.workplace import Workplace

if TYPE_CHECKING:
    from hati.space import Space


def conclude_stored(
    place: Workplace, key: str | None = None, metric: str | None = None, relevant: float = RELEVANT
) -> ScreeningConclusion:
    """The conclusion of a stored screening: the one with a key, or the last one.

    Without a ``metric`` it is the one that was last screened, else the benchmark's only one.

    Raises:
        InputError: for an unknown study, or one that the project no longer fits.
        MeasurementError: where nothing was measured.
    """
    study = stored_screening(place, key, metric, relevant)
    evidence = place.store.evidence(study.id)
    record = next(record for record in _screenings(place) if record.id == study.id)
    limit = json.loads(record.id.parameters)["budget"]
    return with_losses(
        with_budget(study, limit, evidence).conclude(evidence), evidence, study.metric, isolated_of(record.choice)
    )


def stored_screening(
    place: Workplace, key: str | None = None, metric: str | None = None, relevant: float = RELEVANT
) -> AnyScreening:
    """A stored screening: the one with a key, or the last one under the workplace's template.

    Raises:
        InputError: for an unknown study, or one that the project no longer fits.
    """
    records = _screenings(place) if key else _own_screenings(place)
    own = list(map(str, place.project.space.template))
    chosen = [record for record in records if key == record.id.key or (key is None and template_of(record) == own)]
    if not chosen:
        known, make = ", ".join(map(_described, records)), f"make one by `hati screen`{of_tables(place)}"
        if key:
            raise unknown_study([record.id.key for record in records], key, make)
        raise InputError("there is no study to report", fix=f"there are: {known}" if known else make)
    return _study_of(place, chosen[-1], metric, relevant)


def screening_key(place: Workplace, key: str | None) -> str | None:
    """The key of a screening, or of the screening of a recommendation; without a key, that of the subject's last one.

    Any template counts. None without a screening, or if the study is neither.
    """
    if key is None:
        return next((record.id.key for record in reversed(_own_screenings(place))), None)
    record = record_of(place, key)
    if record.id.kind == "recommendation":
        return str(json.loads(record.id.parameters)["screening"])
    return record.id.key if record.id.kind == "screening" else None


def record_of(place: Workplace, key: str) -> StudyRecord:
    """The record of the study with a key, or of the only one whose key begins with it.

    Raises:
        InputError: where there is none, or several.
    """
    return study_named(place.store.studies(), key, f"make one by `hati screen`{of_tables(place)}")


def _screenings(place: Workplace) -> list[StudyRecord]:
    return [record for record in place.store.studies() if record.id.kind == "screening" and record.choice]


def _own_screenings(place: Workplace) -> list[StudyRecord]:
    """The screenings of the project's subject; without one, those of its options, which had another name."""
    known = [(record, json.loads(record.id.parameters)) for record in _screenings(place)]
    options = list(place.project.space.names)
    named = [record for record, parameters in known if parameters["subject"] == place.project.name]
    return named or [record for record, parameters in known if options and parameters["options"] == options]


def _described(record: StudyRecord) -> str:
    template = template_of(record)
    return (
        f"{record.id.key} ({' '.join(f'--set {shlex.quote(text)}' for text in template)})"
        if template
        else record.id.key
    )


def of_tables(place: Workplace) -> str:
    """A remark for tables, whose runs are stored only if a store is named."""
    return "" if place.table is None else ", with --store FILE both there and here"


def _study_of(place: Workplace, record: StudyRecord, metric: str | None, relevant: float) -> AnyScreening:
    """The study of a record, for its own revision, if the project still has the same options."""
    parameters = json.loads(record.id.parameters)
    space = space_then(place.project.space, record)
    if parameters["space"] != space.digest or parameters["options"] != list(space.names):
        raise InputError(
            f"the options in {place.project.file} are not those of {record.id.key}",
            fix="report another study, or bring the options back",
        )
    return study_over(place, record, space, metric or _screened_metric(record), relevant)


def _screened_metric(record: StudyRecord) -> str | None:
    """The metric that was last screened, or for which the design was planned; None if the store has neither."""
    planned_for = json.loads(record.id.parameters).get("planned_for") or {}
    return metric_of(record.choice) or planned_for.get("metric")


def study_over(
    place: Workplace, record: StudyRecord, space: Space, metric: str | None, relevant: float = RELEVANT
) -> AnyScreening:
    """The study of a record over its space.

    Raises:
        InputError: for an unknown benchmark or metric.
    """
    from hati.space import narrowed

    parameters = json.loads(record.id.parameters)
    benchmark = benchmark_of(place, record, parameters["benchmark"])
    return screening(
        study=record.id,
        subject=parameters["subject"],
        benchmark=benchmark,
        metric=chosen_metric(benchmark, metric),
        revision=parameters["revision"],
        space=narrowed(space, isolated_of(record.choice).formulas),
        choice=read_choice(record.choice or ""),
        alpha=parameters.get("alpha", ALPHA),
        relevant=relevant,
        remedies=remedies(place, benchmark.name, parameters.get("planned_for") or parameters.get("fraction")),
    )


def benchmark_of(place: Workplace, record: StudyRecord, name: str) -> Benchmark:
    """The project's benchmark with the metrics at that time; a table's benchmark is not in a project file."""
    if name == BENCHMARK and all(benchmark.name != name for benchmark in place.project.benchmarks):
        return table_benchmark(record.metrics)
    return replace(place.project.benchmark(name), metrics=record.metrics)
