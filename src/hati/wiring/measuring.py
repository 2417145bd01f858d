"""Measuring configurations on this machine, without a question."""

from __future__ import annotations

from functools import partial

from hati.campaign import Observer, silent
from hati.core import Benchmark, Budget, Configuration, Plan, StudyId
from hati.core.wording import counted
from hati.studies.measurement import Measurement, MeasurementConclusion, measurement_id
from hati.wiring.campaigns import Campaign, PlannedCampaign, campaign_of, estimate, make_campaign
from hati.wiring.workplace import Announce, Workplace, mute


def plan_measurement(
    place: Workplace, benchmark: Benchmark, configurations: tuple[Configuration, ...], budget: str, seed: int
) -> PlannedCampaign:
    """The tasks of a new measurement, without making or storing anything; the first ones of a budget in time."""
    study = measurement_id(benchmark, configurations, place.revision, budget, seed, place.machine.fingerprint)
    wanted = Measurement(study, benchmark, configurations, place.revision, Budget.parse(budget))
    plan = Plan(wanted.tasks())
    reason = f"{counted(len(configurations), 'configuration')}, interleaved"
    return PlannedCampaign(reason, plan, estimate(place, benchmark, len(plan)), place.project.space.names)


def measure(
    place: Workplace,
    benchmark: Benchmark,
    configurations: tuple[Configuration, ...],
    budget: str,
    seed: int,
    *,
    fresh: bool,
    announce: Announce = mute,
    observe: Observer = silent,
) -> MeasurementConclusion:
    """Measure configurations until the budget is spent; an unfinished measurement is resumed unless ``fresh``.

    Raises:
        MeasurementError: where nothing could be measured.
    """
    limit = Budget.parse(budget)

    def prepared(study: StudyId) -> Campaign[Measurement, MeasurementConclusion]:
        made = Measurement(study, benchmark, configurations, place.revision, limit)
        engine, tasks = partial(place.engine, benchmark), lambda: Plan(made.tasks())
        return Campaign(place, made, limit, (benchmark,), engine, str, tasks)

    first = measurement_id(benchmark, configurations, place.revision, budget, seed, place.machine.fingerprint)
    begun = campaign_of(place, first, prepared, lambda known: known.finished, fresh=fresh)
    return make_campaign(begun, announce, observe)
