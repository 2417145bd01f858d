"""What a formula says of one configuration."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from math import prod
from typing import Any

from hati.core import Setting
from hati.space.formula import (
    And,
    Comparator,
    Comparison,
    Equivalent,
    Flag,
    Formula,
    Implies,
    Literal,
    Membership,
    Name,
    Negative,
    Node,
    Not,
    Or,
    Product,
    Sum,
    Truth,
)

compared: dict[Comparator, Callable[[Any, Any], Any]] = {
    Comparator.EQUAL: operator.eq,
    Comparator.UNEQUAL: operator.ne,
    Comparator.LESS: operator.lt,
    Comparator.AT_MOST: operator.le,
    Comparator.MORE: operator.gt,
    Comparator.AT_LEAST: operator.ge,
}


def exact(setting: Setting) -> Any:
    """A setting as it is compared and reckoned with: real numbers as the decimals that they are written as.

    So 0.1 + 0.2 is 0.3 here, which it is not in binary floating point.
    """
    if not isinstance(setting, float):
        return setting
    value = Fraction(repr(setting))
    return value.numerator if value.denominator == 1 else value


def holds(formula: Formula, configuration: Mapping[str, Setting]) -> bool:
    """Whether a formula holds; an option without a setting is inactive.

    The formula must fit the options (:func:`hati.space.check_formula`).
    """
    match formula:
        case Truth() | Flag() | Comparison() | Membership():
            return _atom_holds(formula, configuration)
        case Not(part=part):
            return not holds(part, configuration)
        case And(formulas=parts):
            return all(holds(part, configuration) for part in parts)
        case Or(formulas=parts):
            return any(holds(part, configuration) for part in parts)
        case Implies(condition=condition, consequence=consequence):
            return not holds(condition, configuration) or holds(consequence, configuration)
        case Equivalent(left=left, right=right):
            return holds(left, configuration) == holds(right, configuration)
    raise AssertionError(formula)


def value(term: Node, lookup: Callable[[str], Any]) -> Any:
    """The value of a term, with ``lookup`` giving the exact value of an option by its name.

    Values may be NumPy arrays: then the term is reckoned element by element.
    """
    match term:
        case Literal(value=setting):
            return exact(setting)
        case Name(name=name):
            return lookup(name)
        case Negative(term=part):
            return -value(part, lookup)
        case Product(factors=factors):
            return prod((value(factor, lookup) for factor in factors), start=1)
        case Sum(terms=terms, signs=signs):
            total = value(terms[0], lookup)
            for sign, part in zip(signs, terms[1:], strict=True):
                total = total + value(part, lookup) if sign == "+" else total - value(part, lookup)
            return total
    raise AssertionError(term)


def _atom_holds(atom: Truth | Flag | Comparison | Membership, configuration: Mapping[str, Setting]) -> bool:
    if isinstance(atom, Truth):
        return atom.value
    if isinstance(atom, Flag):
        return configuration.get(atom.name) is True
    return all(name in configuration for name in atom.options) and _compare(atom, configuration)


def _compare(atom: Comparison | Membership, configuration: Mapping[str, Setting]) -> bool:
    def lookup(name: str) -> Any:
        return exact(configuration[name])

    if isinstance(atom, Comparison):
        return bool(compared[atom.comparator](value(atom.left, lookup), value(atom.right, lookup)))
    found = value(atom.term, lookup)
    return any(found == exact(literal.value) for literal in atom.literals)
