"""What decision diagrams show of a space: compared with trying all configurations, and with the solver."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import product
from unittest.mock import patch

import pytest
from hypothesis import given, settings

from hati.core import Configuration, NotInstalledError, Setting
from hati.space import Option, Space, check, narrowed, parse_formula
from hati.space.configurations import check_by_solver, diagrams, nearest
from hati.space.diagram import Solver
from hati.space.evaluation import holds
from spaces import spaces


def valid_ones(space: Space) -> set[Configuration]:
    assignments = product(*(option.settings for option in space.options))
    made = {space.canonical(dict(zip(space.names, assignment, strict=True))) for assignment in assignments}
    return {configuration for configuration in made if space.valid(configuration)}


def distance(option: Option, setting: Setting) -> int:
    places = option.position(setting), option.position(option.default)
    return abs((places[0] or 0) - (places[1] or 0))


def objective(space: Space, configuration: Configuration) -> tuple[int, int]:
    """The number of settings at a distance, and the sum of distances."""
    apart = [distance(space.option(name), setting) for name, setting in configuration.items()]
    return sum(map(bool, apart)), sum(apart)


@settings(max_examples=60)
@given(spaces(most_options=4))
def test_the_nearest_configuration_is_one_that_no_other_is_nearer_than(space: Space) -> None:
    found, valid = nearest(space, distance), valid_ones(space)
    assert (found is None) == (not valid)
    if found is not None:
        assert found in valid
        assert objective(space, found) == min(objective(space, each) for each in valid)
        solved = Solver(space).nearest(distance)
        assert solved is not None
        assert objective(space, solved) == objective(space, found)


@settings(max_examples=40)
@given(spaces(most_options=4))
def test_the_solver_finds_the_same(space: Space) -> None:
    violated = tuple(constraint for constraint in space.constraints if not holds(constraint, space.default))
    solved, found = check_by_solver(space, violated), check(space)
    assert bool(solved.contradiction) == bool(found.contradiction)
    if not found.contradiction:
        assert solved == found


ENTANGLED = Space(
    tuple(Option(name, (False, True), default=False) for name in "abcdef"),
    tuple(parse_formula(f"{one} => {other}") for one, other in zip("abcde", "bcdef", strict=True)),
)


@pytest.fixture
def entangled() -> Iterator[Space]:
    """A space that is too entangled for diagrams."""
    diagrams.cache_clear()
    with patch("hati.space.diagram._MOST_BITS", 3):
        yield ENTANGLED
    diagrams.cache_clear()


def test_what_is_too_entangled_is_solved(entangled: Space) -> None:
    assert check(entangled).sound
    template = (parse_formula("not f or a and b"), parse_formula("f"))
    assert narrowed(entangled, template).template == template


def test_without_the_solver_the_extra_is_named(entangled: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    with pytest.raises(NotInstalledError, match=r"the 6 options .* OR-Tools; install it: pip install 'hati\[solver\]'"):
        check(entangled)


def test_without_the_solver_a_space_is_checked_and_narrowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    assert check(ENTANGLED).sound
    found = narrowed(ENTANGLED, (parse_formula("c and not (d and e and b)"),))
    assert found.default == Configuration({}) or found.valid(found.default)
