"""Designs as CSV and JSON: round trips, located errors, arbitrary text.

A design as JSON.
"""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict

from hati.core import InputError
from hati.design import (
    Design,
    by_runs,
    describe,
    from_generators,
    full_factorial,
    letters,
    parse_factors,
    read_csv,
    read_json,
    words,
    write_csv,
)

NAMES = st.text(min_size=1, max_size=6).filter(lambda name: name == name.strip() and name.isprintable())


@st.composite
def designs(draw: st.DrawFn) -> Design:
    factors = draw(st.lists(NAMES, min_size=1, max_size=5, unique=True))
    row = st.lists(st.sampled_from([-1, 1]), min_size=len(factors), max_size=len(factors))
    return Design("given", tuple(factors), np.array(draw(st.lists(row, min_size=1, max_size=6))))


@given(designs())
def test_csv_round_trip(design: Design) -> None:
    assert read_csv(write_csv(design)) == design
    assert read_csv("\ufeff" + write_csv(design).replace("\n", "\r\n")) == design


@given(designs())
def test_json_round_trip(design: Design) -> None:
    assert read_json(json.dumps(asdict(describe(design)), indent=1)) == design


def test_what_is_read_is_given() -> None:
    design = from_generators("ABCD", ["D=ABC"])
    read = read_json(json.dumps(asdict(describe(design))))
    assert (read.kind, read.generators) == ("given", ())


