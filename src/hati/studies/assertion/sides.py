"""The sides of a relation as the interpretations take them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hati.core import FloatArray, InputError, Sample, SampledRun, parse_unit
from hati.logic import interpret, syntax
from hati.studies.assertion.book import Book

_OF_CALLS = {"", "wall_time", "cpu_time"}
_NEVER_NEGATIVE = {"time", "memory", "energy", "power", "1/time"}
"""Dimensions of what has no values below 0, but where such were observed: a metric may be a difference."""


def asks_single_calls(side: syntax.Performance) -> bool:
    """Whether single calls have to be known: of several, only the mean and what is linear in it are."""
    measured = side.measured
    quantile = measured.statistic.kind is syntax.StatisticKind.QUANTILE
    return measured.metric in _OF_CALLS and (quantile or syntax.affine(side.transformation) is None)


def is_known(side: syntax.Side, book: Book) -> bool:
    """Whether what was measured of a side is of single calls where it has to be."""
    return not (isinstance(side, syntax.Performance) and asks_single_calls(side)) or book.single(side.measured.method)


def side_of(side: syntax.Side, book: Book) -> interpret.Measured | interpret.Limit:
    """What was measured of a side, transformed; or its limit. In the own unit of the dimension: seconds, bytes.

    The mean's transformation is of each observation (seed 004, Definition 3.4); another statistic is taken of each run,
    which is then one value, and transformed.

    Raises:
        InputError: where nothing was measured, calls were too short to be timed one by one and have to be, or a
            transformation has no finite value.
    """
    if isinstance(side, syntax.Limit):
        return interpret.Limit(float(syntax.evaluate(side.amount)))
    assert isinstance(side, syntax.Performance)
    if not is_known(side, book):
        raise InputError(
            f"calls of {side.measured.method} are too short to be timed one by one: ask for the mean, or measure a "
            "function that does more"
        )
    sample = book.sample(side.measured)
    earlier = book.earlier(side.measured, sample.metric)
    return interpret.Measured(_values(side, sample, sample.runs), _values(side, sample, earlier))


def split_side(side: syntax.Side, book: Book) -> interpret.Measured | interpret.Limit:
    """The same with what a transformation adds apart, as an offset: it does not make noise larger.

    Raises:
        InputError: as ``side_of``.
    """
    line = syntax.affine(side.transformation) if isinstance(side, syntax.Performance) else None
    if not isinstance(side, syntax.Performance) or line is None:
        return side_of(side, book)
    plain = side_of(replace(side, transformation=syntax.Observed()), book)
    assert isinstance(plain, interpret.Measured)
    runs, history = (tuple(line.factor * run for run in each) for each in (plain.runs, plain.history))
    return interpret.Measured(runs, history, line.shift)


def least_of(side: syntax.Performance, book: Book) -> float | None:
    """Below what a side can have no value, in the unit of ``side_of``; None where nothing tells."""
    line = syntax.affine(side.transformation)
    sample = book.sample(side.measured)
    unit = _of_a_call(sample)
    known = unit == "count" or parse_unit(unit).dimension in _NEVER_NEGATIVE
    if line is None or line.factor <= 0.0 or not known:
        return None
    return line.shift if all((run.steady >= 0.0).all() for run in sample.runs) else None


def rounds_of(side: syntax.Side, book: Book) -> tuple[int | None, ...] | None:
    """The round of each run of a side; None of a limit."""
    if not isinstance(side, syntax.Performance):
        return None
    return tuple(run.origin.repetition for run in book.sample(side.measured).runs)


def run_means(relation: syntax.Relation, book: Book) -> tuple[FloatArray, FloatArray]:
    """The means of each side's runs, transformed, shapes (runs,); a limit is one value. In seconds, bytes and the like.

    Raises:
        InputError: as ``side_of``.
    """
    left, right = (side_of(side, book) for side in (relation.left, relation.right))
    return _means(left), _means(right)


def _means(side: interpret.Measured | interpret.Limit) -> FloatArray:
    return side.means if isinstance(side, interpret.Measured) else np.array([side.value])


def same_sides(relation: syntax.Relation, book: Book) -> bool:
    """Whether both sides are the same of the same runs, as where a method has two names."""
    left, right = relation.left, relation.right
    if not (isinstance(left, syntax.Performance) and isinstance(right, syntax.Performance)):
        return False
    if (left.measured.statistic, left.transformation) != (right.measured.statistic, right.transformation):
        return False
    samples = book.sample(left.measured), book.sample(right.measured)
    return samples[0].metric == samples[1].metric and samples[0].runs == samples[1].runs


def unit_of(side: syntax.Side, book: Book) -> str | None:
    """The unit of a side's metric; None of a limit."""
    return _of_a_call(book.sample(side.measured)) if isinstance(side, syntax.Performance) else None


def _of_a_call(sample: Sample) -> str:
    """What a method takes is that of a call: JMH's and Go's ``ms/op`` are ``ms``."""
    return sample.metric.unit.removesuffix("/op")


def _values(side: syntax.Performance, sample: Sample, runs: tuple[SampledRun, ...]) -> tuple[FloatArray, ...]:
    scale = parse_unit(_of_a_call(sample)).scale
    return tuple(_run(side, run.steady * scale) for run in runs)


def _run(side: syntax.Performance, observed: FloatArray) -> FloatArray:
    values = syntax.evaluate(side.transformation, _statistic(side.measured.statistic, observed))
    if not np.isfinite(values).all():
        raise InputError(f"{side} has no finite value for what was observed", fix="see what the transformation does")
    return values


def _statistic(statistic: syntax.Statistic, observed: FloatArray) -> FloatArray:
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
