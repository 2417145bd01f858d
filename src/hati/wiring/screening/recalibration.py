"""Decide from the store whether the important options are due to be screened again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime

import numpy as np

from hati.core import Benchmark, Configuration, HatiError, InputError, Metric
from hati.store import Span, StudyRecord
from hati.studies.gate import Gate, GateConclusion
from hati.studies.recalibration import (
    EffectChanges,
    Policy,
    Prior,
    Recalibration,
    ResidualShift,
    Since,
    due,
    earlier_space,
    effect_changes,
    residual_shift,
    values_of,
)
from hati.studies.screening import Choice, ScreeningConclusion, read_choice
from hati.studies.screening.planning.tasks import STAGE
from hati.wiring.campaigns import Prepared
from hati.wiring.kinds.screening import ScreeningRequest
from hati.wiring.screening.campaign import ScreeningCampaign, asked_metric, prepare_screening
from hati.wiring.screening.stored import conclude_stored, of_tables, study_over
from hati.wiring.templates import template_of
from hati.wiring.workplace import Workplace

_ENOUGH = 0.5


def recalibration_of(prepared: Prepared[Gate, GateConclusion], now: datetime) -> Recalibration:
    """Apply the project's policy to the benchmarks of a check; without a policy nothing is due."""
    policy = prepared.place.project.check.recalibrate
    if policy is None:
        return Recalibration()
    benchmarks = {cell.benchmark.name: cell.benchmark for cell in prepared.study.cells}.values()
    return due(policy, [_since(prepared, benchmark, policy) for benchmark in benchmarks], now)


def prepare_recalibration(place: Workplace, request: ScreeningRequest, *, fresh: bool) -> ScreeningCampaign:
    """The campaign of a new screening that repeats the last one, or of an interrupted repetition.

    Raises:
        InputError: where nothing was screened before, or the request does not fit the project.
    """
    benchmark = place.project.benchmark(request.benchmark)
    metric = asked_metric(place, benchmark, request.metric)
    record = last_screening(place, benchmark.name)
    if record is None:
        raise InputError(f"{benchmark.name} was never screened here", fix=f"leave --recalibrate out{of_tables(place)}")
    before = json.loads(record.id.parameters).get("recalibrates")
    earlier = next((known for known in place.store.studies() if known.id.key == before), None)
    if earlier is not None and not fresh:
        begun = prepare_screening(place, request, fresh=False, prior=_prior(place, earlier, metric, request.relevant))
        if begun.id.family == record.id.family and not begun.finished:
            return begun
    return prepare_screening(place, request, fresh=fresh, prior=_prior(place, record, metric, request.relevant))


def changes_of(prepared: ScreeningCampaign, found: ScreeningConclusion) -> EffectChanges | None:
    """The changes that a recalibration found; None for a screening that is not a recalibration."""
    return None if prepared.prior is None else effect_changes(prepared.prior, found)


def stored_changes(place: Workplace, found: ScreeningConclusion) -> EffectChanges | None:
    """The changes that a stored recalibration found; None if it repeats no screening, or one that the store lacks."""
    records = {record.id.key: record for record in place.store.studies()}
    earlier = records.get(json.loads(records[found.study].id.parameters).get("recalibrates") or "")
    return None if earlier is None else effect_changes(_prior(place, earlier, found.metric, found.relevant), found)


def last_screening(place: Workplace, benchmark: str) -> StudyRecord | None:
    """The newest screening of a benchmark with at least half of its design's runs, whatever its options were.

    Only screenings under the workplace's template count.
    """
    spans = place.store.spans()
    known = [
        record
        for record in place.store.studies()
        if record.id.kind == "screening"
        and record.id.key in spans
        and json.loads(record.id.parameters)["benchmark"] == benchmark
        and template_of(record) == list(map(str, place.project.space.template))
        and record.choice
        and spans[record.id.key].runs >= read_choice(record.choice).runs * _ENOUGH
    ]
    return max(known, key=lambda record: spans[record.id.key].last, default=None)


