"""The campaign of a screening: run, resumed or concluded."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from hati.campaign import Observer, campaign, measured, silent
from hati.core import (
    Benchmark,
    Budget,
    Configuration,
    Engine,
    Evidence,
    InputError,
    Metric,
    Plan,
    StudyId,
    Task,
    generator,
    replace,
)
from hati.core.wording import counted
from hati.design import MOST_RUNS, check_two_level
from hati.document.document import duration
from hati.studies.recalibration import Prior
from hati.studies.screening import (
    NOTHING_ISOLATED,
    AnyChoice,
    AnyScreening,
    Choice,
    FractionRequest,
    Isolated,
    Isolation,
    Pilot,
    PilotResult,
    PlannedDesigns,
    ScreeningConclusion,
    affordable_runs,
    asked_fraction,
    assigned,
    choose_design,
    choose_followed,
    designs_of,
    isolated_of,
    metric_of,
    partial_choice,
    read_choice,
    screening,
    stored_choice,
    study_id,
    with_reruns,
)
from hati.studies.screening.planning.choosing import with_kept
from hati.studies.screening.planning.pilot import (
    RUNS,
    UntilFailure,
    left_for_design,
    usable_configurations,
    with_losses,
)
from hati.studies.screening.planning.tasks import of_pool, own_tasks, with_robust_order, with_usable
from hati.studies.screening.promises import promise_in_deviations
from hati.wiring.campaigns import PlannedCampaign, as_kept, campaign_of, estimate, keep, table_given
from hati.wiring.kinds.screening import ScreeningRequest
from hati.wiring.screening.concluding import announce_analysis, keep_findings
from hati.wiring.screening.promises import (
    Goal,
    check_noise,
    correcting,
    pilot_runs,
    planned,
    promise_by_pilot,
    remedies,
)
from hati.wiring.screening.requested import requested_fraction, requested_metric
from hati.wiring.workplace import Announce, Workplace, mute

if TYPE_CHECKING:
    from hati.space import Space


_SEVERAL = 2


class ScreeningCampaign(Struct, frozen=True):
    """A screening campaign that can be run, resumed or concluded; its design may not be chosen yet.

    ``prior`` is the screening that it repeats: it only helps to assign options to factors. ``isolated``
    are the settings known to fail, and ``designs`` those that its interim look planned. ``limit`` is the budget of a
    later command that continues it: the ``earlier`` runs do not count against it.
    """

    place: Workplace
    request: ScreeningRequest
    benchmark: Benchmark
    metric: Metric
    id: StudyId
    choice: AnyChoice | None
    fraction: FractionRequest | None = None
    prior: Prior | None = None
    isolated: Isolated = NOTHING_ISOLATED
    designs: PlannedDesigns = ()
    earlier: Evidence = Evidence()
    limit: str = ""

    @property
    def study(self) -> AnyScreening | Pilot:
        """The study with its design; pilot runs if no design is chosen yet."""
        return self.pilot if self.choice is None else self.designed(self.choice)

    @property
    def goal(self) -> Goal | None:
        """The effect to find; None if the request names none."""
        asked = self.request
        return None if asked.detect is None else Goal(asked.detect, asked.relevant, asked.alpha)

    @property
    def space(self) -> Space:
        """The project's space without the settings known to fail."""
        from hati.space import narrowed

        return narrowed(self.place.project.space, self.isolated.formulas)

    @property
    def isolation(self) -> Isolation:
        """The study that traces failures to settings; settings that are already excluded stay excluded."""
        return Isolation(self.id, self.benchmark, self.place.revision, self.place.project.space, self.isolated)

    @property
    def budget(self) -> Budget:
        """The budget, pilot runs and earlier ones included."""
        own, earlier = Budget.parse(self.limit or self.request.limit), self.earlier
        return Budget(own.runs + len(earlier.runs), own.seconds + earlier.seconds)

    @property
    def pilot(self) -> Pilot:
        """The study that precedes the choice of a design if the budget is a time or a goal is set."""
        runs = RUNS if self.goal is None else pilot_runs(self.budget)
        return Pilot(self.id, self.benchmark, self.metric, self.place.revision, self.place.project.space, runs)

    def designed(self, choice: AnyChoice) -> AnyScreening:
        """The study with its design."""
        return screening(
            study=self.id,
            subject=self.place.project.name,
            benchmark=self.benchmark,
            metric=self.metric,
            revision=self.place.revision,
            space=self.space,
            choice=choice,
            alpha=self.request.alpha,
            relevant=self.request.relevant,
            remedies=remedies(self.place, self.benchmark.name, self.goal or self.fraction),
            designs=self.designs,
        )

    def evidence(self) -> Evidence:
        """The runs measured so far."""
        return self.place.store.evidence(self.id)

    @property
    def counted(self) -> Evidence:
        """The runs that count against the budget of the command."""
        before = self.earlier.known
        return Evidence(tuple(run for run in self.evidence().runs if run.task.id not in before))

    @property
    def finished(self) -> bool:
        """Whether a design is chosen, and no task or no budget is left."""
        evidence = self.evidence()
        return self.choice is not None and not self._left(self.choice, evidence)

    @property
    def left(self) -> int:
        """The number of runs that are known to be left, on any machine of a pool."""
        return len(self._left(self.choice, self.evidence())) if self.choice else 0

    @property
    def in_vain(self) -> bool:
        """Whether it ended without a successful run, or because the default configuration fails."""
        evidence = self.evidence()
        if self.place.table is None and not self.isolation.possible(evidence):
            return True
        left = self._left(self.choice, evidence) if self.choice else self.pilot.plan(evidence)
        return bool(evidence.failed) and not evidence.done and not left

    def keep_continuation(self) -> None:
        """Store the number of earlier runs with a command that continues the screening, once."""
        known = continued_of(self.place.store.choice(self.id))
        if self.limit and self.continuation not in known:
            keep(self.place, self.id, {_CONTINUED: {**known, self.continuation: len(self.earlier.runs)}})

    @property
    def continuation(self) -> str:
        """The name of the command that continues the screening, by which a repetition of it is known."""
        return f"{self.metric.name} {self.limit}"

    def chosen(self, runs: int, known: Sequence[Configuration] = ()) -> AnyChoice:
        """The design that a number of runs buys in addition to known runs, or the requested fraction."""
        rng, space = generator(self.id.seed, "design"), self.space
        if self.fraction is None:
            if self.place.table is not None:
                return choose_design(space, runs, rng, self.place.repetitions)
            seconds = self.budget.seconds if math.isfinite(self.budget.seconds) else 0.0
            choice = choose_followed(space, min(runs, MOST_RUNS), rng, known, seconds)
            return with_robust_order(of_pool(choice, self.place.member[1]))
        check_two_level(space)
        asked = asked_fraction(self.fraction, len(space.options), runs, rng, self.place.repetitions)
        fraction = self._assigned(asked)
        return fraction if self.place.table is not None else with_robust_order(with_reruns(fraction, runs))

    def cheapest(self, goal: Goal) -> AnyChoice:
        """The cheapest design that finds the effect of the goal, from the existing pilot runs."""
        rng = generator(self.id.seed, "design")
        pilot, evidence = replace(self.pilot, space=self.space), self.evidence()
        choice = planned(pilot, evidence, self.budget, goal, self.place.repetitions, rng)
        return with_robust_order(of_pool(choice, self.place.member[1]))

    def _assigned(self, choice: Choice) -> Choice:
        """Assign options that were important before to the factors whose interactions are aliased least."""
        names = self.space.names
        likely = self.prior.likely(names) if self.prior else ()
        if len(likely) < _SEVERAL or not choice.generators:
            return choice
        listed = ", ".join(names[option] for option in likely)
        return replace(assigned(choice, likely), reason=f"{choice.reason}; aliased least: {listed}, important before")

    def _left(self, choice: AnyChoice, evidence: Evidence) -> Plan:
        return self.designed(choice).plan(evidence).within(self.budget.left(evidence))

    def planned(self) -> PlannedCampaign:
        """The next tasks, in a pool those of this machine; nothing is run or stored."""
        choice, limit, goal = self.choice, self.budget, self.goal
        if choice is None and goal is not None:
            made = self.evidence()
            choice = self.cheapest(goal) if made.runs and not self.pilot.plan(made) else None
        elif choice is None and math.isfinite(limit.runs):
            choice = self.chosen(int(limit.runs))
        if choice is None:
            reason = "pilot runs; their cost and noise decide the design"
            plan = Plan.of(self.pilot.tasks)
        else:
            study, known = self.designed(choice), self.evidence().known
            own = own_tasks(study, study.tasks, *self.place.member)
            reason, plan = choice.reason, Plan.of(task for task in own if task.id not in known)
        expected = estimate(self.place, self.benchmark, len(plan))
        options = self.place.project.space.names
        return PlannedCampaign(reason, plan, expected, options, choice, notes=self._limits)

    @property
    def _limits(self) -> tuple[str, ...]:
        """What a budget in time limits; empty for one in runs."""
        if not math.isfinite(self.budget.seconds):
            return ()
        return (
            f"The budget of {duration(self.budget.seconds)} is for all runs, each with its setup: pilots, the design, "
            "its follow-up, and runs that are repeated.",
        )

    def make(
        self, announce: Announce = mute, observe: Observer = silent, asked: Struct | None = None
    ) -> ScreeningConclusion:
        """Run the campaign, or the rest of it, keep the request ``asked`` with it, and conclude.

        Raises:
            MeasurementError: where nothing could be measured.
        """
        place, prepared = self.place, self
        if not (self.finished and self.choice):
            with place.engine((self.benchmark,), announce) as engine:
                engine.hold(self.id.key)
                prepared = _as_stored(self)
                place.begin(prepared.id, prepared.benchmark.metrics)
                prepared.keep_continuation()
                try:
                    prepared = _made(prepared, engine, announce, observe)
                except InputError:
                    place.store.forget_study(prepared.id.key)
                    raise
        assert prepared.choice is not None
        evidence, choice = prepared.evidence(), prepared.choice
        prepared = _with_rest(prepared, choice, evidence)
        designed = prepared.designed(choice)
        keep(place, prepared.id, {**as_kept(asked), **table_given(place)})
        if place.pool and (left := prepared.left):
            announce(f"{counted(left, 'run')} left for the other machines of the pool: run the same command there")
            _announce_without_block(place, designed, announce)
        announce_analysis(announce, designed, evidence, "analysing")
        limit = self.limit or self.request.limit
        conclusion = with_budget(designed, limit, evidence, self.counted).conclude(evidence)
        keep_findings(place, designed, evidence, conclusion)
        return with_losses(conclusion, evidence, prepared.metric, prepared.isolated)


