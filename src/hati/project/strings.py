"""TOML's strings as they are written: where each character of a value stands in the source."""

from __future__ import annotations

import re

_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "e": "\x1b", '"': '"', "\\": "\\"}
_DIGITS = {"x": 2, "u": 4, "U": 8}
_CONTINUED = re.compile(r"(?:\\[ \t]*\n[ \t\n]*)+")


def delimiter(text: str, start: int) -> str:
    """The quotes that open the string at ``start``: one or three, single or double."""
    quote = text[start]
    return quote * 3 if text.startswith(quote * 3, start) else quote


def string_end(text: str, start: int) -> int:
    """The offset after the string that starts at ``start``."""
    quotes = delimiter(text, start)
    position = start + len(quotes)
    while position < len(text) and not text.startswith(quotes, position):
        position += 2 if text[position] == "\\" and quotes[0] == '"' else 1
    position += len(quotes)
    if len(quotes) == 3:  # a string may end in one or two quotes of its own before the three
        for _ in range(2):
            position += text.startswith(quotes[0], position)
    return min(position, len(text))


def string_value(text: str, start: int) -> str:
    """The value of the string that starts at ``start``."""
    quotes = delimiter(text, start)
    end = string_end(text, start) - len(quotes)
    position, characters = _first(text, start), []
    while position < end:
        position = _skip_continued(text, position, quotes)
        if position >= end:
            break
        following = _after(text, position, quotes)
        characters.append(_decoded(text[position:following]) if following - position > 1 else text[position])
        position = following
    return "".join(characters)


def character_offset(text: str, start: int, index: int) -> int:
    """The offset in ``text`` of character ``index`` of the value of the string that starts at ``start``."""
    quotes = delimiter(text, start)
    end = string_end(text, start) - len(quotes)
    position = _skip_continued(text, _first(text, start), quotes)
    for _ in range(index):
        if position >= end:
            break
        position = _skip_continued(text, _after(text, position, quotes), quotes)
    return min(position, end)


def _first(text: str, start: int) -> int:
    quotes = delimiter(text, start)
    first = start + len(quotes)
    return first + (len(quotes) == 3 and text.startswith("\n", first))


def _skip_continued(text: str, position: int, quotes: str) -> int:
    if quotes == '"""' and (match := _CONTINUED.match(text, position)):
        return match.end()
    return position


def _after(text: str, position: int, quotes: str) -> int:
    if text[position] != "\\" or quotes[0] == "'":
        return position + 1
    return position + 2 + _DIGITS.get(text[position + 1 : position + 2], 0)


def _decoded(escape: str) -> str:
    return _ESCAPES[escape[1]] if escape[1] in _ESCAPES else chr(int(escape[2:], 16))
