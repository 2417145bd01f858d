"""What a constraint says of a configuration, of all of them, or in an algebra; and whether it fits the options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from math import prod
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from hati.core import Setting
from hati.core.values import setting_text
from hati.core.wording import nearest, suggestion
from hati.formula import KLEENE, Algebra, Node, evaluate, quoted
from hati.space.constraint import (
    Condition,
    Constraint,
    Flag,
    Literal,
    Membership,
    Mention,
    Name,
    NegatedTerm,
    OptionKind,
    Product,
    Sum,
    Term,
    TermComparison,
    name_text,
)
from hati.space.option import Option

T = TypeVar("T")


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

    def lookup(name: str) -> Any:
        return exact(configuration[name])

    def atom(condition: Condition) -> bool:
        try:
            return bool(_truth(condition, lookup))
        except KeyError:  # of an inactive option
            return False

    return evaluate(formula, KLEENE, atom) is True


def value(term: Node, lookup: Callable[[str], Any]) -> Any:
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


def _truth(condition: Condition, lookup: Callable[[str], Any]) -> Any:
    match condition:
        case Flag(name):
            return lookup(name)
        case TermComparison(left, comparator, right):
            first, second = value(left, lookup), value(right, lookup)
            return comparator.compare(_alike(first, second), _alike(second, first))
        case Membership(term, literals):
            found = value(term, lookup)
            matches = [found == _alike(exact(literal.value), found) for literal in literals]
            return np.logical_or.reduce(matches) if isinstance(found, np.ndarray) else any(matches)
    raise AssertionError(condition)


def _alike(found: Any, other: Any) -> Any:
    """A value that is compared with an array, as a Python object: NumPy strips trailing null characters of texts."""
    if isinstance(found, np.ndarray) or not isinstance(other, np.ndarray):
        return found
    box = np.empty((), dtype=object)
    box[()] = found
    return box


def truth_table(condition: Condition, axes: Sequence[Option], options: Mapping[str, Option]) -> NDArray[np.bool_]:
    """Where a condition holds: one axis for each of ``axes``, all mentioned options active.

    Mentioned options that are not among the axes have one setting.
    """
    position = {option.name: axis for axis, option in enumerate(axes)}

    def lookup(name: str) -> Any:
        settings = [exact(setting) for setting in options[name].settings]
        values = np.empty(len(settings), dtype=object)  # of Python's own numbers, which are exact
        values[:] = settings
        return values.reshape([-1 if axis == position.get(name) else 1 for axis in range(len(axes))])

    found = np.asarray(_truth(condition, lookup), dtype=np.bool_)
    return np.broadcast_to(found, tuple(len(option.settings) for option in axes))


class ChoiceAlgebra(Algebra[T], Protocol[T]):
    """An algebra of truths that depend on the configuration."""

    def choice(self, option: str, cases: Sequence[T]) -> T:
        """The case of the option's setting, in order of its settings; false where the option is inactive."""
        ...


def interpret(formula: Constraint, options: Mapping[str, Option], algebra: ChoiceAlgebra[T]) -> T:
    """A formula in an algebra. It must fit the options (:func:`hati.space.check_formula`)."""
    return evaluate(formula, algebra, partial(_chosen, options=options, algebra=algebra))


def activity(option: Option, algebra: ChoiceAlgebra[T]) -> T:
    """The condition under which the option is active."""
    return algebra.choice(option.name, [algebra.constant(truth=True)] * len(option.settings))


def _chosen(condition: Condition, options: Mapping[str, Option], algebra: ChoiceAlgebra[T]) -> T:
    """A condition: its table over the settings, folded from the last option to the first.

    Equal rows of the table become one node, so a sum over many settings stays small.
    """
    axes = [options[name] for name in condition.options if len(options[name].settings) > 1]
    nodes = [algebra.constant(truth=False), algebra.constant(truth=True)]
    codes: NDArray[np.int64] = truth_table(condition, axes, options).ravel().astype(np.int64)
    for option in reversed(axes):
        rows, inverse = np.unique(codes.reshape(-1, len(option.settings)), axis=0, return_inverse=True)
        nodes = [algebra.choice(option.name, [nodes[code] for code in row]) for row in rows]
        codes = inverse.reshape(-1).astype(np.int64)
    conditional = [options[name] for name in condition.options if options[name].active_if is not None]
    return algebra.conjunction([nodes[codes[0]], *(activity(option, algebra) for option in conditional)])


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
            case Flag(name):
                _check_flag(_option(name, node, options), node)
            case Mention(name):
                _option(name, node, options)
            case TermComparison():
                _check_comparison(node, options)
                _check_size(node, options)
            case Membership():
                _check_membership(node, options)
                _check_size(node, options)


def _option(name: str, node: Node, options: Mapping[str, Option]) -> Option:
    if name in options:
        return options[name]
    fix = suggestion(name, options)
    if nearest(name, options) is None and any(name in option.settings for option in options.values()):
        fix = f"write {quoted(name)} if the setting is meant"
    raise node.error(f"unknown option {name!r}", fix=fix)


def _check_flag(option: Option, node: Node) -> None:
    if option.kind is not OptionKind.BOOLEAN:
        example = Literal(option.settings[0])
        raise node.error(
            f"option {option.name!r} is {_WORDS[option.kind]}, not true or false",
            fix=f"compare it, as in {name_text(option.name)} == {example}",
        )


def _check_comparison(node: TermComparison, options: Mapping[str, Option]) -> None:
    left, right = _kind(node.left, options), _kind(node.right, options)
    _check_alike(node.left, left, node.right, right)
    if not node.comparator.ordered:
        _check_setting(node.left, node.right, options)
        _check_setting(node.right, node.left, options)
    elif not left.numeric:
        raise node.error(
            f"{node.left} is {_WORDS[left]} and has no order", fix="use ==, != or in; < and > are for numbers"
        )


def _check_membership(node: Membership, options: Mapping[str, Option]) -> None:
    kind = _kind(node.term, options)
    for literal in node.literals:
        _check_alike(node.term, kind, literal, literal.kind)
        _check_setting(node.term, literal, options)


def _check_size(node: TermComparison | Membership, options: Mapping[str, Option]) -> None:
    combinations = prod(len(options[name].settings) for name in node.options)
    if combinations > MOST_COMBINATIONS:
        raise node.error(
            f"'{node!s:.80}' ranges over {combinations:,} combinations of settings, more than {MOST_COMBINATIONS:,}",
            fix="compare fewer options at once or give them fewer settings",
        )


def _check_alike(left: Term, left_kind: OptionKind, right: Term, right_kind: OptionKind) -> None:
    if left_kind is not right_kind and not (left_kind.numeric and right_kind.numeric):
        wrong = right if isinstance(right, Literal) or not isinstance(left, Literal) else left
        raise wrong.error(
            f"{left} is {_WORDS[left_kind]}, {right} is {_WORDS[right_kind]}", fix="compare what is alike"
        )


def _check_setting(term: Term, literal: Term, options: Mapping[str, Option]) -> None:
    if not isinstance(term, Name) or not isinstance(literal, Literal):
        return
    settings = _option(term.name, term, options).settings
    if literal.value not in settings:
        fix = suggestion(setting_text(literal.value), [setting_text(setting) for setting in settings])
        raise literal.error(f"{literal} is not a setting of option {term.name!r}", fix=fix)


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
            raise part.error(
                f"{part} is {_WORDS[kind]}, and only numbers can be added and multiplied", fix="use a number"
            )
    return OptionKind.REAL
