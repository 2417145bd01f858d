"""Usage distributions: fractions of settings, and what is refused."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.core import InputError
from hati.space import UsageDistribution


@given(st.lists(st.floats(0.001, 1e6), min_size=1, max_size=6), st.lists(st.floats(0.001, 1e6), min_size=1, max_size=6))
def test_the_fractions_of_all_configurations_add_up_to_1(first: list[float], second: list[float]) -> None:
    usage = UsageDistribution.of({"a": dict(enumerate(first)), "b": dict(enumerate(second))})
    total = sum(usage.fraction([("a", a), ("b", b)]) for a in range(len(first)) for b in range(len(second)))
    assert total == pytest.approx(1.0)


def test_options_without_usage_do_not_count() -> None:
    usage = UsageDistribution.of({"a": {True: 1, False: 3}})
    assert usage.fraction([("a", False), ("z", 7)]) == 0.75
    assert not UsageDistribution()
    assert UsageDistribution().fraction([("a", True)]) == 1.0


@pytest.mark.parametrize("weights", [{1: -1.0, 2: 2.0}, {1: 0.0, 2: 0.0}, {1: math.nan, 2: 1.0}, {1: math.inf}])
def test_what_is_no_distribution_is_refused(weights: dict[int, float]) -> None:
    with pytest.raises(InputError, match="usage of option 'a'"):
        UsageDistribution.of({"a": dict(weights)})
