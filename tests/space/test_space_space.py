"""Options and spaces: what is canonical, what is valid, what is refused."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.core import Configuration, InputError, Setting
from hati.formula import FormulaError
from hati.space import Option, OptionError, OptionKind, Space, SpaceError, check_formula, parse_formula
from spaces import spaces

JOURNAL = Option("journal", ("DELETE", "WAL"), "DELETE")
PAGES = Option("pages", (2000, 64000), 2000, unit="page")
POINT = Option("point", (1000, 50), 1000, active_if=parse_formula("journal == 'WAL'"))
SYNC = Option("sync", (False, True), default=True)
RATIO = Option("ratio", (0.5, 1.0), 0.5)
SPACE = Space((JOURNAL, PAGES, POINT, SYNC, RATIO), (parse_formula("pages <= 2000 or journal == 'WAL'"),))


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        ((False, True), OptionKind.BOOLEAN),
        (("a",), OptionKind.ENUMERATION),
        ((1, 2), OptionKind.INTEGER),
        ((1.0, 2.5), OptionKind.REAL),
    ],
)
def test_kind_follows_from_the_settings(settings: tuple[Setting, ...], kind: OptionKind) -> None:
    assert Option("x", settings, settings[0]).kind is kind


def test_options_of_equal_numbers_and_different_kinds_differ() -> None:
    made = [Option("x", (0, 1), 0), Option("x", (False, True), default=False), Option("x", (0.0, 1.0), 0.0)]
    assert len(set(made)) == 3


@pytest.mark.parametrize(
    ("settings", "default", "part", "index", "message"),
    [
        ((), 1, "settings", None, "option 'x' has no settings"),
        ((1, 2, 1), 1, "settings", 2, "option 'x' has the setting 1 twice"),
        ((1, 1.0), 1, "settings", 1, "option 'x' has settings of different types: '1' is integer, '1.0' is real"),
        (
            (True, 1),
            True,
            "settings",
            1,
            "option 'x' has settings of different types: 'true' is boolean, '1' is integer",
        ),
        ((1, 2), 3, "default", None, "option 'x' has the default 3, which is none of its settings"),
        ((0, 1), False, "default", None, "option 'x' has the default false, which is none of its settings"),
        ((1.0, math.nan), 1.0, "settings", 1, "option 'x' has a setting that is not a finite number: nan"),
        ((2**63,), 2**63, "settings", 0, f"option 'x' has a setting that has more than 64 bits: {2**63}"),
        ((None,), None, "settings", 0, "option 'x' has a setting that is neither boolean, number nor text: None"),
    ],
)
def test_options_that_cannot_be(settings: Any, default: Any, part: str, index: int | None, message: str) -> None:
    with pytest.raises(OptionError) as caught:
        Option("x", settings, default)
    assert (caught.value.part, caught.value.index, caught.value.message) == (part, index, message)


@pytest.mark.parametrize("name", ["", " x", "a`b", "a{b", "a\nb", "x" * 201])
def test_names_that_cannot_be(name: str) -> None:
    with pytest.raises(OptionError):
        Option(name, (1, 2), 1)


def test_canonical_drops_what_is_inactive_and_fills_in_defaults() -> None:
    assert SPACE.default == Configuration({"journal": "DELETE", "pages": 2000, "sync": True, "ratio": 0.5})
    assert SPACE.canonical({"point": 50}) == SPACE.default
    with_point = SPACE.canonical({"journal": "WAL", "point": 50, "ratio": 1})
    assert with_point == Configuration({"journal": "WAL", "pages": 2000, "point": 50, "ratio": 1.0, "sync": True})


@pytest.mark.parametrize(
    ("assignment", "message", "fix"),
    [
        ({"jornal": "WAL"}, "unknown option 'jornal'", "did you mean 'journal'?"),
        ({"journal": "WALL"}, "'WALL' is not a setting of option 'journal'", "did you mean 'WAL'?"),
        ({"sync": 1}, "'1' is not a setting of option 'sync'", "there are: false, true"),
        ({"pages": 2000.0}, "'2000.0' is not a setting of option 'pages'", "did you mean '2000'?"),
        ({"point": 1}, "'1' is not a setting of option 'point'", "there are: 1000, 50"),
    ],
)
def test_canonical_refuses_what_is_unknown(assignment: dict[str, Setting], message: str, fix: str) -> None:
    with pytest.raises(InputError) as caught:
        SPACE.canonical(assignment)
    assert (caught.value.message, caught.value.fix) == (message, fix)


def test_valid_wants_constraints_and_exactly_the_active_options() -> None:
    good = dict(SPACE.canonical({"journal": "WAL", "pages": 64000}))
    assert SPACE.valid(Configuration(good))
    assert not SPACE.valid(SPACE.canonical({"pages": 64000}))
    assert not SPACE.valid(Configuration({**good, "journal": "DELETE", "pages": 2000}))  # point is not active
    assert not SPACE.valid(Configuration({k: v for k, v in good.items() if k != "point"}))
    assert not SPACE.valid(Configuration({**good, "pages": 3}))
    assert not SPACE.valid(Configuration({**good, "extra": 3}))


def test_control_characters_are_read_as_they_are_written() -> None:
    space = Space((Option("separator", ("\t", "\n", ","), ","), Option("text", ("\t", "\\t"), "\t")))
    assert space.parse({"separator": r"\t", "text": r"\t"}) == Configuration({"separator": "\t", "text": r"\t"})
    with pytest.raises(InputError) as caught:
        space.parse({"separator": "semicolon"})
    assert caught.value.fix == r"there are: \t, \n, ,"


def test_parse_reads_a_row_of_texts() -> None:
    row = {"journal": "WAL", "pages": "2e3", "point": "50", "sync": "0", "ratio": "1"}
    expected: dict[str, Setting] = {"journal": "WAL", "pages": 2000, "point": 50, "sync": False, "ratio": 1.0}
    assert SPACE.parse(row) == Configuration(expected)
    assert SPACE.parse({"journal": "DELETE", "point": ""}) == SPACE.default
    with pytest.raises(InputError, match="option 'point' is active here and has no setting"):
        SPACE.parse({"journal": "WAL", "point": ""})
    with pytest.raises(InputError, match="'maybe' is not a setting of option 'sync'"):
        SPACE.parse({"sync": "maybe"})


@given(spaces())
def test_parse_inverts_writing(space: Space) -> None:
    from hati.core import setting_text

    configuration = space.default
    row = {name: setting_text(configuration[name]) if name in configuration else "" for name in space.names}
    empty = any("" in option.settings and option.name not in configuration for option in space.options)
    assert empty or space.parse(row) == configuration


@pytest.mark.parametrize(
    ("text", "offset", "message", "fix"),
    [
        ("sync and jornal == 'WAL'", 9, "unknown option 'jornal'", "did you mean 'journal'?"),
        ("journal == WAL", 11, "unknown option 'WAL'", "write 'WAL' if the setting is meant"),
        ("journal == 'WALL'", 11, "'WALL' is not a setting of option 'journal'", "did you mean 'WAL'?"),
        ("journal in ['WAL', 'of']", 19, "'of' is not a setting of option 'journal'", "there are: DELETE, WAL"),
        ("pages != 3000", 9, "3000 is not a setting of option 'pages'", "did you mean '2000'?"),
        ("not journal", 4, "option 'journal' is text, not true or false", "compare it, as in journal == 'DELETE'"),
        ("journal < 'WAL'", 0, "journal is text and has no order", "use ==, != or in; < and > are for numbers"),
        ("sync == 1", 8, "sync is true or false, 1 is a number", "compare what is alike"),
        ("pages + journal > 1", 8, "journal is text, and only numbers can be added and multiplied", "use a number"),
        ("-sync == 1", 1, "sync is true or false, and only numbers can be added and multiplied", "use a number"),
        (
            "sync or 'journal' == 'WAL'",
            8,
            "'journal' is text, and no option is compared",
            "write journal for the option",
        ),
        ("'sync' in ['WAL']", 0, "'sync' is text, and no option is compared", "write sync for the option"),
        ("pages in [2000, 'x']", 16, "pages is a number, 'x' is text", "compare what is alike"),
    ],
)
def test_formulas_that_do_not_fit(text: str, offset: int, message: str, fix: str) -> None:
    with pytest.raises(FormulaError) as caught:
        check_formula(parse_formula(text), SPACE.by_name)
    assert (caught.value.offset, caught.value.message, caught.value.fix) == (offset, message, fix)


def test_numbers_of_both_types_are_compared() -> None:
    check_formula(parse_formula("pages == 2000.0 and ratio == 1 and pages > ratio"), SPACE.by_name)


def test_a_comparison_over_too_many_combinations_is_refused() -> None:
    many = tuple(Option(f"x{i}", tuple(range(101)), 0) for i in range(3))
    Space(many, (parse_formula("x0 + x1 <= 5 and x1 + x2 <= 5"),))
    with pytest.raises(FormulaError, match="1,030,301 combinations of settings, more than 1,000,000") as caught:
        Space(many, (parse_formula("x0 < 1 or x0 + x1 + x2 <= 5"),))
    assert caught.value.offset == 10


def test_conditions_in_a_circle_are_refused() -> None:
    def boolean(name: str, condition: str) -> Option:
        return Option(name, (False, True), default=False, active_if=parse_formula(condition))

    with pytest.raises(SpaceError, match="go in a circle: a needs b needs c needs a"):
        Space((boolean("a", "b"), boolean("b", "c"), boolean("c", "not a")))
    with pytest.raises(SpaceError, match="a needs a"):
        Space((boolean("a", "a"),))


def test_two_options_of_one_name_are_refused() -> None:
    with pytest.raises(SpaceError, match="two options named 'sync'"):
        Space((SYNC, SYNC))


def test_the_digest_is_of_what_decides_identity() -> None:
    reordered = Space(tuple(reversed(SPACE.options)), SPACE.constraints)
    described = Space(
        (Option("journal", ("DELETE", "WAL"), "DELETE", doc="how"), *SPACE.options[1:]), SPACE.constraints
    )
    assert SPACE.digest == reordered.digest == described.digest
    others = [
        Space(SPACE.options),
        Space((Option("journal", ("DELETE", "WAL"), "WAL"), *SPACE.options[1:]), SPACE.constraints),
        Space((*SPACE.options[:-1], Option("ratio", (0.5, 2.0), 0.5)), SPACE.constraints),
        Space((*SPACE.options[:2], Option("point", (1000, 50), 1000), *SPACE.options[3:]), SPACE.constraints),
    ]
    assert len({SPACE.digest, *(space.digest for space in others)}) == 5


@given(spaces(), st.data())
def test_canonical_is_idempotent(space: Space, data: st.DataObject) -> None:
    assignment = {option.name: data.draw(st.sampled_from(option.settings)) for option in space.options}
    configuration = space.canonical(assignment)
    assert space.canonical(configuration) == configuration
    assert set(configuration.items()) <= set(assignment.items())
