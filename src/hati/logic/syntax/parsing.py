"""Text to trees, with Lark; a wrong text is reported with its place and what was expected there."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from hati.core.metric import is_unit
from hati.core.wording import nearest
from hati.logic.syntax.node import KEYWORDS, REVISION, FormulaError, Source

if TYPE_CHECKING:
    from lark import Lark


_UNITS = [*("ns", "us", "µs", "μs", "ms", "s", "min", "h"), *("kB", "MB", "GB", "KiB", "MiB", "GiB", "B")]
_UNITS += [*("Hz", "mJ", "kJ", "J", "mW", "kW", "W")]
UNITS = tuple(unit for unit in _UNITS if is_unit(unit))
"""The units that follow a number without quotes, beside ``%``."""

_GRAMMAR = r"""
statement: DECLARE WORD _ASSIGN formula                  -> declaration
    | DECLARE WORD _ASSIGN braces                        -> declaration
    | LABEL formula                                      -> labelled
    | TEXT _COLON formula                                -> labelled
    | formula                                            -> unlabelled

?formula: disjunction
    | disjunction _IMPLIES formula                       -> implies
?disjunction: conjunction
    | conjunction (_OR conjunction)+                     -> any_of
?conjunction: negation
    | negation (_AND negation)+                          -> all_of
?negation: relation
    | NOT negation                                       -> negate
    | QUANTIFIER binding (_COMMA binding)* _COLON formula -> quantified
    | QUANTIFIER target _IN bare _COLON? formula         -> quantified_bare
    | QUANTIFIER _LPAR columns+ _RPAR _COLON? formula    -> quantified_columns

binding: target _IN braces
    | target _IN WORD                                    -> binding_of_set
target: WORD
    | _LPAR WORD (_COMMA WORD)+ _RPAR
bare: bare_element (_COMMA bare_element)*
?bare_element: NUMBER                                    -> number
    | bare_number _RANGE bare_number                     -> range
bare_number: NUMBER                                      -> number
columns: WORD braces
    | _LPAR WORD (_COMMA WORD)+ _RPAR braces
braces: _LBRACE element (_COMMA element)* _RBRACE
?element: formula
    | sum _RANGE sum                                     -> range
    | sum _RANGE sum _STEP sum                           -> range
    | _LPAR formula (_COMMA formula)+ _RPAR              -> row

?relation: sum
    | sum tail+ margin*                                  -> relation
?tail: RELATION sum                                      -> plain_tail
    | RELATION _LPAR entry (_COMMA entry)+ _RPAR sum     -> lambda_tail
    | RELATION _LPAR lambda _RPAR sum                    -> lambda_tail
    | RELATION _LPAR formula _RPAR call                  -> epsilon_tail
?entry: lambda | formula
lambda: LAMBDA sum
    | PRINTED sum
    | PRINTED scaled
scaled: NUMBER WORD
margin: MARGIN unary
    | STRICTLY                                           -> strictly

?sum: product
    | product (SIGN product)+                            -> operation
?product: unary
    | unary (TIMES unary)+                               -> operation
?unary: power
    | SIGN unary                                         -> signed
?power: atom
    | atom _POWER unary                                  -> power
?atom: NUMBER                                            -> number
    | NUMBER (UNIT | TEXT)                               -> number
    | TEXT                                               -> text
    | TRUTH                                              -> truth
    | call
    | (WORD | TEXT) _OF atom                             -> metric
    | _LPAR formula _RPAR

call: (WORD | NAME | BACKQUOTED | QUALIFIED | QUANTILE) suffix*
?suffix: _LPAR [formula (_COMMA formula)*] _RPAR         -> arguments
    | LBRACKET [formula (_COMMA formula)*] _RBRACKET     -> generators
    | REVISION
    | MEMBER
    | QUALIFIED

