"""Measuring configurations on this machine, without a question."""

from __future__ import annotations

from hati.campaign import Observer, campaign, silent
from hati.core import Benchmark, Budget, Configuration, Evidence, Plan, StudyId
from hati.studies.measurement import Measurement, MeasurementConclusion, measurement_id
from hati.wiring.rehearsal import Rehearsal, estimate
from hati.wiring.workplace import Announce, Workplace, mute


def rehearse_measurement(
    place: Workplace, benchmark: Benchmark, configurations: tuple[Configuration, ...], budget: str, seed: int
) -> Rehearsal:
    """The tasks of a new measurement, without making or storing anything; the first ones of a budget in time."""
    study = measurement_id(benchmark, configurations, place.revision, budget, seed, place.machine.fingerprint)
    wanted = Measurement(study, benchmark, configurations, place.revision, Budget.parse(budget))
    plan = Plan(wanted.tasks())
    reason = f"{len(configurations)} configuration{'s' if len(configurations) > 1 else ''}, interleaved"
    return Rehearsal(reason, plan, estimate(place.store, benchmark, len(plan)), place.project.space.names)


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

    def made(study: StudyId) -> Measurement:
        return Measurement(study, benchmark, configurations, place.revision, limit)

    study = measurement_id(benchmark, configurations, place.revision, budget, seed, place.machine.fingerprint)
    latest = place.store.latest(study)
    if latest and (fresh or _finished(made(latest.id), place.store.evidence(latest.id), limit)):
        study = latest.id.numbered(latest.id.campaign + 1)
    elif latest:
        study = latest.id
    place.store.begin(study, benchmark.metrics, place.machine)
    with place.engine(benchmark, announce) as engine:
        return campaign(made(study), engine, place.store, limit, observe)


def _finished(study: Measurement, evidence: Evidence, budget: Budget) -> bool:
    return not study.plan(evidence).within(budget.left(evidence))
