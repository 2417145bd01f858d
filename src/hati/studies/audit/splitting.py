"""The runs of one thing as two samples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from hati.core import Sample, replace
from hati.stats import Index
from hati.studies.comparison import (
    CANDIDATES,
    MEAN,
    ChoiceBasis,
    MeanSides,
    Question,
    RunValues,
    SamplePair,
    Sides,
    Statistic,
    StatisticChoice,
    VarianceRatios,
    choose_for_each,
)

FEWEST_RUNS = 4
"""With fewer runs, halves do not show their noise."""
_ALIKE = 0.03


class Whole(NamedTuple):
    """All runs of a sample as both sides of a comparison with itself, by each statistic that may stand for a run.

    ``earlier`` is what earlier samples say of these statistics, None where there are none; ``known`` the choice that
    was made before, which a comparison takes where its statistic is to be chosen.
    """

    metric: str
    sides: Mapping[Statistic, Sides]
    earlier: VarianceRatios | None = None
    known: StatisticChoice | None = None

    def choice(self, chosen: StatisticChoice) -> StatisticChoice:
        """The known one in place of one that is ``chosen``; values that are not above zero have but one."""
        return chosen if self.known is None or chosen.basis is ChoiceBasis.NOT_POSITIVE else self.known


class Halves(NamedTuple):
    """The places of the runs of two halves of a sample, equally many."""

    before: Index
    after: Index

    def values(self, whole: Sides) -> Sides:
        """What stands for their runs; both sides of the ``whole`` are the sample itself."""
        return Sides(whole.before.of(self.before), whole.before.of(self.after), whole.earlier)

    def samples(self, sample: Sample) -> SamplePair:
        """Their runs."""
        before, after = (tuple(sample.runs[place] for place in places) for places in self)
        return SamplePair(replace(sample, runs=before), replace(sample, runs=after))


def compared_halves(
    wholes: Sequence[Whole], split: Sequence[Halves], question: Question
) -> tuple[list[Sides], list[MeanSides | None]]:
    """The halves of all samples as `compare` has them: by the requested statistic, or one chosen from other samples."""
    each = list(zip(wholes, split, strict=True))
    if isinstance(question.statistic, Statistic):
        statistic = question.statistic
        return [own.values(whole.sides[statistic]) for whole, own in each], [None] * len(each)
    values = [
        [np.array([side.of(places).values for side in _all_runs(whole)]) for places in own] for whole, own in each
    ]
    chosen = choose_for_each([whole.metric for whole in wholes], values, [whole.earlier for whole in wholes])
    choices = [whole.choice(one) for whole, one in zip(wholes, chosen, strict=True)]
    found = [own.values(whole.sides[choice.statistic]) for (whole, own), choice in zip(each, choices, strict=True)]
    rest = [
        MeanSides.of(own.values(whole.sides[MEAN]), sides) if choice.keeps_mean else None
        for (whole, own), choice, sides in zip(each, choices, found, strict=True)
    ]
    return found, rest


def _all_runs(whole: Whole) -> list[RunValues]:
    return [whole.sides[statistic].before for statistic in CANDIDATES]


def halves(order: Index) -> Halves:
    """The first and the second half in an order; of an odd number of runs the one in the middle is left out."""
    half = len(order) // 2
    return Halves(order[:half], order[-half:])


def order_in_time(sample: Sample) -> Index | None:
    """The places of the runs in the order of their starts; None where one is not known."""
    starts = [run.started.timestamp() for run in sample.runs if run.started is not None]
    return np.argsort(np.array(starts), kind="stable") if len(starts) == len(sample.runs) else None


def correlation(runs: int) -> float:
    """The least correlation of two random splits of ``runs`` runs, as far as alarms go.

    One part in as many as there are different splits: of four runs there are three, and at most one of them is
    significant at usual levels. No less than 3 %: of ten runs and more that are normal, long-tailed, skewed or bimodal
    simulations show 0 to 3.5 %.
    """
    half = runs // 2
    return max(_ALIKE, 2.0 / math.comb(2 * half, half))
