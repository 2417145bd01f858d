"""Names and texts as formulas write them, and the words that mean something in formulas."""

from __future__ import annotations

import re

from hati.core import InputError

KEYWORDS = frozenset(
    {
        *("and", "or", "not", "implies", "true", "false"),
        *("for", "forall", "exists", "in", "step"),
        *("of", "within", "strictly"),
    }
)
"""Words that are no names, unless in backquotes."""

FUNCTIONS = {
    **dict.fromkeys(("abs", "ceil", "exp", "floor", "log", "log2", "log10", "round", "sqrt"), (1, 1)),
    **dict.fromkeys(("min", "max"), (2, 64)),
}
"""The functions of numbers, with the least and the greatest count of arguments."""

FUNCTIONS_OF_METHODS = frozenset({"mean", "median", "quantile", "throughput", "cpu", "memory"})
"""The names of statistics and metrics, beside p0 to p100."""

SELF = "SELF"
"""The method that a formula is attached to."""

REVISION = re.compile(r"[\w.-]+==[0-9][\w.!]*(?:[+-]\w[\w.]*)?|[\w^](?:[\w./^~-]*[\w^~])?(?:@\{[^{}\s]*\})?")
"""A revision that needs no quotes: a package's release, or what git and svn call theirs."""

_BARE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*(:[^\W\d]\w*(\.[^\W\d]\w*)*)?")
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|(.))")
_QUANTILE = re.compile(r"p[0-9]+")
_WORD = re.compile(r"[^\W\d]\w*")


def is_word(text: str) -> bool:
    """Whether that is a plain word, as variables and declared names are.

    >>> is_word("n"), is_word("pkg.mod"), is_word("for")
    (True, False, False)
    """
    return bool(_WORD.fullmatch(text)) and text not in KEYWORDS


def name_text(name: str) -> str:
    """A method's or generator's name: bare, or in backquotes where it would not be read as a name.

    >>> print(name_text("pkg.mod:sort"), name_text("get-small"), name_text("median"))
    pkg.mod:sort `get-small` `median`
    """
    taken = name in KEYWORDS or name in FUNCTIONS or name in FUNCTIONS_OF_METHODS or _QUANTILE.fullmatch(name)
    return name if _BARE.fullmatch(name) and not taken else f"`{name}`"


def quoted(text: str) -> str:
    r"""Text between single quotes.

    >>> print(quoted("it's"))
    'it\'s'
    """
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return "'" + "".join(c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in escaped) + "'"


def unquoted(literal: str) -> str:
    r"""The text that stands between quotes, without its escapes.

    Raises:
        InputError: for an escape that is not known.

    >>> print(unquoted(r"'it\'s'"))
    it's
    """

    def character(match: re.Match[str]) -> str:
        if match[2] is None and int(match[1], 16) < 0x110000 and not 0xD800 <= int(match[1], 16) < 0xE000:
            return chr(int(match[1], 16))
        if match[2] is not None and match[2] in "\\'\"":
            return match[2]
        raise InputError(f"unknown escape {match[0]!r}", fix=r"write \\ for a backslash")

    return _ESCAPE.sub(character, literal[1:-1])