def _prior(place: Workplace, record: StudyRecord, metric: Metric, relevant: float) -> Prior:
    """The findings of an earlier screening, for the effect that is relevant now."""
    options = tuple(json.loads(record.id.parameters)["options"])
    try:
        return Prior(record.id.key, options, _conclusion(place, record, metric, relevant))
    except HatiError:  # of another metric, or no longer reproducible
        return Prior(record.id.key, options)


def _conclusion(place: Workplace, record: StudyRecord, metric: Metric, relevant: float) -> ScreeningConclusion | None:
    """The conclusion of a screening; for other options than today's it can be reproduced only for a fraction."""
    parameters, choice = json.loads(record.id.parameters), read_choice(record.choice or "")
    if parameters["space"] == place.project.space.digest and parameters["options"] == list(place.project.space.names):
        return conclude_stored(place, record.id.key, metric.name, relevant)
    evidence = place.store.evidence(record.id)
    made = [run.task.configuration for run in evidence.stage(STAGE).runs]
    then = (
        earlier_space(choice, parameters["options"], made, place.project.space) if isinstance(choice, Choice) else None
    )
    if then is None:
        return None
    return study_over(place, record, then, metric.name, relevant).conclude(evidence)


def _since(prepared: Prepared[Gate, GateConclusion], benchmark: Benchmark, policy: Policy) -> Since:
    place = prepared.place
    record = last_screening(place, benchmark.name)
    if record is None:
        return Since(benchmark.name)
    spans, space = place.store.spans(), place.project.space
    screened = spans[record.id.key].last
    parameters = json.loads(record.id.parameters)
    then = parameters["options"]
    added = tuple(name for name in space.names if name not in then)
    removed = tuple(name for name in then if name not in space.names)
    same = parameters["space"] == space.digest and then == list(space.names)
    return Since(
        benchmark=benchmark.name,
        study=record.id.key,
        screened=screened,
        checks=sum(1 for _ in _checks(place, benchmark.name, screened, spans)),
        added=added,
        removed=removed,
        altered=not (added or removed) and parameters["space"] != space.digest,
        shifts=tuple(_shifts(prepared, record, benchmark, policy)) if same and policy.residuals is not None else (),
    )


def _checks(place: Workplace, benchmark: str, since: datetime, spans: Mapping[str, Span]) -> Iterator[StudyRecord]:
    for record in place.store.studies():
        if record.id.kind != "gate" or record.id.key not in spans or spans[record.id.key].last <= since:
            continue
        if any(cell[0] == benchmark for cell in json.loads(record.id.parameters)["cells"]):
            yield record


def _shifts(
    prepared: Prepared[Gate, GateConclusion], record: StudyRecord, benchmark: Benchmark, policy: Policy
) -> Iterator[ResidualShift]:
    place, gate = prepared.place, prepared.study
    configurations = [cell.configuration for cell in gate.cells if cell.benchmark.name == benchmark.name]
    own = (benchmark.name, gate.revision.id)
    runs = [run for run in prepared.evidence().done if (run.task.benchmark, run.task.revision) == own]
    for metric in benchmark.metrics if runs else ():
        try:
            screened = conclude_stored(place, record.id.key, metric.name)
        except HatiError:  # the metric was not measured then
            continue
        values = values_of(runs, screened.metric, configurations)
        before = _before(place, record, screened.metric)
        found = residual_shift(screened, configurations, values, before, policy.tolerance)
        if found is not None:
            yield found


def _before(place: Workplace, screening: StudyRecord, metric: Metric) -> Mapping[Configuration, float]:
    """The mean of each configuration in the newest suite of the same revision as a screening; empty without one."""
    then = json.loads(screening.id.parameters)
    for record in reversed(place.store.studies()):
        if record.id.kind == "suite" and _alike(json.loads(record.id.parameters), then):
            runs = place.store.evidence(record.id).done
            configurations = list(dict.fromkeys(run.task.configuration for run in runs))
            means = np.nanmean(values_of(runs, metric, configurations), axis=0)
            return dict(zip(configurations, means.tolist(), strict=True))
    return {}


def _alike(suite: Mapping[str, object], screening: Mapping[str, object]) -> bool:
    return (suite["names"], *(suite[name] for name in ("benchmark", "definition", "space", "revision"))) == (
        screening["options"],
        *(screening[name] for name in ("benchmark", "definition", "space", "revision")),
    )
