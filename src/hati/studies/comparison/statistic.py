"""The statistic of a run (one number from its observations after warm-up) and the question about two samples."""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, InputError, Sample
from hati.stats import Index

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
    have shape (runs,).
    """

    values: FloatArray
    unsteady: FloatArray

    def times(self, factor: float) -> RunValues:
        """The same values in another unit."""
        return RunValues(factor * self.values, self.unsteady)

    def relative_to(self, others: RunValues) -> RunValues:
        """The ratios of these to others of the same runs."""
        return RunValues(self.values / others.values, self.unsteady)

    def of(self, places: Index) -> RunValues:
        """The values of the runs at those places."""
        return RunValues(self.values[places], self.unsteady[places])


def run_values(sample: Sample, statistic: Statistic) -> RunValues:
    """Each run as one number."""
    deviations = (batch_deviation(values) for values in sample.steady)
    return RunValues(
        np.array([statistic.of(values) for values in sample.steady]),
        np.array([math.nan if deviation is None else deviation for deviation in deviations]),
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