def test_csv_as_people_write_it() -> None:
    text = '"journal mode", sync\n\n - , +\n+1,"1"\n\n'
    design = read_csv(text)
    assert design.factors == ("journal mode", "sync")
    assert design.matrix.tolist() == [[-1, 1], [1, 1]]
    assert write_csv(design) == "journal mode,sync\n-1,1\n1,1\n"


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("", "d.csv:", "no design here"),
        ("A,B\n", "d.csv:1:1:", "no runs"),
        ("A,A\n1,1\n", "d.csv:1:1:", "'A' is there twice"),
        ("A,\n1,1\n", "d.csv:1:1:", "not a valid name"),
        ('A,"B\n1,1\n', "d.csv:1:1:", "not CSV"),
        ("A,B\n1,1\n1, 0\n", "d.csv:3:4:", "'0' is not an entry"),
        ("A,B\n\n1\n", "d.csv:3:2:", "1 entries for 2 factors"),
        ("A,B\n1,1,-1\n", "d.csv:2:5:", "3 entries for 2 factors"),
        ("A,B\n1,\n", "d.csv:2:3:", "'' is not an entry"),
    ],
)
def test_csv_errors_are_located(text: str, place: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        read_csv(text, "d.csv")
    assert str(caught.value).startswith(place)


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("", "d.json:1:1:", "not JSON"),
        ('{"factors": ["A"],\n "matrix": [[1],]}', "d.json:2:", "not JSON"),
        ("[1]", "d.json:1:1:", "JSON object"),
        ('\n {"factors": []}', "d.json:2:2:", "'factors' and 'matrix'"),
        ('{"factors": "AB", "matrix": []}', "d.json:1:13:", "not a list of names"),
        ('{"factors": ["A", 1], "matrix": []}', "d.json:1:13:", "not a list of names"),
        ('{"factors": ["A"], "matrix": {}}', "d.json:1:30:", "not a list of runs"),
        ('{"factors": ["A"], "matrix": []}', "d.json:1:13:", "no runs"),
        ('{"factors": [], "matrix": [[]]}', "d.json:1:13:", "1 to 1024 factors"),
        ('{"factors": ["A", "A"], "matrix": [[1, 1]]}', "d.json:1:13:", "there twice"),
        ('{"factors": ["A", "B"],\n "matrix": [[1, 1],\n  [1]]}', "d.json:3:3:", "not a list of 2 entries"),
        ('{"factors": ["A", "B"],\n "matrix": [[1, 1],\n  [-1, true]]}', "d.json:3:8:", "true is not an entry"),
        ('{"a]": {"b": [1, {}]}, "factors": ["A"], "matrix": [[1], [2]]}', "d.json:1:59:", "2 is not an entry"),
        ('{"factors": ["A"], "matrix": [[NaN]]}', "d.json:1:32:", "NaN is not an entry"),
        ("[" * 100_000, "d.json:", "too deep"),
        ("1" * 10_000, "d.json:", "number too long"),
    ],
)
def test_json_errors_are_located(text: str, place: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        read_json(text, "d.json")
    assert str(caught.value).startswith(place)


_PIECES = st.lists(
    st.sampled_from(
        ["A", "B", ",", "\n", "1", "-1", "-", "+", " ", '"', "0", "\r", "\x00", "\u2028", "{", "}", "[", "]"]
    ),
    max_size=30,
).map("".join)


@given(_PIECES | st.text())
def test_any_text_as_csv_is_a_design_or_an_input_error(text: str) -> None:
    try:
        assert isinstance(read_csv(text), Design)
    except InputError as error:
        assert error.place is not None


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(
    _PIECES
    | st.text()
    | st.fixed_dictionaries(
        {
            "factors": st.lists(st.text(max_size=2) | _VALUES, max_size=3) | _VALUES,
            "matrix": st.lists(_VALUES) | _VALUES,
        }
    ).map(json.dumps)
)
def test_any_text_as_json_is_a_design_or_an_input_error(text: str) -> None:
    try:
        assert isinstance(read_json(text), Design)
    except InputError as error:
        assert error.place is not None


SCR_32 = ["F=ABC", "G=ABD", "H=ACD", "I=BCD", "J=ABE", "K=ACE", "L=BCE", "M=ADE", "N=BDE"]
SCR_128 = ["H=ABC", "I=ABDE", "J=ABDF", "K=ACEF", "L=ACDG", "M=ABEFG", "N=BCDEFG"]


def test_all_keys() -> None:
    value = json.loads(json.dumps(asdict(describe(from_generators("ABCD", ["D=-ABC"])))))
    matrix = value.pop("matrix")
    assert value == {
        "kind": "regular fraction",
        "runs": 8,
        "factors": ["A", "B", "C", "D"],
        "generators": ["D=-ABC"],
        "resolution": 4,
        "word_length_pattern": {"4": 1},
        "words": ["-ABCD"],
        "alias_order": 3,
        "aliases": {
            "A": ["-BCD"],
            "B": ["-ACD"],
            "C": ["-ABD"],
            "D": ["-ABC"],
            "AB": ["-CD"],
            "AC": ["-BD"],
            "AD": ["-BC"],
            "BC": ["-AD"],
            "BD": ["-AC"],
            "CD": ["-AB"],
        },
        "partial_aliases": {},
        "clear_interactions": [],
    }
    assert matrix[:2] == [[-1, -1, -1, 1], [1, -1, -1, -1]]


def test_seed_000() -> None:
    value = asdict(describe(from_generators(letters(14), SCR_32)))
    assert (value["runs"], value["resolution"]) == (32, 4)
    assert value["word_length_pattern"] == {"4": 77, "6": 168, "8": 203, "10": 56, "12": 7}
    assert "ABCF" in value["words"]  # type: ignore[operator]  # plain JSON
    lengths = [len(word) for word in value["words"]]  # type: ignore[attr-defined]  # plain JSON
    assert lengths == [4] * 77 + [6] * 168 + [8] * 203 + [10] * 56 + [12] * 7
    aliases = asdict(describe(from_generators(letters(14), SCR_128), 4))["aliases"]
    assert aliases["B"][0] == "ACH"  # type: ignore[index]  # plain JSON
    assert sum(len(aliases[name]) for name in "BJCFI") == 45  # type: ignore[index]  # plain JSON


def test_full_factorial() -> None:
    value = asdict(describe(full_factorial("ABC")))
    assert value["resolution"] is None
    assert value["words"] == []
    assert value["clear_interactions"] == ["AB", "AC", "BC"]
    assert value["aliases"] == {name: [] for name in ("A", "B", "C", "AB", "AC", "BC")}


def test_long_names_are_joined_with_colons() -> None:
    value = asdict(describe(from_generators(("sync", "cache", "log", "page"), ["D=ABC"]), 2))
    assert value["words"] == ["sync:cache:log:page"]
    assert value["aliases"]["sync:cache"] == ["log:page"]  # type: ignore[index]  # plain JSON


def test_all_words_are_the_group_of_the_generators() -> None:
    assert asdict(describe(from_generators("ABCDEF", ["E=ABC", "F=-BCD"])))["words"] == ["ABCE", "-ADEF", "-BCDF"]


def test_each_length_has_the_words_that_a_search_finds() -> None:
    design = from_generators(letters(9), ["F=ABC", "G=ABD", "H=-ACD", "I=BCDE"])
    searched = [word for length in range(1, 10) for word in words(design, length)]
    assert asdict(describe(design))["words"] == [
        ("" if word.sign > 0 else "-") + "".join(word.factors) for word in searched
    ]


def test_order_one_leaves_interactions_out() -> None:
    assert asdict(describe(from_generators("ABC", ["C=AB"]), 1))["aliases"] == {"A": [], "B": [], "C": []}


def test_partial_aliases_of_a_design_that_lost_a_run() -> None:
    whole = from_generators("ABC", ["C=AB"])
    value = asdict(describe(Design("given", whole.factors, whole.matrix[1:]), 3))
    assert value["partial_aliases"]["A"] == pytest.approx(  # type: ignore[index]  # plain JSON
        {"B": -1 / 3, "C": 1 / 3, "AB": 1 / 3, "AC": -1 / 3}
    )
    assert value["aliases"]["A"] == ["BC"]  # type: ignore[index]  # plain JSON
    assert value["resolution"] == 1


def test_large_designs_lower_the_usual_order_and_refuse_a_given_one() -> None:
    design = by_runs(parse_factors("x1-x127"), 128)
    value = asdict(describe(design))
    assert value["alias_order"] == 2
    assert len(value["words"]) == 2667  # type: ignore[arg-type]  # plain JSON
    with pytest.raises(InputError, match="too many to list"):
        describe(design, 3)
    with pytest.raises(InputError, match="nothing to list"):
        describe(design, 0)


def test_what_is_described_can_be_read() -> None:
    design = from_generators(letters(14), SCR_32)
    assert np.array_equal(read_json(json.dumps(asdict(describe(design)))).matrix, design.matrix)
