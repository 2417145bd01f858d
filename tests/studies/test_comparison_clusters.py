"""A change of a fast path hidden under a slow one is named, and none is made up."""

from __future__ import annotations

import numpy as np
import pytest

from hati.core import Better, Metric, Observations, Sample, SampledRun, replace
from hati.document.document import cell_text
from hati.studies.comparison import ChangeVerdict, Comparisons, Question, SamplePair, compare
from hati.studies.comparison.document import comparison_cases, comparison_table

TIME = Metric("time", "s")
HIT, MISS = 1e-4, 0.08


def bookstore(
    rng: np.random.Generator, *, hit: float = HIT, share: float = 0.3, runs: int = 8, metric: Metric = TIME
) -> Sample:
    """Calls that find an object in a cache, and those that wait for it; runs differ by 1 % in the former."""
    found = []
    for _ in range(runs):
        hits = rng.random(300) < share
        fast = hit * np.exp(rng.normal(0.0, 0.01) + rng.normal(0.0, 0.05, 300))
        found.append(np.where(hits, fast, MISS * np.exp(rng.normal(0.0, 0.001, 300))))
    values = [(1.0 if metric.unit == "s" else 1e3) * run for run in found]
    return Sample("book", metric, tuple(SampledRun(Observations("time", metric.unit, one)) for one in values))


def compared(before: Sample, after: Sample) -> Comparisons:
    return compare([SamplePair(before, after)], Question())


def test_a_fast_path_that_got_slower_is_named() -> None:
    rng = np.random.default_rng(1)
    found = compared(bookstore(rng), bookstore(rng, hit=1.1 * HIT))
    (row,) = found.rows
    assert row.change.verdict is not ChangeVerdict.SLOWER
    fast, slow = row.clusters
    assert (fast.change.verdict, slow.change.verdict) == (ChangeVerdict.SLOWER, ChangeVerdict.SAME)
    assert fast.change.ratio == pytest.approx(1.1, rel=0.02)
    assert fast.change.interval is not None
    assert fast.change.interval[0] < 1.1 < fast.change.interval[1]
    assert fast.before.centre == pytest.approx(HIT, rel=0.02)
    assert not fast.share_moved
    assert ChangeVerdict.SLOWER in row.verdicts


def test_it_fails_in_continuous_integration_and_has_its_row() -> None:
    rng = np.random.default_rng(1)
    found = compared(bookstore(rng), bookstore(rng, hit=1.1 * HIT))
    (case,) = comparison_cases(found)
    assert case.failure is not None
    assert "of 2 clusters of observations the one about 100" in case.failure
    rows = [[cell_text(cell) for cell in row] for row in comparison_table(found).rows]
    assert rows[1][0].startswith("  cluster 3")
    assert rows[1][-1] == "slower"
    assert rows[2][-1] == "same"


def test_another_mixture_is_told() -> None:
    rng = np.random.default_rng(2)
    (row,) = compared(bookstore(rng), bookstore(rng, share=0.5)).rows
    assert [part.share_moved for part in row.clusters] == [True, True]
    assert [part.change.verdict for part in row.clusters] == [ChangeVerdict.SAME, ChangeVerdict.SAME]
    assert row.change.verdict is ChangeVerdict.FASTER


def test_a_path_that_only_one_sample_takes_has_no_ratio() -> None:
    rng = np.random.default_rng(3)
    (row,) = compared(bookstore(rng), bookstore(rng, share=0.0)).rows
    fast, _ = row.clusters
    assert (fast.after.centre, fast.after.runs, fast.after.share) == (None, 0, 0.0)
    assert (fast.change.verdict, fast.change.ratio) == (ChangeVerdict.INCONCLUSIVE, None)
    assert fast.share_moved


def test_units_are_converted_and_higher_may_be_better() -> None:
    rng = np.random.default_rng(4)
    high = Metric("time", "s", Better.HIGHER), Metric("time", "ms", Better.HIGHER)
    (row,) = compared(bookstore(rng, metric=high[0]), bookstore(rng, hit=1.1 * HIT, metric=high[1])).rows
    assert row.clusters[0].change.verdict is ChangeVerdict.FASTER
    assert row.clusters[0].after.centre == pytest.approx(1.1 * HIT, rel=0.02)


