"""Relations and formulas judged by samples."""

from __future__ import annotations

import numpy as np
import pytest
from assertion_samples import FIXED, answers, atom, book_of, levels, of_means, sample, verdicts
from scipy import stats

from hati.core import InputError, Metric, Stopping, Usage
from hati.logic.interpret import EstimateScale, FormulaVerdict, Interpretation
from hati.studies.assertion import Assured, SampleCollector, Standard, answer
from hati.studies.assertion.tables import assertion_table
from hati.testing.assertions import requirement

MEANS = of_means(a=0.010, b=0.010, c=0.012)


@pytest.mark.parametrize(
    ("formula", "verdict"),
    [
        ("a <= b", "HOLDS"),
        ("a >= b", "HOLDS"),
        ("a = b", "HOLDS"),
        ("c <= b", "VIOLATED"),
        ("b >= c", "VIOLATED"),
        ("c = b", "VIOLATED"),
        ("b < c", "HOLDS"),
        ("c > b", "HOLDS"),
        ("c < b", "VIOLATED"),
        ("b > c", "VIOLATED"),
        ("a <= b strictly", "INCONCLUSIVE"),
        ("a < b", "INCONCLUSIVE"),
        ("a > b", "INCONCLUSIVE"),
        # margins
        ("c <= b within 25%", "HOLDS"),
        ("c <= b within 15%", "VIOLATED"),
        ("c <= b within 2.5 ms", "HOLDS"),
        ("c <= b within 1.5 ms", "VIOLATED"),
        ("b >= c within 2.5 ms", "HOLDS"),
        ("b >= c within 1.5 ms", "VIOLATED"),
        ("c = b +- 25%", "HOLDS"),
        ("c = b +- 15%", "VIOLATED"),
        ("c = b +- 2.5 ms", "HOLDS"),
        ("b = c +- 2.5 ms", "HOLDS"),
        ("c = b +- 1.5 ms", "VIOLATED"),
        ("b = c +- 1.5 ms", "VIOLATED"),
        ("a = b +- 1 us", "INCONCLUSIVE"),
        # limits on either side
        ("a <= 11 ms", "HOLDS"),
        ("a <= 9 ms", "VIOLATED"),
        ("a <= 10 ms", "HOLDS"),
        ("a <= 10 ms strictly", "INCONCLUSIVE"),
        ("11 ms >= a", "HOLDS"),
        ("9 ms >= a", "VIOLATED"),
        ("9 ms < a", "HOLDS"),
        ("11 ms > a", "HOLDS"),
        ("9 ms <= a & a <= 11000 us", "HOLDS"),
        ("10 ms = a", "HOLDS"),
        ("a = 11 ms +- 1.5 ms", "HOLDS"),
        ("a = 12 ms +- 1.5 ms", "VIOLATED"),
        # transformations
        ("c <= 1.2 * b", "HOLDS"),
        ("c <= 1.1 * b", "VIOLATED"),
        ("0.8 * c <= b", "HOLDS"),
        ("c <= b + 3 ms", "HOLDS"),
        ("c <= b + 1 ms", "VIOLATED"),
        ("c <=(x: x / 1.5, x: x) b", "HOLDS"),
        ("a <=(x: log2(x / 1 ms), x: log2(x / 1 ms) - 1) b", "VIOLATED"),
        # statistics
        ("median(a) <= p100(a)", "HOLDS"),
        ("p100(c) <= 11 ms", "VIOLATED"),
        ("throughput(a) >= 99 /s", "HOLDS"),
        ("throughput(a) >= 1.1 * throughput(c)", "HOLDS"),
        ("throughput(c) >= throughput(a)", "VIOLATED"),
        # parameters alone
        ("1 < 2", "HOLDS"),
        ("for all n in {1, 2}: n > 1 => a <= b", "HOLDS"),
    ],
)
def test_a_formula_has_the_verdict_that_its_means_suggest(formula: str, verdict: str) -> None:
    (found,) = answers(MEANS, formula)
    assert found.verdict == FormulaVerdict(verdict)


