"""One relation: from its text and the measurements to its evidence."""

from __future__ import annotations

import math
from collections.abc import Callable

from msgspec import Struct

from hati.core import InputError, Stopping, generator, replace
from hati.formula import Comparator
from hati.logic import interpret, syntax
from hati.logic.interpret import EstimateScale, FormulaVerdict, RelationEvidence
from hati.logic.syntax.formula import side_dimension
from hati.studies.assertion.requirement import Standard, methods_of
from hati.studies.assertion.samples import SampleCollector
from hati.studies.assertion.sides import UnknowableError, least_of, rounds_of, same_sides, split_side, unit_of

Pair = tuple[interpret.MeasuredSample, interpret.MeasuredSample | interpret.Limit]
Early = Callable[
    [interpret.MeasuredSample, interpret.MeasuredSample | interpret.Limit, interpret.AskedRelation], RelationEvidence
]
"""``decide_early``, or its variant with fewer results."""

_TURNED = {
    Comparator.AT_MOST: Comparator.AT_LEAST,
    Comparator.AT_LEAST: Comparator.AT_MOST,
    Comparator.LESS: Comparator.MORE,
    Comparator.MORE: Comparator.LESS,
    Comparator.EQUAL: Comparator.EQUAL,
}

_OWN = {"time": "s", "memory": "B", "energy": "J", "power": "W"}
"""The units that values of dimensions are in; those of others are called as they are."""


class Atom(Struct, frozen=True):
    """A relation and its evidence; ``unit`` is that of an estimate that is not a ratio.

    ``resolved`` is the relation with methods in place of their declared names; ``same`` whether both its sides are
    the same metric of the same runs, whatever their names; ``unfit`` whether the measurements cannot be judged, even
    with more of them.

    Fills ``hati.logic.interpret.Judged``.
    """

    relation: syntax.Relation
    resolved: syntax.Relation
    evidence: RelationEvidence
    unit: str
    same: bool = False
    unfit: bool = False

    @property
    def text(self) -> str:
        """The relation's canonical text."""
        return str(self.relation)

    @property
    def verdict(self) -> FormulaVerdict:
        """The verdict on the relation alone."""
        return self.evidence.verdict

    @property
    def p_holds(self) -> float:
        """Of its being violated."""
        return self.evidence.p_holds

    @property
    def p_violated(self) -> float:
        """Of its holding."""
        return self.evidence.p_violated

    def is_observed_in(self, book: SampleCollector) -> bool:
        """Whether the measurements of its sides can be shown: they exist, and are fit to be judged."""
        return not self.unfit and all(key in book.samples for key in methods_of(self.resolved))


def judge(
    relation: syntax.Relation, book: SampleCollector, standard: Standard, early: Early = interpret.decide_early
) -> Atom:
    """Decide a relation without variables; ``early`` is the method where it is tested after each round.

    A limit on the left is put on the right. A margin in the metric's unit is that of a difference. Where a method is
    missing, or its measurements are unfit, the relation is INCONCLUSIVE; so it is where the samples
    cannot answer it, such as a quantile of few observations.

    Raises:
        InputError: where a side's samples are unfit otherwise, or missing, or sides are of unlike dimension.
    """
    try:
        return _judged(relation, book, standard, early)
    except UnknowableError as error:
        return _unfit(relation, error.message)
    except InputError as error:
        return _unfit(relation, book.unfit(error))


def _unfit(relation: syntax.Relation, why: str) -> Atom:
    return Atom(relation, relation, _unmeasured(why), "", unfit=True)


def _judged(relation: syntax.Relation, book: SampleCollector, standard: Standard, early: Early) -> Atom:
    missing = [f"{method}: {book.missing[method]}" for method in methods_of(relation) if method in book.missing]
    if missing:
        return Atom(relation, relation, _unmeasured("; ".join(missing)), "")
    turned = relation
    if isinstance(relation.left, syntax.LimitSide):
        turned = replace(relation, left=relation.right, right=relation.left, comparator=_TURNED[relation.comparator])
    syntax.check_dimensions(turned, unit_of(turned.left, book), unit_of(turned.right, book))
    pair = _pair(turned, book, standard)
    if pair is None:
        return Atom(relation, relation, _unmeasured("no round has runs of both sides"), "")
    asked = _Asked(turned, standard, early)
    evidence = asked.by_share(pair) if asked.amount is None else asked.by_amount(pair, asked.amount)
    return Atom(
        relation, relation, _possible(evidence, turned.left, book), _own_unit(turned, book), same_sides(relation, book)
    )


def _possible(evidence: RelationEvidence, side: syntax.RelationSide, book: SampleCollector) -> RelationEvidence:
    """With the interval of a side against a limit cut at impossible values; the verdict is as it was."""
    if (
        evidence.scale is not EstimateScale.MEAN
        or evidence.interval is None
        or not isinstance(side, syntax.PerformanceSide)
    ):
        return evidence
    least = least_of(side, book)
    if least is None:
        return evidence
    low, high = evidence.interval
    return replace(evidence, interval=(max(low, least), max(high, least)))


