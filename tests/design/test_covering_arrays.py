"""Covering arrays: complete by brute force over all valid configurations, and no larger than published ones."""

from __future__ import annotations

from itertools import combinations, pairwise
from math import comb
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hati.core import Configuration, InputError
from hati.design import CoveringArray, Levels, coverage, covering_array, covering_arrays, from_levels, levels
from hati.project import read_feature_model
from hati.space import Option, Space, enumerate_configurations, parse_formula

PUBLISHED = {
    ("lrzip", 2): 54,
    ("lrzip", 3): 111,
    ("lrzip", 4): 231,
    ("llvm", 2): 8,
    ("llvm", 3): 17,
    ("llvm", 4): 40,
    ("hipacc", 2): 361,
    ("hipacc", 3): 1550,
    ("hipacc", 4): 6250,
}
"""Runs of PICT (github.com/microsoft/pict), the best of ten seeds, with inactive options as a setting."""


def free(*sizes: int) -> Space:
    return Space(tuple(Option(f"o{place}", tuple(range(size)), 0) for place, size in enumerate(sizes)))


def tied() -> Space:
    options = (
        *(Option(name, (0, 1, 2), 0) for name in "abc"),
        Option("p", (False, True), False),
        Option("x", (1, 2, 3), 1, active_if=parse_formula("p")),
        *(Option(name, (False, True), False) for name in "uvw"),
    )
    constraints = ("a == 0 or b == 0", "c == 2 => not u", "p => not (v and w)", "a == 2 => x == 3")
    return Space(options, tuple(map(parse_formula, constraints)))


def occurring(configurations: list[Configuration], names: tuple[str, ...], strength: int) -> set[object]:
    """Every combination of settings, by the space's own listing and Python's own sets."""
    return {
        (group, tuple(configuration.get(name) for name in group))
        for group in combinations(names, strength)
        for configuration in configurations
    }


def assert_complete(made: CoveringArray, strength: int) -> None:
    space = made.space
    rows = list(from_levels(made.levels, space))
    assert all(space.valid(row) for row in rows)
    wanted = occurring(list(enumerate_configurations(space)), space.names, strength)
    assert occurring(rows, space.names, strength) == wanted
    known = made.coverage
    assert (known.valid, known.covered, known.complete) == (len(wanted), len(wanted), True)


@pytest.fixture(params=["listed", "sequential"])
def search(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "sequential":
        monkeypatch.setattr(covering_arrays, "LISTED", 0)
    return str(request.param)


@pytest.mark.parametrize("strength", [2, 3, 4])
def test_complete_under_constraints(search: str, strength: int) -> None:
    made = covering_array(tied(), strength, np.random.default_rng(5))
    assert_complete(made, strength)
    assert made.coverage.invalid > 0
    assert made.fixed == 0


@settings(max_examples=15)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=6), st.sampled_from([2, 3]), st.integers(0, 99))
def test_complete_without_constraints(sizes: list[int], strength: int, seed: int) -> None:
    made = covering_array(free(*sizes), strength, np.random.default_rng(seed))
    assert_complete(made, min(strength, len(sizes)))
    most = sorted(sizes)[-strength:]
    assert made.runs >= np.prod(most)


def test_the_same_seed_gives_the_same_array(search: str) -> None:
    first, again = (covering_array(tied(), 3, np.random.default_rng(8)).levels for _ in range(2))
    assert np.array_equal(first, again)


def test_only_what_is_lacking_is_added(search: str) -> None:
    space = tied()
    whole = covering_array(space, 2, np.random.default_rng(1))
    again = covering_array(space, 2, np.random.default_rng(2), fixed=whole.levels)
    assert again.runs == again.fixed == whole.runs
    part = whole.levels[: whole.runs // 2]
    made = covering_array(space, 3, np.random.default_rng(2), fixed=part)
    assert np.array_equal(made.levels[: len(part)], part)
    assert_complete(made, 3)
    assert made.given.covered < made.coverage.covered
    assert made.fractions[-1] == pytest.approx(1.0)
    assert all(before < after for before, after in pairwise(made.fractions[made.fixed :]))


def test_coverage_of_rows() -> None:
    space = tied()
    rows: Levels = levels(list(enumerate_configurations(space))[:5], space)
    known = coverage(space, 2, rows, np.random.default_rng(1))
    configurations = list(from_levels(rows, space))
    assert known.covered == len(occurring(configurations, space.names, 2))
    assert not known.complete


def test_a_space_beyond_listing() -> None:
    options = tuple(Option(f"o{place}", (False, True), False) for place in range(40))
    constraints = [f"o{place} => not o{place + 1}" for place in range(0, 40, 2)]
    space = Space(options, tuple(map(parse_formula, constraints)))
    made = covering_array(space, 2, np.random.default_rng(1))
    rows = list(from_levels(made.levels, space))
    assert all(space.valid(row) for row in rows)
    assert len(occurring(rows, space.names, 2)) == comb(40, 2) * 4 - 20  # both of a tied pair cannot be on
    assert made.runs <= 16


@pytest.mark.parametrize("strength", [2, 3])
@pytest.mark.parametrize("system", ["lrzip", "llvm"])
def test_real_spaces(shared_data: Path, system: str, strength: int) -> None:
    space = read_feature_model(shared_data / "configurable-systems" / system / "FeatureModel.xml").space
    made = covering_array(space, strength, np.random.default_rng(1))
    assert_complete(made, strength)
    assert made.runs <= PUBLISHED[system, strength]


@pytest.mark.acceptance
@pytest.mark.parametrize(("system", "strength"), [("lrzip", 4), ("llvm", 4), ("hipacc", 2), ("hipacc", 3)])
def test_large_real_arrays(shared_data: Path, system: str, strength: int) -> None:
    space = read_feature_model(shared_data / "configurable-systems" / system / "FeatureModel.xml").space
    made = covering_array(space, strength, np.random.default_rng(1))
    assert_complete(made, strength)
    assert made.runs <= PUBLISHED[system, strength]


def test_what_cannot_be_covered() -> None:
    rng = np.random.default_rng(1)
    with pytest.raises(InputError, match="strength 5"):
        covering_array(free(2, 2), 5, rng)
    with pytest.raises(InputError, match="no options"):
        covering_array(Space(()), 2, rng)
    with pytest.raises(InputError, match="no valid configuration"):
        covering_array(Space((Option("a", (0, 1), 0),), (parse_formula("a == 0 and a == 1"),)), 2, rng)
    with pytest.raises(InputError, match="lower the strength"):
        covering_array(free(*[2] * 120), 4, rng)
