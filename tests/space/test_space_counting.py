"""Counting, listing and drawing configurations, held against trying them all."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings

from hati.core import Configuration, InputError
from hati.space import Option, Space, count, enumerate_configurations, parse_formula, sample
from hati.space.diagram import blocks, compact
from spaces import spaces


def boolean(*names: str) -> tuple[Option, ...]:
    return tuple(Option(name, (False, True), default=False) for name in names)


def tried(space: Space) -> set[Configuration]:
    """All valid configurations, by trying every assignment."""
    assignments = product(*(option.settings for option in space.options))
    made = (space.canonical(dict(zip(space.names, assignment, strict=True))) for assignment in assignments)
    return {configuration for configuration in made if space.valid(configuration)}


@settings(max_examples=200)
@given(spaces())
def test_all_valid_configurations_once(space: Space) -> None:
    listed = list(enumerate_configurations(space))
    assert len(listed) == count(space) == len(set(listed))
    assert set(listed) == tried(space)


@given(spaces())
def test_what_is_drawn_is_valid(space: Space) -> None:
    if count(space):
        assert all(space.valid(drawn) for drawn in sample(space, 5, np.random.default_rng(1)))
    else:
        with pytest.raises(InputError, match="no valid configuration"):
            sample(space, 1, np.random.default_rng(1))


@pytest.mark.parametrize("number", range(1, 10))
def test_each_of_a_few_is_drawn(number: int) -> None:
    """That one of n is missing after 40 n draws has a probability below n exp(-40)."""
    space = Space((Option("x", tuple(range(number)), 0),))
    assert set(sample(space, 40 * number, np.random.default_rng(1))) == set(enumerate_configurations(space))


def test_real_numbers_are_reckoned_as_decimals() -> None:
    space = Space((Option("x", (0.1, 0.2), 0.1), Option("y", (0.2, 0.3), 0.2)), (parse_formula("x + y == 0.3"),))
    assert list(enumerate_configurations(space)) == [Configuration({"x": 0.1, "y": 0.2})]


def test_a_comparison_with_an_inactive_option_is_false() -> None:
    y = Option("y", (1, 2), 1, active_if=parse_formula("x"))
    for constraint, expected in [("y == 1", 1), ("y != 1", 1), ("not (y == 1)", 2), ("y + 1 > 0", 2), ("y in [1]", 1)]:
        assert count(Space((*boolean("x"), y), (parse_formula(constraint),))) == expected, constraint


def test_the_empty_space_has_one_configuration() -> None:
    assert count(Space(())) == 1
    assert list(enumerate_configurations(Space(()))) == [Configuration()]
    assert count(Space((), (parse_formula("1 > 2"),))) == 0
    assert count(Space(boolean("x"), (parse_formula("false"),))) == 0


def test_independent_options_are_counted_apart() -> None:
    space = Space(tuple(Option(f"x{i}", (0, 1, 2), 0) for i in range(300)))
    assert count(space) == 3**300
    assert len(set(sample(space, 20, np.random.default_rng(1)))) == 20


def test_ties_across_the_order_of_declaration_stay_small() -> None:
    """Twenty pairs declared apart: 2^20 nodes in the order of declaration, some tens in a better one."""
    names = [f"a{i}" for i in range(20)] + [f"b{i}" for i in range(20)]
    space = Space(boolean(*names), (*(parse_formula(f"a{i} == b{i}") for i in range(20)), parse_formula("a0 or a19")))
    assert count(space) == 2**20 - 2**18


def test_a_sum_over_many_settings_is_counted() -> None:
    """Six digits that sum up to at most 20: 182,197 by the coefficients of ((1 - x^10) / (1 - x))^6."""
    digits = tuple(Option(f"x{i}", tuple(range(10)), 0) for i in range(6))
    coefficients = np.ones(1, dtype=np.int64)
    for _ in range(6):
        coefficients = np.convolve(coefficients, np.ones(10, dtype=np.int64))
    space = Space(digits, (parse_formula(" + ".join(f"x{i}" for i in range(6)) + " <= 20"),))
    assert count(space) == coefficients[:21].sum()


def test_constraints_too_entangled_to_count_are_refused() -> None:
    rng = np.random.default_rng(1)
    clauses = (rng.choice(100, 3, replace=False) for _ in range(150))
    texts = (" or ".join(f"{'not ' * int(rng.integers(2))}x{i}" for i in clause) for clause in clauses)
    space = Space(boolean(*(f"x{i}" for i in range(100))), tuple(parse_formula(text) for text in texts))
    with pytest.raises(InputError, match="too closely to count") as caught:
        count(space)
    assert caught.value.fix


def test_more_bits_than_can_be_walked_are_refused() -> None:
    names = [f"x{i}" for i in range(600)]
    with pytest.raises(InputError, match="tie 600 options together, too many to count"):
        count(Space(boolean(*names), (parse_formula(" or ".join(names)),)))


def test_the_same_seed_draws_the_same() -> None:
    space = Space(boolean("a", "b", "c"), (parse_formula("a => b"),))
    first, second = (sample(space, 10, np.random.default_rng(7)) for _ in range(2))
    assert first == second
    with pytest.raises(InputError, match="cannot draw -1"):
        sample(space, -1, np.random.default_rng(7))


def test_blocks_keep_order_and_cross_no_tie() -> None:
    assert blocks(["a", "b", "c", "d"], [("d", "a"), ("b",)]) == [["a", "d"], ["b"], ["c"]]


def test_compact_keeps_a_good_order_and_mends_a_bad_one() -> None:
    assert compact(["a", "b", "c"], [("a", "b"), ("b", "c")]) == ["a", "b", "c"]
    apart = ["a0", "a1", "a2", "b0", "b1", "b2"]
    order = compact(apart, [(f"a{i}", f"b{i}") for i in range(3)])
    assert all(abs(order.index(f"a{i}") - order.index(f"b{i}")) == 1 for i in range(3))
