"""The language of performance formulas: its words, and how its texts are parsed."""

from __future__ import annotations

import re

from hati.core.metric import is_unit
from hati.core.wording import nearest
from hati.formula import Explanation, Grammar, Language, Unexpected

KEYWORDS = frozenset(
    {
        *("and", "or", "not", "implies", "true", "false"),
        *("for", "forall", "exists", "in", "step"),
        *("of", "within", "strictly"),
    }
)
"""Words that are not names, unless in backquotes."""

FUNCTIONS = {
    **dict.fromkeys(("abs", "ceil", "exp", "floor", "log", "log2", "log10", "round", "sqrt"), (1, 1)),
    **dict.fromkeys(("min", "max"), (2, 64)),
}
"""The functions of numbers, with the least and the greatest count of arguments."""

FUNCTIONS_OF_METHODS = frozenset({"mean", "median", "quantile", "throughput", "cpu", "memory"})
"""The names of statistics and metrics, in addition to p0 to p100."""

SELF = "SELF"
"""The method that a formula is attached to."""

REVISION = re.compile(r"[\w.-]+==[0-9][\w.!]*(?:[+-]\w[\w.]*)?|[\w^](?:[\w./^~-]*[\w^~])?(?:@\{[^{}\s]*\})?")
"""A revision that needs no quotes: a package's release, or what git and svn call theirs."""

_BARE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*(:[^\W\d]\w*(\.[^\W\d]\w*)*)?")
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


_UNITS = [*("ns", "us", "µs", "μs", "ms", "s", "min", "h"), *("kB", "MB", "GB", "KiB", "MiB", "GiB", "B")]
_UNITS += [*("Hz", "mJ", "kJ", "J", "mW", "kW", "W")]
UNITS = tuple(unit for unit in _UNITS if is_unit(unit))
"""The units that follow a number without quotes, in addition to ``%``."""

_CALLED = {
    **dict.fromkeys(("WORD", "NAME", "BACKQUOTED", "QUANTILE"), "a name"),
    "NUMBER": "a number",
    "TEXT": "a text in quotes",
    "_LPAR": "'('",
    "_RPAR": "')'",
    "LBRACKET": "'['",
    "_RBRACKET": "']'",
    "_LBRACE": "'{'",
    "_RBRACE": "'}'",
    "_COMMA": "','",
    "_COLON": "':'",
    "_ASSIGN": "'='",
    "_IN": "in",
    "_RANGE": "'..'",
    "RELATION": "a relation",
    "$END": "the end",
    **dict.fromkeys(("_AND", "_OR", "_IMPLIES"), "a connective"),
}
"""What a terminal is called in messages; those that are not there are not mentioned, lest the message be long."""


_FOREIGN = {
    "&&": "write &",
    "||": "write |",
    "<=>": "write (a => b) & (b => a)",
    "<->": "write (a => b) & (b => a)",
    "->": "write =>",
    "=<": "write <=",
    "!=": "write !(a = b +- 3%)",
    "<>": "write !(a = b +- 3%)",
    "~=": "write a = b +- 3%",
    "^": "write **",
    ";": "write each formula on a line of its own",
    "\\": "write a lambda as x: 1.05 * x",
    "λ": "write lambdas in parentheses behind the relation: a <=(id, λx. 1.05x) b",
}


def _revision(wrong: Unexpected) -> Explanation | None:
    if not wrong.text.startswith("@", wrong.offset):
        return None
    return wrong.offset, "there is no revision after the '@'", "write sort@v1.2, sort@HEAD~1 or sort@'my branch'"


def _unit(wrong: Unexpected) -> Explanation | None:
    """A word right after a number, which can only be a unit."""
    word = re.compile(r"[^\W\d]\w*").match(wrong.text, wrong.offset)
    if not word or not _AFTER_NUMBER.search(wrong.before[-40:]):
        return None
    near = nearest(word[0], UNITS)
    fix = f"did you mean {near!r}?" if near else f"units are {', '.join(unit for unit in UNITS if unit.isascii())}"
    return wrong.offset, f"unknown unit {word[0][:40]!r}", f"{fix} (to multiply, write *)"


def _decimal_comma(wrong: Unexpected) -> Explanation | None:
    if wrong.word == "," and re.search(r"\d$", wrong.before) and re.match(r",\d", wrong.text[wrong.offset :]):
        return wrong.offset, "',' cannot stand here", "decimals are written with a point: 2.5"
    return None


def _declaration(wrong: Unexpected) -> Explanation | None:
    kind = re.match(r"\s*(alias|generator|constant)\s", wrong.text)
    if not kind or wrong.before.strip() != kind[1] or wrong.word in KEYWORDS:
        return None
    return wrong.offset, f"this is not a valid {kind[1]}", f"write {kind[1]} NAME = ..."


def _keyword(wrong: Unexpected) -> Explanation | None:
    if wrong.word not in KEYWORDS or "WORD" not in wrong.terminals:
        return None
    return wrong.offset, f"{wrong.word!r} means something else here", f"a method is written `{wrong.word}`"


def _beginning(wrong: Unexpected) -> Explanation | None:
    if wrong.before.strip() or "WORD" not in wrong.terminals:
        return None
    return wrong.offset, f"expected a formula, found {wrong.shown}", None


_AFTER_NUMBER = re.compile(r"(?<![\w.])[0-9][0-9_.]*(e[+-]?\d+)?[ \t]*$")


def _expected(terminals: set[str]) -> list[str]:
    if "WORD" not in terminals:
        terminals = terminals - {"TEXT"}
    words = [word for name, word in _CALLED.items() if name in terminals]
    plain = "a name" in words or "a relation" in words
    return [word for word in words if not plain or word not in {"'('", "'['"}]


def _grammar() -> Grammar:
    from hati.logic.syntax.parse_tables import GRAMMAR  # late: few commands read formulas

    return GRAMMAR


PERFORMANCE = Language(
    _grammar,
    8_000,
    _FOREIGN,
    _expected,
    (_revision, _unit, _decimal_comma, _declaration, _keyword, _beginning),
)
