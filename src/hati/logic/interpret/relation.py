"""Relations of two means: the request, the measurements, the verdict and its evidence.

Verdicts are combined by Kleene's strong logic (Kleene 1952, Introduction to Metamathematics); the alarms of a set of
formulas are corrected for their number.
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
        """The verdict of a truth value; None is unknown."""
        return cls.INCONCLUSIVE if truth is None else cls.HOLDS if truth else cls.VIOLATED

    @property
    def truth(self) -> bool | None:
        """The truth value of the verdict; None if INCONCLUSIVE."""
        return None if self is FormulaVerdict.INCONCLUSIVE else self is FormulaVerdict.HOLDS


ALPHA = 0.01
"""The error probability of HOLDS and of VIOLATED, for each relation."""
MARGIN = 0.02
"""The tolerance of a relation that is not strict, as a fraction of the right mean."""


class Bounds(Struct, frozen=True):
    """The bounds of a relation, as factors of the right mean: the left is above ``low`` and below ``high``."""

    low: float | None
    high: float | None


class AskedRelation(Struct, frozen=True):
    """A performance relation (SPL paper, Definition 3.4) with its level and its margin.

    ``alpha``, in (0, 0.5), is the error probability of HOLDS and of VIOLATED. ``margin`` is relative: ``<=`` means left
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
        """The bounds for a right mean, of which only the sign counts: a margin widens them for a negative one, too."""
        room = 1.0 + math.copysign(self.margin, right)
        low = None if self.sign in {Comparator.AT_MOST, Comparator.LESS} else 1.0 / room
        high = None if self.sign in {Comparator.AT_LEAST, Comparator.MORE} else room
        return Bounds(low, high)


class Limit(Struct, frozen=True):
    """A right side that is not measured: an absolute limit, in the left side's unit.

    Raises:
        InputError: if it is not finite.
    """

    value: float

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise InputError(f"a limit is a finite number, not {self.value}")

    @property
    def mean(self) -> float:
        """The limit."""
        return self.value

    @property
    def size(self) -> int:
        """The number of runs: none."""
        return 0


class MeasuredSample(Struct, frozen=True, eq=False, dict=True):
    """A two-level sample: the transformed observations of each run, shape (observations,), runs in order.

    ``history`` has earlier runs of the same method, or of one with the same variation from run to run, with the same
    transformation; a run with only a known mean has one observation. They estimate the variation of runs, not the mean:
    all are taken as one level. ``offset`` is a known constant that is added to the compared values, and does not change
    their variation.

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

    @property
    def size(self) -> int:
        """The number of runs."""
        return len(self.runs)

    @cached_property
    def mean(self) -> float:
        """The mean of the compared values."""
        return float(self.means.mean())

    @cached_property
    def means(self) -> FloatArray:
        """The compared value of each run, shape (runs,)."""
        return self.own_means + self.offset

    @cached_property
    def own_means(self) -> FloatArray:
        """The means of the runs as measured, shape (runs,)."""
        return _means(self.runs)

    @cached_property
    def history_means(self) -> FloatArray:
        """The means of the earlier runs, shape (history,)."""
        return _means(self.history)


def mean_of(values: FloatArray) -> float:
    """The mean, clipped to the range of the values: the mean of equal values is exactly their value."""
    return float(min(max(values.mean(), values.min()), values.max()))


def _means(runs: tuple[FloatArray, ...]) -> FloatArray:
    return np.array([mean_of(run) for run in runs], dtype=np.float64)


class EstimateScale(StrEnum):
    """What an estimate is: the left mean over the right one; less it; or the left mean, where the right is a limit."""

    RATIO = "ratio"
    DIFFERENCE = "difference"
    MEAN = "mean"


class Judged(Protocol):
    """The verdict of a formula of one relation or of several."""

    @property
    def verdict(self) -> FormulaVerdict:
        """The verdict of the whole formula."""
        ...

    @property
    def p_holds(self) -> float:
        """The p-value of a violated formula: small if it is shown to hold."""
        ...

    @property
    def p_violated(self) -> float:
        """The p-value of a formula that holds: small if it is shown to be violated."""
        ...


class RelationEvidence(Struct, frozen=True):
    """A relation's verdict and its evidence.

    ``estimate`` is on the ``scale``, in the metric's unit unless that is a ratio; ``interval`` has confidence
    1 - 2 alpha, so that its ends are those of one-sided tests at alpha; ``detectable`` is how far beyond its bound
    the truth must be, on the scale, to be detected in 80 % of cases. ``runs`` are those of both sides, 0 for a limit,
    and ``runs_needed`` is the number on each side that decides with 80 % power if the estimate and the noise hold.
    Interval, detectable and runs needed are None if they do not exist. ``p_holds`` and ``p_violated`` are those of
    ``Judged``; ``remembered`` counts the earlier runs that estimate the noise; ``remark`` says why nothing was tested,
    if there is no verdict.

    Raises:
        InputError: for p-values outside of 0 to 1.
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
    """A formula that is true or false without measurement; fills :class:`Judged`."""

    value: bool

    @property
    def verdict(self) -> FormulaVerdict:
        """The certain verdict."""
        return FormulaVerdict.of(self.value)

    @property
    def p_holds(self) -> float:
        """0 if it is true, else 1."""
        return 0.0 if self.value else 1.0

    @property
    def p_violated(self) -> float:
        """0 if it is false, else 1."""
        return 1.0 - self.p_holds


