"""The statistic of a run (one number of its observations after warm-up), its choice, and the question on two samples.

It is chosen by other runs than those compared: the smallest variance among these would be partly chance, and double
the false alarms.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from enum import StrEnum

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict

from hati.core import FloatArray, InputError, Sample, SummarizedRuns
from hati.core.wording import counted
from hati.stats import Index, SampleMean
from hati.studies.comparison.matching import SamplePair

_BATCHES = 10
_LEAST = 1e-9


class Statistic(Struct, frozen=True):
    """The mean of a run's observations, without the fraction ``trimmed`` at either end, or a ``quantile`` of them.

    Raises:
        InputError: for a quantile that is not between 0 and 1.
    """

    quantile: float | None = None
    trimmed: float = 0.0

    def __post_init__(self) -> None:
        if self.quantile is not None and not 0.0 <= self.quantile <= 1.0:
            raise InputError(f"a quantile is between 0 and 1, not {self.quantile:g}", fix="write q0.99")
        if not 0.0 <= self.trimmed < 0.5 or (self.trimmed and self.quantile is not None):
            raise ValueError(f"cannot trim the fraction {self.trimmed:g} of the quantile {self.quantile}")

    @classmethod
    def parse(cls, text: str) -> Statistic:
        """Read ``mean``, ``trimmed`` (without a fifth at either end), ``median``, or a quantile as ``q0.99``.

        Raises:
            InputError: for anything else.

        >>> Statistic.parse("median").quantile
        0.5
        """
        if text in _NAMED:
            return _NAMED[text]
        try:
            quantile = float(text.removeprefix("q")) if text.startswith("q") else None
        except ValueError:
            quantile = None
        if quantile is None:
            raise InputError(
                f"{text!r} is not a statistic of a run",
                fix="write auto, mean, trimmed, median, or a quantile as q0.99",
            )
        return cls(quantile)

    def __str__(self) -> str:
        named = next((name for name, known in _NAMED.items() if known == self), None)
        return named or (f"q{self.quantile:g}" if self.quantile is not None else f"trimmed {self.trimmed:g}")

    @property
    def title(self) -> str:
        """Its name in a sentence."""
        return "trimmed mean" if self == TRIMMED else str(self)

    def of(self, values: FloatArray) -> float:
        """The number that stands for a run with those values, shape (n,)."""
        if len(values) == 1:
            return float(values[0])
        if self.quantile is not None:
            return float(np.quantile(values, self.quantile))
        return float(np.mean(self._kept(values) if self.trimmed else values))

    def tail_of(self, values: FloatArray) -> float:
        """The mean relative to this statistic: what the tail of ``values``, shape (n,), adds; nan if it is 0."""
        own = self.of(values)
        return float(np.mean(values)) / own if own else math.nan

    def _kept(self, values: FloatArray) -> FloatArray:
        cut = int(self.trimmed * len(values))
        return np.sort(values)[cut : len(values) - cut]


class Automatic(Struct, frozen=True):
    """A statistic that is chosen for each benchmark and metric, by other runs than those compared."""

    def __str__(self) -> str:
        return "auto"


MEAN = Statistic()
TRIMMED = Statistic(trimmed=0.2)
MEDIAN = Statistic(0.5)
AUTO = Automatic()
_NAMED = {"mean": MEAN, "trimmed": TRIMMED, "median": MEDIAN}


def parse_statistic(text: str) -> Statistic | Automatic:
    """Read ``auto``, or a statistic.

    Raises:
        InputError: for anything else.
    """
    return AUTO if text == str(AUTO) else Statistic.parse(text)


class RunValues(Struct, frozen=True, eq=False):
    """The values of a sample's runs, in their order.

    ``values`` holds the statistic of each run, ``unsteady`` the unsteadiness within it, nan if it is too short; both
    have shape (runs,). With ``summary`` the only value is the mean of the runs that it describes.
    """

    values: FloatArray
    unsteady: FloatArray
    summary: SummarizedRuns | None = None

    @property
    def runs(self) -> int:
        """The number of runs."""
        return len(self.values) if self.summary is None else self.summary.number or 1

    @property
    def shows_noise(self) -> bool:
        """Whether the variance between the runs is known from these."""
        return len(self.values) > 1 if self.summary is None else self.summary.deviation is not None

    def mean_on(self, values: FloatArray, unit: float) -> SampleMean:
        """The mean of the values on a scale, where a deviation has a ``unit``."""
        if self.summary is None:
            return SampleMean.of(values)
        deviation = self.summary.deviation
        return SampleMean(float(values[0]), None if deviation is None else (deviation / unit) ** 2, self.runs)

    def times(self, factor: float) -> RunValues:
        """The same values in another unit."""
        return RunValues(factor * self.values, self.unsteady, self.summary and self.summary.times(factor))

    def relative_to(self, others: RunValues) -> RunValues:
        """The ratios of these to others of the same runs."""
        return RunValues(self.values / others.values, self.unsteady)

    def of(self, places: Index) -> RunValues:
        """The values of the runs at those places."""
        return RunValues(self.values[places], self.unsteady[places])


def run_values(sample: Sample, statistic: Statistic) -> RunValues:
    """Each run as one number; a single mean of runs stands for these, where means are compared."""
    deviations = (batch_deviation(values) for values in sample.steady)
    return RunValues(
        np.array([statistic.of(values) for values in sample.steady]),
        np.array([math.nan if deviation is None else deviation for deviation in deviations]),
        sample.runs[0].summary if len(sample.runs) == 1 and statistic == MEAN else None,
    )


def batch_deviation(values: FloatArray) -> float | None:
    """The unsteadiness of a run: the standard deviation of the logarithms of batch means; None for few observations.

    There are ten batches of equal size, without the remainder. Runs that are unsteady within also differ more from each
    other, so that this predicts their variance.
    """
    size = len(values) // _BATCHES
    if size < 2 or np.min(values) <= 0.0:
        return None
    means = values[-size * _BATCHES :].reshape(_BATCHES, size).mean(axis=1)
    return max(float(np.std(np.log(means), ddof=1)), _LEAST)


ALPHA = 0.01
MARGIN = 0.05


class Question(Struct, frozen=True):
    """The question: changes at the level ``alpha``, equality within a ``margin``, of a ``statistic`` of runs.

    ``AUTO`` chooses a statistic for each benchmark and metric.

    Raises:
        InputError: for an alpha or a margin that is not between 0 and 1.
    """

    alpha: float = ALPHA
    margin: float = MARGIN
    statistic: Statistic | Automatic = MEAN

    def __post_init__(self) -> None:
        if not 0.0 < self.alpha < 1.0:
            raise InputError(f"alpha is a probability between 0 and 1, not {self.alpha:g}", fix="write 0.01")
        if not 0.0 < self.margin < 1.0:
            raise InputError(f"the margin is between 0 and 100 %, not {self.margin:g}", fix="write 5%")

    @property
    def fixed(self) -> Statistic:
        """The statistic of a study that does not choose one: the mean by default."""
        return self.statistic if isinstance(self.statistic, Statistic) else MEAN

    @property
    def limit(self) -> float:
        """The margin on the logarithmic scale, where slower and faster by the margin are equally far from zero."""
        return math.log1p(self.margin)


VERSION = 1
"""The version of the rule: it is stored with each choice, so that a later rule does not change earlier choices."""
CANDIDATES = (MEAN, TRIMMED, MEDIAN)
DEFAULT = TRIMMED
"""The statistic if nothing is known: outliers do not move it, and it does not jump between two modes as the median
does."""
_FEWEST_DF = 8
"""With fewer, the variances of two statistics can hardly be compared."""
_FEWEST_BENCHMARKS = 3
_GAIN = 0.95
"""The largest standard deviation, relative to the mean's, of another statistic that is chosen: the part of alpha that
the mean keeps then makes critical values some 4 % larger."""
_LARGEST = math.log(100.0)
"""A limit on the logarithm of a ratio, so that one benchmark does not decide alone, however its variances differ."""


class ChoiceBasis(StrEnum):
    """The basis of a choice."""

    ASKED = "asked for"
    HISTORY = "history"
    OTHERS = "other benchmarks"
    DEFAULT = "default"
    NOT_POSITIVE = "not above zero"
    SINGLE = "single values"
    ONE_PROCESS = "one process"


class StatisticChoice(Struct, frozen=True):
    """The statistic of a run that is compared, the basis of the choice, and the version of the rule.

    ``sources`` is the number of earlier samples, or of other benchmarks, on which the choice is based; ``spread`` is
    the standard deviation of the statistic between their runs relative to that of the mean, None by default.
    """

    statistic: Statistic
    basis: ChoiceBasis
    sources: int = 0
    spread: float | None = None
    version: int = VERSION

    @property
    def keeps_mean(self) -> bool:
        """Whether the mean keeps a part of alpha: it does if another statistic was chosen without a request."""
        return self.basis is not ChoiceBasis.ASKED and self.statistic != MEAN

    @property
    def reason(self) -> str:
        """The reason as a phrase; empty if the statistic was requested."""
        if self.basis is ChoiceBasis.ASKED:
            return ""
        samples = counted(self.sources, "earlier sample")
        return self.reason_in(
            f"the runs of {samples if self.basis is ChoiceBasis.HISTORY else f'{self.sources} {self.basis}'}"
        )

    def reason_in(self, runs: str) -> str:
        """The reason as a phrase; ``runs`` names the runs on which the choice is based."""
        if self.basis is ChoiceBasis.NOT_POSITIVE:
            return "values that are not above zero have no ratios"
        if self.basis is ChoiceBasis.SINGLE:
            return "runs have a single value each"
        if self.basis is ChoiceBasis.ONE_PROCESS:
            return "within one process only means have an interval"
        if self.spread is None:
            return "the default: neither a history nor three other benchmarks show which varies least between runs"
        if self.statistic == MEAN:
            return f"neither trimmed mean nor median varies clearly less between {runs}"
        return f"between {runs} it varies by {100.0 * self.spread:.2g} % of the mean's standard deviation"


class StatisticChoices(Struct, frozen=True):
    """The choice for each benchmark and metric, by their names; the mean, as requested, for all others."""

    rows: tuple[tuple[str, str, StatisticChoice], ...] = ()

    def of(self, benchmark: str, metric: str) -> StatisticChoice:
        """The choice for a benchmark and metric."""
        known = {(name, other): choice for name, other, choice in self.rows}
        return known.get((benchmark, metric), StatisticChoice(MEAN, ChoiceBasis.ASKED))

    def to_json(self) -> str:
        """The choices as JSON, as a campaign stores them."""
        rows = [
            {"benchmark": name, "metric": metric, **asdict(choice), "statistic": str(choice.statistic)}
            for name, metric, choice in self.rows
        ]
        return json.dumps({"statistics": rows})

    @classmethod
    def from_json(cls, text: str) -> StatisticChoices:
        """Read what `to_json` wrote."""
        return cls(
            tuple(
                (
                    row["benchmark"],
                    row["metric"],
                    StatisticChoice(
                        Statistic.parse(row["statistic"]),
                        ChoiceBasis(row["basis"]),
                        row["sources"],
                        row["spread"],
                        row["version"],
                    ),
                )
                for row in json.loads(text).get("statistics", ())
            )
        )


class VarianceRatios(Struct, frozen=True, eq=False):
    """The variances of the candidates between the runs of one benchmark and metric, relative to the mean's.

    ``logs`` are the logarithms of these ratios, shape (candidates,), with ``df`` degrees of freedom, from a number of
    ``samples``.
    """

    logs: FloatArray
    df: int
    samples: int


def candidate_values(sample: Sample) -> FloatArray:
    """The runs of a sample by each of the candidates, in the sample's unit, shape (candidates, runs)."""
    return np.array([[statistic.of(values) for values in sample.steady] for statistic in CANDIDATES])