def test_equality_is_shown_by_two_tests_and_refuted_by_either() -> None:
    """Two one-sided t-tests of scipy, of means that are shifted by the margin."""
    left, right = ([np.mean(run) for run in levels(mean, 16)] for mean in (0.010, 0.0101))
    found = atom(of_means(a=0.010, b=0.0101), "a = b +- 0.15 ms")
    sides = [
        stats.ttest_ind(left, np.array(right) + shift, equal_var=False, alternative=way).pvalue
        for shift, way in ((0.00015, "less"), (-0.00015, "greater"))
    ]
    assert found.p_holds == pytest.approx(max(sides), rel=1e-6)
    assert found.verdict is FormulaVerdict.HOLDS
    assert found.p_violated == pytest.approx(min(1.0, 2.0 * min(1.0 - side for side in sides)), rel=1e-6)


@pytest.mark.parametrize("right", ["b", "10 ms"])
@pytest.mark.parametrize("stopping", Stopping)
def test_what_is_detectable_of_an_equality_is_so_at_half_the_level(right: str, stopping: Stopping) -> None:
    """It is violated by either side at half the level, so that it takes a larger difference to tell."""
    book = book_of(a=levels(0.010, 16), b=levels(0.010, 16)[::-1])
    equal = atom(book, f"a = {right} +- 1 ms", Standard(alpha=0.02, stopping=stopping)).evidence
    halved = atom(book, f"a <= {right} within 1 ms", Standard(alpha=0.01, stopping=stopping)).evidence
    assert equal.detectable is not None
    assert equal.detectable == halved.detectable


def test_a_limit_on_the_left_is_the_same_question() -> None:
    assert atom(MEANS, "9.9 ms >= a").evidence == atom(MEANS, "a <= 9.9 ms").evidence
    assert atom(MEANS, "9.9 ms >= a").text == "9.9 ms >= a"


@pytest.mark.parametrize(
    ("formula", "scale", "estimate", "unit"),
    [
        ("a <= c", EstimateScale.RATIO, 10 / 12, "s"),
        ("a <= 9 ms", EstimateScale.MEAN, 0.010, "s"),
        ("throughput(a) >= 1 /s", EstimateScale.MEAN, 100.0, "1/s"),
        ("c <= 1.2 * a", EstimateScale.RATIO, 1.0, "s"),
        ("a <=(x: x / 1 s, x: x) 4", EstimateScale.MEAN, 0.010, ""),
        ("a <=(x: log10(x / 1 s), x: x) -1", EstimateScale.MEAN, -2.0, ""),
        ("a <=(x: x / 1 ms, x: x) 11", EstimateScale.MEAN, 10.0, ""),
        ("a <=(x: 1 MB / x, x: x) 200 MB/s", EstimateScale.MEAN, 1e8, "B/s"),
        ("a <=(x: x * x, x: x) 1 s * 1 s", EstimateScale.MEAN, 1e-4, "s**2"),
        ("a <=(x: 2 / x, x: x) 1 /s", EstimateScale.MEAN, 200.0, "1/s"),
    ],
)
def test_an_estimate_is_a_ratio_or_in_the_dimensions_own_unit(
    formula: str, scale: EstimateScale, estimate: float, unit: str
) -> None:
    found = atom(MEANS, formula)
    assert (found.evidence.scale, found.unit) == (scale, unit)
    assert found.evidence.estimate == pytest.approx(estimate, rel=1e-4)


def test_a_quantile_is_taken_of_each_run() -> None:
    runs = [[1.0, 2.0, 3.0 + place] for place in range(6)]
    found = atom(book_of(a=runs), "median(a) <= 2.5 s")
    assert (found.evidence.estimate, found.verdict) == (2.0, FormulaVerdict.INCONCLUSIVE)
    assert atom(book_of(a=runs), "p100(a) <= 2.5 s").evidence.estimate == 5.5


@pytest.mark.parametrize(
    ("name", "fewest"), [("median", 2), ("p90", 10), ("p10", 10), ("p99", 100), ("p99.9", 1000), ("p0", 1), ("p100", 1)]
)
def test_a_quantile_takes_enough_observations_of_each_run(name: str, fewest: int) -> None:
    rng = np.random.default_rng(7)
    enough = rng.normal(0.010, 0.0001, (16, fewest)).tolist()
    assert atom(book_of(a=enough), f"{name}(a) <= 20 ms").verdict is FormulaVerdict.HOLDS
    if fewest == 1:
        return
    few = [*enough[1:], enough[0][1:]]
    found = atom(book_of(a=few), f"{name}(a) <= 20 ms")
    assert (found.verdict, found.unfit) == (FormulaVerdict.INCONCLUSIVE, True)
    there = "there is 1:" if fewest == 2 else f"there are {fewest - 1}:"
    assert found.evidence.remark.startswith(f"{name} needs {fewest} observations of each run of a, {there}")