class Combined(Struct, frozen=True):
    """A combination of formulas: its verdict, and the places of the ``parts`` that decide it or leave it undecided.

    p-values are those of all parts together, so that they are comparable with those of other formulas. A conjunction
    is shown if each part is (intersection-union: Berger 1982, Technometrics 24, 295-300). A disjunction has the
    smallest p-value of its parts times the number of parts that are not certain (Bonferroni).
    """

    parts: tuple[Judged, ...]
    verdict: FormulaVerdict
    deciding: tuple[int, ...]
    p_holds: float
    p_violated: float


class VerdictAlgebra(Algebra[Judged]):
    """Kleene's logic over verdicts with their p-values.

    Raises:
        InputError: if there are no parts.
    """

    def constant(self, *, truth: bool) -> Judged:
        """A formula that needs no measurement."""
        return SettledFormula(truth)

    def negation(self, part: Judged) -> Combined:
        """The negation: holds if the part is violated."""
        verdict = FormulaVerdict.of(KLEENE.negation(part.verdict.truth))
        return Combined((part,), verdict, (0,), part.p_violated, part.p_holds)

    def conjunction(self, parts: Iterable[Judged]) -> Combined:
        """The conjunction: violated if a part is, else holds if all parts do."""
        parts = _several(parts)
        return Combined(
            parts,
            *_decided(parts, KLEENE.conjunction(part.verdict.truth for part in parts)),
            max(part.p_holds for part in parts),
            _any([part.p_violated for part in parts], [part.p_holds for part in parts]),
        )

    def disjunction(self, parts: Iterable[Judged]) -> Combined:
        """The disjunction: holds if a part does, else violated if all parts are."""
        parts = _several(parts)
        return Combined(
            parts,
            *_decided(parts, KLEENE.disjunction(part.verdict.truth for part in parts)),
            _any([part.p_holds for part in parts], [part.p_violated for part in parts]),
            max(part.p_violated for part in parts),
        )

    def implication(self, condition: Judged, consequence: Judged) -> Combined:
        """The implication: holds if the condition is violated or the consequence holds, violated if neither."""
        return replace(self.disjunction((self.negation(condition), consequence)), parts=(condition, consequence))


VERDICTS = VerdictAlgebra()


def confirmed(found: Judged, alpha: float) -> Judged:
    """A combined formula with its verdict if its own p-value supports it, else INCONCLUSIVE.

    Each part is decided at the level alpha, so that among many parts one is wrong more often than that.
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


# A truth of three values, no switch.
def _decided(parts: Sequence[Judged], truth: bool | None) -> tuple[FormulaVerdict, tuple[int, ...]]:  # noqa: FBT001
    """The verdict, and the places of the parts that have it."""
    verdict = FormulaVerdict.of(truth)
    return verdict, tuple(place for place, part in enumerate(parts) if part.verdict is verdict)


def _any(p_values: Sequence[float], opposite: Sequence[float]) -> float:
    """The p-value for any of the parts, corrected for those that are not certain: a certain part cannot err."""
    return min(1.0, max(1, sum(p_value > 0.0 for p_value in opposite)) * min(p_values))


def alarms(found: Sequence[Judged], alpha: float) -> list[FormulaVerdict]:
    """The verdicts of formulas that are judged together, at one level.

    Of those that stay VIOLATED at most a fraction alpha is false, on average (Benjamini and Hochberg 1995). A formula
    whose p-value does not suffice after the correction is INCONCLUSIVE. HOLDS stays.
    """
    if not found:
        return []
    adjusted = benjamini_hochberg(np.array([each.p_violated for each in found]))
    return [
        FormulaVerdict.INCONCLUSIVE if each.verdict is FormulaVerdict.VIOLATED and not q <= alpha else each.verdict
        for each, q in zip(found, adjusted.tolist(), strict=True)
    ]
