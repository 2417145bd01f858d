"""Suspect runs of a screening that were not repeated, and the robust fit next to the analysis of all runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, replace
from hati.stats import Index, ModelTerms, suspect_runs
from hati.studies.screening.analysis.runs import MeasuredDesign
from hati.studies.screening.conclusion import EffectScale, RobustFit, ScreeningConclusion, SuspectRun
from hati.studies.screening.conclusions.remedies import Remedies
from hati.studies.screening.follow_up.reruns import FRESH, RunKey, run_key
from hati.studies.screening.planning.tasks import STAGE as DESIGN


def suspected(terms: ModelTerms, values: FloatArray, scale: EffectScale) -> tuple[Index, FloatArray]:
    """The places of suspect runs, the most suspect first, and the values with what the others predict in their place.

    Args:
        terms: the candidate terms, in addition to runs of their own.
        values: one per run, in the metric's unit.
        scale: the one that decides.
    """
    decided = np.log(values) if scale is EffectScale.LOG else values
    found = suspect_runs(terms, decided)
    without = found.without(decided)
    return found.places, np.exp(without) if scale is EffectScale.LOG else without


class Unsettled(Struct, frozen=True, eq=False):
    """The suspect ``runs`` that were not repeated, and what the others predict for each, by its task's id.

    ``of_design`` of them are the design's.
    """

    runs: tuple[SuspectRun, ...]
    predicted: Mapping[str, float]
    of_design: int

    def without(self, found: MeasuredDesign) -> MeasuredDesign:
        """The runs, with predicted values in place of the suspect ones."""
        values = [self.predicted.get(run.task.id, value) for run, value in zip(found.runs, found.values, strict=True)]
        return replace(found, values=np.array(values, dtype=np.float64))


def unsettled(found: MeasuredDesign, suspects: tuple[Index, FloatArray], known: frozenset[RunKey]) -> Unsettled:
    """The suspects of a design without those that were repeated."""
    places, predicted = suspects
    left = [int(place) for place in places if run_key(found.runs[place].task) not in known]
    return Unsettled(
        tuple(
            SuspectRun(int(found.order[i]), found.runs[i].task.configuration, float(found.values[i]), (), None)
            for i in left
        ),
        {found.runs[i].task.id: float(predicted[i]) for i in left},
        sum(run_key(found.runs[i].task)[0] == DESIGN for i in left),
    )


def with_suspects(
    conclusion: ScreeningConclusion,
    repeated_runs: tuple[SuspectRun, ...],
    left: Unsettled,
    shown: Callable[[Unsettled], tuple[str, ...]],
    spare: int,
    remedies: Remedies,
) -> ScreeningConclusion:
    """The conclusion with the runs that were repeated, and the robust fit where others should be.

    Args:
        conclusion: by all runs.
        repeated_runs: each with its fresh values.
        left: the suspect runs that were not repeated.
        shown: the options that the same analysis shows with predicted values for these.
        spare: the runs that are left to repeat others.
        remedies: what warnings advise.
    """
    if not left.runs:
        return replace(conclusion, suspects=repeated_runs)
    before = (*conclusion.important, *conclusion.important_or_aliased)
    return replace(
        conclusion,
        suspects=(*repeated_runs, *left.runs),
        robust=_robust_fit(before, shown(left)),
        warnings=(*conclusion.warnings, *_not_repeated(left.of_design, spare, remedies)),
    )


def _robust_fit(shown: tuple[str, ...], robust: tuple[str, ...]) -> RobustFit:
    """How what the analysis shows with predicted values for suspect runs differs from what that of all runs shows."""
    added = tuple(name for name in robust if name not in shown)
    return RobustFit(robust, added, tuple(name for name in shown if name not in robust))


def _not_repeated(left: int, spare: int, remedies: Remedies) -> Iterator[str]:
    """That suspect runs were not repeated, where more runs than the spare ones would have served."""
    if left and spare < FRESH and remedies.rest:
        yield (
            f"the budget left no runs to repeat {left} suspect {'run' if left == 1 else 'runs'}; "
            f"--fresh with {FRESH * left} runs more in the budget keeps some for that"
        )
