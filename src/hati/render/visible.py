"""Names and settings come from users: what they hold must show, and do nothing else."""

from __future__ import annotations

import unicodedata


def visible(text: str) -> str:
    r"""The text as one line that only shows: control and direction characters are written as escapes.

    >>> visible("line\nbreak")
    'line\\nbreak'
    """
    return "".join(c if c == " " or c.isprintable() else _escape(c) for c in text)


def _escape(character: str) -> str:
    if unicodedata.category(character) == "Zs":
        return " "
    return character.encode("unicode_escape").decode("ascii")
