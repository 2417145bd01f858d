"""Estimates within one process: what they hold for, and that they decide nothing by themselves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from hati.core import Metric, Observations, Sample, SampledRun, replace
from hati.render import table_text
from hati.studies.comparison import (
    AUTO,
    MEAN,
    ChangeVerdict,
    ChoiceBasis,
    Comparisons,
    Question,
    SamplePair,
    Statistic,
    compare,
    gathered,
    with_estimates_within_process,
    with_verdicts_within_process,
)
from hati.studies.comparison.document import comparison_table

QUESTION = Question()
TIME = Metric("time", "s")
COVERED = 0.975
"""Of 480 intervals at 99 % fewer hold the truth once in 200 such tests: 1 - 0.99 more than 3 standard errors off."""


def sample(name: str, *runs: Sequence[float] | np.ndarray, **other: object) -> Sample:
    taken = tuple(SampledRun(Observations("time", "s", np.array(values))) for values in runs)
    return Sample(name, TIME, taken, **other)  # type: ignore[arg-type]  # fields of several types


def estimated(*found: SamplePair, question: Question = QUESTION, history: Sequence[Sample] = ()) -> Comparisons:
    return with_estimates_within_process(compare(found, question, (), history), found, question)


def noisy(seed: int, level: float, size: int = 10, spread: float = 0.01) -> np.ndarray:
    return level * np.random.default_rng(seed).normal(1.0, spread, size)


def test_an_estimate_has_an_interval_and_no_verdict() -> None:
    (row,) = estimated(SamplePair(sample("b", noisy(1, 1.0)), sample("b", noisy(2, 1.2)))).rows
    assert row.within_process is not None
    assert (row.change.verdict, row.change.interval, row.change.q_value) == (ChangeVerdict.INCONCLUSIVE, None, None)
    assert row.change.ratio == row.within_process.change.ratio
    low, high = row.within_process.change.interval or (0.0, 0.0)
    assert 1.15 < low < (row.change.ratio or 0.0) < high < 1.25
    assert (row.within_process.observations, row.within_process.batches) == ((10, 10), (10, 10))
    assert not row.has_verdict
    assert row.one_run_each


def test_a_p_value_is_neither_shown_nor_explained_where_there_is_none() -> None:
    one, several = SamplePair(sample("b", noisy(1, 1.0)), sample("b", noisy(2, 1.2))), several_runs()
    alone = table_text(comparison_table(estimated(one)))
    assert "no verdict and no p." in " ".join(alone.split())
    assert " p " not in alone.partition("---")[0]
    assert " p: of no change" not in " ".join(alone.split())
    both = table_text(comparison_table(estimated(one, several)))
    assert " p " in both.partition("---")[0]
    for text in ("no verdict and no p.", " p: of no change"):
        assert text in " ".join(both.split())


def several_runs() -> SamplePair:
    before, after = (sample("c", *(noisy(10 * side + run, 1.0 + 0.2 * side) for run in range(5))) for side in range(2))
    return SamplePair(before, after)


@pytest.mark.parametrize("statistic", ["median", "q0.99"])
def test_only_means_have_an_interval(statistic: str) -> None:
    pair = SamplePair(sample("b", noisy(1, 1.0)), sample("b", noisy(2, 1.2)))
    (asked,) = estimated(pair, question=Question(statistic=Statistic.parse(statistic))).rows
    assert (asked.within_process, asked.change.interval, asked.change.verdict) == (
        None,
        None,
        ChangeVerdict.INCONCLUSIVE,
    )
    (chosen,) = estimated(pair, question=Question(statistic=AUTO)).rows
    assert chosen.within_process is not None
    assert chosen.choice is not None
    assert (chosen.choice.statistic, chosen.choice.basis) == (MEAN, ChoiceBasis.ONE_PROCESS)


def test_a_verdict_is_taken_over_when_asked_for() -> None:
    told = with_verdicts_within_process(estimated(SamplePair(sample("b", noisy(1, 1.0)), sample("b", noisy(2, 1.2)))))
    (row,) = told.rows
    assert row.change.verdict is ChangeVerdict.SLOWER
    assert row.change.runs_needed is None
    assert (row.before.runs, row.has_verdict) == (1, True)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([noisy(1, 1.0), noisy(2, 1.0)], [noisy(3, 1.0)]),
        ([noisy(1, 1.0)], [[1.0]]),
        ([[1.0]], [[1.1]]),
    ],
    ids=["runs", "one value", "values"],
)
def test_other_pairs_have_no_estimate(before: Sequence[np.ndarray], after: Sequence[np.ndarray]) -> None:
    found = SamplePair(sample("b", *before), sample("b", *after))
    assert estimated(found) == compare([found], QUESTION)


def test_pooled_processes_are_not_one() -> None:
    pair = SamplePair(sample("b", noisy(1, 1.0)), sample("b", noisy(2, 1.2)))
    pooled = tuple(replace(run, pooled=True) for run in pair.before.runs)
    (row,) = estimated(replace(pair, before=replace(pair.before, runs=pooled))).rows
    assert row.within_process is None


def test_a_history_decides_instead() -> None:
    pair = SamplePair(sample("b", noisy(1, 1.0)), sample("b", noisy(2, 1.2)))
    earlier = sample("b", *(noisy(seed, 1.0) for seed in range(10, 16)))
    (row,) = estimated(pair, history=[earlier]).rows
    assert (row.within_process, row.change.verdict) == (None, ChangeVerdict.SLOWER)


def test_several_processes_neither_give_to_nor_take_from_others() -> None:
    """The noise within processes is not that between runs: pairs of runs are decided as without the others."""
    runs = [
        SamplePair(
            sample(f"r{n}", *(noisy(100 * n + seed, 1.0) for seed in range(4))),
            sample(f"r{n}", *(noisy(100 * n + 50 + seed, 1.1) for seed in range(4))),
        )
        for n in range(3)
    ]
    alone = [SamplePair(sample(f"a{n}", noisy(n, 1.0)), sample(f"a{n}", noisy(n + 40, 1.2))) for n in range(3)]
    assert estimated(*runs, *alone).rows[:3] == compare(runs, QUESTION).rows
    assert estimated(*runs, *alone).rows[3:] == estimated(*alone).rows


def test_many_observations_are_gathered_in_batches() -> None:
    found = SamplePair(sample("b", noisy(1, 1.0, 1234)), sample("b", noisy(2, 1.0, 25)))
    (row,) = estimated(found, question=replace(QUESTION, statistic=MEAN)).rows
    assert row.within_process is not None
    assert (row.within_process.observations, row.within_process.batches) == ((1234, 25), (10, 12))


def test_the_geometric_mean_is_that_of_the_ratios_shown() -> None:
    pairs = [SamplePair(sample(f"b{n}", noisy(n, 1.0)), sample(f"b{n}", noisy(n + 9, 1.1))) for n in range(4)]
    told = estimated(*pairs)
    ratios = [row.change.ratio or 0.0 for row in told.rows]
    assert told.mean_ratios["time"] == pytest.approx(float(np.exp(np.mean(np.log(ratios)))))


@pytest.mark.parametrize(
    ("size", "correlation"),
    [(10, 0.0), *(pytest.param(*case, marks=pytest.mark.acceptance) for case in ((200, 0.0), (400, 0.5)))],
)
def test_intervals_hold_the_truth_as_often_as_they_say(size: int, correlation: float) -> None:
    """Of one level on both sides; observations that depend on each other do within a batch."""
    rng = np.random.default_rng(size)

    def run() -> np.ndarray:
        shocks = rng.normal(size=size + 50)
        for place in range(1, len(shocks)):
            shocks[place] += correlation * shocks[place - 1]
        return np.asarray(np.exp(0.02 * shocks[50:]))

    covered = 0
    for _ in range(40):
        pairs = [SamplePair(sample(f"b{n}", run()), sample(f"b{n}", run())) for n in range(12)]
        for row in estimated(*pairs).rows:
            assert row.within_process is not None
            low, high = row.within_process.change.interval or (2.0, 0.0)
            covered += low <= 1.0 <= high
    assert covered / 480 >= COVERED


def test_single_runs_of_a_history_are_those_of_one_sample() -> None:
    one, two = sample("b", [1.0, 1.1]), sample("b", [1.2])
    other = sample("b", [1.0], revision="r")
    several = sample("b", [1.0], [2.0])
    joined = gathered([one, several, two, other])
    assert [len(each.runs) for each in joined] == [2, 2, 1]
    assert joined[1].runs == (*one.runs, *two.runs)
