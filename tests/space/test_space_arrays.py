"""What a space says of many configurations at once is what it says of each."""

from __future__ import annotations

from itertools import product
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.core import Setting
from hati.space import Constraint, Option, Space, arrays, count, enumerate_configurations, parse_formula, sample
from hati.space.arrays import INACTIVE, ArrayFormula, ArraySpace, Positions, drawn_positions, every_position
from hati.space.evaluation import holds
from spaces import formulas, options, spaces


def every(known: tuple[Option, ...]) -> Positions:
    """All combinations of settings, inactive options among them."""
    places = [range(INACTIVE, len(option.settings)) for option in known]
    rows = list(product(*places))
    return np.array(rows, dtype=np.int16).reshape(len(rows), len(known))


def settings_at(row: Positions, known: tuple[Option, ...]) -> dict[str, Setting]:
    pairs = zip(known, row, strict=True)
    return {option.name: option.settings[place] for option, place in pairs if place != INACTIVE}


@st.composite
def options_and_formula(draw: st.DrawFn) -> tuple[tuple[Option, ...], Constraint]:
    known = tuple(draw(options(name, most=3)) for name in ("a", "b", "c"))
    return known, draw(formulas(known))


@pytest.mark.parametrize("most", [0, 4096])
@given(drawn=options_and_formula())
def test_formulas(most: int, drawn: tuple[tuple[Option, ...], Constraint]) -> None:
    known, formula = drawn
    rows = every(known)
    with patch.object(arrays, "_MOST_COMBINATIONS", most):
        found = ArrayFormula(formula, known).holds(rows)
    assert found.tolist() == [holds(formula, settings_at(row, known)) for row in rows]


@given(spaces())
def test_spaces(space: Space) -> None:
    rows = every(space.options)
    compiled = ArraySpace(space)
    assert compiled.valid(rows).tolist() == [space.valid(settings_at(row, space.options)) for row in rows]
    canonical = compiled.canonical(rows)
    assert canonical.dtype == rows.dtype
    for row, found in zip(rows, canonical, strict=True):
        assert settings_at(found, space.options) == dict(space.canonical(settings_at(row, space.options)))


def test_no_rows_and_large_terms() -> None:
    known = tuple(Option(name, tuple(range(20)), 0) for name in "abcd")
    formula = ArrayFormula(parse_formula("a + b + c + d <= 3"), known)
    rows = np.random.default_rng(1).integers(0, 20, (500, 4)) // 8
    assert formula.holds(rows).tolist() == (rows.sum(axis=1) <= 3).tolist()
    assert formula.holds(rows[:0]).tolist() == []


@given(space=spaces(), seed=st.integers(0, 9))
def test_all_and_drawn_configurations_are_those_of_the_space(space: Space, seed: int) -> None:
    rows = every_position(space)
    assert [settings_at(row, space.options) for row in rows] == list(map(dict, enumerate_configurations(space)))
    number = 5 if count(space) else 0
    drawn = drawn_positions(space, number, np.random.default_rng(seed))
    expected = sample(space, number, np.random.default_rng(seed))
    assert [settings_at(row, space.options) for row in drawn] == list(map(dict, expected))


@pytest.mark.parametrize("formulas", [(), tuple(f"x{i} + x{i + 1} <= 8" for i in range(69))], ids=["free", "tied"])
def test_more_configurations_than_a_machine_word_counts(formulas: tuple[str, ...]) -> None:
    names = [f"x{i}" for i in range(70)]
    space = Space(tuple(Option(name, tuple(range(6)), 0) for name in names), tuple(map(parse_formula, formulas)))
    assert count(space) > 2**64
    drawn = drawn_positions(space, 20, np.random.default_rng(3))
    expected = sample(space, 20, np.random.default_rng(3))
    assert [settings_at(row, space.options) for row in drawn] == list(map(dict, expected))
