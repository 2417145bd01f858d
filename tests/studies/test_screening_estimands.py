"""Effects, effects at settings of others, and interactions where options are tied: equal to those by enumeration."""

from __future__ import annotations

from itertools import combinations, permutations, product
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_screening_population import (
    SWITCH,
    changed,
    means_of_moves,
    rows_of,
    tied_spaces,
)

from hati.core import FloatArray
from hati.design import Levels, Model
from hati.space import Option, Space, parse_formula
from hati.studies.screening.model import model_terms
from hati.studies.screening.model_fit import ModelFit
from hati.studies.screening.population import ValidPopulation

EXACT = {"rel": 1e-6, "abs": 1e-6}


class EveryValue:
    """A value for each valid configuration, and the fit of all of them by all effects of all orders."""

    def __init__(self, space: Space, seed: int) -> None:
        self.space, self.rows = space, rows_of(space)
        values = np.random.default_rng(seed).uniform(50.0, 150.0, len(self.rows))
        self._values = {tuple(row): value for row, value in zip(self.rows.tolist(), values.tolist(), strict=True)}
        sizes = [len(option.settings) for option in space.options]
        terms = model_terms(Model.of_order(sizes, len(sizes)), self.rows, np.zeros(len(self.rows), dtype=np.intp))
        self.fit = ModelFit.of(terms, tuple(terms), ValidPopulation.of(space, 1), values)

    def value(self, rows: Levels) -> FloatArray:
        return np.array([self._values[tuple(row)] for row in rows.tolist()])


@st.composite
def constrained_spaces(draw: st.DrawFn) -> Space:
    """Four options and constraints among any of them; one that is active under a condition that no constraint names."""
    sizes = draw(st.lists(st.integers(2, 3), min_size=3, max_size=3))
    plain = tuple(Option(name, tuple(range(size)), 0) for name, size in zip("abc", sizes, strict=True))
    condition = parse_formula(draw(st.sampled_from(["a == 1", "a != 1 and c == 0", "b == c"])))
    last = Option("d", SWITCH, default=False, active_if=condition if draw(st.booleans()) else None)
    rules = ["not (a == 1 and b == 1)", "a == 0 or c == 0", "b == 1 or c != 1", "a == 1 or b == 1 or c == 1"]
    chosen = draw(st.lists(st.sampled_from(rules), unique=True, min_size=1, max_size=2))
    return Space((*plain, last), tuple(map(parse_formula, chosen)))


SPACES = st.one_of(tied_spaces(), constrained_spaces())


@given(space=SPACES, seed=st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_changes_at_settings_are_those_of_the_configurations_valid_with_both(space: Space, seed: int) -> None:
    """Those of all configurations too; a change that no valid configuration has is not one."""
    known = EveryValue(space, seed)
    places = range(len(space.options))
    ats = [{other: setting} for other in places for setting in range(len(space.options[other].settings))]
    for option, at in product(places, ({}, *ats)):
        if option in at:
            continue
        pairs = permutations(range(len(space.options[option].settings)), 2)
        expected = {pair: changed(space, known.value, option, *pair, at) for pair in pairs}
        there = {pair: change for pair, change in expected.items() if change is not None}
        found = known.fit.change(option, at)
        if not there:
            assert found is None or not at
            continue
        assert found is not None
        contrast = found.contrast
        assert contrast.base is not None
        assert (contrast.estimate, contrast.base.mean) == pytest.approx(there[found.before, found.after], **EXACT)
        if len(space.options[option].settings) == 2:
            assert (found.before, found.after) == (0, 1)
        elif at or len(there) == len(expected):
            assert contrast.estimate == pytest.approx(max(change for change, _ in there.values()), **EXACT)


@given(space=SPACES, seed=st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_interactions_are_deviations_in_the_configurations_valid_with_all_combinations(space: Space, seed: int) -> None:
    """Of two or three options: what is left of the combinations' means after what fewer of the options explain."""
    known = EveryValue(space, seed)
    for term in (*combinations(range(4), 2), *combinations(range(4), 3)):
        sizes = [len(space.options[option].settings) for option in term]
        cells = [dict(zip(term, cell, strict=True)) for cell in product(*map(range, sizes))]
        means = means_of_moves(space, known.value, cells)
        if means is None:
            continue
        terms = Model.of_order(sizes, len(term) - 1)
        fewer = terms.matrix(np.array([*product(*map(range, sizes))], dtype=np.int16))
        left = means - fewer @ np.linalg.lstsq(fewer, means)[0]
        found = known.fit.effect(term)
        assert abs(found.estimate) == pytest.approx(np.ptp(left), **EXACT)
        assert found.base is not None
        if prod(sizes) > 2 ** len(term):
            assert found.base.mean == pytest.approx(means.mean(), **EXACT)


PAIRED = Space(
    (Option("a", SWITCH, default=False), Option("b", SWITCH, default=False), Option("c", (1, 2, 3), default=1)),
    (parse_formula("c == 1 or not (a and b)"),),
)


def test_an_interaction_of_two_settings_each_is_half_the_change_of_an_effect() -> None:
    """By either option: all four combinations are valid where c is 1, and only there."""
    known = EveryValue(PAIRED, 3)
    at = [
        [changed(PAIRED, known.value, option, 0, 1, {1 - option: place, 2: 0}) for place in (0, 1)] for option in (0, 1)
    ]
    halves = [(after[0] - before[0]) / 2.0 for before, after in at if before is not None and after is not None]
    assert halves[0] == pytest.approx(halves[1])
    assert known.fit.effect((0, 1)).estimate == pytest.approx(halves[0])