def variance_ratios(samples: Sequence[FloatArray]) -> VarianceRatios | None:
    """The ratios of samples of one thing, each about its own level; None if a variance is zero, as of ticks and counts.

    Args:
        samples: the values of runs by each candidate, shape (candidates, runs) each.
    """
    several = [values for values in samples if values.shape[1] > 1]
    if not several:
        return None
    positive = min(float(values.min()) for values in several) > 0.0
    scaled = [np.log(values) if positive else values for values in several]
    squares = np.sum([((values - values.mean(axis=1, keepdims=True)) ** 2).sum(axis=1) for values in scaled], axis=0)
    if squares.min() <= 0.0:
        return None
    logs = np.clip(np.log(squares / squares[0]), -_LARGEST, _LARGEST)
    return VarianceRatios(logs, sum(values.shape[1] - 1 for values in several), len(several))


def combined_ratios(found: Sequence[VarianceRatios]) -> VarianceRatios | None:
    """The variance ratios of several benchmarks, equally weighted; None without any."""
    if not found:
        return None
    logs = np.mean([each.logs for each in found], axis=0)
    return VarianceRatios(logs, sum(each.df for each in found), sum(each.samples for each in found))


def choose_statistic(earlier: VarianceRatios | None, others: Sequence[VarianceRatios]) -> StatisticChoice:
    """Choose the candidate whose variance between runs is the smallest.

    Earlier samples of the same benchmark and metric decide if they have eight degrees of freedom. Otherwise other
    benchmarks of the same metric decide, by the mean of their logarithms, if there are three with eight degrees of
    freedom together. Otherwise the default is chosen. Neither source may contain the runs that are compared.
    """
    if earlier is not None and earlier.df >= _FEWEST_DF:
        return _least(earlier.logs, ChoiceBasis.HISTORY, earlier.samples)
    combined = combined_ratios(others)
    if combined is not None and len(others) >= _FEWEST_BENCHMARKS and combined.df >= _FEWEST_DF:
        return _least(combined.logs, ChoiceBasis.OTHERS, len(others))
    return StatisticChoice(DEFAULT, ChoiceBasis.DEFAULT)


