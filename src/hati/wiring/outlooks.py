"""What a screening promises before its runs, and corrects as they come in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hati.campaign import Observer
from hati.core import Evidence, Metric, Plan, Run
from hati.knowledge import Variation
from hati.report import corrected_promise, promise
from hati.studies.screening import AnyChoice, PilotResult, is_checked, outlook, promised
from hati.studies.screening.tasks import STAGE
from hati.wiring.workplace import Announce


@dataclass(frozen=True)
class Promise:
    """The smallest effect that a design will find, a fraction, None where nothing is known yet; and the sentence."""

    detectable: float | None
    sentence: str


def promise_by_pilot(choice: AnyChoice, pilot: PilotResult, relevant: float) -> Promise:
    """By how the metric varies between the pilot's configurations; without that, as if options did not interact."""
    known, source = pilot.variation, f"{pilot.runs} pilot runs tell: to within a factor of a few"
    if known is None and pilot.noise is not None:
        known, source = Variation(0.0, pilot.noise**2), "options do not interact"
    found = None if known is None else promised(choice, known, relevant)
    return Promise(found, promise(choice, found, source))


def correcting(
    choice: AnyChoice,
    metric: Metric,
    relevant: float,
    made: Sequence[Run],
    before: float | None,
    announce: Announce,
    observe: Observer,
) -> Observer:
    """An observer that also corrects what was promised, as the design's runs come in.

    Args:
        choice: the design.
        metric: of which effects are to be found.
        relevant: the fraction below which no effect is important.
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
        found = (
            outlook(choice, tuple(known.values()), metric, relevant) if is_checked(len(known), choice.runs) else None
        )
        sentence = "" if found is None else corrected_promise(found, said[0])
        if found is not None and sentence:
            announce(sentence)
            said[0] = found.detectable

    return of