def with_budget(study: AnyScreening, limit: str, evidence: Evidence, counted: Evidence) -> AnyScreening:
    """The study, whose warning of runs that were not made says so if the ``counted`` runs spend its budget."""
    if study.complete(evidence):
        return study
    left = study.plan(evidence)
    if not left or left.within(Budget.parse(limit).left(counted)):
        return study
    unmade = f"the budget of {limit} is spent, and a larger --budget makes more"
    return replace(study, remedies=replace(study.remedies, unmade=unmade, flips=unmade))


_CONTINUED = "continued"


def continued_of(choice: str | None) -> dict[str, int]:
    """The number of runs before each command that continued a screening, of its stored choice."""
    found: dict[str, int] = json.loads(choice or "{}").get(_CONTINUED, {})
    return found


def prepare_screening(
    place: Workplace, request: ScreeningRequest, *, fresh: bool, prior: Prior | None = None
) -> ScreeningCampaign:
    """Find the campaign to resume, or number a new one.

    An unfinished campaign is resumed. A finished one is used as it is, unless ``fresh`` or unless it measured nothing.
    With a ``prior`` it is a separate study that uses none of the prior's runs.

    Raises:
        InputError: where the request does not fit the project.
    """
    Budget.parse(request.limit)
    goal = None if request.detect is None else Goal(request.detect, request.relevant, request.alpha)
    if goal is not None and place.table is not None:
        check_noise(place.table.most_repetitions)
    benchmark = place.project.benchmark(request.benchmark)
    metric = requested_metric(place, benchmark, request.metric)
    fraction = requested_fraction(request, place.project.space.names)
    study = study_id(
        subject=place.project.name,
        benchmark=benchmark,
        revision=place.revision,
        space=place.project.space,
        budget=request.limit,
        seed=request.seed,
        machine=place.measured_on.id,
        planned_for=None if goal is None else {"detect": goal.detect, "relevant": goal.relevant, "metric": metric.name},
        recalibrates=None if prior is None else prior.study,
        fraction=fraction,
        alpha=request.alpha,
    )
    stored = {
        record.id: record.choice
        for record in place.store.latest(study, place.measured_on.fingerprints)
        if record.choice
    }

    def prepared(campaign: StudyId) -> ScreeningCampaign:
        known = stored.get(campaign)
        choice = None if known is None else read_choice(known)
        return ScreeningCampaign(
            place, request, benchmark, metric, campaign, choice, fraction, prior, isolated_of(known), designs_of(known)
        )

    return campaign_of(place, study, prepared, lambda known: known.in_vain, fresh=fresh)


