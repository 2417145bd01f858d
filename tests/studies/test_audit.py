"""Audits of comparisons: counting, sensitivity, drift, and how often they are wrong themselves."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from hati.core import Better, InputError, Metric, Observations, Sample, SampledRun, generator, replace
from hati.knowledge import Entry, Provenance
from hati.studies.audit import AuditSettings, audit
from hati.studies.audit.conclusion import Whole, correlation, halves, order_in_time, random_outcomes, smallest_changes
from hati.studies.comparison import (
    AUTO,
    MEAN,
    MEDIAN,
    ChangeVerdict,
    ChoiceBasis,
    Question,
    SamplePair,
    Sides,
    StatisticChoice,
    compare,
    decide,
    sides_of,
)

TIME = Metric("time", "s")
BEGIN = datetime(2026, 11, 20, tzinfo=UTC)


def sample(values: np.ndarray, name: str = "b", metric: Metric = TIME) -> Sample:
    """Runs of the rows of values."""
    runs = tuple(SampledRun(Observations(metric.name, metric.unit, row)) for row in np.atleast_2d(values))
    return Sample(name, metric, runs)


def whole(one: Sample) -> Sides:
    return sides_of(SamplePair(one, one), Question().fixed)


def drawn(count: int, runs: int, rng: np.random.Generator, deviation: float = 0.02) -> list[Sample]:
    levels = np.exp(deviation * rng.standard_normal((count, runs, 1)) + 0.005 * rng.standard_normal((count, runs, 3)))
    return [sample(each, f"b{number}") for number, each in enumerate(levels)]


def test_halves_have_equally_many_runs_and_none_twice() -> None:
    one = sample(np.arange(7.0)[:, None])
    split = halves(np.random.default_rng(1).permutation(7))
    values, pair = split.values(whole(one)), split.samples(one)
    assert (len(values.before.values), len(values.after.values)) == (3, 3)
    assert len({*values.before.values, *values.after.values}) == 6
    assert [run[0] for run in pair.before.steady] == values.before.values.tolist()
    assert [run[0] for run in pair.after.steady] == values.after.values.tolist()
    early, late = halves(np.arange(7))
    assert (early.tolist(), late.tolist()) == ([0, 1, 2], [4, 5, 6])


def test_runs_are_in_the_order_of_their_starts_where_all_are_known() -> None:
    one = sample(np.ones((3, 1)))
    assert order_in_time(one) is None
    shuffled = [
        replace(run, started=BEGIN + timedelta(hours=hour)) for run, hour in zip(one.runs, (2, 0, 1), strict=True)
    ]
    order = order_in_time(replace(one, runs=tuple(shuffled)))
    assert order is not None
    assert order.tolist() == [1, 2, 0]
    assert order_in_time(replace(one, runs=(*shuffled[:2], one.runs[2]))) is None


def test_splits_of_few_runs_are_few() -> None:
    assert correlation(4) == pytest.approx(1 / 3)
    assert correlation(7) == pytest.approx(1 / 10)
    assert correlation(20) == 0.03


@pytest.mark.parametrize(("runs", "count", "shift"), [(10, 10, 0.0), (6, 3, 0.0), (6, 3, -20.0)])
def test_from_the_smallest_change_on_a_comparison_says_so(runs: int, count: int, shift: float) -> None:
    """Of one benchmark at a time, beside the others as they are; with a shift values are not above zero."""
    rng = np.random.default_rng(runs)
    question = Question()
    samples = [sample(np.array(each.steady) + shift, each.benchmark) for each in drawn(count, runs, rng)]
    sides = [_random_sides(each, rng) for each in samples]
    changes = smallest_changes(decide(sides, question)[0], question)
    assert np.all((changes >= 0.0) & (changes < 10.0))
    for place in range(count):
        for factor, expected in ((1.0 - 1e-6, False), (1.0 + 1e-6, True)):
            changed = [
                SamplePair(
                    sample(side.before.values[:, None], str(i)),
                    sample(
                        _changed(side.after.values, side.before.values, (i == place) * factor * changes[place])[
                            :, None
                        ],
                        str(i),
                    ),
                )
                for i, side in enumerate(sides)
            ]
            row = compare(changed, question).rows[place]
            if changes[place] > 0.0 or expected:
                assert (row.change.verdict is ChangeVerdict.SLOWER) == expected


def _random_sides(one: Sample, rng: np.random.Generator) -> Sides:
    return halves(rng.permutation(len(one.runs))).values(whole(one))


def _changed(values: np.ndarray, first: np.ndarray, change: float) -> np.ndarray:
    if min(values.min(), first.min()) > 0.0:
        return np.asarray(values * (1.0 + change))
    return np.asarray(values + change * abs(float(first.mean())))


def test_an_audit_of_quiet_runs() -> None:
    samples = drawn(20, 12, np.random.default_rng(2))
    found = audit(samples, AuditSettings(splits=10, seed=3))
    assert found.comparisons == 200
    assert found.false_alarms.estimate <= 0.01
    assert found.false_alarms.interval[0] == 0.0
    assert found.uncorrected.estimate <= 0.05  # of splits that are alike
    assert found.false_same.estimate <= 0.02
    assert found.detectable is not None
    assert 0.04 < found.detectable < 0.1
    assert found.warnings == ()
    assert found == audit(samples, AuditSettings(splits=10, seed=3))
    assert found != audit(samples[:3], AuditSettings(splits=10, seed=4))


def test_what_is_counted_is_what_comparisons_of_the_same_halves_say() -> None:
    samples = drawn(12, 8, np.random.default_rng(5), 0.3)
    rate = Metric("rate", "1/s", Better.HIGHER)
    samples = [sample(np.array(each.steady), each.benchmark, rate) for each in samples]
    question = Question(alpha=0.2)
    rng = generator(1)
    splits = [[halves(rng.permutation(8)) for _ in samples] for _ in range(6)]
    wholes = [Whole(each.metric.name, {Question().fixed: whole(each)}) for each in samples]
    counted = random_outcomes(samples, wholes, splits, question)
    for split in range(6):
        told = [own.samples(each) for own, each in zip(splits[split], samples, strict=True)]
        verdicts = [row.change.verdict for row in compare(told, question).rows]
        assert counted.slower[split].tolist() == [verdict is ChangeVerdict.SLOWER for verdict in verdicts]
        assert counted.faster[split].tolist() == [verdict is ChangeVerdict.FASTER for verdict in verdicts]
        assert counted.same[split].tolist() == [verdict is ChangeVerdict.SAME for verdict in verdicts]


def test_drift_is_told_though_random_splits_hide_it() -> None:
    drift = np.linspace(1.0, 1.2, 12)[:, None]
    samples = [sample(np.array(each.steady) * drift, each.benchmark) for each in drawn(6, 12, np.random.default_rng(6))]
    found = audit(samples, AuditSettings())
    assert found.in_time.slower == 6
    assert found.in_time.direction.slower == 6
    assert found.in_time.p_value == pytest.approx(1 / 21)
    assert found.false_alarms.estimate <= 0.02
    (warning,) = found.warnings
    assert "what is measured drifts" in warning
    assert all(row.later is ChangeVerdict.SLOWER and row.later_ratio and row.later_ratio > 1.05 for row in found.rows)


def test_it_cries_wolf_where_alarms_are_too_many() -> None:
    """Runs with one of two values: four runs differ from four others without noise too often."""
    rng = np.random.default_rng(7)
    samples = [sample(np.where(rng.random((4, 1)) < 0.5, 1.0, 2.0), f"b{i}") for i in range(40)]
    found = audit(samples, AuditSettings(Question(alpha=0.001)))
    assert found.uncorrected.interval[0] > 0.001
    assert any("too many false alarms" in warning for warning in found.warnings)


def test_earlier_samples_make_more_be_found() -> None:
    rng = np.random.default_rng(12)
    samples, history = drawn(3, 4, rng), [*drawn(3, 30, rng), *drawn(3, 30, rng)]
    alone, helped = audit(samples, AuditSettings()), audit(samples, AuditSettings(), history)
    assert alone.detectable is not None
    assert helped.detectable is not None
    assert helped.detectable < 0.7 * alone.detectable
    assert audit(samples, AuditSettings(), samples) == alone


def test_a_statistic_that_is_known_is_compared_where_one_is_to_be_chosen() -> None:
    """The known one of runs in which a slow observation now and then moves the mean and the trimmed mean."""
    rng = generator(1, "slow")
    values = np.exp(0.002 * rng.standard_normal((16, 7)))
    values[rng.random((16, 7)) < 0.25] = 2.0
    runs = [sample(values)]
    origin = Entry(
        StatisticChoice(MEDIAN, ChoiceBasis.HISTORY, 4, 0.1), Provenance("gate-1", 64, BEGIN), timedelta(1), ""
    )
    chosen = AuditSettings(Question(statistic=AUTO))
    auto, known = audit(runs, chosen), audit(runs, replace(chosen, known={"time": origin}))
    assert (auto.known, known.known) == ({}, {"time": origin})
    assert auto.detectable is not None
    assert known.detectable is not None
    assert known.detectable < auto.detectable / 2.0
    asked = AuditSettings(Question(statistic=MEAN), known={"time": origin})
    assert audit(runs, asked) == audit(runs, replace(asked, known={}))


def test_too_few_runs_are_left_out_or_refused() -> None:
    few, enough = drawn(1, 3, np.random.default_rng(8))[0], drawn(1, 4, np.random.default_rng(8))[0]
    found = audit([few, enough], AuditSettings())
    assert found.left_out == (few,)
    assert [row.runs for row in found.rows] == [2]
    assert any("cannot be split" in warning for warning in found.warnings)
    with pytest.raises(InputError, match="the most are 3"):
        audit([few], AuditSettings())
    with pytest.raises(InputError, match="splits"):
        AuditSettings(splits=0)


def test_runs_that_do_not_vary_are_the_same_and_nothing_is_a_share_of_zero() -> None:
    found = audit([sample(np.ones((12, 1)), "one"), sample(np.zeros((12, 1)), "zero")], AuditSettings(splits=5))
    assert [(row.same, row.detectable) for row in found.rows] == [(5, pytest.approx(0.05)), (5, None)]
    assert found.rows[1].later_ratio is None


def test_clusters_are_audited_where_there_are_any() -> None:
    rng = np.random.default_rng(11)
    two = np.where(rng.random((8, 200)) < 0.3, 1e-4, 8e-2) * np.exp(0.02 * rng.standard_normal((8, 200)))
    plain = sample(np.exp(0.02 * rng.standard_normal((8, 200))), "plain")
    steps: list[tuple[int, int]] = []
    request = AuditSettings(splits=5)
    found = audit([sample(two, "two"), plain], request, watch=lambda done, of: steps.append((done, of))).clusters
    assert steps == [(step, 25) for step in range(1, 26)]
    assert found is not None
    assert found.benchmarks == ("two",)
    assert found.alarms.estimate == 0.0
    assert audit([plain], AuditSettings(splits=2)).clusters is None


@pytest.mark.acceptance
@pytest.mark.statistical
def test_intervals_of_the_false_alarm_rate_hold_the_true_one() -> None:
    """Of 300 files with 4, 6 or 10 runs of each of 8 benchmarks the 95 % interval of the share of p-values up to 5 %
    holds the true share, that of 20 times as many files, in at least 93 % (three standard errors below 97 %).
    """
    rng = np.random.default_rng(9)
    question = Question(alpha=0.05)
    for runs in (4, 6, 10):
        shares, intervals = [], []
        for _ in range(100):
            samples = [sample(each, f"b{i}") for i, each in enumerate(_noise(rng, 8, runs))]
            found = audit(samples, AuditSettings(question, splits=20, seed=int(rng.integers(1 << 30))))
            shares.append(found.uncorrected.estimate)
            intervals.append(found.uncorrected.interval)
        true = float(np.mean(shares))
        assert sum(low <= true <= high for low, high in intervals) >= 93


def _noise(rng: np.random.Generator, count: int, runs: int) -> np.ndarray:
    """Half of the benchmarks with normal noise, the others with outliers or two modes."""
    normal = 0.02 * rng.standard_normal((count, runs, 1))
    normal[::4] *= np.where(rng.random((len(normal[::4]), runs, 1)) < 0.1, 10.0, 1.0)
    normal[1::4] += 0.2 * (rng.random((len(normal[1::4]), runs, 1)) < 0.3)
    return np.asarray(np.exp(normal))


@pytest.mark.acceptance
@pytest.mark.statistical
def test_drift_is_rarely_told_where_there_is_none() -> None:
    """Of 200 files at most 19: the 99.9 % bound of 1 / 21 of them, and 3 standard errors."""
    rng = np.random.default_rng(10)
    told = 0
    for _ in range(200):
        found = audit(drawn(5, 8, rng), AuditSettings(seed=int(rng.integers(1 << 30))))
        told += found.in_time.p_value <= 0.05
    assert told <= 19
