"""How many runs decide a test with a given power, if the estimate and the noise hold.

A test decides where its statistic is beyond a critical value on either side, or where two one-sided tests show it to be
between two bounds. With a new sample of n runs, of which the true mean and variance are those that were estimated, the
statistic is noncentral t: (z + noncentrality) / r, where z is standard normal and r^2 a chi-square variate over its
degrees of freedom.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import FloatArray, generator
from hati.stats.distributions import chi_square_quantiles, normal_tails
from hati.stats.power import POWER

MOST_RUNS = 10_000
_LEVELS = 64
_PATHS = 2000
_LOOKS = 100
_SEED = 15


class BoundTest(Struct, frozen=True):
    """A bound that a mean is compared with: (mean - bound) / standard error, and the critical value of the statistic.

    The mean is shown to be above it where the statistic exceeds ``critical``, and below it where it is less than
    -``critical``. An infinite one shows nothing.
    """

    noncentrality: float
    critical: float

    @classmethod
    def of(cls, distance: float, standard_error: float, critical: float) -> BoundTest:
        """Of a mean that is that far above the bound; nothing shows one on the bound to be beyond it without noise."""
        if standard_error > 0.0:
            return cls(distance / standard_error, critical)
        return cls(math.copysign(math.inf, distance), critical if distance else math.inf)

    def above(self, r: FloatArray) -> FloatArray:
        """The z beyond which the mean is shown to be above the bound."""
        return self.critical * r - self.noncentrality if self._shows else np.full_like(r, math.inf)

    def below(self, r: FloatArray) -> FloatArray:
        """The z under which the mean is shown to be below the bound."""
        return -self.critical * r - self.noncentrality if self._shows else np.full_like(r, -math.inf)

    @property
    def _shows(self) -> bool:
        return math.isfinite(self.critical)


class PlannedTest(Struct, frozen=True):
    """A test of n runs, which shows the mean to be below ``low``, above ``high``, or ``between`` two bounds.

    The variance has ``df`` degrees of freedom of these runs, and ``known`` ones that no run changes.
    """

    low: BoundTest
    high: BoundTest
    df: float
    between: tuple[BoundTest, BoundTest] | None = None
    known: float = 0.0

    @property
    def power(self) -> float:
        """The probability that it decides."""
        r = _relative_errors(self.df, self.known)
        first, last = self.low.below(r), self.high.above(r)
        open_ = normal_tails(first) - normal_tails(np.maximum(first, last))
        if self.between is not None:
            start, end = self.between[0].above(r), self.between[1].below(r)
            start, end = np.clip(start, first, last), np.clip(end, first, last)
            open_ = open_ - np.maximum(normal_tails(start) - normal_tails(end), 0.0)
        return 1.0 - float(np.mean(open_))

    def decides(self, z: FloatArray, r: FloatArray) -> NDArray[np.bool_]:
        """Whether it does, for each standardised error of the mean and each relative error of the deviation."""
        decided = (z < self.low.below(r)) | (z > self.high.above(r))
        if self.between is not None:
            decided |= (z > self.between[0].above(r)) & (z < self.between[1].below(r))
        return np.asarray(decided)


def runs_to_decide(test: Callable[[int], PlannedTest], fewest: int, power: float = POWER) -> int | None:
    """The number of runs with which a test, made once, decides with that power; None where 10,000 do not suffice.

    Args:
        test: of a number of runs.
        fewest: the smallest number to consider.
        power: the probability of a decision.
    """
    return fewest_runs(lambda runs: test(runs).power >= power, fewest)


def fewest_runs(decides: Callable[[int], bool], fewest: int) -> int | None:
    """The fewest runs that decide, if more do so too; None where 10,000 do not."""
    least, most = fewest, max(fewest, MOST_RUNS)
    if not decides(most):
        return None
    while least < most:
        middle = math.isqrt(least * most)
        least, most = (least, middle) if decides(middle) else (middle + 1, most)
    return most


def looks_to_decide(test: Callable[[int], PlannedTest], fewest: int, power: float = POWER) -> int | None:
    """The same of a test that is looked at after every run from ``fewest`` on, until it decides.

    By simulation of 2,000 campaigns, which are the same in every call, with up to 100 looks.
    """
    most = runs_to_decide(test, fewest, power)
    if most is None or most == fewest:
        return most
    sizes: list[int] = np.unique(np.geomspace(fewest, most, _LOOKS).round().astype(int)).tolist()
    rng, decided = generator(_SEED, "looks"), np.zeros(_PATHS, dtype=bool)
    size, means, squares = 0, np.zeros(_PATHS), np.zeros(_PATHS)
    for following in sizes:
        more = following - size
        block = rng.standard_normal(_PATHS) / math.sqrt(more)
        squares += 2.0 * rng.standard_gamma((more - 1) / 2.0, _PATHS) + (block - means) ** 2 * size * more / following
        means += (block - means) * more / following
        size = following
        decided |= test(size).decides(means * math.sqrt(size), np.sqrt(squares / (size - 1.0)))
        if np.mean(decided) >= power:
            return size
    return most


@lru_cache(maxsize=4096)
def _relative_errors(df: float, known: float) -> FloatArray:
    """Equally probable ratios of the estimated deviation to the true one."""
    if math.isinf(known) or math.isinf(df):
        return np.ones(1)
    levels = (np.arange(_LEVELS) + 0.5) / _LEVELS
    return np.asarray(np.sqrt((chi_square_quantiles(levels, df) + known) / (df + known)))