def _announce_without_block(place: Workplace, study: AnyScreening, announce: Announce) -> None:
    """Announce if the pool has more machines than the design has blocks, and this machine has no block."""
    member, machines = place.member
    blocks = set(study.blocks_of(study.tasks, machines))
    if member not in blocks:
        announce(
            f"{place.machine.name} runs none of them: the design has enough runs for {counted(len(blocks), 'machine')} "
            f"of the {machines}; a larger budget has more"
        )


def _as_stored(prepared: ScreeningCampaign) -> ScreeningCampaign:
    """The campaign in its stored state, if another process began or resumed it while this one waited."""
    latest = prepared.place.store.latest(prepared.id, prepared.place.measured_on.fingerprints)
    if all(record.id.campaign < prepared.id.campaign for record in latest):
        return prepared
    stored = prepare_screening(prepared.place, prepared.request, fresh=False, prior=prepared.prior)
    return replace(stored, earlier=prepared.earlier, limit=prepared.limit)


def _with_rest(prepared: ScreeningCampaign, choice: AnyChoice, evidence: Evidence) -> ScreeningCampaign:
    """The campaign with the design that its interim look planned for these runs, which is stored."""
    made = replace(prepared, designs=prepared.designed(choice).planned_designs(evidence))
    _keep_choice(made, choice)
    return made


