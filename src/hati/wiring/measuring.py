"""Measuring configurations on this machine, without a question."""

from __future__ import annotations

from msgspec import Struct

from hati.campaign import Observer, campaign, silent
from hati.core import Benchmark, Budget, Configuration, Plan, StudyId
from hati.core.wording import counted
from hati.studies.measurement import Measurement, MeasurementConclusion, measurement_id
from hati.wiring.campaigns import campaign_of
from hati.wiring.rehearsal import Rehearsal, estimate
from hati.wiring.workplace import Announce, Workplace, mute


def rehearse_measurement(
    place: Workplace, benchmark: Benchmark, configurations: tuple[Configuration, ...], budget: str, seed: int
) -> Rehearsal:
    """The tasks of a new measurement, without making or storing anything; the first ones of a budget in time."""
    study = measurement_id(benchmark, configurations, place.revision, budget, seed, place.machine.fingerprint)
    wanted = Measurement(study, benchmark, configurations, place.revision, Budget.parse(budget))
    plan = Plan(wanted.tasks())
    reason = f"{counted(len(configurations), 'configuration')}, interleaved"
    return Rehearsal(reason, plan, estimate(place, benchmark, len(plan)), place.project.space.names)


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

    def prepared(study: StudyId) -> _Prepared:
        return _Prepared(place, Measurement(study, benchmark, configurations, place.revision, limit))

    first = measurement_id(benchmark, configurations, place.revision, budget, seed, place.machine.fingerprint)
    study = campaign_of(place, first, prepared, lambda known: known.finished, fresh=fresh).study
    place.store.begin(study.id, benchmark.metrics, place.machine)
    with place.engine(benchmark, announce) as engine:
        return campaign(study, engine, place.store, limit, observe)


class _Prepared(Struct, frozen=True):
    """A measurement that can be made or resumed."""

    place: Workplace
    study: Measurement

    @property
    def finished(self) -> bool:
        """Whether nothing is left to be run, or to be spent."""
        evidence = self.place.store.evidence(self.study.id)
        return not self.study.plan(evidence).within(self.study.budget.left(evidence))
