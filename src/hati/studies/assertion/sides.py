"""The sides of a relation as the interpretations take them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hati.core import FloatArray, InputError, Sample, SampledRun, parse_unit, replace
from hati.logic import interpret, syntax
from hati.studies.assertion.samples import SampleCollector

_OF_CALLS = {"", "wall_time", "cpu_time"}
_NEVER_NEGATIVE = {"time", "memory", "energy", "power", "1/time"}
"""Dimensions without values below 0, unless such were observed: a metric may be a difference."""


class UnknowableError(InputError):
    """The observations cannot answer the question, however many more such runs there are."""


def asks_single_calls(side: syntax.PerformanceSide) -> bool:
    """Whether single calls have to be known: of several, only the mean and its linear functions are."""
    measured = side.measured
    quantile = measured.statistic.kind is syntax.StatisticKind.QUANTILE
    return measured.metric in _OF_CALLS and (quantile or syntax.affine(side.transformation) is None)


def is_known(side: syntax.RelationSide, book: SampleCollector) -> bool:
    """Whether all measurements of a side so far are fit for its question."""
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
    """The sample of a side, of single calls where it has to be, and in runs of enough observations."""
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
    """The measurements of a side, transformed; or its limit. In the own unit of the dimension: seconds, bytes.

    The mean's transformation is of each observation (SPL paper, Definition 3.4); another statistic is taken of each
    run, which is then one value, and transformed.

    Raises:
        UnknowableError: where calls were too short to be timed one by one and have to be, or a run has too few
            observations for a quantile.
        InputError: where nothing was measured, or a transformation has no finite value.
    """
    if isinstance(side, syntax.LimitSide):
        return interpret.Limit(float(syntax.evaluate(side.amount)))
    assert isinstance(side, syntax.PerformanceSide)
    sample = _known_sample(side, book)
    earlier = book.earlier(side.measured, sample.metric)
    _validate_observations(side.measured, earlier, "earlier run")
    return interpret.MeasuredSample(_values(side, sample, sample.runs), _values(side, sample, earlier))


def split_side(side: syntax.RelationSide, book: SampleCollector) -> interpret.MeasuredSample | interpret.Limit:
    """The same with what a transformation adds apart, as an offset: it does not make noise larger.

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
    """The lower bound of a side's values, in the unit of ``side_of``; None where unknown."""
    line = syntax.affine(side.transformation)
    sample = book.sample(side.measured)
    unit = _of_a_call(sample)
    known = unit == "count" or parse_unit(unit).dimension in _NEVER_NEGATIVE
    if line is None or line.factor <= 0.0 or not known:
        return None
    return line.shift if all((run.steady >= 0.0).all() for run in sample.runs) else None


def rounds_of(side: syntax.RelationSide, book: SampleCollector) -> tuple[int | None, ...] | None:
    """The round of each run of a side; None of a limit."""
    if not isinstance(side, syntax.PerformanceSide):
        return None
    return tuple(run.origin.repetition for run in book.sample(side.measured).runs)


def run_means(relation: syntax.Relation, book: SampleCollector) -> tuple[FloatArray, FloatArray]:
    """The means of each side's runs, transformed, shapes (runs,); a limit is one value. In seconds, bytes and the like.

    Raises:
        InputError: as ``side_of``.
    """
    left, right = (side_of(side, book) for side in (relation.left, relation.right))
    return _means(left), _means(right)


def _means(side: interpret.MeasuredSample | interpret.Limit) -> FloatArray:
    return side.means if isinstance(side, interpret.MeasuredSample) else np.array([side.value])


def same_sides(relation: syntax.Relation, book: SampleCollector) -> bool:
    """Whether both sides are the same of the same runs, as where a method has two names."""
    left, right = relation.left, relation.right
    if not (isinstance(left, syntax.PerformanceSide) and isinstance(right, syntax.PerformanceSide)):
        return False
    if (left.measured.statistic, left.transformation) != (right.measured.statistic, right.transformation):
        return False
    samples = book.sample(left.measured), book.sample(right.measured)
    return samples[0].metric == samples[1].metric and samples[0].runs == samples[1].runs


def unit_of(side: syntax.RelationSide, book: SampleCollector) -> str | None:
    """The unit of a side's metric; None of a limit."""
    return _of_a_call(book.sample(side.measured)) if isinstance(side, syntax.PerformanceSide) else None


def _of_a_call(sample: Sample) -> str:
    """What a method takes is that of a call: JMH's and Go's ``ms/op`` are ``ms``."""
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
    """The observations themselves for the mean, else one value."""
    if statistic.kind is syntax.StatisticKind.QUANTILE:
        assert statistic.level is not None
        return np.array([np.quantile(observed, statistic.level)])
    if statistic.kind is syntax.StatisticKind.THROUGHPUT:
        mean = float(observed.mean())
        if mean <= 0.0:
            raise InputError("there is no throughput of what takes no time", fix="use a metric of time")
        return np.array([1.0 / mean])
    return observed
