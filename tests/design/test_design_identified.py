"""What a space can tell apart whatever is run, what was not run yet, and runs added without asking for everything."""

from __future__ import annotations

import numpy as np

from hati.design.configurations import unmeasured
from hati.design.optimal.coding import Model, candidates, levels
from hati.design.optimal.information import identified, ties
from hati.design.optimal.optimal import confounded, refine
from hati.space import Option, Space, count, enumerate_configurations, parse_formula

NESTED = Space(
    (
        Option("a", (False, True), default=False),
        Option("algo", ("x", "y", "z"), default="x", active_if=parse_formula("a")),
        Option("b", (False, True), default=False),
    )
)
SIZES = (2, 3, 2)
EVERY = levels(list(enumerate_configurations(NESTED)), NESTED)


def rank(terms: tuple[tuple[int, ...], ...]) -> int:
    return int(np.linalg.matrix_rank(Model(SIZES, terms).matrix(EVERY)))


def test_a_nested_option_with_its_parent_has_no_column_of_its_own() -> None:
    terms = Model.of_order(SIZES, 3).terms
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
    found = identified(candidates(NESTED, np.random.default_rng(1)), Model.of_order(SIZES, 2).terms, EVERY)
    assert found.runs_needed(EVERY) == 0
    assert found.runs_needed(EVERY[:3]) == len(found.kept) - 3


def test_what_was_run_is_not_left() -> None:
    left = unmeasured(NESTED, EVERY[::2], np.random.default_rng(1)).levels
    assert sorted(map(bytes, left)) == sorted(map(bytes, EVERY[1::2]))


def test_more_runs_are_chosen_even_where_they_cannot_tell_everything() -> None:
    terms = Model.of_order(SIZES, 2).terms
    among = unmeasured(NESTED, EVERY[:2], np.random.default_rng(1))
    blocks = np.array([-1.0, -1.0, 1.0, 1.0, 1.0])[:, None]
    added = refine(among, EVERY[:2], blocks, terms, 3, np.random.default_rng(1), 3)
    assert len({row.tobytes() for row in added} | {row.tobytes() for row in EVERY[:2]}) == 5
    mains = Model(SIZES, ((0,), (1,), (2,))).matrix(np.vstack([EVERY[:2], added]))
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