def test_one_run_a_side_says_nothing_of_its_noise() -> None:
    rng = np.random.default_rng(5)
    (row,) = compared(bookstore(rng, runs=1), bookstore(rng, hit=2.0 * HIT, runs=1)).rows
    assert [part.change.verdict for part in row.clusters] == [ChangeVerdict.INCONCLUSIVE] * 2
    assert [part.share_p_value for part in row.clusters] == [None, None]
    assert row.clusters[0].change.ratio == pytest.approx(2.0, rel=0.1)


def test_values_that_have_no_logarithm_have_no_clusters() -> None:
    values = np.random.default_rng(6).permutation(np.repeat([-1.0, 5.0], 100))
    sample = Sample("b", TIME, (SampledRun(Observations("time", "s", values)),) * 3)
    assert compared(sample, sample).rows[0].clusters == ()


@pytest.mark.acceptance
@pytest.mark.statistical
@pytest.mark.parametrize("runs", [3, 8])
def test_clusters_of_the_same_are_rarely_different(runs: int) -> None:
    """Each is asked at 1 % over all: of 60 comparisons of equals, at most 3 at the 99 % bound."""
    rng = np.random.default_rng(7)
    rows = [compared(bookstore(rng, runs=runs), bookstore(rng, runs=runs)).rows[0] for _ in range(60)]
    assert all(len(row.clusters) == 2 for row in rows)
    assert sum(any(part.change.changed for part in row.clusters) for row in rows) <= 3
    assert sum(any(part.share_moved for part in row.clusters) for row in rows) <= 3


@pytest.mark.statistical
def test_a_tenth_on_the_fast_path_is_found() -> None:
    rng = np.random.default_rng(8)
    rows = [compared(bookstore(rng), bookstore(rng, hit=1.1 * HIT)).rows[0] for _ in range(40)]
    assert sum(row.clusters[0].change.verdict is ChangeVerdict.SLOWER for row in rows) >= 38
    assert sum(row.change.verdict is ChangeVerdict.SLOWER for row in rows) <= 2


def test_runs_with_a_slow_fast_path_throughout_do_not_hide_a_change_of_the_others() -> None:
    """A fifth of 22 runs have a fast path that is slower by a quarter; it gets slower by 7 % in all."""
    rng = np.random.default_rng(11)

    def some_slow(hit: float) -> Sample:
        samples = [bookstore(rng, hit=hit * (1.25 if number % 5 == 0 else 1.0), runs=1) for number in range(22)]
        return Sample("book", TIME, tuple(run for sample in samples for run in sample.runs))

    found = [compared(some_slow(HIT), some_slow(1.07 * HIT)).rows[0].clusters[0].change for _ in range(10)]
    assert [change.verdict for change in found] == [ChangeVerdict.SLOWER] * 10
    assert all(low < 1.07 < high for low, high in (change.interval or (0.0, 0.0) for change in found))


@pytest.mark.statistical
@pytest.mark.parametrize("factor", [0.95, 1.05])
def test_a_common_shift_is_one_of_every_cluster(factor: float) -> None:
    """Of 80 clusters and more at most 5 of the 99 % intervals miss the shift, and none has the other sign."""
    rng = np.random.default_rng(12)
    centres, spreads = np.array([1.0, 1.25, 1.6]), np.array([0.03, 0.05, 0.05])

    def runs() -> Sample:
        kinds = rng.choice(3, (5, 200), p=[0.5, 0.3, 0.2])
        values = centres[kinds] * np.exp(spreads[kinds] * rng.standard_normal(kinds.shape))
        return Sample("b", TIME, tuple(SampledRun(Observations("time", "s", row)) for row in values))

    def shifted(one: Sample) -> Sample:
        moved = (replace(run, observations=replace(run.observations, values=factor * run.steady)) for run in one.runs)
        return replace(one, runs=tuple(moved))

    found = [part for _ in range(40) for part in compared(runs(), shifted(runs())).rows[0].clusters]
    intervals = [part.change.interval for part in found if part.change.interval is not None]
    assert len(intervals) == len(found) >= 80
    assert sum(not low <= factor <= high for low, high in intervals) <= 5
    wrong = ChangeVerdict.FASTER if factor > 1.0 else ChangeVerdict.SLOWER
    assert all(part.change.verdict is not wrong and not part.share_moved for part in found)


def test_where_fractions_moved_no_cluster_did() -> None:
    """Clusters that overlap: those that went from one to the other move the centres of both."""
    rng = np.random.default_rng(13)
    for _ in range(10):
        (row,) = compared(bookstore(rng), bookstore(rng, share=0.6)).rows
        assert any(part.share_moved for part in row.clusters)
        assert not any(part.change.changed for part in row.clusters)