def _keep_choice(prepared: ScreeningCampaign, choice: AnyChoice) -> None:
    """Store the designs of interim looks, and the metric of the last screening.

    A campaign serves all metrics of its benchmark, and a report one.
    """
    store, metric = prepared.place.store, prepared.metric.name
    own = stored_choice(choice, prepared.isolated, metric)

    def complete(stored: str | None) -> str:
        known = stored or own
        designs = {**dict(designs_of(known)), **dict(prepared.designs)}
        changed = stored_choice(read_choice(known), isolated_of(known), metric, tuple(designs.items()))
        return with_kept(changed, stored)

    known = store.choice(prepared.id)
    if metric_of(known) != metric or not dict(prepared.designs).keys() <= dict(designs_of(known)).keys():
        store.change_choice(prepared.id, complete)


def _made(
    prepared: ScreeningCampaign, engine: Engine[Task], announce: Announce, observe: Observer
) -> ScreeningCampaign:
    """Run the remaining tasks; return the campaign with its final design."""
    place, known, promised = prepared.place, -1, None
    if prepared.choice is not None and place.table is None:  # perhaps interrupted before failures were traced
        prepared = _isolated(prepared, engine, announce, observe)
    while prepared.choice is None or known < len(prepared.evidence().runs):
        known = len(prepared.evidence().runs)
        if prepared.choice is None:
            prepared, promised = _choose(prepared, engine, announce, observe)
        choice = prepared.choice
        assert choice is not None
        prepared = _with_rest(prepared, choice, prepared.evidence())
        study, keep_rest = prepared.designed(choice), partial(_with_rest, prepared, choice)
        watching = correcting(study, prepared.evidence().runs, promised, announce, observe, keep_rest)
        if place.table is not None:  # missing rows are not failures
            measured(study, engine, place.store, prepared.budget, watching)
            break
        until = UntilFailure(study, prepared.isolation, *place.member, before=prepared.evidence())
        campaign(until, engine, place.store, prepared.budget, watching)
        prepared = _isolated(prepared, engine, announce, observe)
    return prepared


