"""The smallest effect that a screening promises to find: from pilot runs or a goal, and corrected during the runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct

from hati.campaign import Observer
from hati.core import Budget, Evidence, InputError, Plan, Run
from hati.document import duration, percent
from hati.knowledge import Variation
from hati.studies.screening import (
    ALPHA,
    OF_TABLES,
    PILOT_RUNS,
    AnyChoice,
    AnyScreening,
    ModelChoice,
    ModelScreening,
    Pilot,
    PilotResult,
    Remedies,
    Shortfall,
    affordable_runs,
    check_detect,
    first_check,
    followed,
    is_checked,
    of_table,
    outlook,
    plan_design,
    promised,
    repeated_from,
    run_noise,
    runs_aside,
    with_reruns,
)
from hati.studies.screening.follow_up import PAIRS
from hati.studies.screening.planning.pilot import LEFT, left_for_design
from hati.studies.screening.planning.tasks import RESERVE, STAGE, with_look
from hati.studies.screening.promises import (
    corrected_promise,
    least_promise,
    promise,
    promise_in_deviations,
    vague_promise,
)
from hati.wiring.table import BENCHMARK
from hati.wiring.workplace import IN_MEMORY, Announce, Workplace

_SHARE = 4
_FEWEST = 5
_POWER = "90 % power"
_TWO = 2
_DOMINATED = LEFT * math.log(2.0) / 2.0
"""The deviation beyond main effects that a pilot expects where one option changes the metric by a factor of two."""
_DEVIATION = "give the table's noise by --deviation, or leave out --detect"


class Goal(Struct, frozen=True):
    """The main effect to find, a fraction; effects smaller than ``relevant`` are not important."""

    detect: float
    relevant: float
    alpha: float = ALPHA

    def __post_init__(self) -> None:
        check_detect(self.detect, self.relevant)


def pilot_runs(budget: Budget) -> int:
    """The number of runs that estimate the noise: at most a quarter of the budget, but at least five."""
    return int(max(_FEWEST, min(PILOT_RUNS, budget.runs // _SHARE)))


def check_noise(most: float) -> None:
    """Check that the noise of a run can be estimated if a configuration has at most ``most`` runs.

    Raises:
        InputError: where no configuration has two runs.
    """
    if most < _TWO:
        raise _without_noise(_DEVIATION)


def planned(
    pilot: Pilot, evidence: Evidence, budget: Budget, goal: Goal, most: float, rng: np.random.Generator
) -> AnyChoice:
    """The cheapest design that finds the effect of the goal.

    Raises:
        InputError: where the budget does not suffice, with the effect that it can find and the budget needed.
        MeasurementError: where all pilot runs failed.
    """
    known = pilot.conclude(evidence)
    noise = run_noise(pilot, evidence, pilot.metric)
    if noise is None:
        raise _without_noise("leave out --detect" if math.isinf(most) else _DEVIATION)
    runs = affordable_runs(left_for_design(budget, evidence), known)
    left = 0.0 if known.variation is None else known.variation.interactions
    found = plan_design(
        pilot.space,
        runs,
        noise,
        goal.detect,
        rng,
        most=most,
        relevant=goal.relevant,
        alpha=goal.alpha,
        interactions=left,
    )
    if isinstance(found, Shortfall):
        raise _refusal(found, goal, runs, known, budget, (noise.deviation, math.sqrt(left)))
    if math.isfinite(most):
        return found
    seconds = budget.seconds if math.isfinite(budget.seconds) else 0.0
    return with_look(with_reruns(_followed(found, runs), runs), seconds, runs)


def _followed(choice: AnyChoice, runs: int) -> AnyChoice:
    """The choice with runs set aside for following up, as far as the design leaves any."""
    if not isinstance(choice, ModelChoice) or choice.repetitions > 1:
        return choice
    step = 2 * PAIRS
    aside = min(runs_aside(runs, choice.parameters), step * ((runs - choice.runs) // step))
    return followed(choice, aside) if aside else choice


def _without_noise(fix: str) -> InputError:
    return InputError("the noise of a run is unknown: no configuration has two runs", fix=fix)


def _refusal(
    short: Shortfall, goal: Goal, runs: int, pilot: PilotResult, budget: Budget, deviations: tuple[float, float]
) -> InputError:
    size = percent(goal.detect)
    budgeted = f"the {runs} runs that the budget has after {pilot.runs} pilot runs"
    can = (
        f"{budgeted} find effects of {_rounded_up(short.found)} with {_POWER}"
        if short.found
        else f"{budgeted} find none"
    )
    needs = "no number of runs finds them"
    fixes = []
    if short.needed:
        needs = f"these need about {short.needed:,} runs"
        fixes.append(f"give --budget {_budget(short.needed, pilot, budget)}")
    if short.found:
        fixes.append(f"ask for --detect {_rounded_up(short.found).replace(' ', '')}")
    if deviations[1] > _DOMINATED:
        fixes.append("screen without --detect, and fix an option that dominates by --set OPTION=SETTING")
    noise, left = (percent(each, 2) for each in deviations)
    beyond = f", configurations beyond main effects by about {left}" if deviations[1] else ""
    return InputError(
        f"{can}, not of {size}: {needs}; runs vary by {noise}{beyond}", fix=" or ".join(fixes) or "leave it out"
    )


def _budget(needed: int, pilot: PilotResult, budget: Budget) -> str:
    if math.isfinite(budget.runs):
        return str(needed + pilot.runs)
    builds = min(needed, pilot.builds_left) * pilot.seconds_per_build
    seconds = (pilot.seconds + builds + needed * pilot.seconds_per_run) / (1.0 - RESERVE)
    return f"{math.ceil(seconds)}s (about {duration(seconds)})"


def _rounded_up(fraction: float | None) -> str:
    """A fraction in percent, rounded up to one decimal place from 1 % on, else to two."""
    value = 100.0 * (fraction or 0.0)
    return f"{math.ceil(10.0 * value) / 10.0:g} %" if value >= 1.0 else f"{math.ceil(100.0 * value) / 100.0:g} %"


_VAGUE = 3.0
"""If interactions could increase the detectable effect by more than this factor, a pilot promises no single figure."""


class Promise(Struct, frozen=True):
    """The smallest effect that a design will find, a fraction, None if not known yet; and the sentence for it."""

    detectable: float | None
    sentence: str


def promise_by_pilot(choice: AnyChoice, pilot: PilotResult, relevant: float, alpha: float = ALPHA) -> Promise:
    """The promise from the variance between runs of one configuration, and between the pilot's configurations.

    The pilot's few configurations do not show whether they differ by main effects or by interactions. If that matters,
    the sentence has both figures, and the design's own runs decide.
    """
    if pilot.noise is None:
        return Promise(None, promise_in_deviations(choice, alpha))
    least = promised(choice, Variation(0.0, pilot.noise**2), relevant, alpha)
    if least is None:
        return Promise(None, promise_in_deviations(choice, alpha))
    if pilot.variation is None:
        return Promise(None, least_promise(least, pilot.runs, first_check(choice)))
    most = promised(choice, pilot.variation, relevant, alpha)
    if most is None or most <= _VAGUE * least:
        return Promise(most, promise(choice, most, f"{pilot.runs} pilot runs show", alpha))
    return Promise(None, vague_promise(least, most, pilot.runs, first_check(choice)))


def correcting(
    study: AnyScreening,
    made: Sequence[Run],
    before: float | None,
    announce: Announce,
    observe: Observer,
    keep_rest: Callable[[Evidence], object],
) -> Observer:
    """An observer that also corrects the promise, as the design's runs come in.

    Where the interim look plans the rest again, there is a new promise: that of before is for another design.

    Args:
        study: the screening.
        made: the earlier runs.
        before: the smallest effect that was promised, None without a promise.
        announce: receives a sentence if the promise does not hold.
        observe: the observer of all runs.
        keep_rest: receives the runs up to the interim look, before the first run that it planned.
    """
    known = {run.task.id: run for run in made}
    planned = [_as_run(study, made)]
    said = [before if planned[0] is study else None]

    def of(run: Run, evidence: Evidence, plan: Plan) -> None:
        observe(run, evidence, plan)
        known[run.task.id] = run
        if run.task.stage != STAGE:
            return
        runs = tuple(known.values())
        if planned[0] is study and isinstance(study, ModelScreening) and (rest := study.rest(Evidence(runs))):
            keep_rest(Evidence(runs))
            announce(rest.sentence)
            planned[0], said[0] = _as_run(study, runs), None
        own = planned[0]
        valid = sum(each.task.stage == STAGE and own.space.valid(each.task.configuration) for each in runs)
        found = outlook(own, runs) if is_checked(valid, own.choice.runs) else None
        sentence = "" if found is None else corrected_promise(found, said[0])
        if found is not None and sentence:
            announce(sentence)
            said[0] = found.detectable

    return of


def _as_run(study: AnyScreening, runs: Sequence[Run]) -> AnyScreening:
    """The study as its interim look planned it again, if it did."""
    found = isinstance(study, ModelScreening) and study.rest(Evidence(tuple(runs)))
    return study.as_run(Evidence(tuple(runs))) if isinstance(study, ModelScreening) and found else study


_STORED = "see `hati runs --store`"


def remedies(place: Workplace, benchmark: str, asked_for: object | None) -> Remedies:
    """The advice for a screening of a program, or of a table, whose looked-up rows a store may hold.

    ``asked_for`` is the effect that the design has to find, or the fraction that it has to be, whatever the budget.
    """
    repeated = None if asked_for else repeated_from(place.project.space, place.repetitions)
    if place.table is not None:
        failures = "" if place.store.name == IN_MEMORY else _STORED
        return of_table(place.table.runs, repeated_from=repeated, failures=failures)
    if benchmark == BENCHMARK and all(known.name != BENCHMARK for known in place.project.benchmarks):
        return of_table(OF_TABLES.available, repeated_from=None, failures=_STORED)
    return Remedies(repeated)
