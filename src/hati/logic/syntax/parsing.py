"""Text to trees, with Lark; a wrong text is told with its place and what was expected there."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from hati.core.nearest import nearest
from hati.logic.syntax.grammar import CALLED, GRAMMAR, UNITS
from hati.logic.syntax.names import KEYWORDS
from hati.logic.syntax.source import FormulaError, Source

if TYPE_CHECKING:
    from lark import Lark

LONGEST = 10_000
"""The greatest length of a formula's text, in characters, so that any is refused in much less than a second."""

DEEPEST_TREE = 100
"""The greatest depth of what is read, before it becomes a formula."""

_BRACKETS = re.compile(r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`[^`\n]*`|(?<!\S)\#[^\n]*|([(\[{])|([)\]}])""")
"""Brackets, outside of texts, names and comments."""

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
    "λ": "write a lambda as x: 1.05 * x",
}


def parsed(source: Source, text: str, base: int, start: str) -> Any:
    """The tree of a text that stands at ``base`` in the source.

    Raises:
        FormulaError: with the place of what is wrong and what was expected there.
    """
    from lark.exceptions import UnexpectedCharacters, UnexpectedToken  # late: see _lark

    if len(text) > LONGEST:
        raise source.error(base, f"the formula has {len(text)} characters", f"use {LONGEST} at most; split it up")
    try:
        tree = _lark().parse(text, start=start)
    except UnexpectedToken as error:
        if error.token.type == "$END":  # it borrows its place from the last token
            text = text[: error.token.end_pos or 0]
        offset = len(text) if error.token.type == "$END" else error.token.start_pos or 0
        raise _unexpected(source, text, base, offset, error.accepts or set()) from None
    except UnexpectedCharacters as error:
        position: Any = error.pos_in_stream  # an integer, though Lark declares None
        raise _unexpected(source, text, base, position, error.allowed or set()) from None
    _check_depth(source, base, tree)
    return tree


@cache
def _lark() -> Lark:
    # Imported here because it takes about 0.1 s, which a `hati --help` must not pay for.
    from lark import Lark

    return Lark(GRAMMAR, parser="lalr", start=["formula", "statement"], maybe_placeholders=False)


def _check_depth(source: Source, base: int, tree: Any) -> None:
    """Refuse a tree that is too deep to be walked by recursion; itself it is walked without."""
    level = [tree]
    for _ in range(DEEPEST_TREE):
        level = [child for part in level for child in getattr(part, "children", ())]
        if not level:
            return
    part = level[0]
    while getattr(part, "children", None):
        part = part.children[0]
    offset = base + (getattr(part, "start_pos", None) or 0)
    raise source.error(offset, "the formula is nested too deeply", "split it into several")


def _unexpected(source: Source, text: str, base: int, offset: int, terminals: set[str]) -> FormulaError:
    found = _found(text, offset)
    foreign = _foreign(text, offset)
    if foreign:
        return source.error(base + foreign[1], f"{foreign[0]!r} is not known in formulas", _FOREIGN[foreign[0]])
    if found in {"'", '"', "`"}:
        return source.error(base + offset, f"the {found} is never closed", f"close it with {found}")
    wrong_unit = _wrong_unit(text, offset)
    if wrong_unit:
        return source.error(base + offset, *wrong_unit)
    unclosed = _unclosed(text, offset) if not found else None
    if unclosed is not None:
        return source.error(base + unclosed, f"the {text[unclosed]!r} is never closed", "close it")
    if found in KEYWORDS and "WORD" in terminals:
        return source.error(base + offset, f"{found!r} means something else here", f"a method is written `{found}`")
    return source.error(base + offset, f"expected {_wanted(text, offset, terminals)}, found {_told(found)}")


def _wanted(text: str, offset: int, terminals: set[str]) -> str:
    if not text[:offset].strip() and "WORD" in terminals:
        return "a formula"
    inside = _unclosed(text, offset) is not None
    closing = set() if inside else {"_RPAR", "_RBRACKET", "_RBRACE"}
    possible = [name for name in CALLED if name in terminals - closing]
    expected = list(dict.fromkeys(filter(None, (CALLED[name] for name in possible))))
    if "a name" in expected:
        expected = [word for word in expected if word not in {"'('", "'['"}]
    return " or ".join(filter(None, [", ".join(expected[:-1]), expected[-1]])) if expected else "something else"


def _told(found: str) -> str:
    return repr(found[:40]) if found else "the end"


def _foreign(text: str, offset: int) -> tuple[str, int] | None:
    """The operator of another language at that place, and where; its first characters may have been read as ours."""
    for sign in sorted(_FOREIGN, key=len, reverse=True):
        for back in range(min(len(sign), offset + 1)):
            if text.startswith(sign, offset - back):
                return sign, offset - back
    return None


def _wrong_unit(text: str, offset: int) -> tuple[str, str] | None:
    """What to say of a word right after a number, which can only be a unit."""
    word = re.compile(r"[^\W\d]\w*").match(text, offset)
    if not word or not re.search(r"(?<![\w.])[0-9][0-9_.]*(e[+-]?\d+)?[ \t]*$", text[max(0, offset - 40) : offset]):
        return None
    near = nearest(word[0], UNITS)
    fix = f"did you mean {near!r}?" if near else f"write * to multiply; units are {', '.join(UNITS)}"
    return f"unknown unit {word[0][:40]!r}", fix


def _unclosed(text: str, offset: int) -> int | None:
    """Where the innermost bracket that is still open was opened."""
    opened: list[int] = []
    for match in _BRACKETS.finditer(text[:offset]):
        if match[1]:
            opened.append(match.start())
        elif match[2] and opened:
            opened.pop()
    return opened[-1] if opened else None


def _found(text: str, offset: int) -> str:
    match = re.compile(r"[\w.]+|==>|=>|\+-|\.\.|\*\*|[=<>]=|.", re.DOTALL).match(text, offset)
    return match[0] if match else ""
