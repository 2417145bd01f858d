"""A fast path that gets faster lengthens the tail relative to the statistic: that is never slower.

One observation in six is of the slow path, and three times as long; the levels of runs vary by so much that neither the
statistic nor the mean show the change, while the tail, in which levels cancel, does.
"""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

from hati.core import FloatArray, Metric, Observations, Sample, Stopping
from hati.core.run import SampledRun
from hati.harness import RULES
from hati.stats import proportion
from hati.studies.comparison import (
    AUTO,
    MEAN,
    TRIMMED,
    ChangeVerdict,
    ChoiceBasis,
    Question,
    StatisticChoice,
    compare,
    pairs,
)
from hati.studies.paired.judging import JudgedWithMean, judge
from hati.studies.regression import Direction, Series, Tails, histories, run_errors

STUDIES = 400
TIME = Metric("time", "s")
pytestmark = pytest.mark.statistical
LONG = pytest.mark.acceptance


def runs(fast: float, number: int, levels: float, rng: np.random.Generator, slow: float = 30.0) -> FloatArray:
    """Runs of 60 observations, shape (number, 60)."""
    values = np.where(np.arange(60) % 6 == 0, slow, fast) * (1.0 + 0.01 * rng.normal(size=(number, 60)))
    return np.asarray(values * np.exp(levels * rng.normal(size=(number, 1))))


def sample(values: FloatArray) -> Sample:
    return Sample("b", TIME, tuple(SampledRun(Observations("time", "s", tuple(run))) for run in values.tolist()))


def never_wrong(wrong: int) -> bool:
    """Whether it is left open that at most one in a hundred is wrong."""
    return proportion(wrong, STUDIES).interval[0] <= 0.01


@LONG
@pytest.mark.parametrize("levels", [0.05, 0.1, 0.2])
def test_compare(levels: float) -> None:
    verdicts = Counter[ChangeVerdict]()
    for seed in range(1, STUDIES + 1):
        rng = np.random.default_rng(seed)
        before, after = (sample(runs(fast, 5, levels, rng)) for fast in (10.0, 8.5))
        found, _ = pairs([before], [after])
        verdicts[compare(found, Question(statistic=AUTO)).rows[0].change.verdict] += 1
    assert never_wrong(verdicts[ChangeVerdict.SLOWER]), verdicts


@LONG
@pytest.mark.parametrize("levels", [0.1, 0.2])
def test_interleaved_pairs(levels: float) -> None:
    wrong = 0
    for seed in range(1, STUDIES + 1):
        rng = np.random.default_rng(seed)
        before, after = runs(10.0, 32, levels, rng), runs(8.5, 32, levels, rng)
        by = [
            np.array([np.log(statistic.of(b)) - np.log(statistic.of(a)) for a, b in zip(before, after, strict=True)])
            for statistic in (TRIMMED, MEAN)
        ]
        ends = (judge(by[0][:size], by[1][:size], RULES[Stopping.ANYTIME], 0.01, 0.05) for size in range(8, 33, 4))
        wrong += any(isinstance(one, JudgedWithMean) and one.of_tail and one.estimate > 0.0 for one in ends)
    assert never_wrong(wrong), wrong


def counted(values: FloatArray, count: object) -> Series:
    assert callable(count)
    of_runs = [[[float(count(run)) for run in position]] for position in values]
    levels = np.array([np.mean(position[0]) for position in of_runs])
    errors, freedom = run_errors(of_runs, levels)
    places = tuple(f"r{place}" for place in range(len(values)))
    machines, number = np.zeros(len(values), dtype=np.intp), np.full(len(values), values.shape[1], dtype=np.intp)
    return Series("", TIME, places, levels, machines, number, errors=errors, freedom=freedom)


def series(values: FloatArray) -> Series:
    """Of positions with runs, shape (positions, runs, observations)."""
    own = counted(values, TRIMMED.of)
    tails = Tails(counted(values, MEAN.of), counted(values, TRIMMED.tail_of))
    choice = StatisticChoice(TRIMMED, ChoiceBasis.DEFAULT)
    return Series(
        *(own.name, own.metric, own.positions, own.values, own.machines, own.runs),
        errors=own.errors,
        freedom=own.freedom,
        choice=choice,
        tails=tails,
    )


@LONG
def test_histories() -> None:
    wrong = 0
    for seed in range(1, STUDIES + 1):
        rng = np.random.default_rng(seed)
        values = np.stack([runs(10.0 if place < 5 else 8.5, 3, 0.2, rng) for place in range(10)])
        [found] = histories((series(values),))
        wrong += any(one.of_tail and one.direction is Direction.SLOWER for one in found.change_points)
    assert never_wrong(wrong), wrong


def test_a_mean_that_rises_against_the_statistic_is_slower() -> None:
    """The fast path is 10 % faster, the slow one takes twice as long: so does the mean take longer."""
    rng = np.random.default_rng(1)
    before, after = runs(10.0, 8, 0.01, rng), runs(9.0, 8, 0.01, rng, slow=60.0)
    found, _ = pairs([sample(before)], [sample(after)])
    change = compare(found, Question(statistic=AUTO)).rows[0].change
    assert (change.verdict, change.of_tail) == (ChangeVerdict.SLOWER, True)
    values = np.stack(
        [runs(10.0 if place < 5 else 9.0, 3, 0.01, rng, 30.0 if place < 5 else 60.0) for place in range(10)]
    )
    [history] = histories((series(values),))
    assert [(one.index, one.of_tail, one.direction) for one in history.change_points] == [(5, True, Direction.SLOWER)]


def test_a_tail_that_grows_alone_is_slower() -> None:
    rng = np.random.default_rng(1)
    before, after = runs(10.0, 8, 0.01, rng), runs(10.0, 8, 0.01, rng, slow=40.0)
    found, _ = pairs([sample(before)], [sample(after)])
    change = compare(found, Question(statistic=AUTO)).rows[0].change
    assert (change.verdict, change.of_tail) == (ChangeVerdict.SLOWER, True), json.dumps(str(change))
