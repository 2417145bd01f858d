"""Relations of two means: the request, the measurements, the verdict and its evidence.

Verdicts are connected by Kleene's strong logic (Kleene 1952, Introduction to Metamathematics); a set of formulas has
alarms.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import cached_property
from typing import Protocol

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, InputError, replace
from hati.formula import KLEENE, Algebra, Comparator
from hati.stats import benjamini_hochberg


class FormulaVerdict(StrEnum):
    """What measurements say of a formula, in Kleene's strong logic; INCONCLUSIVE where they say neither."""

    HOLDS = "HOLDS"
    VIOLATED = "VIOLATED"
    INCONCLUSIVE = "INCONCLUSIVE"

    @classmethod
    def of(cls, truth: bool | None) -> FormulaVerdict:  # noqa: FBT001  # a truth of three values
        """The verdict of a truth, None where that is unknown."""
        return cls.INCONCLUSIVE if truth is None else cls.HOLDS if truth else cls.VIOLATED

    @property
    def truth(self) -> bool | None:
        """The truth of the verdict, None where it has none."""
        return None if self is FormulaVerdict.INCONCLUSIVE else self is FormulaVerdict.HOLDS


ALPHA = 0.01
"""Each way of being wrong, of each relation."""
MARGIN = 0.02
"""Within it a relation that is not strict holds all the same; a fraction of the right mean."""


class Bounds(Struct, frozen=True):
    """Where a relation ends, as factors of the right mean: it is that the left is above ``low`` and below ``high``."""

    low: float | None
    high: float | None


class AskedRelation(Struct, frozen=True):
    """A performance relation (SPL paper, Definition 3.4) with its level and its margin.

    ``alpha`` is what HOLDS and VIOLATED each may be wrong in, in (0, 0.5). ``margin`` is relative: ``<=`` is that left
    <= right (1 + margin), ``>=`` the same with the sides exchanged, and ``=`` both. A strict relation has the margin 0.

    Raises:
        InputError: for a level or a margin out of range, and for ``<`` or ``>`` with a margin.
    """

    sign: Comparator
    margin: float = 0.0
    alpha: float = ALPHA

    def __post_init__(self) -> None:
        if not 0.0 < self.alpha < 0.5:
            raise InputError(f"a level is between 0 and 0.5, not {self.alpha}", fix="0.01 is usual")
        if not 0.0 <= self.margin < 1.0:
            raise InputError(f"a margin is at least 0 and below 1, not {self.margin}", fix="0.02 is 2 %")
        if self.sign is Comparator.UNEQUAL:
            raise InputError("a relation has no !=", fix="ask for = and negate it")
        if self.sign.strict and self.margin:
            raise InputError(f"{self.sign} has no margin", fix=f"use {self.sign}= for one")

    def bounds(self, right: float) -> Bounds:
        """For a right mean, of which only the sign counts: a margin widens the bounds away from a negative mean."""
        room = 1.0 + math.copysign(self.margin, right)
        low = None if self.sign in {Comparator.AT_MOST, Comparator.LESS} else 1.0 / room
        high = None if self.sign in {Comparator.AT_LEAST, Comparator.MORE} else room
        return Bounds(low, high)


class Limit(Struct, frozen=True):
    """A right side that is not measured: an absolute limit, in the left side's unit.

    Raises:
        InputError: where it is not finite.
    """

    value: float

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise InputError(f"a limit is a finite number, not {self.value}")


