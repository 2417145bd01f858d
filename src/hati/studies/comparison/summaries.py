"""Warnings of comparisons with means of which the runs are not known: what is assumed, and what would be known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hati.core import Sample, SummarizedRuns
from hati.studies.comparison.conclusion import Comparison
from hati.studies.comparison.matching import SamplePair
from hati.studies.comparison.statistic import MEAN, RunValues, run_values


def summary_warnings(found: Sequence[SamplePair], rows: Sequence[Comparison]) -> tuple[str, ...]:
    """A warning of each assumption on the runs of means, with the column of a CSV file that makes it needless."""
    compared = [_Compared.of(*each) for each in zip(found, rows, strict=True)]
    texts = (
        (
            [each.counts_each_mean for each in compared],
            "several means of a side count as one run each, and their numbers of runs are not used: write one mean of"
            " all runs, with `n` and `deviation`",
        ),
        (
            [each.counts_mean_once for each in compared],
            "only the mean of a side's runs is known, which by another statistic counts as one run: use"
            " `--statistic mean`",
        ),
        (
            [each.has_noise and any(of.number is None for of in each.undeviating) for each in compared],
            "the number of runs of a mean is not known: it counts as one run, and the interval is wider for it; in a"
            " CSV file, column `n` has it",
        ),
        (
            [each.takes_noise_of_the_other for each in compared],
            "the standard deviation of the runs of a mean is not known: it is taken to be the other side's; in a CSV"
            " file, column `deviation` has it",
        ),
        (
            [each.takes_noise_of_others for each in compared],
            "the standard deviation of runs is not known on either side: it is taken to be that of earlier samples or"
            " of other benchmarks; in a CSV file, column `deviation` has it",
        ),
        (
            [bool(each.undeviating) and not each.has_noise for each in compared],
            "the standard deviation of runs is not known on either side, so that nothing is decided: in a CSV file,"
            " columns `n` and `deviation` have it",
        ),
    )
    return tuple(f"in {number_of(sum(which), len(found))} {text}" for which, text in texts if any(which))


def is_mean(sample: Sample) -> bool:
    """Whether all that is known of a sample is a single mean."""
    return len(sample.runs) == 1 and sample.runs[0].summary is not None


def number_of(some: int, every: int) -> str:
    """The number of some comparisons of all, for a sentence."""
    return "the comparison" if every == 1 else f"{some:,} of {every:,} comparisons"


class _Compared(NamedTuple):
    """A comparison with its samples, and their run values by the statistic that was compared."""

    row: Comparison
    samples: tuple[Sample, Sample]
    values: tuple[RunValues, RunValues]

    @classmethod
    def of(cls, pair: SamplePair, row: Comparison) -> _Compared:
        """Compute the run values as the comparison did."""
        statistic = MEAN if row.choice is None else row.choice.statistic
        samples = pair.before, pair.after
        return cls(row, samples, (run_values(pair.before, statistic), run_values(pair.after, statistic)))

    @property
    def counts_each_mean(self) -> bool:
        """Whether a side has several runs, and one of them is a mean of several."""
        several = (run for sample in self.samples if len(sample.runs) > 1 for run in sample.runs)
        return any(run.summary is not None and (run.summary.number or 1) > 1 for run in several)

    @property
    def counts_mean_once(self) -> bool:
        """Whether a side is a mean of several runs that is compared as one, since the statistic is another one."""
        known = (sample.runs[0].summary for sample in self.samples if is_mean(sample))
        return not any(side.summary for side in self.values) and any(of and of.number != 1 for of in known)

    @property
    def undeviating(self) -> list[SummarizedRuns]:
        """The runs of means that are compared as such, without their deviation."""
        known = (side.summary for side in self.values if side.summary is not None)
        return [of for of in known if of.number != 1 and of.deviation is None]

    @property
    def has_noise(self) -> bool:
        """Whether the comparison has an estimate of the noise."""
        return self.row.change.q_value is not None

    @property
    def takes_noise_of_the_other(self) -> bool:
        """Whether the noise of a mean of several runs is that of the other side."""
        return any((of.number or 1) > 1 for of in self.undeviating) and any(side.shows_noise for side in self.values)

    @property
    def takes_noise_of_others(self) -> bool:
        """Whether the noise of both sides is that of other samples."""
        return bool(self.undeviating) and self.has_noise and not any(side.shows_noise for side in self.values)
