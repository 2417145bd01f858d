"""Measure configurations on this machine, without a question."""

from __future__ import annotations

from functools import partial

from hati.core import Benchmark, Budget, Configuration, StudyId
from hati.core.wording import counted
from hati.studies.measurement import Measurement, MeasurementConclusion, measurement_id
from hati.wiring.campaigns import Campaign, campaign_of
from hati.wiring.kinds.measurement import MeasurementRequest
from hati.wiring.templates import template_configurations
from hati.wiring.workplace import Workplace


def prepare_measurement(
    place: Workplace, request: MeasurementRequest, *, fresh: bool
) -> Campaign[Measurement, MeasurementConclusion]:
    """Find the interrupted campaign, or number a new one.

    Raises:
        InputError: where the request does not fit the project.
    """
    Budget.parse(request.budget)
    benchmark = place.project.benchmark(request.benchmark)
    configurations = template_configurations(place.project.space, request.template, place.announce)
    return prepare_configurations(place, benchmark, configurations, request.budget, request.seed, fresh=fresh)


def prepare_configurations(
    place: Workplace,
    benchmark: Benchmark,
    configurations: tuple[Configuration, ...],
    budget: str,
    seed: int,
    *,
    fresh: bool,
) -> Campaign[Measurement, MeasurementConclusion]:
    """Find the interrupted campaign of these configurations, or number a new one."""
    limit = Budget.parse(budget)

    def prepared(study: StudyId) -> Campaign[Measurement, MeasurementConclusion]:
        made = Measurement(study, benchmark, configurations, place.revision, limit)
        return Campaign(place, made, limit, (benchmark,), partial(_described, made), made.planned)

    first = measurement_id(benchmark, configurations, place.revision, budget, seed, place.measured_on.id)
    return campaign_of(place, first, prepared, lambda known: known.finished, fresh=fresh)


def _described(study: Measurement) -> str:
    number = len(study.configurations)
    return f"{counted(number, 'configuration')}, interleaved" if number > 1 else ""
