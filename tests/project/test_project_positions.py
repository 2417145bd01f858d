"""Every key and value that ``tomllib`` reads is located, and where it is said to be."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from datetime import date, datetime, time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hati.project.document import Path, character_offset, locate, string_end, string_value

_KEYS = st.sampled_from(["a", "b", "c-d", "1", "", "x y", 'q"t', "it's", "a.b", "größe", "line\nbreak", "\x7f", "="])
_TEXTS = st.one_of(
    st.text(max_size=12), st.sampled_from(["", '"', "''", '"""', "\\", "a\\nb", "]", "}", "#", "\n\n", " \n "])
)
_SCALARS = st.sampled_from(
    [
        "1",
        "-2.5e3",
        "true",
        "inf",
        "0xff",
        "1_000",
        "1979-05-27T07:32:00Z",
        "1979-05-27 07:32:00",
        "07:32:00",
        "1979-05-27",
    ]
)
_GAPS = st.sampled_from(["", " ", "\n", ' # [comment], "x\n', "\t\n \n"])


def _escaped(draw: st.DrawFn, text: str, quotes: str) -> str:
    """Text as the inside of a basic string, some of it escaped without need."""
    pieces = []
    for character in text:
        must = character in '"\\' or not (character.isprintable() or (character == "\n" and len(quotes) == 3))
        if must or draw(st.integers(0, 9)) == 0:
            code = ord(character)
            pieces.append(f"\\U{code:08x}" if code > 0xFFFF or draw(st.booleans()) else f"\\u{code:04X}")
        else:
            pieces.append(character)
        if len(quotes) == 3 and draw(st.integers(0, 5)) == 0:
            pieces.append("\\ \n  \n ")
    return "".join(pieces)


@st.composite
def strings(draw: st.DrawFn, value: st.SearchStrategy[str], *, lines: bool = True) -> str:
    """A TOML string in any of its four forms."""
    text = draw(value)
    plain = all(character.isprintable() for character in text)
    forms = ['"'] + (["'"] if plain and "'" not in text else []) + (['"""'] if lines else [])
    forms += ["'''"] if lines and plain and "''" not in text and not text.endswith("'") else []
    quotes = draw(st.sampled_from(forms))
    inside = text if quotes[0] == "'" else _escaped(draw, text, quotes)
    opening = "\n" if len(quotes) == 3 and (draw(st.booleans()) or inside.startswith("\n")) else ""
    return quotes + opening + inside + quotes


@st.composite
def keys(draw: st.DrawFn) -> str:
    """A key: bare where it can be, at times; dotted at times."""
    parts = []
    for _ in range(draw(st.integers(1, 3))):
        key = draw(_KEYS)
        bare = key.isascii() and key.replace("-", "").isalnum()
        parts.append(key if bare and draw(st.booleans()) else draw(strings(st.just(key), lines=False)))
    return draw(st.sampled_from([".", " . ", "\t."])).join(parts)


