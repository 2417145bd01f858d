"""The ratio between machines, estimated from revisions that both measured, and differences of samples across
machines, joined by this ratio.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, InputError, replace
from hati.stats.differences import Difference
from hati.stats.distributions import halved, t_quantile

FEWEST_BRIDGES = 2
"""A single bridge does not show how the ratio varies between revisions."""
_MOST_BRIDGES = 100
_LEAST_P_VALUE = 1e-300
_ROUNDING = 1e-12
VariancePart = tuple[float, float]
"""An estimated variance and its degrees of freedom."""


class Bridge(Struct, frozen=True):
    """A revision that two machines measured: the ``difference`` of its logarithms, the second machine's less the
    first's, the ``variance`` that the runs add to it, that variance's ``freedom``, and the ``runs`` on each machine.
    """

    difference: float
    variance: float
    freedom: float
    runs: tuple[int, int]

    @property
    def reversed(self) -> Bridge:
        """The first machine's less the second's."""
        return Bridge(-self.difference, self.variance, self.freedom, (self.runs[1], self.runs[0]))

    @classmethod
    def of(cls, first: FloatArray, second: FloatArray) -> Bridge:
        """The bridge from run values of one revision on each machine, above zero, shapes (runs,)."""
        found = [np.log(values) for values in (first, second)]
        variances = [float(np.var(values, ddof=1)) / len(values) if len(values) > 1 else 0.0 for values in found]
        freedoms = [len(values) - 1.0 for values in found]
        known = min(freedoms) > 0.0
        runs = len(first), len(second)
        apart = float(np.mean(found[1]) - np.mean(found[0]))
        if not known:
            return cls(apart, 0.0, 0.0, runs)
        total = sum(variances)
        shares = sum(part**2 / df for part, df in zip(variances, freedoms, strict=True))
        return cls(apart, total, total**2 / shares if shares else sum(freedoms), runs)


class MachineRatio(Struct, frozen=True):
    """The logarithm of the ratio of the second machine's values to the first's.

    The ratio is random: it differs between runs and between revisions. ``variance`` is that of one bridge, from both
    sources, with ``bridges - 1`` degrees of freedom. For a single bridge it is 0, and only the variance ``of_runs``,
    with its ``freedom``, is known. ``runs`` are the numbers of runs of each bridge.
    """

    estimate: float
    variance: float
    of_runs: float
    freedom: float
    runs: tuple[tuple[int, int], ...]

    @property
    def bridges(self) -> int:
        """The number of bridges."""
        return len(self.runs)

    @property
    def df(self) -> float:
        """Degrees of freedom of the variance between bridges."""
        return self.bridges - 1.0

    @property
    def joins(self) -> bool:
        """Whether there are enough bridges to show how the ratio varies."""
        return self.bridges >= FEWEST_BRIDGES

    @property
    def of_another(self) -> VariancePart:
        """The variance of the estimate for a revision other than the bridges'; of one bridge from its runs alone."""
        return (self.variance * (1.0 + 1.0 / self.bridges), self.df) if self.joins else (self.of_runs, self.freedom)

    def half_width(self, confidence: float) -> float:
        """The half-width of the mean ratio's interval; of one bridge from its runs alone, infinite with too few."""
        variance, df = (self.variance / self.bridges, self.df) if self.joins else (self.of_runs, self.freedom)
        return joint_half_width([(variance, df)], confidence) if df else math.inf

    def beyond(self, runs: tuple[int, int]) -> float:
        """The fraction of the variance of a difference of ``runs`` per machine that bridges do not include.

        All runs of a machine have one variance. A bridge of at most as many runs on each machine includes at least the
        noise of the difference.
        """
        held = [min(1.0, *(size / own for size, own in zip(runs, bridge, strict=True))) for bridge in self.runs]
        return 1.0 - float(np.mean(held))


def machine_ratio(bridges: Sequence[Bridge], least: float = 0.0) -> MachineRatio | None:
    """The mean of the bridges and the variance of one of them, at least ``least``; None without bridges.

    Bridges have equal weights, whatever their numbers of runs. So the variance of their mean is unbiased even where
    their variances differ.
    """
    if not bridges:
        return None
    found = np.array([bridge.difference for bridge in bridges])
    number = len(found)
    apart = number > 1 and float(np.ptp(found)) > _ROUNDING  # logarithms of equal ratios may differ by rounding
    variance = max(float(np.var(found, ddof=1)) if apart else 0.0, least if number > 1 else 0.0)
    return MachineRatio(
        estimate=float(np.mean(found)),
        variance=variance,
        of_runs=max(float(np.mean([bridge.variance for bridge in bridges])) / number, least / number),
        freedom=min(bridge.freedom for bridge in bridges),
        runs=tuple(bridge.runs for bridge in bridges),
    )


