"""Placeholders: found, filled, and told where they are wrong; and the nearest of known names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.core.benchmark import Placeholder, PlaceholderError, fill, fill_known, names
from hati.core.wording import nearest, suggestion


def test_names_and_offsets() -> None:
    found = names("a{b} {{c}} {file:x.conf}{}")
    assert found == (Placeholder("b", 1), Placeholder("file:x.conf", 11), Placeholder("", 24))


def test_fills_and_undoubles() -> None:
    values = {"work": "/w", "file:x": "{y}", "": "3"}
    assert fill("{work}/{{a}} {file:x} --n={}", values) == "/w/{a} {y} --n=3"


def test_fills_what_is_known_and_leaves_other_braces() -> None:
    assert fill_known(r"{n}/{m}: \d{1,3} \{n} {}", {"n": "10", "1": "x"}) == r"10/{m}: \d{1,3} \{n} {}"


@pytest.mark.parametrize(
    ("text", "offset", "message", "fix"),
    [
        ("a {wrok}", 2, "unknown placeholder {wrok}", "did you mean {work}?"),
        ("{zzz}", 0, "unknown placeholder {zzz}", "there are: {work}, {port}"),
        ("a {work", 2, "a single '{'", "write '{{' for a brace as it is"),
        ("{{a}", 3, "a single '}'", "write '}}' for a brace as it is"),
        ("{a{b}}", 0, "a single '{'", "write '{{' for a brace as it is"),
    ],
)
def test_tells_what_is_wrong_and_where(text: str, offset: int, message: str, fix: str) -> None:
    with pytest.raises(PlaceholderError) as caught:
        fill(text, {"work": "", "port": ""})
    assert (caught.value.offset, caught.value.message) == (offset, message)
    assert (caught.value.fix or "").startswith(fix)


@given(st.text())
def test_doubled_braces_are_the_text_itself(text: str) -> None:
    assert fill(text.replace("{", "{{").replace("}", "}}"), {}) == text


@given(st.text(alphabet="{}ab"))
def test_what_has_names_can_be_filled(text: str) -> None:
    try:
        found = names(text)
    except PlaceholderError as error:
        assert text[error.offset] in "{}"
    else:
        assert all(text[placeholder.offset] == "{" for placeholder in found)
        fill(text, {placeholder.name: "x" for placeholder in found})


def test_nearest() -> None:
    known = ["cache", "journal_mode", "WAL"]
    assert nearest("jurnal_mode", known) == "journal_mode"
    assert nearest("wal", known) == "WAL"
    assert nearest("zzz", known) is None
    assert nearest("c" * 10_000, known) is None
    assert suggestion("x", []) == "there are none"
    assert suggestion("zzz", map(str, range(15))) == f"there are: {', '.join(map(str, range(12)))} and 3 more"