@st.composite
def values(draw: st.DrawFn, levels: int = 2) -> str:
    """A value of any type."""
    kind = draw(st.integers(0, 3 if levels else 1))
    if kind == 0:
        return draw(_SCALARS)
    if kind == 1:
        return draw(strings(_TEXTS))
    count = draw(st.integers(0, 3))
    if kind == 2:
        items = [draw(_GAPS) + draw(values(levels - 1)) + draw(_GAPS) for _ in range(count)]
        return "[" + ",".join(items) + ("," if bool(items) and draw(st.booleans()) else "") + draw(_GAPS) + "]"
    pairs = [f" {draw(keys())} = {draw(values(levels - 1))}" for _ in range(count)]
    return "{" + ", ".join(pairs) + "}"


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Statements, most of which go together."""
    lines = []
    for _ in range(draw(st.integers(0, 6))):
        kind = draw(st.integers(0, 4))
        if kind == 0:
            lines.append(f"[{draw(st.sampled_from(['', ' ']))}{draw(keys())} ]")
        elif kind == 1:
            lines.append(f"[[ {draw(keys())}]]")
        else:
            lines.append(f"{draw(st.sampled_from(['', '  ']))}{draw(keys())}\t= {draw(values())}")
        lines[-1] += draw(st.sampled_from(["", " # a = 'b"]))
    return "\n".join(lines) + draw(st.sampled_from(["", "\n"]))


def paths(data: object, path: Path = ()) -> Iterator[tuple[Path, object]]:
    """All paths of a document with their values."""
    yield path, data
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in inner:
        yield from paths(value, (*path, key))


def check(text: str) -> None:
    """Hold all spots of an accepted text against what ``tomllib`` makes of it."""
    spots = locate(text)
    found = dict(paths(tomllib.loads(text)))
    assert set(found) == set(spots)
    for path, value in found.items():
        spot = spots[path]
        if path and isinstance(path[-1], str) and text[spot.key] != "[":
            key = path[-1]
            quoted = text[spot.key] in "'\""
            assert string_value(text, spot.key) == key if quoted else text.startswith(key, spot.key)
        if isinstance(value, str):
            assert string_value(text, spot.value) == value
        elif isinstance(value, bool | int | float | date | datetime | time):
            line = text[spot.value :].partition("\n")[0]
            ends = [end for end in range(1, len(line) + 1) if _parses_to(line[:end], value)]
            assert ends, (path, line)


def _parses_to(text: str, value: object) -> bool:
    try:
        return bool(repr(tomllib.loads(f"x = {text}")["x"]) == repr(value))
    except tomllib.TOMLDecodeError:
        return False


@settings(max_examples=200)
@given(documents())
def test_every_path_is_located(text: str) -> None:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    check(text)


_FRAGMENTS = st.sampled_from(
    [
        *("[a]\n", "[[a.b]]\n", "[a.b.c]\n", "x = ", "'y' . z = ", "{", "}", "[", "]", ", ", "\n", "1", "true"),
        *('"\\""', "''", "k = 1\n", "k.l = [{m = ''}]\n", "# '\n", "'\"'", '"""', "'''", "[[ d ]]\n"),
        "t = {u.v = [1, ]}\n",
    ]
)


@given(st.lists(_FRAGMENTS, max_size=14).map("".join))
def test_whatever_is_accepted_is_located(text: str) -> None:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    check(text)


@pytest.mark.parametrize(
    ("text", "path", "key", "value"),
    [
        ("a = 1", ("a",), 0, 4),
        ("a.b = 1\na.c = 2", ("a", "c"), 10, 14),
        ("a.b = 1\na.c = 2", ("a",), 0, 6),
        ("[t]\n  'k' = true", ("t", "k"), 6, 12),
        ("[[t]]\na=1\n[[t]]\na=2", ("t", 1, "a"), 16, 18),
        ("[[t]]\n[t.u]\na=1\n[[t.v]]\n[[t]]\n[[t.v]]\nb=3", ("t", 1, "v", 0, "b"), 38, 40),
        ("a = [\n 1, # one\n 'x',\n]", ("a", 1), 17, 17),
        ("a = { b = [{ c = 'x' }] }", ("a", "b", 0, "c"), 13, 17),
    ],
)
def test_places(text: str, path: Path, key: int, value: int) -> None:
    spot = locate(text)[path]
    assert (spot.key, spot.value) == (key, value)


@pytest.mark.parametrize(
    ("text", "index", "offset"),
    [
        ("'abc'", 1, 2),
        (r'"a\nb"', 2, 4),
        (r'"\u00e9x"', 1, 7),
        (r'"\U000000e9x"', 1, 11),
        ("'''\nab'''", 1, 5),
        ('"""\\\n   ab"""', 0, 8),
        ('"""a\\\n   b"""', 1, 9),
        ("'ab'", 2, 3),
        ("'ab'", 9, 3),
    ],
)
def test_characters_of_strings(text: str, index: int, offset: int) -> None:
    assert character_offset(text, 0, index) == offset


@given(strings(_TEXTS))
def test_characters_stand_where_they_are_said_to(text: str) -> None:
    value = tomllib.loads(f"x = {text}")["x"]
    assert string_end(text, 0) == len(text)
    assert string_value(text, 0) == value
    offsets = [character_offset(text, 0, index) for index in range(len(value))]
    assert offsets == sorted(set(offsets))
    for character, offset in zip(value, offsets, strict=True):
        assert text[offset] in (character, "\\")


@pytest.mark.parametrize("text", ["'''a'''''", '"""a"""""', "''''a''''", '""""a""""', "''''''", '""""""'])
def test_strings_that_end_in_quotes_of_their_own(text: str) -> None:
    check(f"x = [{text}, 1]")


@pytest.mark.parametrize("rest", ["b 2\nc = 3", "b = [?", "b = ", "[", "b = [[[", "= 1", "???"])
def test_what_is_unknown_ends_the_search_and_nothing_else(rest: str) -> None:
    assert locate(f"a = 1\n{rest}")[("a",)].value == 4
