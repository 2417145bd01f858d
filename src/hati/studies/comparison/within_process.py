"""The comparison of two single processes by their observations.

Processes differ from each other (memory layout, compiled code, what else the machine does), and one per side does not
show by how much. The estimate and its interval hold for the two that were measured, and a verdict on them is not a
verdict on the program.
"""

from __future__ import annotations

from collections.abc import Sequence

from hati.core import Observations, Sample, SampledRun, replace
from hati.studies.comparison.choosing import ChoiceBasis, StatisticChoice
from hati.studies.comparison.conclusion import Change, ChangeVerdict, Comparison, Comparisons, WithinProcess
from hati.studies.comparison.deciding import decided_rows, mean_ratios
from hati.studies.comparison.matching import SamplePair
from hati.studies.comparison.statistic import MEAN, Question

_BATCHES = 10
"""The least number of batches of equal length, if there are that many observations: Schmeiser (1982, Operations
Research 30, 556-568) recommends 10 to 30. The longer a batch, the less consecutive ones depend on each other."""
_FEWEST = 2
_BY_MEAN = StatisticChoice(MEAN, ChoiceBasis.ONE_PROCESS)
"""The mean, because a batch has too few observations for another statistic: of ten values, each is a batch."""


def with_estimates_within_process(
    compared: Comparisons, found: Sequence[SamplePair], question: Question
) -> Comparisons:
    """The comparisons of those pairs, with estimates if each side is one process and the noise is unknown.

    The estimates have no verdict, and are of means: there are none for another requested statistic, or if machine and
    revision differ together. The p-values of these comparisons are corrected among themselves.

    Raises:
        InputError: if the units of a pair cannot be converted.
    """
    places = [place for place, each in enumerate(zip(compared.rows, found, strict=True)) if _alone(*each)]
    if not places:
        return compared
    batched = [SamplePair(_batched(found[place].before), _batched(found[place].after)) for place in places]
    decided, _ = decided_rows(batched, question, [_BY_MEAN] * len(places))
    rows = list(compared.rows)
    for place, row in zip(places, decided, strict=True):
        rows[place] = _estimated(rows[place], row, found[place])
    return replace(compared, rows=tuple(rows), mean_ratios=mean_ratios(rows))


def with_verdicts_within_process(compared: Comparisons) -> Comparisons:
    """The same comparisons, with the verdicts within one process as their verdicts."""
    return replace(compared, rows=tuple(map(_decided, compared.rows)))


def _alone(row: Comparison, pair: SamplePair) -> bool:
    """Whether the noise is unknown, and each side is one process with several observations."""
    sides = (pair.before.runs, pair.after.runs)
    several = all(len(runs) == 1 and not runs[0].pooled and len(runs[0].steady) >= _FEWEST for runs in sides)
    choice = row.choice
    by_mean = choice is not None and (choice.statistic == MEAN or choice.basis is not ChoiceBasis.ASKED)
    return several and by_mean and row.change.q_value is None and row.joining is None


def _batched(sample: Sample) -> Sample:
    """The sample of one run, with batches of its observations as runs; the remainder is dropped from the beginning."""
    (run,) = sample.runs
    values = run.steady
    size = max(1, len(values) // _BATCHES)
    first = len(values) % size
    pieces = values[first:].reshape(-1, size)
    metric = sample.metric
    runs = tuple(SampledRun(Observations(metric.name, metric.unit, piece)) for piece in pieces)
    return replace(sample, runs=runs)


def _estimated(row: Comparison, within: Comparison, pair: SamplePair) -> Comparison:
    """A row without a verdict, with the estimate from its observations; batches are no runs, so none are needed."""
    change = replace(within.change, runs_needed=None)
    observations = len(pair.before.runs[0].steady), len(pair.after.runs[0].steady)
    return replace(
        row,
        change=Change(ChangeVerdict.INCONCLUSIVE, change.ratio),
        before=replace(row.before, mean=within.before.mean),
        after=replace(row.after, mean=within.after.mean),
        choice=row.choice if row.choice and row.choice.basis is ChoiceBasis.ASKED else _BY_MEAN,
        within_process=WithinProcess(change, observations, (within.before.runs, within.after.runs)),
    )


def _decided(row: Comparison) -> Comparison:
    within = row.within_process
    if within is None:
        return row
    return replace(row, change=within.change, within_process=replace(within, decides=True))
