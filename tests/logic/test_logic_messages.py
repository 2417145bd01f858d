"""What is said of wrong formulas and files: each with its place and what to do, as written in `wrong_formulas.txt`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hati.core import InputError
from hati.formula import Source
from hati.logic.syntax import expand, parse_file, parse_formula

CASES = re.findall(
    r"^== (formula|expansion|file)\n(.*?)\n--\n(.*?)\n(?===|\Z)",
    (Path(__file__).parent / "wrong_formulas.txt").read_text(),
    re.MULTILINE | re.DOTALL,
)
METHODS = ("a", "b", "c", "d", "f", "g", "myMethod")


def test_there_are_many_cases() -> None:
    assert len(CASES) > 140


@pytest.mark.parametrize(("kind", "text", "message"), CASES)
def test_what_is_wrong_is_told_with_its_place(kind: str, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        if kind == "file":
            parse_file(text, "tests.spl", methods=METHODS)
        else:
            expand(parse_formula(text), source=Source(text))
    assert "\n".join(line.rstrip() for line in str(caught.value).splitlines()) == message.rstrip()


@pytest.mark.parametrize(
    "text",
    [
        "(" * 8_000,
        "!" * 7_990 + "a<b",
        "(" * 3_990 + "a<b" + ")" * 3_990 + ")",
        "a<b&" * 1_000 + "a",
        "a<" + "1+" * 3_990 + "1",
        "a<" + "2**" * 2_500 + "1",
        "a<b=>" * 1_300 + "a<b",
        "for all n in {1}:" * 400 + "a<b",
        "a<" + "f(" * 3_000,
        "a<" + "log2(" * 1_300 + "1" + ")" * 1_300,
        "a" + " " * 7_900 + "<",
        "a@" + "v." * 3_900 + "<",
        "a<(" + "x" * 7_900 + "  :",
        "'" + "\\'" * 3_900,
        "a <= b & " * 1_300 + "a <= b",
    ],
    ids=range(15),
)
def test_long_and_deep_texts_are_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_formula(text)


def test_large_files_are_refused() -> None:
    with pytest.raises(InputError, match="words and signs"):
        parse_file("a<b\n" * 8_000, "a.spl")
    with pytest.raises(InputError, match="2001 declarations and formulas"):
        parse_file("a<b\n" * 2_001, "a.spl")
    with pytest.raises(InputError, match="more than 500 declarations"):
        parse_file("".join(f"alias a{i} = b\n" for i in range(501)), "a.spl")
    with pytest.raises(InputError, match="characters"):
        parse_file("# comment\n" * 30_000, "a.spl")
