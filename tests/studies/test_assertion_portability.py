"""Portability between two machines: golden numbers by hand, what is left out, which machine is meant."""

from __future__ import annotations

import pytest
from assertion_samples import book_of, of_means, sample
from hypothesis import given
from hypothesis import strategies as st

from hati.core import InputError, Metric
from hati.studies.assertion import EDGES, KnownMachine, Portability, Ported, SampleCollector, portability
from hati.testing.assertions import requirement

ALPHA = KnownMachine("a1b2c3d4e5f6", {"name": "alpha"})
BETA = KnownMachine("0f0f0f0f0f0f", {"name": "beta"})
BOTH = (ALPHA, BETA)


def found(first: SampleCollector, second: SampleCollector, *formulas: str) -> Portability:
    return portability([requirement(text) for text in formulas], BOTH, (first, second))


def test_the_metric_of_seed_004_computed_by_hand() -> None:
    """Means of M: 3 ms and 10 ms, of N: 4 ms and 5 ms. (3/4) / (10/5) = 3/8, whose reciprocal is 8/3.

    The mean of M on the first machine is that of its runs, 2 ms and 4 ms, not of its four observations (2.5 ms).
    """
    first = book_of(m=[[0.002, 0.002, 0.002], [0.004]], n=[[0.004]])
    second = book_of(m=[[0.010]], n=[[0.005], [0.005], [0.005]])
    (test,) = found(first, second, "m <= n").tests
    assert test.ratios == pytest.approx((0.75, 2.0))
    assert test.runs == ((2, 1), (1, 3))
    assert test.metric == pytest.approx(8 / 3)
    (turned,) = found(second, first, "m <= n").tests
    assert turned.metric == pytest.approx(8 / 3)


def test_factors_and_units_do_not_matter() -> None:
    milli = Metric("time", "ms")
    first = of_means(m=0.004, n=0.002)
    second = SampleCollector({"m": (sample("m", [[3.0]], milli),), "n": (sample("n", [[1.0]], milli),)})
    told = found(first, second, "m <= n", "0.5 * m <= 3 * n", "m = n +- 2%").tests
    assert [test.metric for test in told] == pytest.approx([1.5, 1.5, 1.5])


def test_another_statistic_is_taken_of_each_run() -> None:
    """Medians 1 and 2 on the first machine, 3 and 2 on the second, whose means are others."""
    first = book_of(m=[[1.0, 1.0, 7.0]], n=[[2.0, 2.0]])
    second = book_of(m=[[3.0, 3.0, 9.0]], n=[[2.0, 2.0]])
    told = found(first, second, "median(m) <= median(n)", "p90(m) <= p90(n)")
    (test,) = told.tests
    assert test.metric == pytest.approx(3.0)
    (left_out,) = told.left_out
    assert left_out[1].startswith("p90 needs 10 observations of each run of m, there are 3:")


def test_a_relation_counts_once_and_quantifiers_are_expanded() -> None:
    books = of_means(**{"m(1)": 1.0, "m(2)": 2.0, "n(1)": 1.0, "n(2)": 1.0})
    told = found(books, books, "for all i in {1, 2}: m(i) <= n(i)", "m(1) <= n(1)")
    assert [(test.text, test.metric) for test in told.tests] == [("m(1) <= n(1)", 1.0), ("m(2) <= n(2)", 1.0)]


def test_what_is_no_comparison_on_both_is_left_out_with_the_reason() -> None:
    first = of_means(m=1.0, n=1.0, z=1.0)
    second = SampleCollector(of_means(m=1.0, n=1.0).samples, missing={"z": "it was not measured yet"})
    told = found(first, second, "m <= n & m <= 2 s", "m <= z")
    assert len(told.tests) == 1
    assert told.left_out == (
        ("m <= 2 s", "a limit is not of two methods"),
        ("m <= z", "z on beta: it was not measured yet"),
    )
    with pytest.raises(InputError, match="nothing can be compared on alpha and beta: m <= 2 s: a limit is not"):
        found(first, second, "m <= 2 s")
    zero = SampleCollector({"m": (sample("m", [[0.0]]),), "n": (sample("n", [[1.0]]),)})
    with pytest.raises(InputError, match="a mean is not above zero"):
        found(first, zero, "m <= n")


