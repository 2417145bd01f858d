"""From rows to configurations of a space, and the spaces that a two-level design does not fit.

The randomised order of runs.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.core import Configuration, InputError, generator
from hati.design import configurations, from_generators, full_factorial, run_order
from hati.space import Option, Space, parse_formula

JOURNAL = Option("journal", ("DELETE", "WAL"), "DELETE")
SYNC = Option("sync", (2, 0), 0)
CACHE = Option("cache", (False, True), True)


def test_minus_is_the_first_setting_whatever_the_default() -> None:
    space = Space((JOURNAL, SYNC, CACHE))
    found = configurations(from_generators(("journal", "sync", "cache"), ["C=AB"]), space)
    assert found == (
        Configuration({"journal": "DELETE", "sync": 2, "cache": True}),
        Configuration({"journal": "WAL", "sync": 2, "cache": False}),
        Configuration({"journal": "DELETE", "sync": 0, "cache": False}),
        Configuration({"journal": "WAL", "sync": 0, "cache": True}),
    )


def test_factors_are_options_by_name_in_any_order_or_by_letter() -> None:
    space = Space((JOURNAL, SYNC))
    by_name = configurations(full_factorial(("sync", "journal")), space)
    by_letter = configurations(full_factorial("AB"), space)
    assert by_name[1] == Configuration({"journal": "DELETE", "sync": 0})
    assert by_letter[1] == Configuration({"journal": "WAL", "sync": 2})


@pytest.mark.parametrize("factors", [("journal",), ("journal", "sink"), ("B", "A"), ("A", "B", "C")])
def test_other_factors_are_refused(factors: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="not the space's options") as caught:
        configurations(full_factorial(factors), Space((JOURNAL, SYNC)))
    assert "journal,sync" in str(caught.value)


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (Space((JOURNAL, Option("sync", (2, 1, 0), 2))), "'sync' has 3 settings"),
        (Space((JOURNAL, Option("sync", (2,), 2))), "'sync' has 1 setting"),
        (
            Space((JOURNAL, Option("sync", (2, 0), 2, active_if=parse_formula("journal == 'WAL'")))),
            "'sync' has no influence in some",
        ),
        (Space((JOURNAL, SYNC), (parse_formula("journal == 'WAL' or sync == 0"),)), "has constraints"),
    ],
)
def test_spaces_that_do_not_fit_are_refused_with_what_serves(space: Space, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        configurations(full_factorial(("journal", "sync")), space)
    assert caught.value.fix is not None
    assert "--optimal bayes" in caught.value.fix


@given(st.integers(1, 40), st.integers(1, 5), st.integers(0, 2**32))
def test_each_repetition_is_a_block_of_all_configurations(count: int, repetitions: int, seed: int) -> None:
    order = run_order(count, repetitions, generator(seed, "order"))
    assert order.shape == (count * repetitions,)
    for block in order.reshape(repetitions, count):
        assert sorted(block) == list(range(count))
    assert np.array_equal(order, run_order(count, repetitions, generator(seed, "order")))


def test_blocks_are_shuffled_anew() -> None:
    first, second = run_order(32, 2, generator(1, "order")).reshape(2, 32)
    assert not np.array_equal(first, second)
    assert not np.array_equal(first, np.arange(32))


def test_every_place_is_equally_likely() -> None:
    # 4,000 orders of 5: each place's count has mean 800 and sd 25.3; 4.5 sd bounds all 25 cells (p < 2e-4).
    rng = generator(7, "order")
    counts = np.zeros((5, 5))
    for _ in range(4000):
        counts[run_order(5, 1, rng), np.arange(5)] += 1
    assert np.abs(counts - 800).max() < 4.5 * np.sqrt(4000 * 0.2 * 0.8)


@pytest.mark.parametrize(("count", "repetitions"), [(0, 1), (3, 0), (-1, 2)])
def test_nothing_to_run_is_refused(count: int, repetitions: int) -> None:
    with pytest.raises(InputError, match="nothing to run"):
        run_order(count, repetitions, generator(1, "order"))
