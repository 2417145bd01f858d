"""Screening suites: campaigns on this machine or on a table."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path

import numpy as np

from hati.core import Budget, FloatArray, InputError, Metric, Plan, StudyId, conversion, parse_unit, replace
from hati.core.wording import counted
from hati.design.suite import runs_for
from hati.knowledge import stratum_options
from hati.space import Space, count
from hati.studies.suite import SuiteConclusion, SuitePlan, SuiteStudy, suite_id
from hati.wiring.campaigns import Campaign, all_failed, campaign_of
from hati.wiring.kinds.suite import RANDOM, SuiteRequest
from hati.wiring.known.screenings import important_options, working_space
from hati.wiring.screening.requested import chosen_metric
from hati.wiring.screening.stored import of_tables
from hati.wiring.table import TableRequest, table_workplace
from hati.wiring.workplace import Workplace, mute

RUNS = 32
"""The default number of configurations of a suite."""


def prepare_suite(place: Workplace, request: SuiteRequest, *, fresh: bool) -> Campaign[SuiteStudy, SuiteConclusion]:
    """Find the campaign to resume, or number a new one.

    An unfinished campaign is resumed; a finished one is used as it is, unless ``fresh`` or unless it measured nothing.
    A table to compare with is read with the options of the project.

    Raises:
        InputError: where the request does not fit the project, or no screening exists to take options from.
    """
    benchmark = place.project.benchmark(request.benchmark)
    metric = chosen_metric(benchmark, request.metric if place.table is None else None)
    space, left_out = working_space(place, benchmark)
    plan = _planned(place, space, request, metric)
    plan = replace(plan, options_from=f"{plan.options_from}; {left_out}") if left_out else plan
    budget = Budget.parse(request.budget) if request.budget else Budget()
    compared = population(request, metric, place.project.file, place)
    first = suite_id(
        subject=place.project.name,
        revision=place.revision,
        benchmark=benchmark,
        space=space,
        plan=plan,
        seed=request.seed,
        machine=place.measured_on.id,
    )

    def prepared(study: StudyId) -> Campaign[SuiteStudy, SuiteConclusion]:
        made = SuiteStudy(
            id=study,
            subject=place.project.name,
            benchmark=benchmark,
            metric=metric,
            revision=place.revision,
            space=space,
            wanted=plan,
            levels=request.quantiles,
            margin=request.margin,
            population=compared,
        )
        tasks = partial(_left, place, made, budget)
        return Campaign(place, made, budget, (benchmark,), partial(_described, made), tasks)

    return campaign_of(place, first, prepared, all_failed, fresh=fresh)


def _left(place: Workplace, study: SuiteStudy, budget: Budget) -> Plan:
    known = place.store.evidence(study.id).known
    return Plan.of(task for task in study.tasks if task.id not in known).within(budget)


def _described(study: SuiteStudy) -> str:
    of = ", ".join(study.suite.options) or "no option"
    strata = len(study.suite.strata)
    named = "1 stratum" if strata == 1 else f"{strata} strata"
    return f"suite: {counted(len(study.suite.configurations), 'configuration')} in {named} of {of}"


def _planned(place: Workplace, space: Space, request: SuiteRequest, metric: Metric) -> SuitePlan:
    budget = Budget.parse(request.budget) if request.budget else Budget()
    kinds = 2 if request.against == RANDOM else 1
    affordable = int(budget.runs) // kinds if math.isfinite(budget.runs) else RUNS
    size = max(1, min(request.runs or affordable, count(space)))
    blocks = budget.runs // (size * kinds) if math.isfinite(budget.runs) else 1
    repetitions = int(max(1, min(blocks, place.repetitions)))
    plan = SuitePlan((), (), size, repetitions, size if kinds == 2 else 0)
    return _with_options(plan, place, space, request, metric)


def _with_options(plan: SuitePlan, place: Workplace, space: Space, request: SuiteRequest, metric: Metric) -> SuitePlan:
    """The plan with the options of the strata, those left out, the ranking of all, and their source."""
    if request.options is not None:
        if not request.options:
            raise InputError("--options names none", fix="write --options a,b, or leave it out after a screening")
        return replace(plan, options=request.options)
    known = important_options(place, place.project.benchmark(request.benchmark), metric)
    if known is None:
        raise InputError(
            f"nothing says which options are important for {metric.name}: this space was not screened",
            fix=f"name them by --options, or screen first{of_tables(place)}",
        )
    found = known.value.among(space.names)
    chosen, left_out = stratum_options(space, [found], plan.size)
    reason = "important" if found.options else "leading, though not shown to be important,"
    return replace(
        plan,
        options=chosen,
        ranking=found.ranking,
        options_from=f"{reason} in {known.source}; {known.preferred}",
        left_out=left_out,
        including=runs_for(space, found.options) if left_out else None,
    )


def population(
    request: SuiteRequest, metric: Metric, space_file: Path, place: Workplace | None = None
) -> FloatArray | None:
    """The metric's values in the named full data set, converted to the metric's unit if they have one; None without.

    Warnings about the file are announced at the place, unless reading its table announced them already.
    """
    if request.against in {None, RANDOM}:
        return None
    given = TableRequest(Path(str(request.against)), space_file, (metric.name,), request.where)
    table = table_workplace(given, announce=mute if place is None else place.announce).table
    assert table is not None
    values = table.means(metric.name)
    values = values[np.isfinite(values)]
    if not len(values):
        raise InputError(f"{request.against} has no value of {metric.name}", fix="name a table that was measured")
    written = parse_unit(table.metrics[0].unit)
    return values if written.dimension == "1" else values * conversion(written.symbol, metric.unit)
