"""Screening on this machine."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hati.campaign import Observer, campaign, silent
from hati.core import Benchmark, Budget, Evidence, InputError, MeasurementError, Metric, Plan, StudyId
from hati.engine import LocalEngine
from hati.store import SqlStore, StudyRecord
from hati.studies.screening import (
    RELEVANT,
    Choice,
    Pilot,
    Screening,
    ScreeningConclusion,
    affordable_runs,
    choose,
    expected_detectable,
    expected_detectable_deviations,
    study_id,
)
from hati.wiring.rehearsal import Rehearsal, estimate
from hati.wiring.workplace import Announce, Workplace, mute


@dataclass(frozen=True)
class ScreeningRequest:
    """What a user asks to be screened."""

    metric: str | None
    budget: str
    seed: int
    benchmark: str | None = None
    relevant: float = RELEVANT


@dataclass(frozen=True)
class PreparedScreening:
    """A screening campaign that can be made: begun or resumed, its design perhaps not yet chosen."""

    place: Workplace
    request: ScreeningRequest
    benchmark: Benchmark
    metric: Metric
    id: StudyId
    choice: Choice | None
    finished: bool

    @property
    def budget(self) -> Budget:
        """What may be spent, pilot runs included."""
        return Budget.parse(self.request.budget)

    def study(self, choice: Choice) -> Screening:
        """The study with its design."""
        place = self.place
        return Screening(
            id=self.id,
            subject=place.project.name,
            benchmark=self.benchmark,
            metric=self.metric,
            revision=place.revision,
            space=place.project.space,
            choice=choice,
            relevant=self.request.relevant,
        )

    @property
    def pilot(self) -> Pilot:
        """The study that comes before the choice of a design where the budget is a time."""
        return Pilot(self.id, self.benchmark, self.metric, self.place.revision, self.place.project.space)

    def evidence(self) -> Evidence:
        """What the campaign has measured so far."""
        return self.place.store.evidence(self.id)


def prepare_screening(place: Workplace, request: ScreeningRequest, *, fresh: bool) -> PreparedScreening:
    """Find the campaign to go on with, or number a new one.

    An unfinished campaign is resumed. A finished one is taken as it is, unless ``fresh`` or unless it had
    measured nothing.

    Raises:
        InputError: where the request does not fit the project.
    """
    Budget.parse(request.budget)
    benchmark = place.project.benchmark(request.benchmark)
    metric = _metric(benchmark, request.metric)
    study = study_id(
        subject=place.project.name,
        benchmark=benchmark,
        metric=metric,
        revision=place.revision,
        space=place.project.space,
        budget=request.budget,
        seed=request.seed,
        machine=place.machine.fingerprint,
    )
    latest = place.store.latest(study)
    if latest is None or fresh or _in_vain(place.store, latest):
        study, latest = study.numbered(latest.id.campaign + 1 if latest else 1), None
    choice = Choice.from_json(latest.choice) if latest and latest.choice else None
    return PreparedScreening(
        place=place,
        request=request,
        benchmark=benchmark,
        metric=metric,
        id=latest.id if latest else study,
        choice=choice,
        finished=latest.finished if latest else False,
    )


def screen(prepared: PreparedScreening, announce: Announce = mute, observe: Observer = silent) -> ScreeningConclusion:
    """Make the campaign, or what is left of it, and conclude.

    Raises:
        MeasurementError: where nothing could be measured.
    """
    place = prepared.place
    if prepared.finished and prepared.choice:
        return prepared.study(prepared.choice).conclude(prepared.evidence())
    place.store.begin(prepared.id, prepared.benchmark.metrics, place.machine)
    try:
        with LocalEngine(place.project.root, (prepared.benchmark,), place.machine, announce) as engine:
            choice = prepared.choice or _choose(prepared, engine, announce, observe)
            conclusion = campaign(prepared.study(choice), engine, place.store, prepared.budget, observe)
    except MeasurementError:
        place.store.finish(prepared.id)
        raise
    place.store.finish(prepared.id)
    return conclusion


def rehearse(prepared: PreparedScreening) -> Rehearsal:
    """The next tasks of a screening campaign, without making or storing anything."""
    choice, limit = prepared.choice, prepared.budget
    if choice is None and math.isfinite(limit.runs):
        choice = choose(len(prepared.place.project.space.options), int(limit.runs))
    if choice is None:
        reason = "pilot runs; their cost and noise decide the design"
        plan = prepared.pilot.plan(prepared.evidence())
    else:
        study, known = prepared.study(choice), prepared.evidence().known
        reason, plan = choice.reason, Plan(tuple(task for task in study.tasks if task.id not in known))
    return Rehearsal(reason, plan, estimate(prepared.place.store, prepared.benchmark, len(plan)))


def _choose(prepared: PreparedScreening, engine: LocalEngine, announce: Announce, observe: Observer) -> Choice:
    """Choose the design, after pilot runs where the budget is a time, and keep the choice."""
    factors, store = len(prepared.place.project.space.options), prepared.place.store
    if math.isfinite(prepared.budget.runs):
        choice = choose(factors, int(prepared.budget.runs))
        announce(f"design: {choice.reason}")
        announce(_promise_in_deviations(choice))
    else:
        announce("pilot runs, to learn what a run costs and how noisy it is")
        pilot = campaign(prepared.pilot, engine, store, prepared.budget, observe)
        choice = choose(factors, affordable_runs(prepared.budget, pilot))
        announce(f"a run takes {pilot.seconds_per_run:.3g} s; design: {choice.reason}")
        announce(_promise(choice, pilot.noise))
    store.keep_choice(prepared.id, choice.to_json())
    return choice


def _promise(choice: Choice, noise: float | None) -> str:
    found = None if noise is None else expected_detectable(choice, noise)
    if found is None:
        return "what it can detect is not known before it starts: the pilot runs say nothing about the noise"
    return f"it will find effects of {100 * found:.2g} % with 80 % power, if the noise stays as in the pilot runs"


def _promise_in_deviations(choice: Choice) -> str:
    found = expected_detectable_deviations(choice)
    if found is None:
        return "so few runs cannot tell effects from noise: none will be called important"
    return f"it will find effects of {found:.2g} standard deviations of a run with 80 % power"


def _metric(benchmark: Benchmark, name: str | None) -> Metric:
    if name is not None:
        return benchmark.metric(name)
    if len(benchmark.metrics) > 1:
        names = ", ".join(metric.name for metric in benchmark.metrics)
        raise InputError(f"benchmark {benchmark.name!r} has several metrics", fix=f"choose one by --metric: {names}")
    return benchmark.metrics[0]


def _in_vain(store: SqlStore, record: StudyRecord) -> bool:
    return record.finished and not store.evidence(record.id).done