def check_relation(relation: syntax.Relation, left: str | None, right: str | None, standard: Standard) -> None:
    """Refuse what no measurement could decide, where the sides' metrics have these units; None of a limit.

    Raises:
        InputError: for unlike dimensions, a margin that is none, or equality without one.
    """
    syntax.check_dimensions(relation, left, right)
    asked = _Asked(relation, standard)
    if asked.amount is not None:
        return
    sign = relation.comparator
    known = interpret.AskedRelation(sign, asked.share(sign), standard.alpha)
    if standard.interpretation is interpret.Interpretation.DEFAULT and sign is Comparator.EQUAL and not known.margin:
        raise InputError("equality can be shown only with a margin", fix="write a = b +- 2%")


def _unmeasured(why: str) -> RelationEvidence:
    return RelationEvidence(FormulaVerdict.INCONCLUSIVE, EstimateScale.RATIO, math.nan, (0, 0), remark=why)


def _pair(relation: syntax.Relation, book: SampleCollector, standard: Standard) -> Pair | None:
    """Both sides; of those measured in rounds the runs of the rounds that have both, None without any."""
    left, right = split_side(relation.left, book), split_side(relation.right, book)
    assert isinstance(left, interpret.MeasuredSample), "a relation of two limits cannot be written"
    if standard.stopping is Stopping.FIXED or isinstance(right, interpret.Limit):
        return left, right
    rounds = [rounds_of(side, book) or () for side in (relation.left, relation.right)]
    shared = set(rounds[0]) & set(rounds[1])
    if not shared:
        return None
    first, second = (
        replace(side, runs=tuple(run for run, number in zip(side.runs, numbers, strict=True) if number in shared))
        for side, numbers in zip((left, right), rounds, strict=True)
    )
    return first, second


class _Asked(Struct, frozen=True):
    """A relation, measured side first, and the standard it is judged by."""

    relation: syntax.Relation
    standard: Standard
    early: Early = interpret.decide_early

    @property
    def amount(self) -> float | None:
        """A margin in the metric's unit; None of a share, and where an interpretation knows none."""
        margin = self.relation.margin
        if margin is None or margin.strict or self.standard.interpretation is not interpret.Interpretation.DEFAULT:
            return None
        assert isinstance(margin.amount, syntax.Number), "a relation without variables"
        return None if margin.amount.unit == "%" else float(syntax.evaluate(margin.amount))

    def by_share(self, pair: Pair) -> RelationEvidence:
        """With a margin that is a share of the right mean, or none."""
        sign = self.relation.comparator
        return self._evidence(pair, interpret.AskedRelation(sign, self.share(sign), self.standard.alpha))

    def by_amount(self, pair: Pair, amount: float) -> RelationEvidence:
        """With one that is added to the right side, or taken from it.

        An equality is both: it holds where each is shown, and is violated where either is at half the level.
        """
        sign = self.relation.comparator
        shifts = {Comparator.AT_MOST: amount, Comparator.AT_LEAST: -amount}
        bounds = shifts if sign is Comparator.EQUAL else {sign: shifts[sign]}
        alpha = self.standard.alpha
        holding, violating = (
            [
                self._evidence((pair[0], _shifted(pair[1], shift)), interpret.AskedRelation(bound, 0.0, level))
                for bound, shift in bounds.items()
            ]
            for level in (alpha, alpha / len(bounds))
        )
        p_holds = max(part.p_holds for part in holding)
        p_violated = min(1.0, len(bounds) * min(part.p_violated for part in violating))
        needed = [part.runs_needed for part in holding]
        levels_of = [
            self._evidence(pair, interpret.AskedRelation(Comparator.AT_MOST, 0.0, level))
            for level in dict.fromkeys((alpha, alpha / len(bounds)))
        ]
        return replace(
            levels_of[0],
            detectable=levels_of[-1].detectable,
            verdict=interpret.verdict_of(p_holds, p_violated, alpha),
            p_holds=p_holds,
            p_violated=p_violated,
            runs_needed=None if None in needed else max(n for n in needed if n is not None),
        )

    def share(self, sign: Comparator) -> float:
        """The margin as a share of the right mean."""
        margin = self.relation.margin
        if sign.strict or self.standard.interpretation is not interpret.Interpretation.DEFAULT:
            return 0.0
        if margin is None:
            return self.standard.margin
        assert isinstance(margin.amount, syntax.Number), "a relation without variables"
        return float(syntax.evaluate(margin.amount))

    def _evidence(self, pair: Pair, relation: interpret.AskedRelation) -> RelationEvidence:
        if self.standard.stopping is Stopping.ANYTIME:
            return self.early(*pair, relation)
        rng = generator(self.standard.seed, "assertion", str(self.relation))
        return interpret.interpret(self.standard.interpretation, *pair, relation, rng)


def _shifted(
    side: interpret.MeasuredSample | interpret.Limit, shift: float
) -> interpret.MeasuredSample | interpret.Limit:
    if isinstance(side, interpret.Limit):
        return interpret.Limit(side.value + shift)
    return replace(side, offset=side.offset + shift)


def _own_unit(relation: syntax.Relation, book: SampleCollector) -> str:
    """The unit of estimates that are not ratios: the dimension's own, as for the sides; "" for a number."""
    powers = side_dimension(relation.left, unit_of(relation.left, book)) or {}
    above = [_power(name, power) for name, power in powers.items() if power > 0]
    below = [_power(name, -power) for name, power in powers.items() if power < 0]
    return "/".join(["*".join(above) or "1", *below]) if powers else ""


def _power(dimension: str, power: float) -> str:
    own = _OWN.get(dimension, dimension)
    return own if power == 1 else f"{own}**{power:g}"
