"""Evidence from formulas and measurements: the sides of a relation, one relation, and formulas judged together.

This module also finds the reasons why more rounds would not decide a formula.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, InputError, Sample, SampledRun, Stopping, generator, parse_unit, replace
from hati.core.benchmark import COUNTERS
from hati.formula import Comparator, evaluate
from hati.logic import interpret, syntax
from hati.logic.interpret import Combined, EstimateScale, FormulaVerdict, Judged, RelationEvidence
from hati.logic.syntax.formula import side_dimension
from hati.studies.assertion.requirement import Requirement, SampleCollector, Standard, methods_of

_OF_CALLS = {"", "wall_time", "cpu_time", *COUNTERS}
_NEVER_NEGATIVE = {"time", "memory", "energy", "power", "1/time"}
"""Dimensions without values below 0, unless such were observed: a metric may be a difference."""


class UnknowableError(InputError):
    """The observations cannot decide the relation, however many more such runs are made."""


def asks_single_calls(side: syntax.PerformanceSide) -> bool:
    """Whether single calls have to be timed: several calls give only their mean and its linear functions."""
    measured = side.measured
    quantile = measured.statistic.kind is syntax.StatisticKind.QUANTILE
    return measured.metric in _OF_CALLS and (quantile or syntax.affine(side.transformation) is None)


def is_known(side: syntax.RelationSide, book: SampleCollector) -> bool:
    """Whether all measurements of a side so far are suited to its statistic."""
    if not isinstance(side, syntax.PerformanceSide):
        return True
    try:
        _known_sample(side, book)
    except UnknowableError:
        return False
    except InputError:
        return True  # nothing was measured yet
    return True


def _known_sample(side: syntax.PerformanceSide, book: SampleCollector) -> Sample:
    """The sample of a side: of single calls if necessary, and in runs of enough observations."""
    measured = side.measured
    if asks_single_calls(side) and not book.single(measured.method):
        raise UnknowableError(
            f"calls of {measured.method} are too short to be timed one by one: ask for the mean, or measure a "
            "function that does more"
        )
    sample = book.sample(measured)
    _validate_observations(measured, sample.runs, "run")
    return sample


def _validate_observations(measured: syntax.MeasuredStatistic, runs: Sequence[SampledRun], what: str) -> None:
    statistic = measured.statistic
    least = min((run.steady.size for run in runs), default=statistic.fewest)
    if least < statistic.fewest:
        raise UnknowableError(
            f"{statistic.name} needs {statistic.fewest} observations of each {what} of {measured.method}, there "
            f"{'is' if least == 1 else 'are'} {least}: observe more in a run, or ask for the mean"
        )


def side_of(side: syntax.RelationSide, book: SampleCollector) -> interpret.MeasuredSample | interpret.Limit:
    """The transformed measurements of a side, or its limit, in the base unit of the dimension: seconds, bytes.

    For the mean, each observation is transformed (SPL paper, Definition 3.4); another statistic is first computed for
    each run, which gives one value, and then transformed.

    Raises:
        UnknowableError: if calls have to be timed one by one and were too short for it, or a run has too few
            observations for a quantile.
        InputError: if nothing was measured, or a transformation has no finite value.
    """
    if isinstance(side, syntax.LimitSide):
        return interpret.Limit(float(syntax.evaluate(side.amount)))
    assert isinstance(side, syntax.PerformanceSide)
    sample = _known_sample(side, book)
    earlier = book.earlier(side.measured, sample.metric)
    _validate_observations(side.measured, earlier, "earlier run")
    return interpret.MeasuredSample(_values(side, sample, sample.runs), _values(side, sample, earlier))


def split_side(side: syntax.RelationSide, book: SampleCollector) -> interpret.MeasuredSample | interpret.Limit:
    """The same as ``side_of``, with the constant of a transformation as an offset: it does not increase noise.

    Raises:
        InputError: as ``side_of``.
    """
    line = syntax.affine(side.transformation) if isinstance(side, syntax.PerformanceSide) else None
    if not isinstance(side, syntax.PerformanceSide) or line is None:
        return side_of(side, book)
    plain = side_of(replace(side, transformation=syntax.Observed()), book)
    assert isinstance(plain, interpret.MeasuredSample)
    runs, history = (tuple(line.factor * run for run in each) for each in (plain.runs, plain.history))
    return interpret.MeasuredSample(runs, history, line.shift)


def least_of(side: syntax.PerformanceSide, book: SampleCollector) -> float | None:
    """The lower bound of a side's values, in the unit of ``side_of``; None if unknown."""
    line = syntax.affine(side.transformation)
    sample = book.sample(side.measured)
    unit = _of_a_call(sample)
    known = unit == "count" or parse_unit(unit).dimension in _NEVER_NEGATIVE
    if line is None or line.factor <= 0.0 or not known:
        return None
    return line.shift if all((run.steady >= 0.0).all() for run in sample.runs) else None


