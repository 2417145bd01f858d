"""The update formulas against determinants, inverses and traces computed anew.

Columns by index equal those of the model, for rows and for their neighbours.

What a space can tell apart whatever is run, what was not run yet, and runs added without asking for everything.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.design.coding import INACTIVE, Columns, Model, candidates, levels
from hati.design.information import Information, basis, changed_forms, identified, independent, ties
from hati.design.matrix import unmeasured
from hati.design.optimal_designs import confounded, refine
from hati.design.setting_exchanges import PendingExchanges
from hati.space import Option, Space, count, enumerate_configurations, parse_formula


@given(st.integers(0, 2**32 - 1), st.booleans(), st.integers(0, 2))
def test_gains_and_exchanges_are_those_of_direct_computation(seed: int, average: bool, lead: int) -> None:
    rng = np.random.default_rng(seed)
    rows, watched = rng.normal(size=(9, 4)), rng.normal(size=(6, 4 - lead))
    prior = np.array([0.0, 0.0, 0.5, 1.0])
    moments = np.cov(rng.normal(size=(4, 30))) if average else None

    def value(x: np.ndarray) -> float:
        matrix = x.T @ x + np.diag(prior)
        return (
            float(np.linalg.slogdet(matrix)[1])
            if moments is None
            else -float(np.trace(np.linalg.inv(matrix) @ moments))
        )

    about = Information(rows.copy(), prior, watched, moments)
    for place in range(3):
        row = rows[place].copy()
        others = np.hstack([np.tile(row[:lead], (6, 1)), watched])
        gains = about.watched_gains(row[None])[0]
        assert about.gains(row[None], others[None])[0] == pytest.approx(gains, rel=1e-6, abs=1e-9)
        before = value(rows)
        for move in range(6):
            changed = rows.copy()
            changed[place] = others[move]
            expected = value(changed) - before
            assert gains[move] == pytest.approx(expected if average else np.expm1(expected), rel=1e-6, abs=1e-8)
        best = int(np.argmax(gains))
        about.exchange(row, others[best])
        rows[place] = others[best]
        assert about.value == pytest.approx(value(rows), rel=1e-8)
        assert about.inverse == pytest.approx(np.linalg.inv(rows.T @ rows + np.diag(prior)), rel=1e-6, abs=1e-8)


def test_many_rows_at_once_have_the_gains_of_each() -> None:
    rng = np.random.default_rng(3)
    rows, others = rng.normal(size=(8, 3)), rng.normal(size=(8, 5, 3))
    about = Information(rows, np.zeros(3))
    each = [about.gains(rows[i][None], others[i][None])[0] for i in range(8)]
    assert about.gains(rows, others) == pytest.approx(np.array(each))


SIZES = st.lists(st.integers(1, 4), min_size=1, max_size=5)


@given(SIZES, st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_columns_are_those_of_the_model(sizes: list[int], order: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = Model.of_order(sizes, min(order, len(sizes)))
    rows = rng.integers(INACTIVE, sizes, (7, len(sizes))).astype(np.int16)
    assert np.allclose(Columns(model).matrix(rows), model.matrix(rows))


@given(SIZES, st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_changes_are_those_of_shifted_rows(sizes: list[int], order: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = Columns(Model.of_order(sizes, min(order, len(sizes))))
    rows = rng.integers(0, sizes, (3, len(sizes))).astype(np.int16)
    grouped = np.empty((len(columns.places), 2), dtype=np.intp)
    grouped[columns.places] = np.transpose(columns.moves)
    moves = iter(grouped)
    for (options, places, *_), found in zip(columns.shifts, columns.changes(rows), strict=True):
        for own, changed in zip(places, found, strict=True):
            for each in changed.transpose(1, 0, 2):
                option, shift = next(moves)
                assert option in options
                moved = rows.copy()
                moved[:, option] = (rows[:, option] + shift) % sizes[option]
                expected = columns.matrix(moved) - columns.matrix(rows)
                assert np.allclose(each, expected[:, own])
                assert np.allclose(np.delete(expected, own, axis=1), 0.0)
    assert not list(moves)


@given(SIZES.filter(lambda sizes: max(sizes) > 1), st.booleans(), st.integers(0, 1), st.integers(0, 2**32 - 1))
def test_gains_of_shifts_are_those_of_whole_rows(sizes: list[int], average: bool, lead: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = Columns(Model.of_order(sizes, min(2, len(sizes))))
    rows = rng.integers(0, sizes, (6, len(sizes))).astype(np.int16)
    blocks = rng.normal(size=(6, lead))
    whole = np.hstack([blocks, columns.matrix(rows)])
    about = Information(whole, np.full(whole.shape[1], 0.5), None, np.eye(whole.shape[1]) if average else None)
    others = []
    for option, shift in zip(*columns.moves, strict=True):
        moved = rows.copy()
        moved[:, option] = (rows[:, option] + shift) % sizes[option]
        others.append(np.hstack([blocks, columns.matrix(moved)]))
    found = about.shift_gains(whole, columns.changes(rows), [shifts.columns + lead for shifts in columns.shifts])
    expected = about.gains(whole, np.stack(others, axis=1))
    assert found[:, columns.places] == pytest.approx(expected, rel=1e-7, abs=1e-7)


@given(SIZES.filter(lambda sizes: max(sizes) > 1), st.integers(0, 1), st.integers(0, 2**32 - 1))
def test_pending_exchanges_are_those_made_one_by_one(sizes: list[int], lead: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = Columns(Model.of_order(sizes, min(2, len(sizes))))
    levels = rng.integers(0, sizes, (6, len(sizes))).astype(np.int16)
    rows = np.hstack([rng.normal(size=(6, lead)), columns.matrix(levels)])
    changed = [shifts.columns + lead for shifts in columns.shifts]
    prior = np.full(rows.shape[1], 0.5)
    now, later = (Information(rows, prior) for _ in range(2))
    products = rows @ later.inverse
    forms = changed_forms(rows, products, columns.changes(levels), changed, later.inverse)
    assert forms.growth - 1.0 == pytest.approx(now.shift_gains(rows, columns.changes(levels), changed))
    pending = PendingExchanges(later, rows, products.copy(), columns.changes(levels), changed)
    others = rows.copy()
    for place, row in enumerate(rows.copy()):
        expected = now.shift_gains(row[None], columns.changes(levels[place : place + 1]), changed)[0]
        assert pending.gains(place) == pytest.approx(expected, rel=1e-7, abs=1e-7)
        if place % 3 < 2:
            drawn = rng.integers(0, sizes, (1, len(sizes))).astype(np.int16)
            other = np.concatenate([row[:lead], columns.matrix(drawn)[0]])
            now.exchange(row, other)
            pending.exchange(place, other)
            others[place] = other
    solved, weighted = pending.apply()
    assert others @ later.inverse == pytest.approx(others @ np.linalg.inv(others.T @ others + np.diag(prior)), abs=1e-6)
    assert products - rows @ solved.T @ weighted == pytest.approx(rows @ later.inverse, abs=1e-7)
    assert later.log_determinant == pytest.approx(now.log_determinant, abs=1e-7)
    assert later.inverse == pytest.approx(now.inverse, rel=1e-7, abs=1e-7)


def test_an_option_without_terms_changes_no_column() -> None:
    columns = Columns(Model((2, 2, 3), ((0,), (0, 1))))
    changes = columns.changes(np.array([[0, 1, 2]], dtype=np.int16))
    assert [np.count_nonzero(found) for group in changes for found in group] == [2, 1, 0]


@given(SIZES, st.integers(2, 3))
def test_ranges_are_those_over_all_combinations(sizes: list[int], order: int) -> None:
    columns = Columns(Model.of_order(sizes, min(order, len(sizes))))
    everything = np.stack(np.meshgrid(*map(np.arange, sizes), indexing="ij"), -1).reshape(-1, len(sizes))
    assert np.allclose(columns.ranges, np.ptp(columns.matrix(everything.astype(np.int16)), axis=0))


def test_independent_columns_come_first() -> None:
    rng = np.random.default_rng(1)
    a, b, c = rng.normal(size=(3, 20))
    columns = np.column_stack([a, b, a + b, np.zeros(20), c, c - a])
    assert independent(columns.T @ columns).tolist() == [0, 1, 4]


def test_potential_columns_are_orthogonal_to_primary_ones_and_have_range_one() -> None:
    options = tuple(Option(name, ("0", "1", "2")[: 2 + (name == "c")], "0") for name in "abc")
    space = Space(options, (parse_formula("a == '0' or b == '0' or c == '2'"),))
    among = candidates(space, np.random.default_rng(1))
    made = basis(among, Model.of_order((2, 2, 3), 2), among.levels[:0], 1, 1.0)
    rows = made.matrix(among.levels)
    assert made.primary == 5
    assert np.abs(rows[:, :5].T @ rows[:, 5:]).max() < 1e-9
    assert np.ptp(rows[:, 5:], axis=0) == pytest.approx(np.ones(len(rows.T) - 5))
    assert made.prior[5:] == pytest.approx(1.0)


NESTED = Space(
    (
        Option("a", (False, True), default=False),
        Option("algo", ("x", "y", "z"), default="x", active_if=parse_formula("a")),
        Option("b", (False, True), default=False),
    )
)
SIZES_IDENTIFIED = (2, 3, 2)
EVERY = levels(list(enumerate_configurations(NESTED)), NESTED)


def rank(terms: tuple[tuple[int, ...], ...]) -> int:
    return int(np.linalg.matrix_rank(Model(SIZES_IDENTIFIED, terms).matrix(EVERY)))


def test_a_nested_option_with_its_parent_has_no_column_of_its_own() -> None:
    terms = Model.of_order(SIZES_IDENTIFIED, 3).terms
    found = identified(candidates(NESTED, np.random.default_rng(1)), terms, EVERY[:1])
    assert found.dropped == ((0, 1), (0, 1, 2))
    assert found.reduced == ()
    assert len(found.kept) == rank(terms) == count(NESTED)
    assert set(found.terms) | set(found.dropped) == set(terms)


def test_a_constraint_leaves_a_part_of_a_term() -> None:
    space = Space(
        (Option("a", ("x", "y", "z"), default="x"), Option("b", (False, True), default=False)),
        (parse_formula("not (a == 'z' and b)"),),
    )
    every = levels(list(enumerate_configurations(space)), space)
    found = identified(candidates(space, np.random.default_rng(1)), ((0,), (1,), (0, 1)), every)
    assert (found.reduced, found.dropped) == (((0, 1),), ())
    columns = found.columns(every)[0, 1]
    assert columns.shape == (5, 2)
    assert np.count_nonzero(columns.any(axis=0)) == 1


def test_without_constraints_everything_is_kept() -> None:
    space = Space(tuple(Option(name, (False, True), default=False) for name in "abc"))
    found = identified(candidates(space, np.random.default_rng(1)), Model.of_order((2, 2, 2), 3).terms, EVERY[:0])
    assert (len(found.kept), found.dropped, found.reduced) == (8, (), ())


def test_runs_that_are_needed_are_what_the_rank_lacks() -> None:
    found = identified(candidates(NESTED, np.random.default_rng(1)), Model.of_order(SIZES_IDENTIFIED, 2).terms, EVERY)
    assert found.runs_needed(EVERY) == 0
    assert found.runs_needed(EVERY[:3]) == len(found.kept) - 3


def test_what_was_run_is_not_left() -> None:
    left = unmeasured(NESTED, EVERY[::2], np.random.default_rng(1)).levels
    assert sorted(map(bytes, left)) == sorted(map(bytes, EVERY[1::2]))


def test_more_runs_are_chosen_even_where_they_cannot_tell_everything() -> None:
    terms = Model.of_order(SIZES_IDENTIFIED, 2).terms
    among = unmeasured(NESTED, EVERY[:2], np.random.default_rng(1))
    blocks = np.array([-1.0, -1.0, 1.0, 1.0, 1.0])[:, None]
    added = refine(among, EVERY[:2], blocks, terms, 3, np.random.default_rng(1), 3)
    assert len({row.tobytes() for row in added} | {row.tobytes() for row in EVERY[:2]}) == 5
    mains = Model(SIZES_IDENTIFIED, ((0,), (1,), (2,))).matrix(np.vstack([EVERY[:2], added]))
    assert np.linalg.matrix_rank(mains) == 5


def test_a_fraction_confounds_pairs() -> None:
    full = np.array(list(np.ndindex(2, 2, 2)), dtype=np.int16)
    runs = np.column_stack([full, (full.sum(axis=1) % 2)]).astype(np.int16)
    found = confounded(runs, (2, 2, 2, 2), (0, 1), ((0, 1), (0, 2), (2, 3), (0,)))
    assert found == ((2, 3),)


def test_an_option_that_others_decide_has_no_effect_of_its_own() -> None:
    """Logging is on if and only if the log has a size; of equals the first stays; what is nested stays."""
    rows = np.array([(size > 0, size, nested, 1 - nested) for size in range(3) for nested in (0, 1)], dtype=np.int16)
    assert ties(rows, (2, 3, 2, 2)) == ((0, 3), ())
    nested = np.array([(0, -1), (1, 0), (1, 1)], dtype=np.int16)
    assert ties(nested, (2, 2)) == ((), ())
    partly = np.array([(0, 0), (1, 1), (1, 2), (2, 1), (2, 2)], dtype=np.int16)
    assert ties(partly, (3, 3)) == ((), (1,))
    assert ties(np.zeros((4, 1), dtype=np.int16), (1,)) == ((), ())
