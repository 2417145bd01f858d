"""Text to formulas, with Lark; a wrong text is told with its place and what was expected there."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from hati.space.formula import Constraint, ConstraintError

if TYPE_CHECKING:
    from lark import Lark

LONGEST = 20_000
"""The greatest length of a formula's text, in characters."""

# One grammar for terms and formulas: whether `(a)` is a setting or a truth shows only in what follows it.
_GRAMMAR = r"""
?start: equivalence
?equivalence: implication
    | equivalence "<=>" implication         -> equivalent
?implication: disjunction
    | disjunction "=>" implication          -> implies
?disjunction: conjunction
    | conjunction (_OR conjunction)+         -> any_of
?conjunction: negation
    | negation (_AND negation)+              -> all_of
?negation: comparison
    | NOT negation                          -> negate
?comparison: sum
    | sum COMPARATOR sum                    -> compare
    | sum _IN "[" element ("," element)* "]"  -> member
?sum: product
    | product (SIGN product)+               -> add
?product: unary
    | unary ("*" unary)+                    -> multiply
?unary: atom
    | SIGN unary                            -> signed
?atom: literal
    | NAME                                  -> name
    | BACKQUOTED                            -> backquoted
    | "(" equivalence ")"
?element: literal
    | SIGN NUMBER                           -> signed_number
?literal: NUMBER                            -> number
    | TEXT                                  -> text
    | TRUE                                  -> true
    | FALSE                                 -> false

NOT: /not(?![\w.])/
_AND: /and(?![\w.])/
_OR: /or(?![\w.])/
_IN: /in(?![\w.])/
TRUE: /true(?![\w.])/
FALSE: /false(?![\w.])/
COMPARATOR: "==" | "!=" | "<=" | ">=" | "<" | ">"
SIGN: "+" | "-"
NAME: /(?!(and|or|not|in|true|false)(?![\w.]))[^\W\d][\w.]*/
BACKQUOTED: /`[^`\n]+`/
NUMBER: /[0-9](_?[0-9])*(\.[0-9](_?[0-9])*)?([eE][+-]?[0-9]+)?/
TEXT: /'([^'\\\n]|\\.)*'|"([^"\\\n]|\\.)*"/
%ignore /\s+/
"""

_WORDS = {
    "NAME": "an option",
    "BACKQUOTED": "an option",
    "NUMBER": "a setting",
    "TEXT": "a setting",
    "TRUE": "a setting",
    "FALSE": "a setting",
    "LPAR": "'('",
    "RPAR": "')'",
    "LSQB": "'['",
    "RSQB": "']'",
    "COMMA": "','",
    "COMPARATOR": "a comparison",
    "_IN": "a comparison",
    "_AND": "and, or, =>, <=>",
    "$END": "the end",
}

_FOREIGN = {
    "&&": "and",
    "&": "and",
    "||": "or",
    "|": "or",
    "<->": "<=>",
    "<>": "!=",
    "->": "=>",
    "=<": "<=",
    "=": "==",
    "!": "not",
    "\N{NOT SIGN}": "not",
    "\N{LOGICAL AND}": "and",
    "\N{LOGICAL OR}": "or",
}


def parse_formula(text: str) -> Constraint:
    r"""Read a formula such as ``cache <= 2000 or not (mode == 'WAL')``.

    From loosest to tightest: ``<=>``; ``=>`` (groups to the right); ``or``; ``and``; ``not``;
    ``== != < <= > >=`` and ``in [...]``; ``+ -``; ``*``. Text is in quotes, single or double, with
    ``\`` before a quote or a backslash; a name that is no plain word is in backquotes.

    Raises:
        FormulaError: with the offset of what is wrong and what was expected there.

    >>> str(parse_formula("a=>(b   and c == 1)"))
    'a => b and c == 1'
    """
    from lark.exceptions import UnexpectedCharacters, UnexpectedToken  # late: see _lark

    if len(text) > LONGEST:
        raise ConstraintError(
            f"the formula has {len(text)} characters", 0, text=text, fix=f"use {LONGEST} at most; split it up"
        )
    try:
        return _read(text)
    except ConstraintError as error:
        raise ConstraintError(error.message, error.offset, text=text, fix=error.fix) from None
    except UnexpectedToken as error:
        if error.token.type == "$END":
            raise _unexpected(text.rstrip(), len(text.rstrip()), error.accepts) from None
        raise _unexpected(text, error.token.start_pos or 0, error.accepts) from None
    except UnexpectedCharacters as error:
        position: Any = error.pos_in_stream  # an integer, though Lark declares None
        raise _unexpected(text, position, error.allowed) from None


def _read(text: str) -> Constraint:
    from hati.space.builder import as_formula

    tree: Any = _lark().parse(text)  # what the builder made
    return as_formula(tree)


@cache
def _lark() -> Lark:
    # Imported here because it takes about 0.1 s, which a `hati --help` must not pay for.
    from lark import Lark

    from hati.space.builder import transformer

    return Lark(_GRAMMAR, parser="lalr", transformer=transformer())


def _unexpected(text: str, offset: int, terminals: set[str] | None) -> ConstraintError:
    foreign = _foreign(text, offset)
    if foreign:
        return ConstraintError(
            f"{foreign!r} is not known in formulas", offset, text=text, fix=f"write {_FOREIGN[foreign]!r}"
        )
    found = _found(text, offset)
    if found in {"'", '"', "`"}:
        return ConstraintError(f"the {found} is never closed", offset, text=text, fix=f"close it with {found}")
    open_brackets = text.count("(", 0, offset) - text.count(")", 0, offset)
    possible = set(terminals or ()) - (set() if open_brackets > 0 else {"RPAR"})
    expected = list(dict.fromkeys(word for name, word in _WORDS.items() if name in possible))
    wanted = " or ".join(filter(None, [", ".join(expected[:-1]), expected[-1]])) if expected else "a formula"
    return ConstraintError(f"expected {wanted}, found {found or 'the end'}", offset, text=text)


def _foreign(text: str, offset: int) -> str | None:
    """The operator of another language at that place; its first characters may have been read as ours."""
    for sign in sorted(_FOREIGN, key=len, reverse=True):
        if any(text.startswith(sign, max(0, offset - back)) for back in range(min(len(sign), offset + 1))):
            return sign
    return None


def _found(text: str, offset: int) -> str:
    match = re.compile(r"[\w.]+|<=>|=>|[=!<>]=|.", re.DOTALL).match(text, offset)
    if not match:
        return ""
    return match[0] if match[0] in {"'", '"', "`"} else repr(match[0][:40])