def test_a_history_of_too_few_observations_tells_no_quantile() -> None:
    runs, past = ({"a": (sample("a", [[0.010] * count] * 40),)} for count in (10, 9))
    found = atom(SampleCollector(runs, past), "p90(a) <= 2 * p90(a)")
    assert (found.verdict, found.unfit) == (FormulaVerdict.INCONCLUSIVE, True)
    assert found.evidence.remark.startswith("p90 needs 10 observations of each earlier run of a, there are 9:")


def test_units_of_samples_are_converted() -> None:
    micro = sample("u", [[value * 1e6 for value in run] for run in levels(0.010)], Metric("time", "us"))
    book = SampleCollector({"u": (micro,), **MEANS.samples})
    assert atom(book, "u = a").verdict is FormulaVerdict.HOLDS
    assert atom(book, "u <= 11 ms").evidence.estimate == pytest.approx(0.010)


def test_what_runs_used_stands_where_a_benchmark_tells_nothing_of_it() -> None:
    used = [Usage(cpu_time=0.5 + 0.001 * place, peak_memory=1_000_000 + place) for place in range(13)]
    book = SampleCollector({"a": (sample("a", levels(0.01, 13), usage=used),)})
    assert atom(book, "cpu(a) <= 0.6 s").evidence.estimate == pytest.approx(0.506)
    assert atom(book, "memory(a) <= 2 MB").verdict is FormulaVerdict.HOLDS
    with pytest.raises(InputError, match="has no metric 'peak_memory'"):
        atom(MEANS, "memory(a) <= 2 MB")


def test_what_runs_used_never_stands_for_what_a_benchmark_tells_itself() -> None:
    runs = sample("a", levels(0.01, 8), usage=[Usage(cpu_time=0.5)] * 8)
    with pytest.raises(InputError, match="has no metric 'cpu_time'"):
        atom(SampleCollector({"a": (runs,)}, reported={"a": frozenset({"time", "cpu_time"})}), "cpu(a) <= 0.6 s")


def test_of_several_metrics_the_formula_says_which() -> None:
    own = [sample("a", levels(0.01, 13), Metric(name, "s")) for name in ("latency", "start")]
    book = SampleCollector({"a": tuple(own)})
    assert atom(book, "latency of a <= 1 s").verdict is FormulaVerdict.HOLDS
    with pytest.raises(InputError, match="a has several metrics: latency, start"):
        atom(book, "a <= 1 s")
    assert atom(SampleCollector({"a": tuple(own)}, own={"a": "start"}), "a <= 1 s").verdict is FormulaVerdict.HOLDS


def test_few_runs_are_not_enough_without_a_history() -> None:
    few, runs = levels(0.010, 2), levels(0.010, 40)
    book = SampleCollector({"a": (sample("a", few),), "b": (sample("b", levels(0.010)),)})
    found = atom(book, "a <= b")
    assert (found.verdict, found.evidence.runs_needed) == (FormulaVerdict.INCONCLUSIVE, 5)
    remembered = SampleCollector(book.samples, {"a": (sample("a", runs),)})
    told = atom(remembered, "a <= b")
    assert told.verdict is FormulaVerdict.HOLDS
    assert told.evidence.remembered >= 40


@pytest.mark.parametrize(
    "text",
    [
        "a <= b within 8 ms",
        "b = a +- 8 ms",
        "a >= b within 8 ms",
        "a <= b within 80%",
        "a <= b + 8 ms strictly",
        "a - 8 ms <= b",
        "2 * a <= (b + 8 ms) * 2",
    ],
)
def test_whose_the_only_history_is_is_of_no_account(text: str) -> None:
    """A margin is known, whatever it is in, and so is what is added: they make no noise of either side larger."""
    rng = np.random.default_rng(4)
    runs = {name: (sample(name, (0.010 * (1.0 + 0.01 * rng.standard_normal((3, 1)))).tolist()),) for name in "ab"}
    runs["a"] = (sample("a", (0.018 * (1.0 + 0.01 * rng.standard_normal((3, 1)))).tolist()),)
    past = (0.010 * (1.0 + 0.01 * rng.standard_normal((40, 1)))).tolist()
    told = [
        atom(SampleCollector(runs, {name: (sample(name, past),) for name in names}), text).evidence
        for names in ("a", "b", "ab")
    ]
    assert told[0] == told[1] == told[2]
    assert told[0].remembered == 40


