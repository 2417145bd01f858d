"""The language of performance formulas: its words, how texts are parsed, and its arithmetic.

Expressions are of numbers, parameters, units and, in transformations, observations.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from hati.core import InputError
from hati.core.metric import is_unit
from hati.core.wording import nearest
from hati.formula import PLAIN, Explanation, Grammar, Language, Node, Unexpected, quoted

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
"""A revision that needs no quotes: a package's release, or a name that git or svn uses."""

_BARE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*(:[^\W\d]\w*(\.[^\W\d]\w*)*)?")
_QUANTILE = re.compile(r"p[0-9]+")
_WORD = re.compile(r"[^\W\d]\w*")


def is_word(text: str) -> bool:
    """Whether the text is a plain word, as variables and declared names are.

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
"""The names of terminals in messages; terminals without a name are left out, to keep messages short."""


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


_UNIT = re.compile(r"(.*)/(\w+)")


class Expression(Node):
    """An expression with a value once its variables have one."""

    @property
    def variables(self) -> frozenset[str]:
        """The names of the parameters in it."""
        return frozenset(node.name for node in self.find(Variable))

    @property
    def observes(self) -> bool:
        """Whether it depends on the observation."""
        return bool(self.find(Observed))


@dataclass(frozen=True)
class Number(Expression):
    """A number with its unit, ``""`` where it has none: ``3``, ``2 ms``, ``5 %``, ``1000 /s``.

    Raises:
        InputError: for a number that is not finite.
    """

    value: int | float
    unit: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not math.isfinite(self.value):
            raise InputError(f"{self.value} is not a valid number of a formula", fix="use a finite one")

    @property
    def precedence(self) -> int:  # type: ignore[override]  # depends on its sign
        """The precedence of a division if its unit has one, and of a sign if the number is negative."""
        if "/" in self.unit:
            return _PRECEDENCE[Operator.DIVIDE]
        return Negative.precedence if math.copysign(1, self.value) < 0 else PLAIN

    def __str__(self) -> str:
        return f"{self.value!r}{unit_text(self.unit)}"


def unit_text(unit: str) -> str:
    """A unit as it follows a number.

    >>> unit_text("ms"), unit_text("%"), unit_text("1/s"), unit_text("MB/s"), unit_text("page")
    (' ms', '%', ' /s', ' MB/s', " 'page'")
    """
    above, below = match.groups() if (match := _UNIT.fullmatch(unit)) else (unit, "")
    known = is_unit(above) and above and (not below or (is_unit(below) and is_word(below)))
    if not known or above == "count" or (above == "1" and not below):
        return f" {quoted(unit)}" if unit else ""
    if above == "1":
        return f" /{below}"
    return f"{'' if above == '%' else ' '}{unit}"


@dataclass(frozen=True)
class Text(Expression):
    """A text, as an argument of a method."""

    value: str

    def __str__(self) -> str:
        return quoted(self.value)


@dataclass(frozen=True)
class Variable(Expression):
    """A quantified variable or a declared constant.

    Raises:
        InputError: for a name that is not a plain word, or that is a unit.
    """

    name: str

    def __post_init__(self) -> None:
        super().__post_init__()
        check_variable(self.name)

    def __str__(self) -> str:
        return self.name


def check_variable(name: str) -> None:
    """Refuse a name that a variable cannot have.

    Raises:
        InputError: for a name that is not a plain word, or that is a unit or a function.
    """
    if not is_word(name):
        raise InputError(f"{name!r} is not a valid name of a variable", fix="use a word such as n")
    if is_unit(name):
        raise InputError(f"{name!r} is a unit, not a variable", fix="choose another name")
    if name in FUNCTIONS:
        raise InputError(f"{name!r} is a function, not a variable", fix="choose another name")


@dataclass(frozen=True)
class Observed(Expression):
    """The argument of a transformation, one observation; printed as the lambda's variable."""

    def __str__(self) -> str:
        return "x"


class Operator(StrEnum):
    """How two numbers are combined."""

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    POWER = "**"


@dataclass(frozen=True)
class Negative(Expression):
    """A value with its sign changed; a number carries its own sign."""

    precedence = 26
    part: Expression

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.part, Number):
            raise InputError("a number carries its own sign")

    def __str__(self) -> str:
        return f"-{self.part.bracketed(25)}"