def test_a_relation_that_fails_is_left_out_and_the_others_are_told() -> None:
    first = of_means(m=1.0, n=1.0, z=0.0)
    twice = {**of_means(m=1.0, n=1.0, z=1.0).samples, "n": (sample("n", [[1.0]]), sample("n", [[2.0]]))}
    told = found(first, SampleCollector(twice), "m <= z", "m <= 2 * m", "throughput(z) <= throughput(m)", "m <= n")
    assert [test.text for test in told.tests] == ["m <= 2 * m"]
    assert [text for text, _ in told.left_out] == ["m <= z", "throughput(z) <= throughput(m)", "m <= n"]
    assert "no throughput of what takes no time" in told.left_out[1][1]
    assert "n is 2 samples of n" in told.left_out[2][1]


def test_unlike_dimensions_are_refused_as_where_formulas_are_judged() -> None:
    heavy = SampleCollector(
        {"m": (sample("m", [[3.0]], Metric("time", "ms")),), "n": (sample("n", [[1.0]], Metric("size", "B")),)}
    )
    with pytest.raises(InputError, match="the left side is time, the right side memory") as refused:
        found(heavy, heavy, "m <= n")
    assert refused.value.place is not None
    light = of_means(m=1.0, n=1.0)
    with pytest.raises(InputError, match=r"nothing can be compared.*its metrics are of other dimensions"):
        found(light, SampleCollector({name: (sample(name, [[1.0]], Metric("size", "B")),) for name in "mn"}), "m <= n")


def ported(*metrics: float) -> Portability:
    tests = tuple(Ported(f"m <= {metric} * n", (metric, 1.0), ((1, 1), (1, 1))) for metric in metrics)
    return Portability(BOTH, tests)


def test_the_interval_is_that_of_the_quotient_folded_at_one() -> None:
    """Where both ends are below 1 they are exchanged; where 1 is between them it begins there."""
    both = {
        (2.0, 4.0): (2.0, 4.0),
        (0.25, 0.5): (2.0, 4.0),
        (0.2, 2.0): (1.0, 5.0),
        (0.5, 3.0): (1.0, 3.0),
        (1.0, 1.0): (1.0, 1.0),
    }
    for quotient, interval in both.items():
        test = Ported("m <= n", (1.0, 1.0), ((2, 2), (2, 2)), quotient)
        assert test.interval == pytest.approx(interval)
    assert Ported("m <= n", (1.0, 1.0), ((1, 2), (2, 2))).interval is None


def test_runs_that_vary_make_the_interval_and_more_confidence_widens_it() -> None:
    books = of_means(m=1.0, n=2.0), of_means(m=3.0, n=2.0)
    (test,) = found(*books, "m <= n").tests
    (wider,) = portability([requirement("m <= n")], BOTH, books, 0.999).tests
    assert test.interval is not None
    assert wider.interval is not None
    assert 1.0 < wider.interval[0] < test.interval[0] < test.metric < test.interval[1] < wider.interval[1]
    (alone,) = found(book_of(m=[[1.0]], n=[[2.0], [2.0]]), books[1], "m <= n").tests
    assert alone.interval is None


def test_the_histogram_counts_each_test_once() -> None:
    """Bins from 1, 1.02, 1.05, 1.1, 1.2, 1.5, 2, 3 and 5; 0.5 is 2."""
    told = ported(1.0, 1.019, 1.02, 1.3, 0.5, 4.0, 60.0)
    assert told.histogram == (2, 1, 0, 0, 1, 0, 1, 1, 1)
    assert (told.median, told.largest) == (1.3, 60.0)


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=20))
def test_metrics_are_one_or_more_and_all_are_counted(ratios: list[float]) -> None:
    told = ported(*ratios)
    assert all(test.metric >= EDGES[0] for test in told.tests)
    assert sum(told.histogram) == len(ratios)


@pytest.mark.parametrize("text", ["alpha", "a1b2c3d4e5f6", "a1b2"])
def test_a_machine_is_called_by_its_name_or_its_fingerprint(text: str) -> None:
    assert ALPHA.is_called(text)
    assert not BETA.is_called(text)


def test_too_short_a_beginning_names_no_machine() -> None:
    assert not ALPHA.is_called("a1b")
    assert not ALPHA.is_called("")


def test_machines_of_one_name_are_told_apart() -> None:
    other = KnownMachine("123456789abc", {"name": "alpha"})
    assert Portability((ALPHA, other), ported(1.0).tests).names == ("alpha a1b2c3d4e5f6", "alpha 123456789abc")
    books = of_means(m=1.0, n=1.0), SampleCollector(of_means(m=1.0).samples, missing={"n": "it was not measured yet"})
    told = portability([requirement("m <= n"), requirement("m <= m")], (ALPHA, other), books)
    assert told.left_out == (("m <= n", "n on alpha 123456789abc: it was not measured yet"),)