def choose_statistics(
    found: Sequence[SamplePair], history: Sequence[Sequence[Sample]] = ()
) -> tuple[StatisticChoice, ...]:
    """The statistic of each pair's runs: from its earlier samples or the other pairs, never from itself."""
    metrics = [pair.before.metric.name for pair in found]
    values = [(candidate_values(pair.before), candidate_values(pair.after)) for pair in found]
    earlier = [variance_ratios([candidate_values(each) for each in own]) for own in history] or [None] * len(found)
    return choose_for_each(metrics, values, earlier)


def statistics_of(
    found: Sequence[SamplePair], question: Question, history: Sequence[Sequence[Sample]] = ()
) -> tuple[StatisticChoice, ...]:
    """The statistic for each pair: the requested one, or else the chosen one."""
    if isinstance(question.statistic, Statistic):
        return (StatisticChoice(question.statistic, ChoiceBasis.ASKED),) * len(found)
    chosen = choose_statistics(found, history)
    by_mean = StatisticChoice(MEAN, ChoiceBasis.SINGLE)
    return tuple(by_mean if pair.mean_of_one_side else choice for pair, choice in zip(found, chosen, strict=True))


def choose_for_each(
    metrics: Sequence[str],
    values: Sequence[Sequence[FloatArray]],
    earlier: Sequence[VarianceRatios | None],
) -> tuple[StatisticChoice, ...]:
    """The choice for each pair, from its two samples' run values by each candidate, shape (candidates, runs) each.

    A tail is compared as a ratio: if a value is not above zero, the mean is chosen. So it is for runs of a single
    value, which do not show other statistics.
    """
    ratios = [None if _single(each) else variance_ratios(each) for each in values]
    chosen = []
    for place, (metric, own) in enumerate(zip(metrics, values, strict=True)):
        others = [
            ratio
            for other, ratio in enumerate(ratios)
            if ratio is not None and other != place and metrics[other] == metric
        ]
        positive = min(float(side.min()) for side in own) > 0.0
        if not positive:
            chosen.append(StatisticChoice(MEAN, ChoiceBasis.NOT_POSITIVE))
        elif _single(own):
            chosen.append(StatisticChoice(MEAN, ChoiceBasis.SINGLE))
        else:
            chosen.append(choose_statistic(earlier[place], others))
    return tuple(chosen)


def _single(values: Sequence[FloatArray]) -> bool:
    """Whether all candidates are equal in every run, as for runs of one observation."""
    return all(bool((each == each[0]).all()) for each in values)


def _least(logs: FloatArray, basis: ChoiceBasis, sources: int) -> StatisticChoice:
    place = int(np.argmin(logs))
    if math.exp(0.5 * float(logs[place])) > _GAIN:
        place = 0
    return StatisticChoice(CANDIDATES[place], basis, sources, math.exp(0.5 * float(logs[place])))