class MeasuredSample(Struct, frozen=True, eq=False, dict=True):
    """A two-level sample: the transformed observations of each run, shape (observations,), runs in order.

    ``history`` are earlier runs of the same method, or of one with the same variation from run to run, transformed
    alike; a run of which only the mean is known has one observation. They estimate how runs vary, not the mean:
    all are taken as one level. ``offset`` is a known constant that is added to the compared values, and does not
    change their variation.

    Raises:
        InputError: without runs, for a run without observations, and for values that are not finite.
    """

    runs: tuple[FloatArray, ...]
    history: tuple[FloatArray, ...] = ()
    offset: float = 0.0

    def __post_init__(self) -> None:
        if not self.runs:
            raise InputError("a side of a relation has no runs", fix="measure it, or give it a sample")
        for run in (*self.runs, *self.history):
            if run.ndim != 1 or not len(run):
                raise InputError(f"a run is a sequence of observations, not an array of shape {run.shape}")
            if not np.isfinite(run).all():
                raise InputError("an observation is not finite", fix="see what its transformation makes of it")

    @cached_property
    def means(self) -> FloatArray:
        """The compared value of each run, shape (runs,)."""
        return self.own_means + self.offset

    @cached_property
    def own_means(self) -> FloatArray:
        """Of the runs as they were measured, shape (runs,)."""
        return _means(self.runs)

    @cached_property
    def history_means(self) -> FloatArray:
        """Of the earlier runs, shape (history,)."""
        return _means(self.history)


def mean_of(values: FloatArray) -> float:
    """The mean; rounding does not carry it beyond the values, so that the mean of equal ones is their value."""
    return float(min(max(values.mean(), values.min()), values.max()))


def _means(runs: tuple[FloatArray, ...]) -> FloatArray:
    return np.array([mean_of(run) for run in runs], dtype=np.float64)


class EstimateScale(StrEnum):
    """What an estimate is: the left mean over the right one; less it; or the left mean, where the right is a limit."""

    RATIO = "ratio"
    DIFFERENCE = "difference"
    MEAN = "mean"


class Judged(Protocol):
    """A formula's verdict, whether of one relation or of several."""

    @property
    def verdict(self) -> FormulaVerdict:
        """Of the whole."""
        ...

    @property
    def p_holds(self) -> float:
        """The p-value of its being violated: small where it is shown to hold."""
        ...

    @property
    def p_violated(self) -> float:
        """The p-value of its holding: small where it is shown to be violated."""
        ...


class RelationEvidence(Struct, frozen=True):
    """A relation's verdict and what it rests on.

    ``estimate`` is on the ``scale``, in the metric's unit unless that is a ratio; ``interval`` is of confidence
    1 - 2 alpha, so that each end is where a one-sided test at alpha ends; ``detectable`` is how far beyond its bound
    the truth must be, on the scale, to be detected in 80 % of cases. ``runs`` are those of both sides, 0 of a limit,
    and ``runs_needed`` how many of each decide with 80 % power if the estimate and the noise hold. Interval, detectable
    and runs needed are None where they do not exist. ``p_holds`` and ``p_violated`` are as ``Judged`` says;
    ``remembered`` counts the earlier runs that estimate the noise; ``remark`` says why nothing was tested, where there
    is no verdict.

    Raises:
        InputError: for p-values that are none.
    """

    verdict: FormulaVerdict
    scale: EstimateScale
    estimate: float
    runs: tuple[int, int]
    p_holds: float = 1.0
    p_violated: float = 1.0
    interval: tuple[float, float] | None = None
    detectable: float | None = None
    runs_needed: int | None = None
    remembered: int = 0
    remark: str = ""

    def __post_init__(self) -> None:
        if not (0.0 <= self.p_holds <= 1.0 and 0.0 <= self.p_violated <= 1.0):
            raise InputError(f"no p-values: {self.p_holds} and {self.p_violated}")


class SettledFormula(Struct, frozen=True):
    """What needs no measurement. Fills :class:`Judged`."""

    value: bool

    @property
    def verdict(self) -> FormulaVerdict:
        """Certain."""
        return FormulaVerdict.of(self.value)

    @property
    def p_holds(self) -> float:
        """0 where it is true."""
        return 0.0 if self.value else 1.0

    @property
    def p_violated(self) -> float:
        """0 where it is false."""
        return 1.0 - self.p_holds


class Combined(Struct, frozen=True):
    """A formula of formulas: its verdict, and the places of the ``parts`` that decide it, or leave it undecided.

    p-values are those of all parts together, so that they are comparable with those of other formulas. A conjunction
    is shown where each part is (intersection-union: Berger 1982, Technometrics 24, 295-300). A disjunction has its
    smallest p-value times the number of parts that are not certain (Bonferroni).
    """

    parts: tuple[Judged, ...]
    verdict: FormulaVerdict
    deciding: tuple[int, ...]
    p_holds: float
    p_violated: float


