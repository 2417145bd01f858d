"""The ratio of two machines by bridges: beside statsmodels and scipy, and by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hati.core import generator
from hati.stats import Bridge, JoinedDifference, difference, joined, joint_above, joint_half_width, machine_ratio

RUNS = (
    ((1.02, 1.00, 0.99, 1.01), (1.31, 1.29, 1.33, 1.30)),
    ((0.80, 0.82, 0.81), (1.06, 1.04, 1.05, 1.07)),
    ((1.50, 1.49, 1.52, 1.48), (1.93, 1.96, 1.94)),
)
BRIDGES = [Bridge.of(np.array(first), np.array(second)) for first, second in RUNS]
GOLDEN = {
    "ratio": 0.2626732236664101,
    "mean": 0.004602131528907372,
    "another": 0.009204263057814743,
    "estimate": 0.08298368523795219,
    "half_width": 0.027801206149173512,
    "p": 0.006008160248329004,
}
APART = difference(np.log([1.00, 1.01]), np.log([1.41, 1.43]))


def test_golden_numbers() -> None:
    """Those of tests/stats/data/joining_golden.py."""
    ratio = machine_ratio(BRIDGES)
    assert ratio is not None
    assert ratio.estimate == pytest.approx(GOLDEN["ratio"], rel=1e-12)
    assert ratio.half_width(0.95) == pytest.approx(GOLDEN["mean"], rel=1e-9)
    assert joint_half_width([ratio.of_another], 0.95) == pytest.approx(GOLDEN["another"], rel=1e-9)
    found = joined(APART, BRIDGES)
    assert found.estimate == pytest.approx(GOLDEN["estimate"], rel=1e-12)
    assert found.half_width(0.95) == pytest.approx(GOLDEN["half_width"], rel=1e-9)
    assert found.p_value == pytest.approx(GOLDEN["p"], rel=1e-6)


def test_without_a_bridge_nothing_is_known() -> None:
    found = joined(APART, [])
    assert not found.testable
    assert (found.p_value, found.half_width(0.95), found.within(-9.0, 9.0)) == (1.0, math.inf, 1.0)
    assert found.estimate == APART.estimate


def test_a_single_bridge_has_an_interval_by_its_runs_and_no_test() -> None:
    found = joined(APART, BRIDGES[:1])
    assert not found.testable
    assert (found.p_value, found.bridges_needed(0.01, 0.8)) == (1.0, None)
    first, second = (np.log(runs) for runs in RUNS[0])
    own = stats.ttest_ind(second, first, equal_var=False).confidence_interval(0.95)
    ratio = machine_ratio(BRIDGES[:1])
    assert ratio is not None
    assert ratio.half_width(0.95) == pytest.approx((own.high - own.low) / 2.0, rel=1e-9)
    assert ratio.half_width(0.95) < found.half_width(0.95) < math.inf


def test_a_single_run_on_a_machine_gives_one_bridge_no_interval() -> None:
    alone = Bridge.of(np.array([1.0]), np.array([1.3, 1.31]))
    assert math.isinf(joined(APART, [alone]).half_width(0.95))
    assert joined(APART, [alone, *BRIDGES]).testable


def test_bridges_that_are_all_equal_show_no_change_below_their_number() -> None:
    equal = [Bridge.of(np.array([2.0, 2.0]), np.array([3.0, 3.0]))] * 3
    found = joined(difference(np.log([1.0, 1.0]), np.log([1.6, 1.6])), equal)
    assert found.p_value == pytest.approx(1.0 / 4.0)


def test_rounding_is_the_least_of_what_bridges_vary_by() -> None:
    equal = [Bridge.of(np.array([2.0, 2.0]), np.array([3.0, 3.0]))] * 3
    ratio = machine_ratio(equal, least=1e-6)
    assert ratio is not None
    assert ratio.variance == 1e-6


def test_more_bridges_find_the_same_change() -> None:
    found = joined(difference(np.log([1.0, 1.01, 0.99]), np.log([1.33, 1.34, 1.35])), BRIDGES)
    number = found.bridges_needed(0.01, 0.8)
    assert number is not None
    assert number > 3
    assert found.runs_needed(0.01, -0.05, 0.05, 0.01) is None


@given(st.floats(0.1, 10.0), st.floats(0.1, 10.0))
def test_units_and_the_order_of_machines_do_not_matter(unit: float, level: float) -> None:
    scaled = [Bridge.of(unit * np.array(a) * level, unit * np.array(b) * level) for a, b in RUNS]
    assert joined(APART, scaled).p_value == pytest.approx(joined(APART, BRIDGES).p_value, rel=1e-6)
    back = joined(difference(np.log([1.41, 1.43]), np.log([1.00, 1.01])), [one.reversed for one in BRIDGES])
    assert back.p_value == pytest.approx(joined(APART, BRIDGES).p_value, rel=1e-9)


@given(st.lists(st.tuples(st.floats(1e-6, 1.0), st.floats(1.0, 50.0)), min_size=1, max_size=3), st.floats(0.01, 0.4))
def test_a_tail_is_the_level_of_the_interval_that_ends_there(parts: list[tuple[float, float]], level: float) -> None:
    size = joint_half_width(parts, 1.0 - 2.0 * level)
    assert joint_above(size, parts) == pytest.approx(level, rel=1e-6)
    assert joint_above(-size, parts) == pytest.approx(1.0 - level, rel=1e-6)


def drawn(rng: np.random.Generator, bridges: int, runs: int, varying: float) -> JoinedDifference:
    """Runs vary by 1 % on one machine and by 2 % on the other, the ratio between revisions by ``varying``."""

    def pair(own: int) -> tuple[np.ndarray, np.ndarray]:
        ratio = 0.3 + varying * rng.standard_normal()
        return 0.01 * rng.standard_normal(own), ratio + 0.02 * rng.standard_normal(own)

    known = [Bridge.of(*map(np.exp, pair(runs))) for _ in range(bridges)]
    return joined(difference(*pair(5)), known)


@pytest.mark.parametrize(("bridges", "runs", "varying"), [(3, 5, 0.0), (3, 10, 0.03), (5, 20, 0.005)])
def test_no_change_is_found_as_seldom_as_the_level_says(bridges: int, runs: int, varying: float) -> None:
    """Of 400 unchanged pairs at most 36 are significant at 5 %, the 99.9 % binomial bound."""
    rng = generator(1, "joining", str((bridges, runs, varying)))
    assert sum(drawn(rng, bridges, runs, varying).p_value <= 0.05 for _ in range(400)) <= 36