def test_a_margin_in_a_unit_makes_no_noise_larger_that_is_remembered() -> None:
    """Beside one history a difference of means has the error that 1 % of each of them makes."""
    rng = np.random.default_rng(5)
    past = (sample("b", (0.010 * (1.0 + 0.01 * rng.standard_normal((200, 1)))).tolist()),)
    runs = {name: (sample(name, [[0.010]] * 4),) for name in "ab"}
    beyond = 0.010 + 2.7 * 0.010 * 0.01 * np.sqrt(2.0 / 4.0)
    runs["a"] = (sample("a", [[beyond + 0.090]] * 4),)
    found = atom(SampleCollector(runs, {"b": past}), "a <= b within 90 ms")
    wide = np.hypot(10.0, 1.0) / np.sqrt(2.0)  # the left side's share is of its own mean, ten times the right one's
    assert found.p_violated == pytest.approx(stats.norm.sf(2.7 / wide), rel=0.1)


def test_what_is_added_is_compared_by_each_interpretation() -> None:
    """Of c that is 12 ms, and a that is 10 ms."""
    for interpretation in Interpretation:
        standard = Standard(interpretation=interpretation, margin=0.0)
        assert atom(MEANS, "c <= a + 3 ms", standard).verdict is FormulaVerdict.HOLDS
        assert atom(MEANS, "c <= a + 1 ms", standard).verdict is FormulaVerdict.VIOLATED


def test_a_history_of_another_metric_tells_nothing() -> None:
    other = sample("a", levels(5.0, 40), Metric("size", "B"))
    book = SampleCollector({name: (sample(name, levels(0.010, 2)),) for name in "ab"}, {"a": (other,)})
    assert atom(book, "a <= 2 * b").verdict is FormulaVerdict.INCONCLUSIVE


def test_a_limit_takes_thirteen_runs_whatever_is_remembered() -> None:
    """They are as many as early stopping takes; of counts that never vary, too."""
    past = {"a": (sample("a", levels(0.010, 400)),)}
    for runs in (levels(0.010, 12), [[0.010]] * 12):
        found = atom(SampleCollector({"a": (sample("a", runs),)}, past), "a <= 1 s").evidence
        assert (found.verdict, found.runs_needed, found.remembered) == (FormulaVerdict.INCONCLUSIVE, 13, 0)
        assert (found.interval, found.detectable) == (None, None)
        assert found.remark == "fewer than 13 runs, and an absolute limit uses no history"
    near = atom(SampleCollector({"a": (sample("a", levels(0.010, 12)),)}), "a <= 10.001 ms strictly").evidence
    early = Standard(stopping=Stopping.ANYTIME)
    looked = atom(SampleCollector({"a": (sample("a", levels(0.010, 12)),)}), "a <= 10.001 ms strictly", early).evidence
    assert near.runs_needed is not None
    assert looked.runs_needed is not None
    assert 100 < near.runs_needed < looked.runs_needed
    for runs in (levels(0.010, 13), [[0.010]] * 13):
        assert atom(SampleCollector({"a": (sample("a", runs),)}), "a <= 1 s").verdict is FormulaVerdict.HOLDS


def test_what_could_not_be_measured_is_inconclusive_and_says_why() -> None:
    book = SampleCollector(MEANS.samples, missing={"d": "exit status 3"})
    (found,) = answers(book, "d <= a | c <= a")
    assert found.verdict is FormulaVerdict.INCONCLUSIVE
    assert found.atoms[0].evidence.remark == "d: exit status 3"
    assert answers(book, "d <= a | a <= c")[0].verdict is FormulaVerdict.HOLDS
    assert answers(book, "d <= a & c <= a")[0].verdict is FormulaVerdict.VIOLATED


HOLDS, UNKNOWN, VIOLATED = "a <= c", "a <= b strictly", "c <= a"


