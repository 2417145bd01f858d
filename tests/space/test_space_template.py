"""Templates from several texts: what is chosen of, and what holds in all."""

from __future__ import annotations

import pytest

from hati.space import Option, Space, count, narrowed, parse_formula, parse_template, template_texts

SPACE = Space(
    (
        Option("jit", ("off", "on"), default="off"),
        Option("x", (1, 2, 3), default=1),
        Option("y", (1, 2), default=1),
    )
)


@pytest.mark.parametrize(
    "texts",
    [
        ("jit=on", "jit=off", "x=2"),
        ("x=2", "jit=on", "jit=off"),
        ("jit=on", "x=2", "jit=off"),
    ],
)
def test_a_setting_holds_beside_several_of_another_option(texts: tuple[str, ...]) -> None:
    template = parse_template(texts, SPACE)
    space = narrowed(SPACE, template.formulas)
    assert dict(space.fixed) == {"x": 2}
    assert set(space.option("jit").settings) == {"off", "on"}
    assert {(each["jit"], each["x"]) for each in template.alternatives} == {("on", 2), ("off", 2)}


def test_several_settings_of_two_options_are_combined() -> None:
    template = parse_template(("jit=on", "jit=off", "x=2", "x=3"), SPACE)
    space = narrowed(SPACE, template.formulas)
    assert space.option("x").settings == (2, 3)
    assert {(each["jit"], each["x"]) for each in template.alternatives} == {
        ("on", 2),
        ("on", 3),
        ("off", 2),
        ("off", 3),
    }


def test_settings_that_are_given_together_stay_together() -> None:
    template = parse_template(("jit=on,x=2", "jit=off,x=3", "y=2"), SPACE)
    assert [dict(each) for each in template.alternatives] == [
        {"y": 2, "jit": "on", "x": 2},
        {"y": 2, "jit": "off", "x": 3},
    ]


def test_settings_of_different_options_are_one_alternative() -> None:
    template = parse_template(("jit=on", "x=2", "jit=on"), SPACE)
    assert [dict(each) for each in template.alternatives] == [{"jit": "on", "x": 2}]
    assert parse_template((), SPACE).formulas == ()


@pytest.mark.parametrize(
    ("formulas", "fixed", "texts"),
    [
        (("x != 1", "jit == 'on'"), {}, ("x != 1", "jit=on")),
        (("x != 1", "jit == 'on'"), {"x": 2}, ("jit=on", "x=2")),
        (("x > y", "y == 1", "x == 2"), {}, ("y=1", "x=2")),
        (("x > y",), {"x": 2}, ("x > y", "x=2")),
    ],
)
def test_a_template_is_written_without_what_its_settings_imply(
    formulas: tuple[str, ...], fixed: dict[str, int], texts: tuple[str, ...]
) -> None:
    known = tuple(map(parse_formula, formulas))
    assert template_texts(known, fixed) == texts
    again = narrowed(SPACE, parse_template(texts, SPACE).formulas)
    assert count(again) == count(narrowed(SPACE, (*known, *parse_template(texts[-1:], SPACE).formulas)))
