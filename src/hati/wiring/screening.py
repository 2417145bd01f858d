"""Screening on this machine."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace

from hati.campaign import Observer, campaign, silent
from hati.core import Benchmark, Budget, Engine, Evidence, InputError, Metric, Plan, StudyId, generator
from hati.report import promise, promise_in_deviations
from hati.studies.recalibration import Prior
from hati.studies.screening import (
    RELEVANT,
    AnyChoice,
    AnyScreening,
    Choice,
    Pilot,
    ScreeningConclusion,
    affordable_runs,
    assigned,
    choose_design,
    read_choice,
    screening,
    study_id,
)
from hati.studies.screening.pilot import RUNS
from hati.wiring.advising import remedies
from hati.wiring.campaigns import campaign_of
from hati.wiring.planning import Goal, check_noise, pilot_runs, planned
from hati.wiring.rehearsal import Rehearsal, estimate
from hati.wiring.workplace import Announce, Workplace, mute

_SEVERAL = 2


@dataclass(frozen=True)
class ScreeningRequest:
    """What a user asks to be screened."""

    metric: str | None
    budget: str
    seed: int
    benchmark: str | None = None
    relevant: float = RELEVANT
    detect: float | None = None

    @property
    def goal(self) -> Goal | None:
        """What has to be found, where that was asked for."""
        return None if self.detect is None else Goal(self.detect, self.relevant)


@dataclass(frozen=True)
class PreparedScreening:
    """A screening campaign that can be made, resumed or concluded; its design is perhaps not yet chosen.

    ``prior`` is the screening that it makes again: it has a say in who is which factor, and nowhere else.
    """

    place: Workplace
    request: ScreeningRequest
    benchmark: Benchmark
    metric: Metric
    id: StudyId
    choice: AnyChoice | None
    prior: Prior | None = None

    @property
    def budget(self) -> Budget:
        """What may be spent, pilot runs included."""
        return Budget.parse(self.request.budget)

    @property
    def pilot(self) -> Pilot:
        """The study that comes before the choice of a design where the budget is a time or a goal is set."""
        runs = RUNS if self.request.goal is None else pilot_runs(self.budget)
        return Pilot(self.id, self.benchmark, self.metric, self.place.revision, self.place.project.space, runs)

    def study(self, choice: AnyChoice) -> AnyScreening:
        """The study with its design."""
        return screening(
            study=self.id,
            subject=self.place.project.name,
            benchmark=self.benchmark,
            metric=self.metric,
            revision=self.place.revision,
            space=self.place.project.space,
            choice=choice,
            relevant=self.request.relevant,
            remedies=remedies(self.place, self.benchmark.name, self.request.goal),
        )

    def evidence(self) -> Evidence:
        """What the campaign has measured so far."""
        return self.place.store.evidence(self.id)

    @property
    def finished(self) -> bool:
        """Whether nothing is left to be run, or to be spent."""
        evidence = self.evidence()
        return self.choice is not None and not self._left(self.choice, evidence)

    @property
    def in_vain(self) -> bool:
        """Whether it ended without a single run that worked."""
        evidence = self.evidence()
        left = self._left(self.choice, evidence) if self.choice else self.pilot.plan(evidence)
        return bool(evidence.failed) and not evidence.done and not left

    def chosen(self, runs: int) -> AnyChoice:
        """The design that so many runs buy."""
        rng = generator(self.id.seed, "design")
        return self._assigned(choose_design(self.place.project.space, runs, rng, self.place.repetitions))

    def planned(self, goal: Goal) -> AnyChoice:
        """The cheapest design that finds what the goal says, from the pilot runs that there are."""
        rng = generator(self.id.seed, "design")
        return self._assigned(planned(self.pilot, self.evidence(), self.budget, goal, self.place.repetitions, rng))

    def _assigned(self, choice: AnyChoice) -> AnyChoice:
        """Those that were important before become the factors whose interactions are told apart best."""
        names = self.place.project.space.names
        likely = self.prior.likely(names) if self.prior else ()
        if len(likely) < _SEVERAL or not isinstance(choice, Choice) or not choice.generators:
            return choice
        listed = ", ".join(names[option] for option in likely)
        return replace(assigned(choice, likely), reason=f"{choice.reason}; aliased least: {listed}, important before")

    def _left(self, choice: AnyChoice, evidence: Evidence) -> Plan:
        return self.study(choice).plan(evidence).within(self.budget.left(evidence))


def prepare_screening(
    place: Workplace, request: ScreeningRequest, *, fresh: bool, prior: Prior | None = None
) -> PreparedScreening:
    """Find the campaign to go on with, or number a new one.

    An unfinished campaign is resumed. A finished one is taken as it is, unless ``fresh`` or unless it had
    measured nothing. With a ``prior`` it is a study of its own, none of whose runs are the prior's.

    Raises:
        InputError: where the request does not fit the project.
    """
    Budget.parse(request.budget)
    if request.goal is not None and place.table is not None:
        check_noise(place.table.most_repetitions)
    benchmark = place.project.benchmark(request.benchmark)
    metric = chosen_metric(benchmark, request.metric)
    study = study_id(
        subject=place.project.name,
        benchmark=benchmark,
        revision=place.revision,
        space=place.project.space,
        budget=request.budget,
        seed=request.seed,
        machine=place.machine.fingerprint,
        planned_for=None if request.goal is None else {**asdict(request.goal), "metric": metric.name},
        recalibrates=None if prior is None else prior.study,
    )
    choices = {record.id: read_choice(record.choice) for record in place.store.latest(study) if record.choice}

    def prepared(campaign: StudyId) -> PreparedScreening:
        return PreparedScreening(place, request, benchmark, metric, campaign, choices.get(campaign), prior)

    return campaign_of(place, study, prepared, lambda known: known.in_vain, fresh=fresh)


def screen(prepared: PreparedScreening, announce: Announce = mute, observe: Observer = silent) -> ScreeningConclusion:
    """Make the campaign, or what is left of it, and conclude.

    Raises:
        MeasurementError: where nothing could be measured.
    """
    place = prepared.place
    if prepared.finished and prepared.choice:
        return prepared.study(prepared.choice).conclude(prepared.evidence())
    place.store.begin(prepared.id, prepared.benchmark.metrics, place.machine)
    with place.engine(prepared.benchmark, announce) as engine:
        choice = prepared.choice or _choose(prepared, engine, announce, observe)
        return campaign(prepared.study(choice), engine, place.store, prepared.budget, observe)


def rehearse(prepared: PreparedScreening) -> Rehearsal:
    """The next tasks of a screening campaign, without making or storing anything."""
    choice, limit, goal = prepared.choice, prepared.budget, prepared.request.goal
    if choice is None and goal is not None:
        made = prepared.evidence()
        choice = prepared.planned(goal) if made.runs and not prepared.pilot.plan(made) else None
    elif choice is None and math.isfinite(limit.runs):
        choice = prepared.chosen(int(limit.runs))
    if choice is None:
        reason = "pilot runs; their cost and noise decide the design"
        plan = Plan(prepared.pilot.tasks)
    else:
        study, known = prepared.study(choice), prepared.evidence().known
        reason, plan = choice.reason, Plan(tuple(task for task in study.tasks if task.id not in known))
    seconds = estimate(prepared.place.store, prepared.benchmark, len(plan))
    return Rehearsal(reason, plan, seconds, prepared.place.project.space.names, choice)


def chosen_metric(benchmark: Benchmark, name: str | None) -> Metric:
    """The metric of that name, or the only one.

    Raises:
        InputError: where there is none of that name, or no name and several.
    """
    if name is not None:
        return benchmark.metric(name)
    if len(benchmark.metrics) > 1:
        names = ", ".join(metric.name for metric in benchmark.metrics)
        raise InputError(f"benchmark {benchmark.name!r} has several metrics", fix=f"choose one by --metric: {names}")
    return benchmark.metrics[0]


def _choose(prepared: PreparedScreening, engine: Engine, announce: Announce, observe: Observer) -> AnyChoice:
    """Choose the design, after pilot runs where the budget is a time, and keep the choice."""
    goal = prepared.request.goal
    if goal is not None:
        announce(f"{len(prepared.pilot.tasks)} pilot runs, to learn how noisy a run is")
        campaign(prepared.pilot, engine, prepared.place.store, prepared.budget, observe)
        choice = prepared.planned(goal)
        announce(f"design: {choice.reason}")
    elif math.isfinite(prepared.budget.runs):
        choice = prepared.chosen(int(prepared.budget.runs))
        announce(f"design: {choice.reason}")
        announce(promise_in_deviations(choice))
    else:
        announce("pilot runs, to learn what a run costs and how noisy it is")
        pilot = campaign(prepared.pilot, engine, prepared.place.store, prepared.budget, observe)
        choice = prepared.chosen(affordable_runs(prepared.budget, pilot))
        announce(f"a run takes {pilot.seconds_per_run:.3g} s; design: {choice.reason}")
        announce(promise(choice, pilot.noise, prepared.request.relevant))
    prepared.place.store.keep_choice(prepared.id, choice.to_json())
    return choice