@pytest.mark.parametrize("left", [HOLDS, UNKNOWN, VIOLATED])
@pytest.mark.parametrize("right", [HOLDS, UNKNOWN, VIOLATED])
def test_connectives_are_kleenes(left: str, right: str) -> None:
    rank = {FormulaVerdict.VIOLATED: 0, FormulaVerdict.INCONCLUSIVE: 1, FormulaVerdict.HOLDS: 2}
    (one,), (other,) = answers(MEANS, left), answers(MEANS, right)
    known = rank[one.judged.verdict], rank[other.judged.verdict]
    wanted = {"&": min(known), "|": max(known), "=>": max(2 - known[0], known[1])}
    for sign, value in wanted.items():
        (found,) = answers(MEANS, f"({left}) {sign} ({right})")
        assert rank[found.judged.verdict] == value, sign
    (negated,) = answers(MEANS, f"!({left})")
    assert rank[negated.judged.verdict] == 2 - known[0]


def test_a_relation_that_several_formulas_have_is_judged_once() -> None:
    one, other = answers(MEANS, "a <= c & c <= a", "!(c <= a)")
    assert one.atoms[1].evidence is other.atoms[0].evidence
    assert [each.text for each in one.atoms] == ["a <= c", "c <= a"]


def test_alarms_are_those_of_all_formulas_together() -> None:
    """A p-value of about 0.005 is an alarm by itself, and none among twenty formulas that hold."""
    slow = [[0.0102 * (1.0 + offset)] for offset in np.linspace(-0.0012, 0.0045, 12).tolist()]
    book = SampleCollector({**MEANS.samples, "s": (sample("s", slow),), "o": (sample("o", [[0.01]] * 12),)})
    (alone,) = answers(book, "s <= o")
    assert 0.001 < alone.judged.p_violated < 0.01
    assert alone.verdict is FormulaVerdict.VIOLATED
    among = answers(book, "s <= o", *(f"a <= {limit} ms" for limit in range(20, 40)))[0]
    assert (among.verdict, among.judged.verdict) == (FormulaVerdict.INCONCLUSIVE, FormulaVerdict.VIOLATED)
    by_welch = answers(book, "s <= o", *["a <= 1 s"] * 20, standard=Standard(Interpretation.WELCH))[0]
    assert by_welch.verdict is FormulaVerdict.VIOLATED


def test_one_relation_of_many_decides_a_formula_only_where_it_is_no_chance() -> None:
    """A p-value of about 0.005 shows a relation, and not that any of two is so."""
    runs = [[0.0102 * (1.0 + offset)] for offset in np.linspace(-0.0012, 0.0045, 12).tolist()]
    book = SampleCollector({**MEANS.samples, "s": (sample("s", runs),), "o": (sample("o", [[0.01]] * 12),)})
    every, any_ = answers(book, "s <= o & a <= c", "!(s <= o) | c <= a")
    assert [atom.verdict for atom in every.atoms] == [FormulaVerdict.VIOLATED, FormulaVerdict.HOLDS]
    assert (every.verdict, every.judged.verdict, any_.verdict) == (FormulaVerdict.INCONCLUSIVE,) * 3
    assert answers(book, "c <= a & s <= o")[0].verdict is FormulaVerdict.VIOLATED
    assert answers(book, "!(c <= a) | s <= o")[0].verdict is FormulaVerdict.HOLDS
    told = " ".join(assertion_table(Assured("", (every, any_), FIXED, (), 0, 0.0), FIXED).notes)
    assert told.count("only single relations decide it, which may be chance among all of its relations") == 2
    by_welch = answers(book, "s <= o & a <= c", standard=Standard(Interpretation.WELCH))[0]
    assert by_welch.verdict is FormulaVerdict.VIOLATED


@pytest.mark.parametrize("name", ["welch", "parametric", "nonparametric"])
def test_interpretations_as_printed_are_two_valued_and_know_no_margin(name: str) -> None:
    standard = Standard(Interpretation(name))
    wanted = {
        "a <= b strictly": FormulaVerdict.HOLDS,
        "a <= b": FormulaVerdict.HOLDS,
        "c <= a": FormulaVerdict.VIOLATED,
        "c <= a within 25%": FormulaVerdict.VIOLATED,
        "c <= a within 3 ms": FormulaVerdict.VIOLATED,
        "c = a within 2 s": FormulaVerdict.VIOLATED,
    }
    assert verdicts(MEANS, dict.fromkeys(wanted, ""), standard) == wanted


