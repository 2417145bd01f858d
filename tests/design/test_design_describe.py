"""A design as JSON."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hati.core import InputError
from hati.design import (
    Design,
    by_runs,
    describe,
    from_generators,
    full_factorial,
    letters,
    parse_factors,
    read_json,
    words,
)

SCR_32 = ["F=ABC", "G=ABD", "H=ACD", "I=BCD", "J=ABE", "K=ACE", "L=BCE", "M=ADE", "N=BDE"]
SCR_128 = ["H=ABC", "I=ABDE", "J=ABDF", "K=ACEF", "L=ACDG", "M=ABEFG", "N=BCDEFG"]


def test_all_keys() -> None:
    value = json.loads(json.dumps(describe(from_generators("ABCD", ["D=-ABC"]))))
    matrix = value.pop("matrix")
    assert value == {
        "format": "hati-design-1",
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
    value = describe(from_generators(letters(14), SCR_32))
    assert (value["runs"], value["resolution"]) == (32, 4)
    assert value["word_length_pattern"] == {"4": 77, "6": 168, "8": 203, "10": 56, "12": 7}
    assert "ABCF" in value["words"]  # type: ignore[operator]  # plain JSON
    lengths = [len(word) for word in value["words"]]  # type: ignore[attr-defined]  # plain JSON
    assert lengths == [4] * 77 + [6] * 168 + [8] * 203 + [10] * 56 + [12] * 7
    aliases = describe(from_generators(letters(14), SCR_128), 4)["aliases"]
    assert aliases["B"][0] == "ACH"  # type: ignore[index]  # plain JSON
    assert sum(len(aliases[name]) for name in "BJCFI") == 45  # type: ignore[index]  # plain JSON


def test_full_factorial() -> None:
    value = describe(full_factorial("ABC"))
    assert value["resolution"] is None
    assert value["words"] == []
    assert value["clear_interactions"] == ["AB", "AC", "BC"]
    assert value["aliases"] == {name: [] for name in ("A", "B", "C", "AB", "AC", "BC")}


def test_long_names_are_joined_with_colons() -> None:
    value = describe(from_generators(("sync", "cache", "log", "page"), ["D=ABC"]), 2)
    assert value["words"] == ["sync:cache:log:page"]
    assert value["aliases"]["sync:cache"] == ["log:page"]  # type: ignore[index]  # plain JSON


def test_all_words_are_the_group_of_the_generators() -> None:
    assert describe(from_generators("ABCDEF", ["E=ABC", "F=-BCD"]))["words"] == ["ABCE", "-ADEF", "-BCDF"]


def test_each_length_has_the_words_that_a_search_finds() -> None:
    design = from_generators(letters(9), ["F=ABC", "G=ABD", "H=-ACD", "I=BCDE"])
    searched = [word for length in range(1, 10) for word in words(design, length)]
    assert describe(design)["words"] == [("" if word.sign > 0 else "-") + "".join(word.factors) for word in searched]


def test_order_one_leaves_interactions_out() -> None:
    assert describe(from_generators("ABC", ["C=AB"]), 1)["aliases"] == {"A": [], "B": [], "C": []}


def test_partial_aliases_of_a_design_that_lost_a_run() -> None:
    whole = from_generators("ABC", ["C=AB"])
    value = describe(Design("given", whole.factors, whole.matrix[1:]), 3)
    assert value["partial_aliases"]["A"] == pytest.approx(  # type: ignore[index]  # plain JSON
        {"B": -1 / 3, "C": 1 / 3, "AB": 1 / 3, "AC": -1 / 3}
    )
    assert value["aliases"]["A"] == ["BC"]  # type: ignore[index]  # plain JSON
    assert value["resolution"] == 1


def test_large_designs_lower_the_usual_order_and_refuse_a_given_one() -> None:
    design = by_runs(parse_factors("x1-x127"), 128)
    value = describe(design)
    assert value["alias_order"] == 2
    assert len(value["words"]) == 2667  # type: ignore[arg-type]  # plain JSON
    with pytest.raises(InputError, match="too many to list"):
        describe(design, 3)
    with pytest.raises(InputError, match="nothing to list"):
        describe(design, 0)


def test_what_is_described_can_be_read() -> None:
    design = from_generators(letters(14), SCR_32)
    assert np.array_equal(read_json(json.dumps(describe(design))).matrix, design.matrix)
