"""Screenings of a store, concluded again, and what recalibrates them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from hati.core import Benchmark, Configuration, Evidence, HatiError, InputError, Metric, replace
from hati.core.wording import command_text
from hati.space import parse_formula, template_texts
from hati.space.space import SET
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
from hati.studies.screening import (
    ALPHA,
    RELEVANT,
    AnyScreening,
    Choice,
    ScreeningConclusion,
    designs_of,
    isolated_of,
    metric_of,
    read_choice,
    screening,
)
from hati.studies.screening.planning.pilot import with_losses
from hati.studies.screening.planning.tasks import STAGE
from hati.wiring.campaigns import Prepared
from hati.wiring.kinds.screening import ScreeningRequest
from hati.wiring.known.named import study_named
from hati.wiring.screening.campaign import ScreeningCampaign, continued_of, prepare_screening, with_budget
from hati.wiring.screening.concluding import keep_findings
from hati.wiring.screening.promises import remedies
from hati.wiring.screening.requested import chosen_metric, requested_metric
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
    conclusion = with_budget(study, limit, evidence, evidence).conclude(evidence)
    keep_findings(place, study, evidence, conclusion)
    return with_losses(conclusion, evidence, study.metric, isolated_of(record.choice))


def stored_screening(
    place: Workplace, key: str | None = None, metric: str | None = None, relevant: float = RELEVANT
) -> AnyScreening:
    """A stored screening: the one with a key, or the last one under the workplace's template.

    Raises:
        InputError: for an unknown study, or one that the project no longer fits.
    """
    make = f"make one by `hati screen`{of_tables(place)}"
    if key:
        return _study_of(place, study_named(_screenings(place), key, make), metric, relevant)
    records, own = subject_screenings(place), list(map(str, place.project.space.template))
    chosen = [record for record in records if template_of(record) == own]
    if not chosen:
        known = ", ".join(map(described, records))
        raise InputError("there is no study to report", fix=f"there are: {known}" if known else make)
    return _study_of(place, chosen[-1], metric, relevant)


def screening_key(place: Workplace, key: str | None) -> str | None:
    """The key of a screening, or of the screening of a recommendation; without a key, that of the subject's last one.

    Any template counts. None without a screening, or if the study is neither.
    """
    if key is None:
        return next((record.id.key for record in reversed(subject_screenings(place))), None)
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


def subject_screenings(place: Workplace) -> list[StudyRecord]:
    """The screenings of the project's subject; without one, those of its options, which had another name."""
    known = [(record, json.loads(record.id.parameters)) for record in _screenings(place)]
    options = list(place.project.space.names)
    named = [record for record, parameters in known if parameters["subject"] == place.project.name]
    return named or [record for record, parameters in known if options and parameters["options"] == options]


def described(record: StudyRecord) -> str:
    """The key of a screening, with its template in words of a command."""
    texts = template_texts(map(parse_formula, template_of(record)), {})
    return (
        f"{record.id.key} ({command_text(word for text in texts for word in (SET, text))})" if texts else record.id.key
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
        designs=designs_of(record.choice),
    )


def benchmark_of(place: Workplace, record: StudyRecord, name: str) -> Benchmark:
    """The project's benchmark with the metrics at that time; a table's benchmark is not in a project file."""
    if name == BENCHMARK and all(benchmark.name != name for benchmark in place.project.benchmarks):
        return table_benchmark(record.metrics)
    return replace(place.project.benchmark(name), metrics=record.metrics)


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
    metric = requested_metric(place, benchmark, request.metric)
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


def resumed_screening(asked: ScreeningCampaign, record: StudyRecord, limit: str) -> ScreeningCampaign | None:
    """The campaign of a stored screening, with ``limit`` for its further runs; None if its design was asked for.

    If the same command was interrupted, the runs that it made count.
    """
    parameters = json.loads(record.id.parameters)
    if parameters.keys() & {"planned_for", "fraction", "recalibrates"}:
        return None
    request = replace(
        asked.request, budget=parameters["budget"], seed=record.id.seed, alpha=parameters.get("alpha", ALPHA)
    )
    resumed = replace(
        asked,
        request=request,
        id=record.id,
        choice=read_choice(record.choice or ""),
        isolated=isolated_of(record.choice),
        designs=designs_of(record.choice),
        limit=limit,
    )
    made = resumed.evidence().runs
    return replace(resumed, earlier=Evidence(made[: continued_of(record.choice).get(resumed.continuation, len(made))]))


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
        return Since(benchmark.name, command=place.command(benchmark.name))
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
        command=place.command(benchmark.name),
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