_PRECEDENCE = {
    Operator.ADD: 24,
    Operator.SUBTRACT: 24,
    Operator.MULTIPLY: 25,
    Operator.DIVIDE: 25,
    Operator.POWER: 27,
}


@dataclass(frozen=True)
class Operation(Expression):
    """Two values combined; sums and products group to the left, powers to the right."""

    operator: Operator
    left: Expression
    right: Expression

    @property
    def precedence(self) -> int:  # type: ignore[override]  # depends on the operator
        """How tightly the operator binds."""
        return _PRECEDENCE[self.operator]

    def __str__(self) -> str:
        own = self.precedence
        if self.operator is Operator.POWER:
            return f"{self.left.bracketed(own)} ** {self.right.bracketed(25)}"
        return f"{self.left.bracketed(own - 1)} {self.operator} {self.right.bracketed(own)}"


@dataclass(frozen=True)
class Function(Expression):
    """A function of numbers: ``log2(n)``, ``max(n, 10)``.

    Raises:
        InputError: for a function that is not known or a wrong count of arguments.
    """

    name: str
    arguments: tuple[Expression, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        least, most = FUNCTIONS.get(self.name, (1, 0))
        if not least <= len(self.arguments) <= most:
            wanted = f"{least} or more" if most > least else str(least)
            raise InputError(f"{self.name} takes {wanted} argument{'s' * (wanted != '1')}, not {len(self.arguments)}")

    def __str__(self) -> str:
        return f"{self.name}({', '.join(str(part) for part in self.arguments)})"


Value = int | float

LARGEST = 10**18
"""The greatest whole number."""

_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "abs": abs,
    "ceil": math.ceil,
    "exp": math.exp,
    "floor": math.floor,
    "log": math.log,
    "log2": math.log2,
    "log10": math.log10,
    "max": max,
    "min": min,
    "round": round,
    "sqrt": math.sqrt,
}


def combined(operator: Operator, left: Value, right: Value) -> Value:
    """Two numbers combined; a whole result of whole numbers is a whole number.

    Raises:
        InputError: for a division by zero, or a result that is not finite.

    >>> combined(Operator.DIVIDE, 100, 4), combined(Operator.DIVIDE, 1, 4), combined(Operator.POWER, 2, 10)
    (25, 0.25, 1024)
    """
    text = f"{left!r} {operator} {right!r}"
    return _whole(text, lambda: _combined(operator, left, right), (left, right))


def applied(name: str, arguments: tuple[Value, ...]) -> Value:
    """A function of numbers; a whole result of whole numbers is a whole number.

    Raises:
        InputError: if the function has no value, or an infinite one.

    >>> applied("log2", (1024,)), applied("max", (3, 2.5))
    (10, 3)
    """
    text = f"{name}({', '.join(repr(argument) for argument in arguments)})"
    return _whole(text, lambda: _FUNCTIONS[name](*arguments), arguments)


def _combined(operator: Operator, left: Value, right: Value) -> Value:
    match operator:
        case Operator.ADD:
            return left + right
        case Operator.SUBTRACT:
            return left - right
        case Operator.MULTIPLY:
            return left * right
        case Operator.DIVIDE:
            return left / right
        case Operator.POWER:
            return _power(left, right)


def _power(base: Value, exponent: Value) -> Value:
    if isinstance(base, int) and isinstance(exponent, int) and abs(base) > 1:
        if exponent > 64:
            raise OverflowError
        if exponent < 0:
            return float(base) ** exponent
    value = base**exponent
    if isinstance(value, complex):
        raise ValueError
    return value


def _whole(text: str, compute: Callable[[], Value], inputs: tuple[Value, ...]) -> Value:
    try:
        value = compute()
    except ZeroDivisionError:
        raise InputError(f"{text} divides by zero") from None
    except ValueError:
        raise InputError(f"{text} has no value") from None
    except OverflowError:
        raise InputError(f"{text} is too large") from None
    if abs(value) > LARGEST and all(isinstance(part, int) for part in inputs):
        raise InputError(f"{text} is too large", fix=f"whole numbers are {LARGEST:.0e} at most")
    if not math.isfinite(value):
        raise InputError(f"{text} is too large")
    whole = isinstance(value, float) and value.is_integer() and all(isinstance(part, int) for part in inputs)
    return int(value) if whole else value
