"""Kleene's strong logic over verdicts (Kleene 1952, Introduction to Metamathematics), and the alarms of a set of
formulas.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import numpy as np
from msgspec import Struct

from hati.core import InputError, replace
from hati.logic.interpret.relation import FormulaVerdict, Judged
from hati.stats import benjamini_hochberg

_EXCHANGED = {FormulaVerdict.HOLDS: FormulaVerdict.VIOLATED, FormulaVerdict.VIOLATED: FormulaVerdict.HOLDS}


class Connective(StrEnum):
    """How formulas are combined."""

    NOT = "!"
    AND = "&"
    OR = "|"
    IMPLIES = "=>"
    FOR_ALL = "for all"
    EXISTS = "exists"


class Combined(Struct, frozen=True):
    """A formula of formulas: its verdict, and the places of the ``parts`` that decide it, or leave it undecided.

    p-values are those of all parts together, so that they may stand beside those of other formulas: that all hold is
    shown where each is (intersection-union: Berger 1982, Technometrics 24, 295-300), that any does with its p-value
    times the number of those that may, which leaves out what is certain (Bonferroni).
    """

    connective: Connective
    parts: tuple[Judged, ...]
    verdict: FormulaVerdict
    p_holds: float
    p_violated: float
    deciding: tuple[int, ...]


def negation(part: Judged) -> Combined:
    """Holds where the part is violated."""
    return Combined(
        Connective.NOT, (part,), _EXCHANGED.get(part.verdict, part.verdict), part.p_violated, part.p_holds, (0,)
    )


def conjunction(parts: Sequence[Judged], connective: Connective = Connective.AND) -> Combined:
    """Violated where a part is, else holds where all do.

    Raises:
        InputError: without parts.
    """
    verdicts = _verdicts(parts)
    verdict = next(
        (v for v in (FormulaVerdict.VIOLATED, FormulaVerdict.INCONCLUSIVE) if v in verdicts), FormulaVerdict.HOLDS
    )
    return Combined(
        connective,
        tuple(parts),
        verdict,
        max(part.p_holds for part in parts),
        _any([part.p_violated for part in parts], [part.p_holds for part in parts]),
        _places(verdicts, verdict),
    )


def disjunction(parts: Sequence[Judged], connective: Connective = Connective.OR) -> Combined:
    """Holds where a part does, else violated where all are.

    Raises:
        InputError: without parts.
    """
    verdicts = _verdicts(parts)
    verdict = next(
        (v for v in (FormulaVerdict.HOLDS, FormulaVerdict.INCONCLUSIVE) if v in verdicts), FormulaVerdict.VIOLATED
    )
    return Combined(
        connective,
        tuple(parts),
        verdict,
        _any([part.p_holds for part in parts], [part.p_violated for part in parts]),
        max(part.p_violated for part in parts),
        _places(verdicts, verdict),
    )


def implication(premise: Judged, conclusion: Judged) -> Combined:
    """Holds where the premise is violated or the conclusion holds, violated where it is the other way in both."""
    either = disjunction((negation(premise), conclusion))
    return Combined(
        Connective.IMPLIES,
        (premise, conclusion),
        either.verdict,
        either.p_holds,
        either.p_violated,
        either.deciding,
    )


def for_all(parts: Sequence[Judged]) -> Combined:
    """The conjunction over a finite set of parameters.

    Raises:
        InputError: without parts.
    """
    return conjunction(parts, Connective.FOR_ALL)


def exists(parts: Sequence[Judged]) -> Combined:
    """The disjunction over a finite set of parameters.

    Raises:
        InputError: without parts.
    """
    return disjunction(parts, Connective.EXISTS)


def confirmed(found: Judged, alpha: float) -> Judged:
    """A formula of formulas with its verdict where its own p-value suffices for it, else INCONCLUSIVE.

    Its parts are each decided at the level, so that among many of them one is decided falsely more often than that.
    """
    if not isinstance(found, Combined):
        return found
    p_value = {FormulaVerdict.HOLDS: found.p_holds, FormulaVerdict.VIOLATED: found.p_violated}.get(found.verdict, 1.0)
    return found if p_value <= alpha else replace(found, verdict=FormulaVerdict.INCONCLUSIVE)


def _verdicts(parts: Sequence[Judged]) -> list[FormulaVerdict]:
    if not parts:
        raise InputError("there is nothing to combine", fix="give the quantifier a set that is not empty")
    return [part.verdict for part in parts]


def _any(p_values: Sequence[float], opposite: Sequence[float]) -> float:
    """The p-value of any, of as many as are not certain to be none: what needs no measurement is no chance to err."""
    return min(1.0, max(1, sum(p_value > 0.0 for p_value in opposite)) * min(p_values))


def _places(verdicts: Sequence[FormulaVerdict], verdict: FormulaVerdict) -> tuple[int, ...]:
    return tuple(place for place, each in enumerate(verdicts) if each is verdict)


def alarms(found: Sequence[Judged], alpha: float) -> list[FormulaVerdict]:
    """The verdicts of formulas that are judged together, at one level.

    Of those that stay VIOLATED at most a share alpha is so falsely, on average (Benjamini and Hochberg 1995); where the
    p-value does not suffice among so many, a formula is INCONCLUSIVE. What holds is left as it is.
    """
    if not found:
        return []
    adjusted = benjamini_hochberg(np.array([each.p_violated for each in found]))
    return [
        FormulaVerdict.INCONCLUSIVE if each.verdict is FormulaVerdict.VIOLATED and not q <= alpha else each.verdict
        for each, q in zip(found, adjusted.tolist(), strict=True)
    ]