def _isolated(
    prepared: ScreeningCampaign, engine: Engine[Task], announce: Announce, observe: Observer
) -> ScreeningCampaign:
    """Trace failures to settings; the campaign has no design any more if further settings were found to fail.

    Raises:
        MeasurementError: where the default configuration fails.
    """
    found = campaign(prepared.isolation, engine, prepared.place.store, prepared.budget, observe)
    if found.formulas == prepared.isolated.formulas:
        return prepared
    for settings, message in zip(found.described, found.messages, strict=True):
        if settings not in prepared.isolated.described:
            announce(f"{settings} does not work and is left out: {message}")
    return replace(prepared, choice=None, isolated=found)


def _choose(
    prepared: ScreeningCampaign, engine: Engine[Task], announce: Announce, observe: Observer
) -> tuple[ScreeningCampaign, float | None]:
    """Choose the design, after pilot runs if the budget is a time or a goal is set, and store the choice.

    Also returns the smallest effect that the design promises to find, None if the noise is unknown.
    """
    goal, store = prepared.goal, prepared.place.store
    pilot: PilotResult | None = None
    if goal is not None or math.isinf(prepared.budget.runs):
        made = prepared.pilot
        if made.plan(prepared.evidence()):
            announce(f"{len(made.tasks)} pilot runs, to learn what a run costs, how noisy it is and what does not work")
        pilot = campaign(made, engine, store, prepared.budget, observe)
        if prepared.place.table is None:
            prepared = _isolated(prepared, engine, announce, observe)
    prepared, choice = _agreed(prepared, pilot)
    if pilot is None or goal is not None:
        announce(f"design: {choice.reason}")
    else:
        announce(f"a run takes {pilot.seconds_per_run:.3g} s; design: {choice.reason}")
    before = None
    if pilot is not None and goal is None:
        found = promise_by_pilot(choice, pilot, prepared.request.relevant, prepared.request.alpha)
        announce(found.sentence)
        before = found.detectable
    elif goal is None:
        announce(promise_in_deviations(choice, prepared.request.alpha))
    return prepared, before


def _agreed(prepared: ScreeningCampaign, pilot: PilotResult | None) -> tuple[ScreeningCampaign, AnyChoice]:
    """The campaign with the design that another machine of the pool stored, else with a new one, which is stored.

    A stored design is replaced only if it has settings that are now known to fail.
    """
    store, excluded = prepared.place.store, set(map(str, prepared.isolated.formulas))

    def informed(stored: str | None) -> bool:
        return stored is not None and excluded <= set(map(str, isolated_of(stored).formulas))

    kept = store.choice(prepared.id)
    if kept is None or not informed(kept):
        own = stored_choice(_design(prepared, pilot), prepared.isolated, prepared.metric.name)
        kept = store.change_choice(
            prepared.id, lambda stored: stored if stored and informed(stored) else with_kept(own, stored)
        )
    choice = read_choice(kept)
    return replace(prepared, choice=choice, isolated=isolated_of(kept)), choice


def _design(prepared: ScreeningCampaign, pilot: PilotResult | None) -> AnyChoice:
    """The design for the rest of the space and of the budget; the usable earlier runs if no design fits.

    Raises:
        InputError: where no design fits, and no run of an earlier design is usable.
    """
    evidence, goal = prepared.evidence(), prepared.goal
    usable = usable_configurations(evidence, prepared.space) if prepared.isolated.formulas else ()
    try:
        if goal is not None:
            return with_usable(prepared.cheapest(goal), usable, prepared.space)
        left = left_for_design(prepared.budget, evidence)
        return prepared.chosen(int(left.runs) if pilot is None else affordable_runs(left, pilot), usable)
    except InputError:
        if not usable or not prepared.space.options:
            raise
        return partial_choice(prepared.space, usable)
