"""Kleene's strong logic over verdicts (Kleene 1952, Introduction to Metamathematics), and the alarms of a set of
formulas.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct

from hati.core import InputError, replace
from hati.formula import KLEENE, Algebra
from hati.logic.interpret.relation import FormulaVerdict, Judged
from hati.stats import benjamini_hochberg


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


def _decided(parts: Sequence[Judged], truth: bool | None) -> tuple[FormulaVerdict, tuple[int, ...]]:  # noqa: FBT001
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
