"""Formula languages: parse text into Lark's trees; report a malformed text with its place and the expected token."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from hati.formula.proposition import (
    A,
    And,
    Connective,
    Equivalent,
    FormulaError,
    Implies,
    Not,
    Notation,
    Or,
    Proposition,
    Source,
    Truth,
)

if TYPE_CHECKING:
    from lark import Lark, Token, Tree

    Part: TypeAlias = Tree[Token] | Token

DEEPEST_TREE = 100
"""The greatest depth of the parsed tree, before it becomes a formula."""


class Unexpected(Struct, frozen=True):
    """The position at which parsing a text failed, and the terminals that could have come there."""

    text: str
    offset: int
    terminals: set[str]

    @property
    def before(self) -> str:
        """The text before the error."""
        return self.text[: self.offset]

    @property
    def word(self) -> str:
        """The word or sign there, ``""`` at the end."""
        match = _TOKEN.match(self.text, self.offset)
        return match[0] if match else ""

    @property
    def shown(self) -> str:
        """The word or sign there as messages show it."""
        return repr(self.word[:40]) if self.word else "the end"

    @property
    def opened(self) -> int | None:
        """The position of the innermost bracket that is still open."""
        opened: list[int] = []
        for match in _BRACKETS.finditer(self.before):
            if match[1]:
                opened.append(match.start())
            elif match[2] and opened:
                opened.pop()
        return opened[-1] if opened else None


Explanation: TypeAlias = tuple[int, str, str | None]
"""An error: its offset, the message and the fix."""

_TOKEN = re.compile(r"[\w.]+|<=>|==>|=>|\+-|\.\.|\*\*|[=!<>]=|.", re.DOTALL)
_BRACKETS = re.compile(r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`[^`\n]*`|(?<!\S)\#[^\n]*|([(\[{])|([)\]}])""")
"""Brackets, outside of texts, names and comments."""


class Grammar(Struct, frozen=True):
    """A Lark grammar, and its tables as Lark of that ``version`` computes them; ``scripts/grammars.py`` writes both.

    Lark takes ten times longer to compute tables than to load them.
    """

    text: str
    starts: list[str]
    version: str
    tables: Mapping[str, Any]

    @property
    def parser(self) -> Lark:
        """The parser, from the tables unless another version of Lark is installed."""
        import lark  # late: it takes about 0.03 s

        if lark.__version__ != self.version:
            return lark.Lark(self.text, parser="lalr", start=self.starts, maybe_placeholders=False)
        loaded: Lark = lark.Lark.load(self.tables)
        return loaded


