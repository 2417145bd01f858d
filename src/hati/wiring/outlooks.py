"""What a screening promises before its runs, and corrects as they come in."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from hati.campaign import Observer
from hati.core import Evidence, Plan, Run
from hati.knowledge import Variation
from hati.report import corrected_promise, least_promise, promise, promise_in_deviations, vague_promise
from hati.studies.screening import AnyChoice, AnyScreening, PilotResult, first_check, is_checked, outlook, promised
from hati.studies.screening.planning.tasks import STAGE
from hati.wiring.workplace import Announce

_VAGUE = 3.0
"""Where interactions may make what will be found so many times as large, a pilot promises no single figure."""


class Promise(Struct, frozen=True):
    """The smallest effect that a design will find, a fraction, None where it is not known yet; and the sentence."""

    detectable: float | None
    sentence: str


def promise_by_pilot(choice: AnyChoice, pilot: PilotResult, relevant: float) -> Promise:
    """By how the metric varies between runs of one configuration, and between the pilot's configurations.

    Its few configurations do not show whether they differ by main effects or by interactions: where that matters, both
    figures are in the sentence, and the design's own runs say which.
    """
    if pilot.noise is None:
        return Promise(None, promise_in_deviations(choice))
    least = promised(choice, Variation(0.0, pilot.noise**2), relevant)
    if least is None:
        return Promise(None, promise_in_deviations(choice))
    if pilot.variation is None:
        return Promise(None, least_promise(least, pilot.runs, first_check(choice)))
    most = promised(choice, pilot.variation, relevant)
    if most is None or most <= _VAGUE * least:
        return Promise(most, promise(choice, most, f"{pilot.runs} pilot runs show"))
    return Promise(None, vague_promise(least, most, pilot.runs, first_check(choice)))


def correcting(
    study: AnyScreening, made: Sequence[Run], before: float | None, announce: Announce, observe: Observer
) -> Observer:
    """An observer that also corrects what was promised, as the design's runs come in.

    Args:
        study: the screening.
        made: the runs that were made before.
        before: the smallest effect that was promised, None where none was.
        announce: for a sentence, where the promise does not hold.
        observe: the observer of all runs.
    """
    known = {run.task.id: run for run in made if run.task.stage == STAGE}
    said = [before]

    def of(run: Run, evidence: Evidence, plan: Plan) -> None:
        observe(run, evidence, plan)
        if run.task.stage != STAGE:
            return
        known[run.task.id] = run
        found = outlook(study, tuple(known.values())) if is_checked(len(known), study.choice.runs) else None
        sentence = "" if found is None else corrected_promise(found, said[0])
        if found is not None and sentence:
            announce(sentence)
            said[0] = found.detectable

    return of