def rounds_of(side: syntax.RelationSide, book: SampleCollector) -> tuple[int | None, ...] | None:
    """The round of each run of a side; None for a limit."""
    if not isinstance(side, syntax.PerformanceSide):
        return None
    return tuple(run.origin.repetition for run in book.sample(side.measured).runs)


def run_means(relation: syntax.Relation, book: SampleCollector) -> tuple[FloatArray, FloatArray]:
    """The transformed means of each side's runs, shapes (runs,), in base units (seconds, bytes); a limit is one value.

    Raises:
        InputError: as ``side_of``.
    """
    left, right = (side_of(side, book) for side in (relation.left, relation.right))
    return _means(left), _means(right)


def _means(side: interpret.MeasuredSample | interpret.Limit) -> FloatArray:
    return side.means if isinstance(side, interpret.MeasuredSample) else np.array([side.value])


def same_sides(relation: syntax.Relation, book: SampleCollector) -> bool:
    """Whether both sides are the same statistic of the same runs, as if a method has two names."""
    left, right = relation.left, relation.right
    if not (isinstance(left, syntax.PerformanceSide) and isinstance(right, syntax.PerformanceSide)):
        return False
    if (left.measured.statistic, left.transformation) != (right.measured.statistic, right.transformation):
        return False
    samples = book.sample(left.measured), book.sample(right.measured)
    return samples[0].metric == samples[1].metric and samples[0].runs == samples[1].runs


def unit_of(side: syntax.RelationSide, book: SampleCollector) -> str | None:
    """The unit of a side's metric; None for a limit."""
    return _of_a_call(book.sample(side.measured)) if isinstance(side, syntax.PerformanceSide) else None


def _of_a_call(sample: Sample) -> str:
    """The unit for one call of a method: JMH's and Go's ``ms/op`` are ``ms``."""
    return sample.metric.unit.removesuffix("/op")


def _values(side: syntax.PerformanceSide, sample: Sample, runs: tuple[SampledRun, ...]) -> tuple[FloatArray, ...]:
    scale = parse_unit(_of_a_call(sample)).scale
    return tuple(_run(side, run.steady * scale) for run in runs)


def _run(side: syntax.PerformanceSide, observed: FloatArray) -> FloatArray:
    values = syntax.evaluate(side.transformation, _statistic(side.measured.statistic, observed))
    if not np.isfinite(values).all():
        raise InputError(f"{side} has no finite value for what was observed", fix="see what the transformation does")
    return values


def _statistic(statistic: syntax.FormulaStatistic, observed: FloatArray) -> FloatArray:
    """The observations themselves for the mean, otherwise one value."""
    if statistic.kind is syntax.StatisticKind.QUANTILE:
        assert statistic.level is not None
        return np.array([np.quantile(observed, statistic.level)])
    if statistic.kind is syntax.StatisticKind.THROUGHPUT:
        mean = float(observed.mean())
        if mean <= 0.0:
            raise InputError("there is no throughput of what takes no time", fix="use a metric of time")
        return np.array([1.0 / mean])
    return observed


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
"""The units of values by dimension; other dimensions are named as they are."""


class Atom(Struct, frozen=True):
    """A relation and its evidence; ``unit`` is the unit of an estimate that is not a ratio.

    ``resolved`` is the relation with methods in place of their declared names; ``same`` is true if both sides are the
    same metric of the same runs, whatever their names; ``unfit`` is true if the measurements cannot be judged, even
    with more of them.

    It implements ``hati.logic.interpret.Judged``.
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
        """The p-value of the hypothesis that it is violated; a small one shows that it holds."""
        return self.evidence.p_holds

    @property
    def p_violated(self) -> float:
        """The p-value of the hypothesis that it holds; a small one shows that it is violated."""
        return self.evidence.p_violated

    def is_observed_in(self, book: SampleCollector) -> bool:
        """Whether the measurements of its sides exist and can be judged, and so can be shown."""
        return not self.unfit and all(key in book.samples for key in methods_of(self.resolved))


def judge(
    relation: syntax.Relation, book: SampleCollector, standard: Standard, early: Early = interpret.decide_early
) -> Atom:
    """Decide a relation without variables; ``early`` is the method for tests after each round.

    A limit on the left is moved to the right. A margin in the metric's unit is a margin of the difference. A relation
    is INCONCLUSIVE if a method is missing, its measurements are unfit, or the samples cannot decide it, such as a
    quantile of few observations.

    Raises:
        InputError: if a side's samples are unfit otherwise, or missing, or the sides differ in dimension.
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
    """The evidence with the interval of a side against a limit cut at impossible values; the verdict is unchanged."""
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
    """Check that measurements could decide a relation whose sides have these units (None for a limit).

    Raises:
        InputError: for different dimensions, an invalid margin, or equality without a margin.
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
    """Both sides; if measured in rounds, the runs of the rounds that have both, None without any."""
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
    """A relation, measured side first, and the standard by which it is judged."""

    relation: syntax.Relation
    standard: Standard
    early: Early = interpret.decide_early

    @property
    def amount(self) -> float | None:
        """A margin in the metric's unit; None if it is a fraction, or the interpretation has no margins."""
        margin = self.relation.margin
        if margin is None or margin.strict or self.standard.interpretation is not interpret.Interpretation.DEFAULT:
            return None
        assert isinstance(margin.amount, syntax.Number), "a relation without variables"
        return None if margin.amount.unit == "%" else float(syntax.evaluate(margin.amount))

    def by_share(self, pair: Pair) -> RelationEvidence:
        """The evidence with a margin that is a fraction of the right mean, or without a margin."""
        sign = self.relation.comparator
        return self._evidence(pair, interpret.AskedRelation(sign, self.share(sign), self.standard.alpha))

    def by_amount(self, pair: Pair, amount: float) -> RelationEvidence:
        """The evidence with a margin that is added to the right side, or subtracted from it.

        An equality is two bounds: it holds if both are shown to hold, and is violated if either is shown to be violated
        at half the level.
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
        """The margin as a fraction of the right mean."""
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
    """The unit of estimates that are not ratios: the dimension's base unit, as for the sides; "" for a number."""
    powers = side_dimension(relation.left, unit_of(relation.left, book)) or {}
    above = [_power(name, power) for name, power in powers.items() if power > 0]
    below = [_power(name, -power) for name, power in powers.items() if power < 0]
    return "/".join(["*".join(above) or "1", *below]) if powers else ""


