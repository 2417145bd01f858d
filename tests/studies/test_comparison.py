"""Comparisons of two samples: verdicts, units, matching, and what is said where little is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hati.core import (
    Better,
    Configuration,
    InputError,
    Metric,
    Observations,
    Sample,
    SampledRun,
    SummarizedRuns,
    Workload,
    replace,
)
from hati.stats import two_sample_tests
from hati.studies.comparison import (
    Change,
    ChangeVerdict,
    IntervalMethod,
    Question,
    Statistic,
    across,
    compare,
    pairs,
    parse_statistic,
    with_bootstrap_intervals,
    with_median_tests,
)
from hati.studies.comparison.document import comparison_sentence, comparison_table
from hati.studies.comparison.statistic import AUTO, batch_deviation

TIME = Metric("time", "s")


def sample(
    values: np.ndarray,
    name: str = "b",
    metric: Metric = TIME,
    *,
    revision: str = "",
    machine: str = "",
    **settings: str,
) -> Sample:
    """Runs of the rows of values."""
    runs = tuple(SampledRun(Observations(metric.name, metric.unit, row)) for row in np.atleast_2d(values))
    return Sample(name, metric, runs, Configuration(settings), revision, machine=machine)


def drawn(mean: float, runs: int, rng: np.random.Generator, deviation: float = 0.02, size: int = 5) -> np.ndarray:
    between = rng.standard_normal((runs, 1)) * deviation
    return mean * np.exp(between + 0.01 * rng.standard_normal((runs, size)))


def verdicts(before: list[Sample], after: list[Sample], question: Question | None = None) -> list[str]:
    return [row.change.verdict.value for row in compare(pairs(before, after)[0], question or Question()).rows]


@pytest.mark.parametrize("question", [Question(), Question(statistic=AUTO)])
@pytest.mark.parametrize("observations", [1, 5])
def test_a_side_of_which_only_the_mean_is_known_is_compared_with_the_mean(
    question: Question, observations: int
) -> None:
    values = np.random.default_rng(2).lognormal(0.0, 0.5, (12, observations))
    whole = sample(values)
    mean = sample(np.array([[values.mean()]]))
    summary = replace(mean, runs=tuple(replace(run, summary=SummarizedRuns()) for run in mean.runs))
    for before, after in ((whole, summary), (summary, whole)):
        [row] = compare(pairs([before], [after])[0], question).rows
        assert row.change.ratio == pytest.approx(1.0)
        assert row.change.verdict is ChangeVerdict.INCONCLUSIVE


def summarized(values: np.ndarray, *known: float) -> Sample:
    """The mean of runs, shape (runs,), as all that is known of them."""
    mean = sample(np.array([[values.mean()]]))
    return replace(mean, runs=(replace(mean.runs[0], summary=SummarizedRuns(*known)),))


def test_a_mean_of_runs_with_their_deviation_is_compared_as_the_runs_are() -> None:
    rng = np.random.default_rng(3)
    one, other = rng.normal(1.0, 0.005, 10), rng.normal(1.002, 0.005, 20)
    [whole] = compare(pairs([sample(one[:, None])], [sample(other[:, None])])[0], Question()).rows
    for before, after in (
        (sample(one[:, None]), summarized(other, 20, other.std(ddof=1))),
        (summarized(one, 10, one.std(ddof=1)), sample(other[:, None])),
        (summarized(one, 10, one.std(ddof=1)), summarized(other, 20, other.std(ddof=1))),
    ):
        [row] = compare(pairs([before], [after])[0], Question()).rows
        assert (row.before.runs, row.after.runs) == (10, 20)
        assert row.change.p_value == pytest.approx(whole.change.p_value, rel=0.05)
        assert row.change.interval == pytest.approx(whole.change.interval, abs=2e-3)


def test_a_mean_of_more_runs_has_a_narrower_interval() -> None:
    rng = np.random.default_rng(4)
    one, other = rng.normal(1.0, 0.05, 10), rng.normal(1.0, 0.05, 20)
    widths = []
    for known in ((), (1,), (20,)):
        [row] = compare(pairs([sample(one[:, None])], [summarized(other, *known)])[0], Question()).rows
        assert row.change.interval is not None
        widths.append(row.change.interval[1] - row.change.interval[0])
    assert widths[0] == widths[1]
    assert widths[2] / widths[0] == pytest.approx(math.sqrt((1 / 10 + 1 / 20) / (1 / 10 + 1)), rel=0.05)


@pytest.mark.acceptance
@pytest.mark.parametrize("with_deviation", [False, True])
@pytest.mark.parametrize(("runs", "number"), [(10, 10), (10, 30), (5, 20)])
def test_comparisons_with_a_mean_keep_their_level_and_cover(runs: int, number: int, with_deviation: bool) -> None:
    """2,000 pairs of equal noise: 95 % within four standard errors of a rate."""
    rng, covered, significant = np.random.default_rng([5, runs, number]), 0, 0
    for _ in range(2_000):
        one, other = rng.normal(1.0, 0.05, runs), rng.normal(1.0, 0.05, number)
        known = (number, other.std(ddof=1)) if with_deviation else (number,)
        [row] = compare(pairs([sample(one[:, None])], [summarized(other, *known)])[0], Question(alpha=0.05)).rows
        assert row.change.interval is not None
        assert row.change.p_value is not None
        covered += row.change.interval[0] <= 1.0 <= row.change.interval[1]
        significant += row.change.p_value <= 0.05
    assert abs(covered - 1_900) <= 39
    assert abs(significant - 100) <= 39


_TEN = np.random.default_rng(6).normal(1.0, 0.05, 10)
_RUNS = sample(_TEN[:, None])
_TWO_MEANS = replace(_RUNS, runs=(*summarized(_TEN, 20).runs, *summarized(_TEN + 0.01, 20).runs))


@pytest.mark.parametrize(
    ("before", "after", "statistic", "said"),
    [
        (_RUNS, summarized(_TEN), "mean", "number of runs of a mean is not known: it counts as one run"),
        (_RUNS, summarized(_TEN, 20), "mean", "of a mean is not known: it is taken to be the other side's"),
        (summarized(_TEN, 20), summarized(_TEN, 20, 0.05), "mean", "it is taken to be the other side's"),
        (_RUNS, _TWO_MEANS, "mean", "several means of a side count as one run each"),
        (_RUNS, summarized(_TEN, 20, 0.05), "median", "use `--statistic mean`"),
        (_RUNS, summarized(_TEN), "median", "use `--statistic mean`"),
        (summarized(_TEN, 20), summarized(_TEN, 20), "mean", "so that nothing is decided"),
        (summarized(_TEN), summarized(_TEN), "auto", "so that nothing is decided"),
        (_RUNS, summarized(_TEN, 1), "mean", ""),
        (_RUNS, summarized(_TEN, 20, 0.05), "mean", ""),
        (_RUNS, replace(_RUNS, runs=summarized(_TEN).runs * 2), "mean", ""),
    ],
)
def test_what_a_comparison_assumes_of_means_is_warned_of(
    before: Sample, after: Sample, statistic: str, said: str
) -> None:
    question = Question(statistic=parse_statistic(statistic))
    warnings = compare(pairs([before], [after])[0], question).warnings
    assert len(warnings) == (1 if said else 0)
    assert said in "".join(warnings)


def test_the_noise_of_means_may_be_that_of_earlier_samples() -> None:
    found = pairs([summarized(_TEN, 20)], [summarized(_TEN, 20)])[0]
    compared = compare(found, Question(), history=[replace(_RUNS, revision="earlier")])
    assert compared.rows[0].change.q_value is not None
    [warning] = compared.warnings
    assert "it is taken to be that of earlier samples or of other benchmarks" in warning


def test_a_note_says_of_which_means_the_change_is_where_it_differs_from_the_columns() -> None:
    said = "Before and after: arithmetic means over runs. Change: the ratio of their geometric means."

    def notes(before: list[float], after: list[float]) -> tuple[str, ...]:
        sides = [[sample(np.array(values)[:, None])] for values in (before, after)]
        return comparison_table(compare(pairs(*sides)[0], Question())).notes

    assert said in notes([1.0, 2.0, 3.0], [2.0, 2.5, 9.0])
    assert said not in notes([2.0, 2.0, 2.0], [3.0, 3.0, 3.0])
    assert said not in notes([0.0, 2.0, 3.0], [2.0, 2.5, 9.0])


def test_each_verdict() -> None:
    rng = np.random.default_rng(1)
    before = [sample(drawn(1.0, 10, rng), name) for name in "abcd"]
    after = [
        sample(drawn(1.2, 10, rng), "a"),
        sample(drawn(0.8, 10, rng), "b"),
        sample(drawn(1.0, 10, rng), "c"),
        sample(drawn(1.0, 10, rng, 0.5), "d"),
    ]
    assert verdicts(before, after) == ["slower", "faster", "same", "inconclusive"]
    found = compare(pairs(before, after)[0], Question()).rows
    assert found[0].change.ratio == pytest.approx(1.2, rel=0.03)
    assert found[0].change.interval is not None
    assert found[0].change.interval[0] < 1.2 < found[0].change.interval[1]
    assert found[3].change.runs_needed is not None
    assert found[3].change.runs_needed > 10
    assert found[3].change.detectable is not None
    assert found[3].change.detectable > 0.2


def test_slower_is_worse_for_what_should_be_high() -> None:
    rng = np.random.default_rng(2)
    rate = Metric("rate", "1/s", Better.HIGHER)
    before = [sample(drawn(100.0, 8, rng), metric=rate)]
    assert verdicts(before, [sample(drawn(80.0, 8, rng), metric=rate)]) == ["slower"]
    assert verdicts(before, [sample(drawn(120.0, 8, rng), metric=rate)]) == ["faster"]


def test_a_small_change_that_is_certain_is_the_same_within_the_margin() -> None:
    rng = np.random.default_rng(3)
    before, after = [sample(drawn(1.0, 30, rng, 0.001))], [sample(drawn(1.02, 30, rng, 0.001))]
    assert verdicts(before, after, Question(margin=0.05)) == ["same"]
    assert verdicts(before, after, Question(margin=0.01)) == ["slower"]


def test_observations_of_a_run_do_not_count_as_runs() -> None:
    """Two runs that differ by 10 %, each with 10,000 observations that hardly vary, say next to nothing."""
    rng = np.random.default_rng(4)
    before = sample(np.array([[1.0], [1.1]]) * (1 + 1e-4 * rng.standard_normal((2, 10_000))))
    after = sample(np.array([[1.05], [1.15]]) * (1 + 1e-4 * rng.standard_normal((2, 10_000))))
    assert verdicts([before], [after]) == ["inconclusive"]


def test_units_are_converted_and_others_are_an_error() -> None:
    rng = np.random.default_rng(5)
    values = drawn(1.0, 6, rng)
    found = compare(pairs([sample(values)], [sample(1e3 * values, metric=Metric("time", "ms"))])[0], Question()).rows[0]
    assert found.change.ratio == pytest.approx(1.0)
    assert found.after.mean == pytest.approx(found.before.mean)
    with pytest.raises(InputError, match="cannot be converted"):
        compare(pairs([sample(values)], [sample(values, metric=Metric("time", "MB"))])[0], Question())


def test_runs_of_one_on_each_side_borrow_from_the_others_or_say_nothing() -> None:
    rng = np.random.default_rng(6)
    others = [[sample(drawn(1.0, 5, rng), f"o{i}") for i in range(20)] for _ in range(2)]
    alone = [sample(np.array([[1.0]]), "one")], [sample(np.array([[2.0]]), "one")]
    lonely = compare(pairs(*alone)[0], Question()).rows[0]
    assert lonely.change.verdict is ChangeVerdict.INCONCLUSIVE
    assert (lonely.change.p_value, lonely.change.interval, lonely.change.detectable, lonely.change.runs_needed) == (
        None,
        None,
        None,
        None,
    )
    assert lonely.change.ratio == pytest.approx(2.0)
    helped = compare(pairs(others[0] + alone[0], others[1] + alone[1])[0], Question())
    assert helped.rows[-1].change.verdict is ChangeVerdict.SLOWER
    assert helped.borrowed > 4.0


def test_values_at_zero_and_below_are_compared_as_they_are() -> None:
    rng = np.random.default_rng(7)
    low, high = (mean + rng.standard_normal((8, 1)) for mean in (-10.0, -5.0))
    found = compare(pairs([sample(low)], [sample(high)])[0], Question()).rows[0]
    assert found.change.verdict is ChangeVerdict.SLOWER
    assert found.change.ratio == pytest.approx(1.5, abs=0.1)  # half its size more
    zero = compare(pairs([sample(np.zeros((4, 1)))], [sample(np.zeros((4, 1)))])[0], Question()).rows[0]
    assert (zero.change.verdict, zero.change.ratio) == (ChangeVerdict.SAME, None)


def test_a_metric_that_is_never_negative_cannot_fall_by_more_than_all_of_it() -> None:
    rng = np.random.default_rng(3)
    many, few = (rng.poisson(mean, (30, 1)).astype(float) for mean in (5.0, 1.0))
    found = pairs([sample(many)], [sample(few)])[0]
    compared = compare(found, Question())
    for row in (*compared.rows, *with_bootstrap_intervals(compared, found, Question(), 1).rows):
        assert row.change.interval is not None
        assert 0.0 <= row.change.interval[0] < few.mean() / many.mean() < row.change.interval[1] < 1.0
    unknown = compare(pairs([sample(few[:4] * 0.0 + np.array([[0], [0], [0], [1.0]]))], [sample(many)])[0], Question())
    assert unknown.rows[0].change.ratio is not None
    assert unknown.rows[0].change.interval is None


def test_statistics_of_runs() -> None:
    values = np.array([1.0, 2.0, 3.0, 10.0])
    assert [Statistic.parse(name).of(values) for name in ("mean", "median", "q1")] == [4.0, 2.5, 10.0]
    assert [str(Statistic.parse(name)) for name in ("mean", "median", "q0.5", "q0.99")] == [
        "mean",
        "median",
        "median",
        "q0.99",
    ]
    for wrong in ("max", "q2", "qx", "", "qnan"):
        with pytest.raises(InputError):
            Statistic.parse(wrong)


def test_unsteadiness_within_a_run_is_that_of_its_batches() -> None:
    rng = np.random.default_rng(8)
    wandering = np.exp(np.repeat(0.1 * rng.standard_normal(10), 5))
    assert batch_deviation(wandering) == pytest.approx(float(np.std(np.log(wandering[::5]), ddof=1)))
    assert batch_deviation(np.ones(100)) == 1e-9
    assert batch_deviation(np.ones(19)) is None
    assert batch_deviation(-np.ones(100)) is None


def test_samples_are_matched_by_what_they_are_of() -> None:
    one = np.ones((2, 1))
    first = [sample(one, "a", mode="x"), sample(one, "a", mode="y"), sample(one, "b")]
    second = [sample(one, "c"), sample(one, "a", mode="y"), sample(one, "b", revision="2")]
    found, left = pairs(first, second)
    assert [(pair.before.benchmark, str(pair.before.configuration)) for pair in found] == [("a", "mode=y"), ("b", "")]
    assert left.before == ("a time mode=x",)
    assert left.after == ("c time",)


def test_two_configurations_are_compared_where_each_side_has_one() -> None:
    one = np.ones((2, 1))
    before = [sample(one, "a", mode="x"), sample(one, "b", mode="x"), sample(one, "b", mode="y")]
    after = [sample(one, "a", mode="y"), sample(one, "b", mode="y")]
    found, left = pairs(before, after)
    told = [tuple(str(side.configuration) for side in (pair.before, pair.after)) for pair in found]
    assert told == [("mode=x", "mode=y"), ("mode=y", "mode=y")]
    assert left.before == ("b time mode=x",)
    assert across(found) == ("a: mode=x before, mode=y after",)


def test_several_machines_are_matched_each_with_itself() -> None:
    one = np.ones((2, 1))
    first, second = ([sample(one, machine=machine) for machine in order] for order in ("pq", "qp"))
    found, _ = pairs(first, second)
    assert [(pair.before.machine, pair.after.machine) for pair in found] == [("p", "p"), ("q", "q")]


def test_what_cannot_be_matched_is_an_error() -> None:
    one = np.ones((2, 1))
    with pytest.raises(InputError, match="no benchmark is in both: a time before, b time after") as error:
        pairs([sample(one, "a")], [sample(one, "b")])
    assert error.value.fix == "give both one name, as by `hyperfine --command-name NAME`"
    small, large = (replace(sample(one), workload=Workload({"n": size})) for size in (10, 20))
    with pytest.raises(InputError, match="no benchmark is in both") as error:
        pairs([small], [large])
    assert error.value.fix == "compare samples of the same benchmarks, metrics, configurations and workloads"
    with pytest.raises(InputError, match="revisions 1, 2"):
        pairs([sample(one, revision="1"), sample(one, revision="2")], [sample(one)])


@pytest.mark.parametrize("wrong", [{"alpha": 0.0}, {"alpha": 1.0}, {"margin": 0.0}, {"margin": math.nan}])
def test_levels_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError):
        Question(**wrong)


@pytest.mark.acceptance
@pytest.mark.statistical
def test_false_alarms_power_and_claims_of_equality() -> None:
    """Of 1,200 A/A comparisons of 5 and 5 runs with variances that differ at most 8 end in an alarm (the 99.8 % bound
    of what a false discovery rate of 1 % leaves of 40 families of 30), intervals hold the truth in 98.2 to 99.7 %, and
    of as many with 5 % added at most 23 are called the same within 5 %, the 99.8 % bound of 1 %.
    """
    rng = np.random.default_rng(9)
    alarms = held = same = 0
    for _ in range(40):
        deviations = 0.03 * np.sqrt(3.0 / rng.chisquare(3.0, 30))
        first = [sample(drawn(1.0, 5, rng, s), f"b{i}") for i, s in enumerate(deviations)]
        second = [drawn(1.0, 5, rng, s) for s in deviations]
        for shift in (1.0, 1.05):
            after = [sample(shift * values, f"b{i}") for i, values in enumerate(second)]
            rows = compare(pairs(first, after)[0], Question()).rows
            if shift == 1.0:
                alarms += sum(row.change.verdict in {ChangeVerdict.SLOWER, ChangeVerdict.FASTER} for row in rows)
                held += sum(
                    row.change.interval is not None and row.change.interval[0] <= 1.0 <= row.change.interval[1]
                    for row in rows
                )
            else:
                same += sum(row.change.verdict is ChangeVerdict.SAME for row in rows)
    assert alarms <= 8
    assert 0.982 <= held / 1_200 <= 0.997
    assert same <= 23


def test_bootstrap_intervals_change_nothing_else() -> None:
    rng = np.random.default_rng(12)
    before = [sample(drawn(1.0, 10, rng), "a"), sample(rng.standard_normal((10, 1)) - 10.0, "b")]
    after = [
        sample(1e3 * drawn(1.2, 10, rng), "a", Metric("time", "ms")),
        sample(rng.standard_normal((10, 1)) - 5.0, "b"),
    ]
    found = pairs(before, after)[0]
    told = compare(found, Question())
    boot = with_bootstrap_intervals(told, found, Question(), 1)
    assert (boot.intervals, boot.seed, boot.warnings) == (IntervalMethod.BOOTSTRAP, 1, ())
    assert boot == with_bootstrap_intervals(told, found, Question(), 1)
    for row, plain, width in zip(boot.rows, told.rows, (0.1, 0.5), strict=True):
        assert row.change.interval is not None
        assert plain.change.interval is not None
        assert row.change.interval != plain.change.interval
        assert row.change.interval == pytest.approx(plain.change.interval, abs=width)
        resampled = replace(plain, change=replace(plain.change, interval=row.change.interval))
        assert row == replace(resampled, interval_method=IntervalMethod.BOOTSTRAP)
    few = pairs([sample(drawn(1.0, 5, rng))], [sample(drawn(1.0, 12, rng))])[0]
    assert "too narrow" in with_bootstrap_intervals(compare(few, Question()), few, Question(), 1).warnings[0]


@pytest.mark.parametrize("known", [(10,), (10, 0.05), ()])
def test_intervals_of_means_are_not_by_the_bootstrap(known: tuple[float, ...]) -> None:
    rng = np.random.default_rng(12)
    ten, other = rng.normal(1.0, 0.05, (2, 10))
    before = [sample(ten[:, None], "a"), sample(ten[:, None], "b")]
    after = [replace(summarized(other, *known), benchmark="a"), sample(other[:, None], "b")]
    found = pairs(before, after)[0]
    plain = compare(found, Question())
    boot = with_bootstrap_intervals(plain, found, Question(), 1)
    assert boot.rows[0] == plain.rows[0]
    assert plain.rows[0].change.interval is not None
    assert [row.interval_method for row in boot.rows] == [IntervalMethod.T, IntervalMethod.BOOTSTRAP]
    said = "in 1 of 2 comparisons a side is a mean, whose runs cannot be drawn by the bootstrap"
    assert said in boot.warnings[-1]
    alone = with_bootstrap_intervals(replace(plain, rows=plain.rows[:1]), found[:1], Question(), 1)
    assert (alone.intervals, alone.rows) == (IntervalMethod.T, plain.rows[:1])
    assert "the interval is by Student's t (a)" in alone.warnings[-1]


def test_classical_tests_are_of_run_medians_in_one_unit() -> None:
    rng = np.random.default_rng(13)
    first, second = drawn(1.0, 8, rng, size=7), drawn(1.1, 6, rng, size=7)
    found = pairs([sample(first)], [sample(1e3 * second, metric=Metric("time", "ms"))])[0]
    (row,) = with_median_tests(compare(found, Question()), found).rows
    expected = two_sample_tests(np.median(first, axis=1), np.median(second, axis=1))
    assert [one.p_value for one in row.tests] == pytest.approx([one.p_value for one in expected])


def whole(values: list[float], name: str = "b") -> Sample:
    return sample(np.array(values)[:, None], name)


def test_what_was_zero_in_every_run_is_told_without_a_ratio() -> None:
    def told(before: list[float], after: list[float]) -> Change:
        return compare(pairs([whole(before)], [whole(after)])[0], Question()).rows[0].change

    assert told([0.0] * 5, [0.0] * 5).verdict is ChangeVerdict.SAME
    grown = told([0.0] * 5, [1.0] * 5)
    assert (grown.verdict, grown.ratio, grown.detectable) == (ChangeVerdict.SLOWER, None, None)
    assert grown.p_value == pytest.approx(2 / 252)
    assert told([0.0] * 5, [1.0, 2.0, 1.5, 1.2, 1.8]).verdict is ChangeVerdict.SLOWER
    assert told([0.0] * 5, [1e-6, 0.0, 0.0, 0.0, 0.0]).verdict is ChangeVerdict.INCONCLUSIVE


def test_a_comparison_without_a_p_value_is_described_by_its_verdict() -> None:
    row = compare(pairs([whole([2.0] * 5)], [whole([2.0] * 5)])[0], Question()).rows[0]
    same = replace(row.change, verdict=ChangeVerdict.SAME, ratio=1.0, interval=(1.0, 1.0), q_value=None)
    assert comparison_sentence(replace(row, change=same)) == "same: 0.0 % (0.0 % to 0.0 %)"
    unknown = replace(same, ratio=None, interval=None)
    assert comparison_sentence(replace(row, change=unknown)) == "same: the ratio is unknown"
    undecided = replace(same, verdict=ChangeVerdict.INCONCLUSIVE)
    assert comparison_sentence(replace(row, change=undecided)).startswith("inconclusive: too few runs")


def test_bounds_beyond_what_numbers_hold_are_none() -> None:
    (row,) = compare(pairs([whole([1.0, 5.0])], [whole([1.1])])[0], Question(alpha=1e-5)).rows
    assert (row.change.interval, row.change.detectable) == (None, None)
    assert row.change.verdict is ChangeVerdict.INCONCLUSIVE


def test_spreads_are_fractions_of_their_own_mean() -> None:
    (row,) = compare(pairs([whole([0.0, 1.0, 2.0, 1.0])], [whole([99.0, 100.0, 101.0, 100.0])])[0], Question()).rows
    assert row.before.spread is not None
    assert row.after.spread is not None
    assert row.before.spread == pytest.approx(100.0 * row.after.spread)
    nothing = compare(pairs([whole([0.0] * 4)], [whole([1.0, 2.0, 3.0, 4.0])])[0], Question()).rows[0]
    assert nothing.before.spread is None


@pytest.mark.acceptance
@pytest.mark.statistical
def test_the_detectable_change_is_told_in_four_of_five() -> None:
    """Of 400 of it, added to one of 20 at a time, by the 99.9 % binomial bounds; half of it in fewer."""
    hits = {0.5: 0, 1.0: 0}
    for seed in range(40):
        rng = np.random.default_rng(seed)
        before, after = ([whole(list(drawn(1.0, 5, rng, size=1)[:, 0]), str(i)) for i in range(20)] for _ in range(2))
        seen = [row.change.detectable for row in compare(pairs(before, after)[0], Question(margin=0.01)).rows]
        for place in range(0, 20, 2):
            for part in hits:
                values = np.array([run[0] for run in after[place].steady]) * (1.0 + part * (seen[place] or 0.0))
                changed = [*after[:place], whole(list(values), str(place)), *after[place + 1 :]]
                row = compare(pairs(before, changed)[0], Question(margin=0.01)).rows[place]
                hits[part] += row.change.verdict is ChangeVerdict.SLOWER
    assert 294 <= hits[1.0] <= 346
    assert hits[0.5] <= 200
