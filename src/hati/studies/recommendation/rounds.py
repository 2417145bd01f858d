"""Rounds of blocks in which each configuration runs once, and tests whether one is better than another."""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from hati.core import Configuration, FloatArray, Setting
from hati.stats import Index, pure_error, t_margin, t_quantile

STAGE = "confirmation"
FOLLOW_UP = "follow-up"

Settings = tuple[tuple[str, Setting], ...]


class Round(Struct, frozen=True):
    """Blocks in which each configuration runs once; the baseline first, the configuration to confirm second.

    ``settings`` are those that are confirmed, ``without`` the configurations with each of them left out (the baseline
    for a single one); a follow-up has neither. ``alpha`` is the error of all verdicts together.
    ``pending`` counts the runs that are still to be made: nothing is confirmed before the last. ``first`` counts the
    blocks of earlier follow-ups, whose stage is the same.
    """

    stage: str
    configurations: tuple[Configuration, ...]
    blocks: int
    settings: Settings = ()
    without: tuple[Configuration, ...] = ()
    alpha: float = 0.0
    pending: int = 0
    first: int = 0

    @property
    def runs(self) -> int:
        """The number of runs."""
        return len(self.configurations) * self.blocks

    @property
    def target(self) -> Configuration:
        """The configuration to confirm."""
        return self.configurations[1]

    @property
    def alone(self) -> tuple[Configuration, ...]:
        """What could be recommended instead: of two settings each one alone, which is run for the other's gain."""
        return self.without if len(self.settings) == 2 else ()

    @property
    def compared(self) -> tuple[tuple[tuple[str, Setting], Configuration], ...]:
        """The settings whose gain given the others is judged, each with the configuration without it; none of one."""
        return tuple(zip(self.settings, self.without, strict=True)) if len(self.settings) > 1 else ()

    @property
    def doubt(self) -> float:
        """The error of each verdict of a follow-up."""
        return self.alpha / (len(self.configurations) - 1)

    def verdicts(self, rules: int) -> int:
        """How many verdicts share the error where every recommended configuration has to keep that many rules."""
        return (1 + rules) * (1 + len(self.alone)) + len(self.compared)


class RoundStep(Struct, frozen=True):
    """A round, the settings that were to be confirmed ``before`` it, and those that are ``after`` it.

    None where nothing follows: before its last run, and where it confirms everything or no run could say more.
    """

    round: Round
    before: Settings
    after: Settings | None


class Arm(Struct, frozen=True):
    """Settings that are tried together in the follow-up."""

    settings: Settings
    configuration: Configuration


CONFIDENCE = 0.95


class PairedChange(Struct, frozen=True):
    """The change from a baseline: a fraction; its interval is None without degrees of freedom.

    ``value`` and ``baseline`` are means over the pairs in the metric's unit, geometric where all values are positive.
    ``middle`` is the change on the scale of the differences and ``deviation`` its standard error of ``df`` degrees of
    freedom, None without any.
    """

    value: float
    baseline: float
    change: float
    interval: tuple[float, float] | None
    pairs: int
    middle: float
    deviation: float | None
    df: int

    def shown(self, error: float) -> bool:
        """Whether noise alone would make so large a change of its sign less often than the error.

        So it is where nothing is known of the noise.
        """
        return self.deviation is None or abs(self.middle) >= t_quantile(1.0 - error, self.df) * self.deviation


def paired_change(values: FloatArray, baselines: FloatArray, confidence: float = CONFIDENCE) -> PairedChange:
    """The mean change over pairs of runs, with the t interval of the pairs' differences.

    Of positive values the differences are those of logarithms, as a ratio less one; of others they are divided by
    the mean size of all values.

    Args:
        values: one per pair, shape (pairs,), at least one.
        baselines: the other run of each pair.
        confidence: of the interval.
    """
    scale = _Scale.of(np.concatenate((values, baselines)))
    differences = scale.decided(values) - scale.decided(baselines)
    df = len(differences) - 1
    return scale.change(values, baselines, float(differences.var(ddof=1)) if df else 0.0, df, confidence)


def pooled_changes(values: FloatArray, rows: Index, blocks: Index) -> dict[int, PairedChange]:
    """The mean change of each row from row 0 over the blocks in which both have a value, as in ``paired_change``.

    The variance of a run is the residual one of rows plus blocks. Rows that share no block with row 0 are missing.

    Args:
        values: one per run, shape (runs,).
        rows: of the configuration that was run; once in a block.
        blocks: of the runs.
    """
    scale = _Scale.of(values)
    variance, df = pure_error(scale.decided(values), rows, blocks)
    by_row = {int(row): {int(blocks[at]): values[at] for at in np.flatnonzero(rows == row)} for row in np.unique(rows)}
    baselines, found = by_row.pop(0, {}), {}
    for row, own in by_row.items():
        if shared := sorted(own.keys() & baselines.keys()):
            one, other = (np.array([each[block] for block in shared]) for each in (own, baselines))
            found[row] = scale.change(one, other, 2.0 * variance, df, CONFIDENCE)
    return found


class _Scale(Struct, frozen=True):
    """Logarithms, or parts of a mean size."""

    size: float | None

    @classmethod
    def of(cls, values: FloatArray) -> _Scale:
        """Logarithms where all values are positive."""
        if not len(values) or np.min(values) > 0.0:
            return cls(None)
        return cls(float(np.mean(np.abs(values))) or 1.0)

    def decided(self, values: FloatArray) -> FloatArray:
        """Values on the scale."""
        return np.log(values) if self.size is None else values / self.size

    def change(
        self, values: FloatArray, baselines: FloatArray, variance: float, df: int, confidence: float
    ) -> PairedChange:
        """The change of pairs; ``variance``, with ``df`` degrees of freedom, is that of their differences."""
        one, other = (float(self.decided(each).mean()) for each in (values, baselines))
        middle, around, deviation = one - other, None, None
        if df:
            deviation = math.sqrt(variance / len(values))
            half = t_margin(confidence, df) * deviation
            around = (self._relative(middle - half), self._relative(middle + half))
        return PairedChange(
            value=self._back(one),
            baseline=self._back(other),
            change=self._relative(middle),
            interval=around,
            pairs=len(values),
            middle=middle,
            deviation=deviation,
            df=df,
        )

    def _back(self, decided: float) -> float:
        return math.exp(decided) if self.size is None else decided * self.size

    def _relative(self, difference: float) -> float:
        return difference if self.size is not None else _ratio_less_one(difference)


def _ratio_less_one(difference: float) -> float:
    """Of a difference of logarithms; infinite beyond what a float holds, as of two pairs at a high confidence."""
    with np.errstate(over="ignore"):
        return float(np.expm1(difference))