def _power(dimension: str, power: float) -> str:
    own = _OWN.get(dimension, dimension)
    return own if power == 1 else f"{own}**{power:g}"


class Answer(Struct, frozen=True):
    """A requirement's verdict among all, the verdict on it alone in ``judged``, and its relations."""

    requirement: Requirement
    verdict: FormulaVerdict
    judged: Judged
    atoms: tuple[Atom, ...]


def answer(
    requirements: Sequence[Requirement],
    book: SampleCollector,
    standard: Standard,
    early: Early = interpret.decide_early,
) -> tuple[Answer, ...]:
    """Judge formulas; a shared relation is judged once, by ``early`` if it is tested after each round.

    By the default interpretation, for a fixed number of runs, a formula of several relations is decided if the p-value
    of all of them suffices, and alarms are controlled over all formulas (Benjamini and Hochberg 1995).

    Raises:
        InputError: if a measurement that a relation needs is missing, located at its formula.
    """
    known: dict[str, Atom] = {}
    by = partial(judge, book=book, standard=standard, early=early)
    judged = [
        evaluate(each.ground, interpret.VERDICTS, partial(_known, each, book, by, known)) for each in requirements
    ]
    verdicts = [each.verdict for each in judged]
    if standard.interpretation is interpret.Interpretation.DEFAULT and standard.stopping is Stopping.FIXED:
        judged = [interpret.confirmed(each, standard.alpha) for each in judged]
        verdicts = interpret.alarms(judged, standard.alpha)
    return tuple(
        Answer(requirement, verdict, found, _atoms(found))
        for requirement, verdict, found in zip(requirements, verdicts, judged, strict=True)
    )


def _known(
    requirement: Requirement,
    book: SampleCollector,
    by: Callable[[syntax.Relation], Atom],
    known: dict[str, Atom],
    relation: syntax.Relation,
) -> Atom:
    resolved = requirement.resolved(relation, book)
    key = str(resolved)
    if key not in known:
        with requirement.placing(relation):
            known[key] = by(resolved)
    return replace(known[key], relation=relation)


def _atoms(judged: Judged) -> tuple[Atom, ...]:
    """The relations of a formula, each once."""
    return tuple({atom.text: atom for atom in _all_atoms(judged)}.values())


def _all_atoms(judged: Judged) -> Iterator[Atom]:
    if isinstance(judged, Atom):
        yield judged
    for part in judged.parts if isinstance(judged, Combined) else ():
        yield from _all_atoms(part)


def blockers(each: Answer, book: SampleCollector) -> tuple[str, ...]:
    """The reasons why an inconclusive formula is not judged: unmeasured methods, else unfit relations."""
    if each.verdict is not FormulaVerdict.INCONCLUSIVE:
        return ()
    unfit = tuple(f"{atom.text}: {atom.evidence.remark}" for atom in each.atoms if atom.unfit)
    return unmeasured(each.requirement, book) or unfit


def unmeasured(requirement: Requirement, book: SampleCollector) -> tuple[str, ...]:
    """The methods of a formula that failed, from the start or from some run on, with reasons."""
    relations = [requirement.resolved(relation, SampleCollector()) for relation in requirement.relations]
    methods = dict.fromkeys(method for relation in relations for method in methods_of(relation))
    return tuple(
        f"{method} could not be measured: {book.failed[method]}" for method in methods if method in book.failed
    )