class Language(Struct, frozen=True, dict=True):
    """A language of formulas: its grammar, and its words in messages.

    ``foreign`` maps operators of other languages to the fix. ``expected`` names, in order, what these terminals allow.
    ``explanations`` diagnose a wrong text; the first answer counts. A formula has at most ``longest`` characters, so
    that any malformed one is rejected in much less than a second.
    """

    grammar: Callable[[], Grammar]
    longest: int
    foreign: Mapping[str, str]
    expected: Callable[[set[str]], Iterable[str]]
    explanations: tuple[Callable[[Unexpected], Explanation | None], ...] = ()

    def parse(self, source: Source, start: str, text: str | None = None, base: int = 0) -> Tree[Token]:
        """Lark's tree of a text that stands at ``base`` in the source; by default of all of it.

        Raises:
            FormulaError: for a malformed formula, with the place and the expected token.
        """
        from lark.exceptions import UnexpectedCharacters, UnexpectedToken  # late: as above

        text = source.text if text is None else text
        if len(text) > self.longest:
            message = f"the formula has {len(text)} characters"
            raise source.error(base, message, f"use {self.longest} at most; split it up")
        try:
            tree = self._lark.parse(text, start=start)
        except UnexpectedToken as error:
            offset = error.token.start_pos or 0
            if error.token.type == "$END":  # it borrows its place from the last token
                text = text[: error.token.end_pos or 0]
                offset = len(text)
            wrong = Unexpected(text, offset, error.accepts or set())
            raise self._refused(source, base, wrong) from None
        except UnexpectedCharacters as error:
            position: Any = error.pos_in_stream  # an integer, though Lark declares None
            raise self._refused(source, base, Unexpected(text, position, error.allowed or set())) from None
        _check_depth(source, base, tree)
        return tree

    @cached_property
    def _lark(self) -> Lark:
        return self.grammar().parser

    def _refused(self, source: Source, base: int, wrong: Unexpected) -> FormulaError:
        for explain in (self._foreign, _quote, _bracket, *self.explanations):
            found = explain(wrong)
            if found:
                return source.error(base + found[0], *found[1:])
        closing = set() if wrong.opened is not None else {"_RPAR", "_RBRACKET", "_RBRACE", "_COMMA"}
        expected = list(dict.fromkeys(self.expected(wrong.terminals - closing)))
        if not expected:
            return source.error(base + wrong.offset, f"{wrong.shown} cannot stand here")
        wanted = " or ".join(filter(None, [", ".join(expected[:-1]), expected[-1]]))
        return source.error(base + wrong.offset, f"expected {wanted}, found {wrong.shown}")

    def _foreign(self, wrong: Unexpected) -> Explanation | None:
        """The operator of another language at that place; its first characters may have been read as our own."""
        for sign in sorted(self.foreign, key=len, reverse=True):
            for start in range(wrong.offset, max(-1, wrong.offset - len(sign)), -1):
                if wrong.text.startswith(sign, start):
                    return start, f"{sign!r} is not known in formulas", self.foreign[sign]
        return None


def _check_depth(source: Source, base: int, tree: Tree[Token]) -> None:
    """Reject a tree that is too deep for recursion, without recursion."""
    level: list[Any] = [tree]
    for _ in range(DEEPEST_TREE):
        level = [child for part in level for child in getattr(part, "children", ())]
        if not level:
            return
    raise source.error(base + start_of(level[0]), "the formula is nested too deeply", "split it into several")


def _quote(wrong: Unexpected) -> Explanation | None:
    """A quote that is never closed, perhaps of a revision."""
    offset = wrong.offset + wrong.text.startswith("@", wrong.offset)
    found = wrong.text[offset : offset + 1]
    line_end = wrong.text.find("\n", offset)
    if not found or found not in "'\"`" or wrong.text.find(found, offset + 1, line_end if line_end >= 0 else None) >= 0:
        return None
    return offset, f"the {found} is never closed", f"close it with {found}"


def _bracket(wrong: Unexpected) -> Explanation | None:
    """A bracket that is never closed, or never opened."""
    if not wrong.word and wrong.opened is not None:
        return wrong.opened, f"the {wrong.text[wrong.opened]!r} is never closed", "close it"
    if wrong.word in {")", "]", "}"} and wrong.opened is None:
        return wrong.offset, f"the {wrong.word!r} was never opened", "remove it"
    return None


def start_of(part: Any) -> int:
    """The offset at which a tree or token of Lark's begins in the parsed text."""
    while getattr(part, "children", None):
        part = part.children[0]
    return getattr(part, "start_pos", None) or 0


def read_connective(
    tree: Any, read: Callable[[Any], Proposition[A]], offset: int, notation: Notation
) -> Connective[A] | None:
    """The connective of a Lark tree, with its parts converted by ``read``; None for other trees."""
    rule = getattr(tree, "data", "")
    if rule == "truth":
        return Truth(tree.children[0] == "true", notation=notation, offset=offset)
    if rule == "negate":
        return Not(read(tree.children[1]), offset=offset)
    make = _CONNECTIVES.get(rule)
    return make(tuple(map(read, tree.children)), offset) if make else None


_CONNECTIVES: Mapping[str, Callable[[tuple[Proposition[Any], ...], int], Connective[Any]]] = {
    "any_of": lambda parts, offset: Or(parts, offset=offset),
    "all_of": lambda parts, offset: And(parts, offset=offset),
    "implies": lambda parts, offset: Implies(*parts, offset=offset),
    "equivalent": lambda parts, offset: Equivalent(*parts, offset=offset),
}
