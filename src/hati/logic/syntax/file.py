"""Files of declarations and formulas."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from hati.core import Place
from hati.formula import Source, quoted
from hati.logic.syntax.declarations import Declarations
from hati.logic.syntax.expression import PERFORMANCE, SELF, is_word
from hati.logic.syntax.formula import PerformanceFormula

LONGEST_FILE = 200_000
MOST_WORDS = 15_000
MOST_STATEMENTS = 2_000
"""The greatest size of a file: in characters, in words and signs, in declarations and formulas."""

_WORDS = re.compile(r"\w+|[^\w\s]")
_CONTINUES = re.compile(r"\s|[)\]}&|∧∨⇒]|==?>|(and|or|implies)(?!\w)")
_NOTHING = re.compile(r"\s*(#.*)?$")
_QUOTED = re.compile(r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`[^`\n]*`|(?<!\S)#.*""")


@dataclass(frozen=True)
class NamedFormula:
    """A formula of a file with its name, ``""`` if it has none, and its place."""

    formula: PerformanceFormula
    name: str = ""
    place: Place = field(default=Place("formula"), compare=False, kw_only=True)

    def __str__(self) -> str:
        if not self.name:
            return str(self.formula)
        return f"{self.name if is_word(self.name) else quoted(self.name)}: {self.formula}"


@dataclass(frozen=True)
class FormulaFile:
    """The declarations of a file, and its formulas in order; ``str`` prints it canonically."""

    declarations: Declarations
    formulas: tuple[NamedFormula, ...]
    source: Source = field(default=Source(""), compare=False, repr=False, kw_only=True)

    def __str__(self) -> str:
        declared = "".join(f"{item}\n" for item in self.declarations.declared)
        formulas = "".join(f"{item}\n" for item in self.formulas)
        return f"{declared}\n{formulas}" if declared and formulas else declared + formulas


def parse_file(text: str, path: str, *, methods: Iterable[str] | None = None, taken: Iterable[str] = ()) -> FormulaFile:
    """Read a file of formulas; ``methods`` are the names of all methods, if known, ``taken`` some of their names.

    A declaration or formula begins at a line's start; lines that are indented, or begin with a closing bracket or a
    connective, continue it. ``#`` after white space starts a comment.

    Raises:
        FormulaError: for malformed text, with line, column and the expected token.
    """
    source = Source(text, path)
    if len(text) > LONGEST_FILE:
        raise source.error(0, f"the file has {len(text)} characters", f"use {LONGEST_FILE} at most; split it up")
    words = sum(1 for _ in _WORDS.finditer(text))
    if words > MOST_WORDS:
        raise source.error(0, f"the file has {words} words and signs", f"use {MOST_WORDS} at most; split it up")
    return _File(source, None if methods is None else frozenset(methods), frozenset(taken)).read()


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Each statement with its offset."""
    start = end = 0
    offset = 0
    for line in text.splitlines(keepends=True):
        if not _NOTHING.match(line):
            if not _CONTINUES.match(line):
                if end > start:
                    yield start, text[start:end]
                start = offset
            elif end <= start:
                start = offset
            end = offset + len(line)
        offset += len(line)
    if end > start:
        yield start, text[start:end]


class _File:
    """The part of a file read so far."""

    def __init__(self, source: Source, methods: frozenset[str] | None, taken: frozenset[str]) -> None:
        self._source = source
        self._methods = methods
        self._taken = taken
        self._statements: list[str] = []
        self._declarations = Declarations()
        self._formulas: list[NamedFormula] = []
        self._names: set[str] = set()

    def read(self) -> FormulaFile:
        statements = list(_statements(self._source.text))
        if len(statements) > MOST_STATEMENTS:
            fix = f"use {MOST_STATEMENTS} at most; split it up"
            raise self._source.error(
                statements[MOST_STATEMENTS][0], f"the file has {len(statements)} declarations and formulas", fix
            )
        self._statements = [text for _, text in statements]
        for base, text in statements:
            self._read(base, text)
        return FormulaFile(self._declarations, tuple(self._formulas), source=self._source)

    def _read(self, base: int, text: str) -> None:
        from hati.logic.syntax.expression_reader import Context  # late: they load Lark

        tree = PERFORMANCE.parse(self._source, "statement", text, base)
        context = Context(self._source, base, self._declarations, self._methods)
        with self._source.placing():
            if tree.data == "declaration":
                self._declare(context, tree)
            else:
                self._add(context, tree, text)

    def _declare(self, context: Any, tree: Any) -> None:
        from hati.logic.syntax.formula_reader import read_declaration

        with context.at(tree.children[1]):
            self._declarations = self._declarations.and_(read_declaration(context, tree))

    def _add(self, context: Any, tree: Any, text: str) -> None:
        from hati.formula import unquoted
        from hati.logic.syntax.formula_reader import read_formula

        *label, part = tree.children
        name = ""
        if label:
            token = label[0]
            name = unquoted(token, context.offset(token)) if token.type == "TEXT" else token.rstrip(":").rstrip()
            if not name or name in self._names:
                raise context.error(
                    token, f"the name {name!r} is taken" if name else "the name is empty", "choose another"
                )
            self._names.add(name)
        elif (declaration := self._alias(context, part, text)) is not None:
            self._declare(context, declaration)
            return
        formula = read_formula(context, part)
        offset = context.offset(tree)
        self._formulas.append(NamedFormula(formula, name, place=self._source.place(offset)))

    def _alias(self, context: Any, tree: Any, own: str) -> Any:
        """``ver1 = sort@v1`` as a declaration, as in the SPL paper's Listings 2 and 5; None for other formulas.

        It is a declaration if no method has that name, the right side is another method with a revision or generators,
        and statements other than its ``own`` use the name.

        Raises:
            FormulaError: if it may be meant as an equality.
        """
        from lark import Token, Tree

        known = self._declarations.aliases.keys() | (self._methods or frozenset()) | {SELF, "THIS"}
        match tree:
            case Tree(
                data="relation",
                children=[
                    Tree(data="call", children=[Token(type="WORD", value=name) as token]),
                    Tree(data="plain_tail", children=[Token(value="="), Tree(data="call", children=parts) as method]),
                ],
            ) if name not in known:
                versioned = parts[0] != name and any(_is_version(part) for part in parts)
                if versioned and name not in self._taken and self._uses(name, own):
                    return Tree("declaration", [Token.new_borrow_pos("DECLARE", "alias", token), token, method])
                fix = f"write `alias {name} = ...`, or for an equality `{name} = ... +- 3%`"
                raise context.error(tree, f"{str(name)!r} is not declared", fix)
        return None

    def _uses(self, name: str, own: str) -> bool:
        """Whether another statement than this one has the name as a word, outside of texts and comments."""
        use = re.compile(rf"(?<![\w.@:]){re.escape(name)}(?![\w.:])")
        others = (_QUOTED.sub(" ", text) for text in self._statements if text is not own)
        return any(use.search(text) for text in others)


def _is_version(part: Any) -> bool:
    """Whether a part of a method is its revision, or its generators."""
    return getattr(part, "type", "") == "REVISION" or getattr(part, "data", "") == "generators"
