"""Templates: what they mean as text, and that narrowing a space by them leaves exactly what satisfies them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hati.core import Configuration, InputError
from hati.space import Option, Space, count, enumerate_configurations, narrowed, parse_formula, parse_template, sample
from hati.space.evaluation import holds
from spaces import formulas, spaces

SPACE = Space(
    (
        Option("journal", ("DELETE", "WAL"), "DELETE"),
        Option("pages", (1, 4, 16), 4),
        Option("point", (1000, 50), 1000, active_if=parse_formula("journal == 'WAL'")),
        Option("sync", (False, True), default=True),
        Option("page-size", (1.0, 2.5), 1.0),
    ),
    (parse_formula("sync or journal == 'WAL'"),),
)


def space_of(*texts: str) -> Space:
    return narrowed(SPACE, parse_template(texts, SPACE).formulas)


@given(st.data(), spaces(most_options=5))
@settings(max_examples=60, deadline=None)
def test_narrowing_leaves_exactly_the_configurations_that_satisfy_the_template(
    data: st.DataObject, space: Space
) -> None:
    if not space.options:
        return
    template = data.draw(st.lists(formulas(space.options, levels=2), min_size=1, max_size=2))
    wanted = {found for found in enumerate_configurations(space) if all(holds(each, found) for each in template)}
    if not wanted:
        with pytest.raises(InputError, match="no valid configuration"):
            narrowed(space, template)
        return
    left = narrowed(space, template)
    assert set(enumerate_configurations(left)) == wanted
    assert count(left) == len(wanted)
    assert left.default in wanted
    assert all(left.valid(found) for found in wanted)
    assert not any(left.valid(found) for found in set(enumerate_configurations(space)) - wanted)
    assert set(sample(left, 5, np.random.default_rng(1))) <= wanted
    assert all(len(option.settings) > 1 or option.active_if is not None for option in left.options)
    usual = {option.name: option.default for option in space.options}

    def changed(found: Configuration) -> int:
        return sum(usual[name] != setting for name, setting in found.items())

    assert changed(left.default) == min(map(changed, wanted))


def test_a_fixed_option_is_none_of_the_space_and_part_of_every_configuration() -> None:
    left = space_of("journal=DELETE")
    assert left.names == ("pages", "page-size")
    assert left.fixed == Configuration({"journal": "DELETE", "sync": True})
    assert left.constraints == ()
    assert left.default == SPACE.default
    assert left.digest not in {SPACE.digest, space_of("pages=4").digest}
    with pytest.raises(InputError, match="option 'journal' is fixed to DELETE, by --set"):
        left.option("journal")
    assert left.canonical({"journal": "DELETE", "pages": 1})["pages"] == 1
    with pytest.raises(InputError, match="fixed"):
        left.canonical({"journal": "WAL"})


def test_a_condition_that_always_holds_goes() -> None:
    left = space_of("journal=WAL")
    assert {option.name: option.active_if for option in left.options} == dict.fromkeys(
        ("pages", "point", "sync", "page-size")
    )
    assert left.default == Configuration({"journal": "WAL", "pages": 4, "point": 1000, "sync": True, "page-size": 1.0})


def test_the_nearest_valid_configuration_becomes_the_default() -> None:
    assert space_of("pages != 4").default["pages"] == 1
    assert space_of("sync=false").default["journal"] == "WAL"
    assert space_of("pages >= 16 or sync == false").default == Configuration({**SPACE.default, "pages": 16})


@pytest.mark.parametrize(
    ("texts", "formula"),
    [
        (("pages=4",), "pages == 4"),
        (("pages = 4.0",), "pages == 4"),
        (("page-size=2.5",), "`page-size` == 2.5"),
        (("`page-size`=2.5",), "`page-size` == 2.5"),
        (("journal='WAL'",), "journal == 'WAL'"),
        (("sync=1",), "sync == true"),
        (("not sync",), "not sync"),
        (("pages >= 4",), "pages >= 4"),
        (("pages=1", "pages=16"), "pages == 1 or pages == 16"),
        (("pages=1", "pages=16,sync=true"), "pages == 1 or pages == 16 and sync == true"),
    ],
)
def test_settings_and_formulas_are_read(texts: tuple[str, ...], formula: str) -> None:
    assert list(map(str, parse_template(texts, SPACE).formulas)) == [formula]


def test_settings_of_several_options_are_one_alternative() -> None:
    assert len(parse_template(("pages=1", "sync=true,journal=WAL", "pages <= 4"), SPACE).alternatives) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "--set:1: there is neither a setting nor a constraint; write X=S, or a constraint as 'X >= 4'\n  \n  ^"),
        ("page=4", "--set:1: unknown option 'page'; did you mean 'pages'?\n  page=4\n  ^"),
        ("pages=5", "--set:7: '5' is not a setting of option 'pages'; there are: 1, 4, 16\n  pages=5\n        ^"),
        ("sync=true,pages=5", "--set:17: '5' is not a setting of option 'pages'; there are: 1, 4, 16"),
        ("pages >= x", "--set:10: unknown option 'x'; "),
        ("pages = 4 and sync = true", "--set:7: '=' is not known in formulas; write '=='\n  pages = 4 and"),
        ("pages >", "--set:8: expected "),
        ("journal < 'WAL'", "--set:1: journal is text and has no order; use ==, != or in; < and > are for numbers"),
    ],
)
def test_what_is_wrong_is_shown_with_its_column_and_the_fix(text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        parse_template((text,), SPACE)
    assert str(error.value).startswith(message)


def test_a_contradiction_names_both_sides() -> None:
    with pytest.raises(InputError) as error:
        space_of("sync=false", "journal=DELETE")
    assert "no valid configuration has journal == 'DELETE' and sync == false" in str(error.value)
    assert "the space demands \"sync or journal == 'WAL'\"" in str(error.value)
