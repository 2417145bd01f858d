"""What is wrong with a space, held against trying all configurations."""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings

from hati.space import Constraint, Diagnosis, Option, Space, check, count, parse_formula
from spaces import spaces


def boolean(name: str, condition: str | None = None) -> Option:
    active_if = parse_formula(condition) if condition else None
    return Option(name, (False, True), default=False, active_if=active_if)


def formulas(*texts: str) -> tuple[Constraint, ...]:
    return tuple(parse_formula(text) for text in texts)


def test_a_sound_space() -> None:
    assert check(Space((boolean("a"), boolean("b")), formulas("a => b"))).sound
    assert check(Space(())).sound


def test_the_contradiction_is_minimal() -> None:
    constraints = formulas("c or a", "a => b", "a", "c => c", "not b", "b or not c")
    found = check(Space((boolean("a"), boolean("b"), boolean("c")), constraints))
    assert found.contradiction == formulas("a => b", "a", "not b")
    assert not found.sound


def test_dead_settings_forced_options_and_options_that_are_never_active() -> None:
    space = Space(
        (boolean("a"), Option("n", (1, 2, 3), 3), boolean("b", "a and n == 3"), boolean("c", "n == 1")),
        formulas("n <= 2", "a => n < 2", "a"),
    )
    found = check(space)
    assert found.dead == (("a", False), ("n", 2), ("n", 3))
    assert found.forced == (("a", True), ("n", 1))
    assert found.never_active == ("b",)
    assert found.violated == formulas("n <= 2", "a")


def test_an_option_of_one_setting_is_not_forced() -> None:
    assert check(Space((Option("x", (1,), 1),))).sound


@settings(max_examples=60)
@given(spaces(most_options=4))
def test_finds_what_trying_finds(space: Space) -> None:
    found = check(space)
    assert not found.undecided
    assignments = product(*(option.settings for option in space.options))
    made = {space.canonical(dict(zip(space.names, assignment, strict=True))) for assignment in assignments}
    valid = [configuration for configuration in made if space.valid(configuration)]
    assert bool(found.contradiction) == (not valid)
    assert bool(found.violated) == (not space.valid(space.default))
    if not valid:
        _is_minimal(space, found)
        return
    alive = {item for configuration in valid for item in configuration.items()}
    active = {name for name, _ in alive}
    assert set(found.never_active) == set(space.names) - active
    every = {(option.name, setting) for option in space.options for setting in option.settings if option.name in active}
    assert set(found.dead) == every - alive
    assert {name for name, _ in found.forced} == {
        option.name
        for option in space.options
        if len(option.settings) > 1 and sum(name == option.name for name, _ in alive) == 1
    }


def _is_minimal(space: Space, found: Diagnosis) -> None:
    assert count(Space(space.options, found.contradiction)) == 0
    for position in range(len(found.contradiction)):
        fewer = found.contradiction[:position] + found.contradiction[position + 1 :]
        assert count(Space(space.options, fewer)) > 0