DECLARE.5: /(alias|generator|constant)(?=\s+[^\W\d]\w*\s*=)/
LABEL.4: /[^\W\d]\w*[ \t]*:(?!\w)/
PRINTED.4: /λ\s*[^\W\d]\w*\s*\.(?!\.)/
LAMBDA.3: /[^\W\d]\w*[ \t]*:(?=[\s\d(.+-])|[^\W\d]:(?=[^\W\d]\b(?![.:]))/
QUANTIFIER.3: /for\s+all(?!\w)|forall(?![\w.:])|for(?![\w.:])|exists(?![\w.:])|∀|∃/
QUANTILE.2: /p[0-9]+(\.[0-9]+)?(?=\s*\()/
NOT.2: /!(?!=)|¬|not(?![\w.:])/
_AND.2: /&|∧|and(?![\w.:])/
_OR.2: /\||∨|or(?![\w.:])/
_IMPLIES.2: /==>|=>|⇒|implies(?![\w.:])/
_IN.2: /in(?![\w.:])|∈/
_OF.2: /of(?![\w.:])/
_STEP.2: /step(?![\w.:])/
STRICTLY.2: /strictly(?![\w.:])/
MARGIN.2: /\+-|\+\/-|±|within(?![\w.:])/
TRUTH.2: /(true|false)(?![\w.:])/
RELATION: /(<=(?!>)|>=|==(?!>)|=(?!>)|<|>|≤|≥)(_p(?=\s*\())?/
SIGN: "+" | "-"
TIMES: /\*(?!\*)|\//
_POWER: "**"
_ASSIGN: "="
_COMMA: ","
_COLON: ":"
_RANGE: ".."
_LPAR: "("
_RPAR: ")"
LBRACKET: "["
_RBRACKET: "]"
_LBRACE: "{"
_RBRACE: "}"
NAME: /NO_KEYWORD[^\W\d]\w*((\.[^\W\d]\w*)+(:[^\W\d]\w*(\.[^\W\d]\w*)*)?|:[^\W\d]\w*(\.[^\W\d]\w*)*)/
WORD: /NO_KEYWORD[^\W\d]\w*/
QUALIFIED: /:[^\W\d]\w*(\.[^\W\d]\w*)*/
MEMBER: /(?<=\S)#[^\W\d]\w*/
BACKQUOTED: /`[^`\n]+`/
REVISION: /@('([^'\\\n]|\\.)*'|"([^"\\\n]|\\.)*"|BARE_REVISION)/
NUMBER: /([0-9](_?[0-9])*)?\.[0-9](_?[0-9])*([eE][+-]?[0-9]+)?|[0-9](_?[0-9])*([eE][+-]?[0-9]+)?/
UNIT: /%|(UNITS)(?!\w)/
TEXT: /'([^'\\\n]|\\.)*'|"([^"\\\n]|\\.)*"/
%ignore /\s+/
%ignore /(?<!\S)#[^\n]*/
"""

_NO_KEYWORD = rf"(?!({'|'.join(sorted(KEYWORDS))})(?![\w.:]))"

GRAMMAR = _GRAMMAR.replace("UNITS", "|".join(UNITS)).replace("NO_KEYWORD", _NO_KEYWORD)
GRAMMAR = GRAMMAR.replace("BARE_REVISION", REVISION.pattern.replace("/", r"\/"))

CALLED = {
    **dict.fromkeys(("WORD", "NAME", "BACKQUOTED", "QUANTILE"), "a name"),
    "NUMBER": "a number",
    "TEXT": "a text in quotes",
    **dict.fromkeys(("LABEL", "LAMBDA", "PRINTED", "DECLARE", "TRUTH", "SIGN"), ""),
    "QUANTIFIER": "",
    "NOT": "",
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
    **dict.fromkeys(("TIMES", "_POWER", "MARGIN", "STRICTLY", "_OF", "_STEP", "REVISION", "MEMBER", "UNIT"), ""),
    **dict.fromkeys(("_AND", "_OR", "_IMPLIES"), "a connective"),
}
"""What a terminal is called in messages; ``""`` for those that are not told, lest the message be long."""


LONGEST = 8_000
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
    "λ": "write lambdas in parentheses behind the relation: a <=(id, λx. 1.05x) b",
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
    for explain in _EXPLANATIONS:
        told = explain(text, offset)
        if told:
            return source.error(base + told[0], *told[1:])
    found = _found(text, offset)
    if found in KEYWORDS and "WORD" in terminals:
        return source.error(base + offset, f"{found!r} means something else here", f"a method is written `{found}`")
    wanted = _wanted(text, offset, terminals)
    if not wanted:
        return source.error(base + offset, f"{_token_text(found)} cannot stand here")
    return source.error(base + offset, f"expected {wanted}, found {_token_text(found)}")


def _wanted(text: str, offset: int, terminals: set[str]) -> str:
    if not text[:offset].strip() and "WORD" in terminals:
        return "a formula"
    never = set() if _unclosed(text, offset) is not None else {"_RPAR", "_RBRACKET", "_RBRACE", "_COMMA"}
    never |= set() if "WORD" in terminals else {"TEXT"}
    possible = [name for name in CALLED if name in terminals - never]
    expected = list(dict.fromkeys(filter(None, (CALLED[name] for name in possible))))
    if "a name" in expected or "a relation" in expected:
        expected = [word for word in expected if word not in {"'('", "'['"}]
    return " or ".join(filter(None, [", ".join(expected[:-1]), expected[-1]])) if expected else ""


def _token_text(found: str) -> str:
    return repr(found[:40]) if found else "the end"


def _foreign(text: str, offset: int) -> _Explained | None:
    """The operator of another language at that place; its first characters may have been read as ours."""
    for sign in sorted(_FOREIGN, key=len, reverse=True):
        for back in range(min(len(sign), offset + 1)):
            if text.startswith(sign, offset - back):
                return offset - back, f"{sign!r} is not known in formulas", _FOREIGN[sign]
    return None


def _quote(text: str, offset: int) -> _Explained | None:
    """A quote that is never closed, perhaps of a revision."""
    offset += text.startswith("@", offset)
    found = text[offset : offset + 1]
    if not found or found not in "'\"`":
        return None
    return (
        (offset, f"the {found} is never closed", f"close it with {found}") if text.find(found, offset + 1) < 0 else None
    )


def _revision(text: str, offset: int) -> _Explained | None:
    if not text.startswith("@", offset):
        return None
    return offset, "there is no revision after the '@'", "write sort@v1.2, sort@HEAD~1 or sort@'my branch'"


def _unit(text: str, offset: int) -> _Explained | None:
    """A word right after a number, which can only be a unit."""
    word = re.compile(r"[^\W\d]\w*").match(text, offset)
    if not word or not _AFTER_NUMBER.search(text[max(0, offset - 40) : offset]):
        return None
    near = nearest(word[0], UNITS)
    fix = f"did you mean {near!r}?" if near else f"units are {', '.join(unit for unit in UNITS if unit.isascii())}"
    return offset, f"unknown unit {word[0][:40]!r}", f"{fix} (to multiply, write *)"


def _decimal_comma(text: str, offset: int) -> _Explained | None:
    if _found(text, offset) == "," and text[offset - 1 : offset].isdigit() and text[offset + 1 : offset + 2].isdigit():
        return offset, "',' cannot stand here", "decimals are written with a point: 2.5"
    return None


def _declaration(text: str, offset: int) -> _Explained | None:
    kind = re.match(r"\s*(alias|generator|constant)\s", text)
    if not kind or text[:offset].strip() != kind[1] or _found(text, offset) in KEYWORDS:
        return None
    return offset, f"this is not a valid {kind[1]}", f"write {kind[1]} NAME = ..."


def _bracket(text: str, offset: int) -> _Explained | None:
    """A bracket that is never closed, or never opened."""
    found, opened = _found(text, offset), _unclosed(text, offset)
    if not found and opened is not None:
        return opened, f"the {text[opened]!r} is never closed", "close it"
    if found in {")", "]", "}"} and opened is None:
        return offset, f"the {found!r} was never opened", "remove it"
    return None


_Explained = tuple[int, str, str]
_AFTER_NUMBER = re.compile(r"(?<![\w.])[0-9][0-9_.]*(e[+-]?\d+)?[ \t]*$")
_EXPLANATIONS = (_foreign, _quote, _revision, _unit, _decimal_comma, _declaration, _bracket)


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
