"""What a formula says of a configuration, and whether it fits the options that it mentions."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from math import prod
from typing import Any

from hati.core import Setting
from hati.core.values import setting_text
from hati.core.wording import nearest, suggestion
from hati.space.formula import (
    Conjunction,
    Constraint,
    ConstraintError,
    ConstraintNode,
    Disjunction,
    Equivalent,
    Flag,
    Implication,
    Literal,
    Membership,
    Name,
    NegatedTerm,
    Negation,
    OptionKind,
    Product,
    Sum,
    Term,
    TermComparator,
    TermComparison,
    TruthValue,
    name_text,
    quoted,
)
from hati.space.option import Option

compared: dict[TermComparator, Callable[[Any, Any], Any]] = {
    TermComparator.EQUAL: operator.eq,
    TermComparator.UNEQUAL: operator.ne,
    TermComparator.LESS: operator.lt,
    TermComparator.AT_MOST: operator.le,
    TermComparator.MORE: operator.gt,
    TermComparator.AT_LEAST: operator.ge,
}


def exact(setting: Setting) -> Any:
    """A setting as it is compared and reckoned with: real numbers as the decimals that they are written as.

    So 0.1 + 0.2 is 0.3 here, which it is not in binary floating point.
    """
    if not isinstance(setting, float):
        return setting
    value = Fraction(repr(setting))
    return value.numerator if value.denominator == 1 else value


def holds(formula: Constraint, configuration: Mapping[str, Setting]) -> bool:
    """Whether a formula holds; an option without a setting is inactive.

    The formula must fit the options (:func:`hati.space.check_formula`).
    """
    match formula:
        case TruthValue() | Flag() | TermComparison() | Membership():
            return _atom_holds(formula, configuration)
        case Negation(part=part):
            return not holds(part, configuration)
        case Conjunction(formulas=parts):
            return all(holds(part, configuration) for part in parts)
        case Disjunction(formulas=parts):
            return any(holds(part, configuration) for part in parts)
        case Implication(condition=condition, consequence=consequence):
            return not holds(condition, configuration) or holds(consequence, configuration)
        case Equivalent(left=left, right=right):
            return holds(left, configuration) == holds(right, configuration)
    raise AssertionError(formula)


def value(term: ConstraintNode, lookup: Callable[[str], Any]) -> Any:
    """The value of a term, with ``lookup`` giving the exact value of an option by its name.

    Values may be NumPy arrays: then the term is reckoned element by element.
    """
    match term:
        case Literal(value=setting):
            return exact(setting)
        case Name(name=name):
            return lookup(name)
        case NegatedTerm(term=part):
            return -value(part, lookup)
        case Product(factors=factors):
            return prod((value(factor, lookup) for factor in factors), start=1)
        case Sum(terms=terms, signs=signs):
            total = value(terms[0], lookup)
            for sign, part in zip(signs, terms[1:], strict=True):
                total = total + value(part, lookup) if sign == "+" else total - value(part, lookup)
            return total
    raise AssertionError(term)


def _atom_holds(atom: TruthValue | Flag | TermComparison | Membership, configuration: Mapping[str, Setting]) -> bool:
    if isinstance(atom, TruthValue):
        return atom.value
    if isinstance(atom, Flag):
        return configuration.get(atom.name) is True
    return all(name in configuration for name in atom.options) and _compare(atom, configuration)


def _compare(atom: TermComparison | Membership, configuration: Mapping[str, Setting]) -> bool:
    def lookup(name: str) -> Any:
        return exact(configuration[name])

    if isinstance(atom, TermComparison):
        return bool(compared[atom.comparator](value(atom.left, lookup), value(atom.right, lookup)))
    found = value(atom.term, lookup)
    return any(found == exact(literal.value) for literal in atom.literals)


MOST_COMBINATIONS = 10**6
"""How many combinations of settings a comparison may range over: it is tabulated over them."""

_WORDS = {
    OptionKind.BOOLEAN: "true or false",
    OptionKind.ENUMERATION: "text",
    OptionKind.INTEGER: "a number",
    OptionKind.REAL: "a number",
}


def check_formula(formula: Constraint, options: Mapping[str, Option]) -> None:
    """Check that a formula's names, types and settings are those of the options.

    Raises:
        FormulaError: with the offset of the first name or literal that is wrong, or of a comparison over more
            than ``MOST_COMBINATIONS`` combinations of settings.
    """
    for node in formula.nodes():
        match node:
            case Name(name=name):
                _option(name, node, options)
            case Flag(name=name):
                _check_flag(_option(name, node, options), node)
            case TermComparison():
                _check_comparison(node, options)
                _check_size(node, options)
            case Membership():
                _check_membership(node, options)
                _check_size(node, options)


def _option(name: str, node: ConstraintNode, options: Mapping[str, Option]) -> Option:
    if name in options:
        return options[name]
    fix = suggestion(name, options)
    if nearest(name, options) is None and any(name in option.settings for option in options.values()):
        fix = f"write {quoted(name)} if the setting is meant"
    raise ConstraintError(f"unknown option {name!r}", node.offset, fix=fix)


def _check_flag(option: Option, node: ConstraintNode) -> None:
    if option.kind is not OptionKind.BOOLEAN:
        example = Literal(option.settings[0])
        raise ConstraintError(
            f"option {option.name!r} is {_WORDS[option.kind]}, not true or false",
            node.offset,
            fix=f"compare it, as in {name_text(option.name)} == {example}",
        )


def _check_comparison(node: TermComparison, options: Mapping[str, Option]) -> None:
    left, right = _kind(node.left, options), _kind(node.right, options)
    _check_alike(node.left, left, node.right, right)
    if node.comparator in (TermComparator.EQUAL, TermComparator.UNEQUAL):
        _check_setting(node.left, node.right, options)
        _check_setting(node.right, node.left, options)
    elif not left.numeric:
        raise ConstraintError(
            f"{node.left} is {_WORDS[left]} and has no order",
            node.offset,
            fix="use ==, != or in; < and > are for numbers",
        )


def _check_membership(node: Membership, options: Mapping[str, Option]) -> None:
    kind = _kind(node.term, options)
    for literal in node.literals:
        _check_alike(node.term, kind, literal, literal.kind)
        _check_setting(node.term, literal, options)


def _check_size(node: TermComparison | Membership, options: Mapping[str, Option]) -> None:
    combinations = prod(len(options[name].settings) for name in node.options)
    if combinations > MOST_COMBINATIONS:
        raise ConstraintError(
            f"'{node!s:.80}' ranges over {combinations:,} combinations of settings, more than {MOST_COMBINATIONS:,}",
            node.offset,
            fix="compare fewer options at once or give them fewer settings",
        )


def _check_alike(left: Term, left_kind: OptionKind, right: Term, right_kind: OptionKind) -> None:
    if left_kind is not right_kind and not (left_kind.numeric and right_kind.numeric):
        wrong = right if isinstance(right, Literal) or not isinstance(left, Literal) else left
        raise ConstraintError(
            f"{left} is {_WORDS[left_kind]}, {right} is {_WORDS[right_kind]}", wrong.offset, fix="compare what is alike"
        )


def _check_setting(term: Term, literal: Term, options: Mapping[str, Option]) -> None:
    if not isinstance(term, Name) or not isinstance(literal, Literal):
        return
    settings = _option(term.name, term, options).settings
    if literal.value not in settings:
        fix = suggestion(setting_text(literal.value), [setting_text(setting) for setting in settings])
        raise ConstraintError(f"{literal} is not a setting of option {term.name!r}", literal.offset, fix=fix)


def _kind(term: Term, options: Mapping[str, Option]) -> OptionKind:
    """The kind of a term's value, once its parts are known to be numbers where they must be."""
    if isinstance(term, Literal):
        return term.kind
    if isinstance(term, Name):
        return _option(term.name, term, options).kind
    for part in term.parts:
        assert isinstance(part, Term)
        kind = _kind(part, options)
        if not kind.numeric:
            raise ConstraintError(
                f"{part} is {_WORDS[kind]}, and only numbers can be added and multiplied",
                part.offset,
                fix="use a number",
            )
    return OptionKind.REAL