def joint_half_width(parts: Sequence[VariancePart], confidence: float) -> float:
    """The half-width of an interval for a sum of independent estimates, each with its variance.

    The root of the sum of each half-width squared; its confidence is at least the nominal one (Banerjee 1961,
    On confidence interval for two-means problem based on separate estimates of variances and tabulated values of
    t-table, Sankhya A 23, 359-378). Infinite where a variance has no degrees of freedom.
    """
    if any(df <= 0.0 for _, df in parts):
        return math.inf
    quantile = 0.5 + confidence / 2.0
    return math.sqrt(sum(variance * t_quantile(quantile, df) ** 2 for variance, df in parts))


def joint_above(size: float, parts: Sequence[VariancePart]) -> float:
    """The smallest one-sided level at which an estimate ``size`` above a value excludes it; below it, 1 minus that."""
    if any(df <= 0.0 for _, df in parts):
        return 1.0
    if not any(variance for variance, _ in parts):
        return 0.0 if size > 0.0 else 1.0
    if size <= 0.0:
        return 0.5 if size == 0.0 else 1.0 - joint_above(-size, parts)

    def reached(log_level: float) -> bool:
        return joint_half_width(parts, 1.0 - 2.0 * math.exp(log_level)) <= size

    return math.exp(halved(math.log(_LEAST_P_VALUE), math.log(0.5), reached)[1])


class JoinedDifference(Difference, frozen=True):
    """The difference of logarithms of two samples from different machines, less the ratio of the machines.

    ``ratio`` is None without a bridge: then neither an interval nor a test is possible. With a single bridge there is
    an interval, from its runs alone, and no test.
    """

    ratio: MachineRatio | None = None

    @classmethod
    def of(cls, apart: Difference, ratio: MachineRatio | None) -> JoinedDifference:
        """The difference ``apart`` of the samples, less that of their machines."""
        known = {name: getattr(apart, name) for name in Difference.__struct_fields__}
        known["estimate"] -= 0.0 if ratio is None else ratio.estimate
        return cls(**known, ratio=ratio)

    @property
    def parts(self) -> tuple[VariancePart, ...]:
        """The variances that are included, each with its degrees of freedom.

        A bridge's variance includes that of the compared revision's ratio, and the noise of the samples unless the
        bridge has more runs.
        """
        if self.ratio is None:
            return ()
        own = super().standard_error ** 2
        if not self.ratio.joins:
            return ((own, self.df), self.ratio.of_another)
        rest = own * self.ratio.beyond(self.runs)
        return (self.ratio.of_another, *(((rest, self.df),) if rest > 0.0 else ()))

    @property
    def testable(self) -> bool:
        """Whether the variation of the ratio is known, and every variance has degrees of freedom."""
        return self.ratio is not None and self.ratio.joins and all(df > 0.0 for _, df in self.parts)

    @property
    def standard_error(self) -> float:
        """The standard error of the estimate, including the ratio's."""
        return math.sqrt(sum(variance for variance, _ in self.parts))

    def half_width(self, confidence: float) -> float:
        """The half-width of the interval about the estimate; infinite without a bridge."""
        return joint_half_width(self.parts, confidence) if self.ratio is not None else math.inf

    def detectable(self, alpha: float, power: float) -> float:
        """The size of a difference that is found with about that power, if the variances hold."""
        if not self.testable:
            return math.inf
        return self.half_width(1.0 - alpha) + t_quantile(power, min(df for _, df in self.parts)) * self.standard_error

    def runs_needed(self, alpha: float, low: float, high: float, level: float) -> int | None:
        """None: more runs of the samples do not make the ratio more certain."""
        del alpha, low, high, level
        return None

    def bridges_needed(self, level: float, power: float) -> int | None:
        """The number of bridges that find a difference of the estimate's size at that level, if the variances hold.

        None where 100 do not suffice, or the variation of the ratio is unknown.
        """
        if self.ratio is None or not self.testable:
            return None
        runs = self.ratio.runs
        for number in range(self.ratio.bridges + 1, _MOST_BRIDGES + 1):
            more = replace(self.ratio, runs=tuple(runs[place % len(runs)] for place in range(number)))
            if replace(self, ratio=more).detectable(level, power) <= abs(self.estimate):
                return number
        return None

    @property
    def _of_orders(self) -> float:
        """The probability that a further value has a given rank among the bridges, which are all equal."""
        return 1.0 if self.ratio is None else 1.0 / (self.ratio.bridges + 1)

    def _above(self, size: float) -> float:
        return joint_above(size, self.parts) if self.testable else 1.0


def joined(apart: Difference, bridges: Sequence[Bridge], least: float = 0.0) -> JoinedDifference:
    """The difference of logarithms of two samples of different machines, joined by bridges between these.

    Args:
        apart: the second sample's less the first's.
        bridges: of the same two machines.
        least: what rounding adds to the variance of a bridge.

    Raises:
        InputError: for a difference that is not finite.
    """
    if not math.isfinite(apart.estimate):
        raise InputError("a difference of logarithms that is not finite cannot be joined")
    return JoinedDifference.of(apart, machine_ratio(bridges, least))