class VerdictAlgebra(Algebra[Judged]):
    """Kleene's logic over verdicts with their p-values.

    Raises:
        InputError: where there is nothing to join.
    """

    def constant(self, *, truth: bool) -> Judged:
        """What needs no measurement."""
        return SettledFormula(truth)

    def negation(self, part: Judged) -> Combined:
        """Holds where the part is violated."""
        verdict = FormulaVerdict.of(KLEENE.negation(part.verdict.truth))
        return Combined((part,), verdict, (0,), part.p_violated, part.p_holds)

    def conjunction(self, parts: Iterable[Judged]) -> Combined:
        """Violated where a part is, else holds where all do."""
        parts = _several(parts)
        return Combined(
            parts,
            *_decided(parts, KLEENE.conjunction(part.verdict.truth for part in parts)),
            max(part.p_holds for part in parts),
            _any([part.p_violated for part in parts], [part.p_holds for part in parts]),
        )

    def disjunction(self, parts: Iterable[Judged]) -> Combined:
        """Holds where a part does, else violated where all are."""
        parts = _several(parts)
        return Combined(
            parts,
            *_decided(parts, KLEENE.disjunction(part.verdict.truth for part in parts)),
            _any([part.p_holds for part in parts], [part.p_violated for part in parts]),
            max(part.p_violated for part in parts),
        )

    def implication(self, condition: Judged, consequence: Judged) -> Combined:
        """Holds where the condition is violated or the consequence holds, violated where both are the other way."""
        return replace(self.disjunction((self.negation(condition), consequence)), parts=(condition, consequence))


VERDICTS = VerdictAlgebra()


def confirmed(found: Judged, alpha: float) -> Judged:
    """A formula of formulas with its verdict where its own p-value suffices for it, else INCONCLUSIVE.

    Its parts are each decided at the level, so that among many of them one is decided falsely more often than that.
    """
    if not isinstance(found, Combined):
        return found
    p_value = {FormulaVerdict.HOLDS: found.p_holds, FormulaVerdict.VIOLATED: found.p_violated}.get(found.verdict, 1.0)
    return found if p_value <= alpha else replace(found, verdict=FormulaVerdict.INCONCLUSIVE)


def _several(parts: Iterable[Judged]) -> tuple[Judged, ...]:
    found = tuple(parts)
    if not found:
        raise InputError("there is nothing to combine", fix="give the quantifier a set that is not empty")
    return found


def _decided(parts: Sequence[Judged], truth: bool | None) -> tuple[FormulaVerdict, tuple[int, ...]]:  # noqa: FBT001 - a truth of three values
    """The verdict, and the places of the parts that have it."""
    verdict = FormulaVerdict.of(truth)
    return verdict, tuple(place for place, part in enumerate(parts) if part.verdict is verdict)


def _any(p_values: Sequence[float], opposite: Sequence[float]) -> float:
    """The p-value of any of the parts that are not certainly false: a part that needs no measurement cannot err."""
    return min(1.0, max(1, sum(p_value > 0.0 for p_value in opposite)) * min(p_values))


def alarms(found: Sequence[Judged], alpha: float) -> list[FormulaVerdict]:
    """The verdicts of formulas that are judged together, at one level.

    Of those that stay VIOLATED at most a share alpha is so falsely, on average (Benjamini and Hochberg 1995); where the
    p-value does not suffice after the correction, a formula is INCONCLUSIVE. HOLDS stays.
    """
    if not found:
        return []
    adjusted = benjamini_hochberg(np.array([each.p_violated for each in found]))
    return [
        FormulaVerdict.INCONCLUSIVE if each.verdict is FormulaVerdict.VIOLATED and not q <= alpha else each.verdict
        for each, q in zip(found, adjusted.tolist(), strict=True)
    ]