def test_draws_are_repeatable() -> None:
    standard = Standard(Interpretation.NONPARAMETRIC, seed=7)
    assert atom(MEANS, "a <= b", standard).evidence == atom(MEANS, "a <= b", standard).evidence


@pytest.mark.parametrize(
    ("formula", "message", "column"),
    [
        ("x <= a", "there is no sample of x", 1),
        ("a <= b & bb <= a", "there is no sample of bb", 10),
        ("a <= b & memory(a) <= 2 MB", "a has no metric 'peak_memory'", 10),
        ("a <= 2 MB", "the left side is time, the right side memory", 6),
        ("c <= b within 2 MB", "the margin is memory, the sides time", 15),
        ("20 ms >= a within 2 MB", "the margin is memory, the sides time", 19),
        ("a <=(x: sqrt(x - 1 s), x: sqrt(x)) b", "no finite value", 1),
        ("a <= b & a = b within 120%", "a margin is at least 0 and below 1", 10),
    ],
)
def test_what_cannot_be_judged_is_refused_where_it_is_written(formula: str, message: str, column: int) -> None:
    with pytest.raises(InputError, match=message) as caught:
        answers(MEANS, formula)
    assert caught.value.place is not None
    assert (caught.value.place.file, caught.value.place.line, caught.value.place.column) == ("formula", 1, column)


NOISY = [[0.010], *[[0.001]] * 13, [0.002], [0.300]]


@pytest.mark.parametrize(
    ("formula", "metric", "low"),
    [
        ("a <= 1 s", Metric("time", "s"), 0.0),
        ("1 s >= a within 1 ms", Metric("time", "s"), 0.0),
        ("a + 2 ms <= 1 s", Metric("time", "s"), 0.002),
        ("a - 2 ms <= 1 s", Metric("time", "s"), -0.002),
        ("a <= 1 B", Metric("size", "B"), 0.0),
        ("a <= 1", Metric("steps", "count"), 0.0),
    ],
)
def test_an_interval_ends_where_there_are_no_values(formula: str, metric: Metric, low: float) -> None:
    found = atom(SampleCollector({"a": (sample("a", NOISY, metric),)}), formula).evidence
    assert found.scale is EstimateScale.MEAN
    assert found.interval is not None
    assert found.interval[0] == low < found.interval[1]


@pytest.mark.parametrize(
    ("formula", "metric", "further"),
    [
        ("-1 * a <= 1 s", Metric("time", "s"), []),
        ("a <= 1", Metric("score", "1"), []),
        ("a <= 1 s", Metric("slack", "s"), [[-0.001]]),
    ],
)
def test_an_interval_of_what_may_be_negative_is_whole(formula: str, metric: Metric, further: list[list[float]]) -> None:
    found = atom(SampleCollector({"a": (sample("a", NOISY + further, metric),)}), formula).evidence
    assert found.interval is not None
    assert found.interval[0] < -0.01


def test_equality_needs_a_margin() -> None:
    with pytest.raises(InputError, match="equality can be shown only with a margin"):
        answers(MEANS, "a = b", standard=Standard(margin=0.0))


def test_several_samples_of_one_name_are_refused() -> None:
    twice = sample("one", levels(0.01)), sample("two", levels(0.01))
    with pytest.raises(InputError, match="a is 2 samples, of one, two"):
        atom(SampleCollector({"a": twice}), "a <= 1 s")
    with pytest.raises(InputError, match="several configurations, revisions, workloads or machines"):
        atom(SampleCollector({"a": (twice[0], twice[0])}), "a <= 1 s")


@pytest.mark.parametrize(("alpha", "margin"), [(0.0, 0.02), (0.5, 0.02), (0.01, 1.0), (0.01, -0.1)])
def test_a_standard_has_a_level_and_a_margin(alpha: float, margin: float) -> None:
    with pytest.raises(InputError, match=r"is not a valid level|is not a valid margin"):
        Standard(alpha=alpha, margin=margin)


def test_nothing_to_measure_is_certain() -> None:
    (true, false) = answer([requirement("2 > 1"), requirement("1 > 2")], SampleCollector(), FIXED)
    assert (true.judged.p_holds, true.judged.p_violated) == (0.0, 1.0)
    assert (false.verdict, false.atoms) == (FormulaVerdict.VIOLATED, ())
