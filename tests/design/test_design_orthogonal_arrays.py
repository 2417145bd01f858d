"""Orthogonal arrays: strength two by counting pairs, for all that is constructed; nearly orthogonal ones told so."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hati.core import InputError
from hati.design import LevelDesign, array_runs, level_properties, orthogonal_array, strength, write_level_csv
from hati.design.constructions import difference_scheme, group_table


def sizes(text: str) -> tuple[int, ...]:
    """``3^7 2`` for seven columns of three settings and one of two."""
    pairs = [[*word.split("^"), "1"][:2] for word in text.split()]
    return tuple(int(size) for size, count in pairs for _ in range(int(count)))


def all_pairs_equally_often(design: LevelDesign) -> bool:
    rows = design.levels.tolist()
    for i, j in combinations(range(len(design.sizes)), 2):
        counts = Counter((row[i], row[j]) for row in rows)
        if set(counts) != set(product(range(design.sizes[i]), range(design.sizes[j]))) or len(set(counts.values())) > 1:
            return False
    return True


# The columns that arrays of these sizes are known to have (Taguchi's among them; Hedayat, Sloane and Stufken 1999).
KNOWN = [
    ("2^3", 4), ("2^7", 8), ("4 2^4", 8), ("3^4", 9), ("2^11", 12), ("3 2^4", 12), ("6 2^2", 12), ("2^15", 16),
    ("4 2^12", 16), ("4^2 2^9", 16), ("4^3 2^6", 16), ("4^4 2^3", 16), ("4^5", 16), ("8 2^8", 16), ("3^7 2", 18),
    ("6 3^6", 18), ("2^19", 20), ("5 2^8", 20), ("2^23", 24), ("3 2^16", 24), ("4 2^20", 24), ("6 2^14", 24),
    ("12 2^12", 24), ("4 3 2^13", 24), ("5^6", 25), ("3^13", 27), ("9 3^9", 27), ("7 2^11", 28), ("2^31", 32),
    ("4^9 2^4", 32), ("8 4^8", 32), ("16 2^16", 32), ("3^12 2^11", 36), ("3^13 2^4", 36), ("6 3^12 2^2", 36),
    ("12 3^12", 36), ("6^3", 36), ("4^12 3 2^4", 48), ("4^13", 48), ("7^8", 49), ("5^11 2", 50), ("10 5^10", 50),
    ("3^25 2", 54), ("6 3^24", 54), ("8^9", 64), ("4^21", 64), ("16 4^16", 64), ("3^40", 81), ("9^10", 81),
]  # fmt: skip


@pytest.mark.parametrize(("text", "runs"), KNOWN)
def test_known_arrays_are_found_in_the_fewest_runs(text: str, runs: int) -> None:
    design = orthogonal_array(sizes(text))
    assert design.runs == runs
    assert design.kind == "orthogonal array"
    assert design.sizes == sizes(text)
    assert all_pairs_equally_often(design)
    assert strength(design.levels, design.sizes, 2) == 2
    assert level_properties(design).d_efficiency == pytest.approx(1.0)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from([2, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9]), min_size=2, max_size=9))
def test_what_is_called_an_array_is_one(chosen: list[int]) -> None:
    try:
        design = orthogonal_array(chosen)
    except InputError:
        assert array_runs(chosen) == ((), ())
        return
    assert design.sizes == tuple(chosen)
    assert all_pairs_equally_often(design) == (design.kind == "orthogonal array")
    known = level_properties(design)
    assert known.correlated == ()
    assert known.d_efficiency > 0
    if design.kind == "nearly orthogonal array":
        assert known.unbalanced
        assert 0.5 < known.d_efficiency < 1


@settings(deadline=None, max_examples=40)
@given(st.lists(st.sampled_from([2, 3, 4]), min_size=2, max_size=6), st.data())
def test_every_size_that_is_told_can_be_had(chosen: list[int], data: st.DataObject) -> None:
    exact, nearly = array_runs(chosen)
    runs = data.draw(st.sampled_from([*exact, *nearly]))
    design = orthogonal_array(chosen, runs)
    assert design.runs == runs
    assert (design.kind == "orthogonal array") == (runs in exact) == all_pairs_equally_often(design)


@pytest.mark.parametrize(
    ("rows", "settings_", "columns"),
    [(6, 3, 6), (12, 3, 12), (12, 4, 12), (18, 3, 18), (10, 5, 10), (14, 7, 14), (9, 3, 9), (12, 2, 12), (18, 9, 18),
     (8, 4, 4), (12, 6, 2), (7, 6, 1), (45, 3, 9)],
)  # fmt: skip
def test_difference_schemes(rows: int, settings_: int, columns: int) -> None:
    scheme, add = difference_scheme(rows, settings_), group_table(settings_)
    minus = np.argmin(add, axis=1)
    assert scheme.shape == (rows, columns)
    for i, j in combinations(range(columns), 2):
        differences = add[scheme[:, i], minus[scheme[:, j]]]
        assert np.array_equal(np.bincount(differences, minlength=settings_), [rows // settings_] * settings_)


def test_two_settings_in_a_power_of_two_are_of_minimum_aberration() -> None:
    assert strength(orthogonal_array(sizes("2^8"), 16).levels, sizes("2^8")) == 3
    assert strength(orthogonal_array(sizes("2^5"), 16).levels, sizes("2^5"), 5) == 4


def test_columns_are_chosen_for_strength_three_where_there_is_room() -> None:
    design = orthogonal_array(sizes("3^4"), 27)
    assert level_properties(design).strength == 3
    assert level_properties(design).distinct == 27


def test_whole_copies_make_up_more_runs() -> None:
    design = orthogonal_array(sizes("3^5 2"), 288)
    assert design.runs == 288
    assert all_pairs_equally_often(design)


def test_dummy_settings_are_told() -> None:
    design = orthogonal_array(sizes("4^3 3^2"), 16)
    known = level_properties(design)
    assert design.kind == "nearly orthogonal array"
    assert known.strength == 0
    assert known.unbalanced == ("D", "E")
    assert known.correlated == ()
    assert np.bincount(design.levels[:, 3]).tolist() == [8, 4, 4]


@pytest.mark.parametrize(
    ("chosen", "runs", "message"),
    [
        ((3, 3, 3, 3), 12, r"3\^4 here in 12 runs; available: orthogonal in 9, 18, .*nearly so in 16, 25"),
        ((11, 11, 11, 2, 2), None, r"11\^3 x 2\^2 here in up to 144 runs; available: all 5,324 combinations"),
        ((2, 50), None, "2 to 49 settings"),
        ((2, 1), None, "2 to 49 settings"),
        ((), None, "no factors"),
    ],
)
def test_what_cannot_be_had(chosen: tuple[int, ...], runs: int | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        orthogonal_array(chosen, runs)


def test_strength_by_counting() -> None:
    every = np.array(list(product(range(2), range(3), range(2))))
    assert strength(every, (2, 3, 2)) == 3
    assert strength(every[:-1], (2, 3, 2)) == 0
    half = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    assert strength(half, (2, 2, 2)) == 2
    assert strength(half[:, [0, 0]], (2, 2)) == 1
    with pytest.raises(InputError, match="too many"):
        strength(np.zeros((4, 700), dtype=np.int16), (1,) * 700)


def test_properties_of_any_levels() -> None:
    design = LevelDesign(("a", "b"), (2, 2), np.array([[0, 0], [1, 1], [0, 0], [1, 0]]))
    known = level_properties(design)
    assert known.distinct == 3
    assert known.unbalanced == ("b",)
    assert known.correlated == (("a", "b"),)
    assert known.d_efficiency == pytest.approx(np.linalg.det([[1, 0, -0.5], [0, 1, 0.5], [-0.5, 0.5, 1]]) ** (1 / 3))
    assert level_properties(LevelDesign(("a", "b"), (2, 2), np.array([[0, 0], [1, 1], [0, 0]]))).d_efficiency == 0


def test_values() -> None:
    design = LevelDesign(("a,b", "c"), (2, 3), np.array([[0, 2], [1, 0]]))
    assert design == LevelDesign(("a,b", "c"), (2, 3), np.array([[0, 2], [1, 0]]), "orthogonal array")
    assert design != LevelDesign(("a,b", "c"), (2, 3), np.array([[0, 2], [1, 1]]))
    assert len({design, LevelDesign(("a,b", "c"), (2, 3), design.levels)}) == 1
    assert write_level_csv(design) == '"a,b",c\n0,2\n1,0\n'
    assert write_level_csv(design, [["x", "y"], ["1", "2", 'a"b']]) == '"a,b",c\nx,"a""b"\ny,1\n'
    assert level_properties(design).runs == 2


@pytest.mark.parametrize(
    ("names", "its", "levels", "message"),
    [
        (("a",), (1,), [[0]], "two settings or more"),
        (("a", "a"), (2, 2), [[0, 0]], "twice"),
        (("a",), (2,), [[2]], "no setting"),
        (("a",), (2,), [[-1]], "no setting"),
        (("a",), (2,), [[0, 1]], "that many columns"),
    ],
)
def test_bad_values(names: tuple[str, ...], its: tuple[int, ...], levels: list[list[int]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        LevelDesign(names, its, np.array(levels))
