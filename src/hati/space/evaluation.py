"""Options and their settings, and the evaluation of constraints over them.

A constraint is evaluated for a configuration, for all of them, or in an algebra, and checked against the options.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from math import prod
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from hati.core import InputError, Setting, setting_text
from hati.core.values import type_names
from hati.core.wording import nearest, suggestion, visible
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
    mentioned,
    name_text,
)

_LARGEST = 2**63
_LONGEST_NAME = 200


class OptionError(InputError):
    """An invalid option; ``part`` names the wrong field, ``index`` is that of the wrong setting, from 0."""

    def __init__(self, message: str, part: str, *, index: int | None = None, fix: str | None = None) -> None:
        super().__init__(message, fix=fix)
        self.part = part
        self.index = index


@dataclass(frozen=True)
class Option:
    """An option, its discrete settings, and where it matters.

    Where ``active_if`` does not hold, the option is inactive: without influence, and not part of a
    configuration. ``kind`` follows from the settings; ``unit`` and ``doc`` are for people.

    Raises:
        OptionError: for settings of several types, a repeated setting, or a default that is not one of them.
    """

    name: str
    settings: tuple[Setting, ...]
    default: Setting
    unit: str = ""
    doc: str = ""
    active_if: Constraint | None = None
    kind: OptionKind = field(init=False)

    def __post_init__(self) -> None:
        _check_name(self.name)
        if not self.settings:
            raise OptionError(f"option {self.name!r} has no settings", "settings", fix="list two or more")
        for index, setting in enumerate(self.settings):
            _check_setting(self.name, setting, index)
        object.__setattr__(self, "kind", OptionKind.of(self.settings[0]))
        self._check_alike()
        self._check_default()

    def position(self, setting: Setting) -> int | None:
        """The index of a setting among the settings, by type and value; None if it is not one of them."""
        for index, known in enumerate(self.settings):
            if type(known) is type(setting) and known == setting:
                return index
        return None

    def _check_alike(self) -> None:
        seen: set[Setting] = set()
        for index, setting in enumerate(self.settings):
            kind = OptionKind.of(setting)
            if kind is not self.kind:
                fix = "write every number with a point" if kind.numeric and self.kind.numeric else "use one type"
                first = self.settings[0]
                raise OptionError(
                    f"option {self.name!r} has settings of different types: {setting_text(first)!r} is "
                    f"{type_names[type(first)]}, {setting_text(setting)!r} is {type_names[type(setting)]}",
                    "settings",
                    index=index,
                    fix=fix,
                )
            if setting in seen:
                raise OptionError(
                    f"option {self.name!r} has the setting {setting_text(setting)} twice",
                    "settings",
                    index=index,
                    fix="list it once",
                )
            seen.add(setting)

    def _check_default(self) -> None:
        if self.position(self.default) is None:
            shown = ", ".join(setting_text(setting) for setting in self.settings[:12])
            default = repr(self.default) if isinstance(self.default, str) else setting_text(self.default)
            raise OptionError(
                f"option {self.name!r} has the default {default}, which is none of its settings",
                "default",
                fix=f"use one of: {shown}",
            )


def _check_name(name: str) -> None:
    if not name or len(name) > _LONGEST_NAME:
        raise OptionError("an option's name has 1 to 200 characters", "name")
    if name != name.strip() or not name.isprintable() or any(c in name for c in "`{}"):
        raise OptionError(
            f"{name!r} cannot name an option",
            "name",
            fix="use letters, digits, '_', '-' and '.' (no `, {, } or ends of blanks)",
        )


def _check_setting(name: str, setting: Setting, index: int) -> None:
    if type(setting) not in type_names:
        problem = "is neither boolean, number nor text"
    elif isinstance(setting, float) and not math.isfinite(setting):
        problem = "is not a finite number"
    elif isinstance(setting, int) and not -_LARGEST <= setting < _LARGEST:
        problem = "has more than 64 bits"
    elif isinstance(setting, str) and any(0xD800 <= ord(c) < 0xE000 for c in setting):
        problem = "is not text that can be written in UTF-8"
    else:
        return
    raise OptionError(f"option {name!r} has a setting that {problem}: {setting!r:.60}", "settings", index=index)


def read_setting(option: Option, text: str) -> Setting:
    """The setting of an option that a text denotes.

    Numbers may be written in any way (``1e3`` for 1000), booleans as true and false or 1 and 0, control characters by
    the escapes of ``visible``.

    Raises:
        InputError: where it is not a setting; the message names the nearest one.
    """
    for setting in option.settings:
        if setting_text(setting) == text:
            return setting
    for setting in option.settings:
        if text.strip() == setting_text(setting) or _means(text.strip(), setting):
            return setting
    raise no_setting(option, text)


def no_setting(option: Option, text: str) -> InputError:
    """The error for a text that is not a setting of an option."""
    return InputError(
        f"{text!r} is not a setting of option {option.name!r}",
        fix=suggestion(text, [visible(setting_text(setting)) for setting in option.settings]),
    )


def _means(text: str, setting: Setting) -> bool:
    if isinstance(setting, bool):
        return text.lower() in ({"true", "1"} if setting else {"false", "0"})
    if isinstance(setting, str):
        return text == visible(setting)
    try:
        return float(text) == setting
    except ValueError:
        return False


T = TypeVar("T")


def exact(setting: Setting) -> Any:
    """A setting as an exact value to compare and calculate with: real numbers are decimals, as written.

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

    Values may be NumPy arrays: then the term is evaluated elementwise.
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
    """The value of a formula in an algebra. It must fit the options (:func:`hati.space.check_formula`)."""
    return evaluate(formula, algebra, partial(_chosen, options=options, algebra=algebra))


def activity(option: Option, algebra: ChoiceAlgebra[T]) -> T:
    """The condition under which the option is active."""
    return algebra.choice(option.name, [algebra.constant(truth=True)] * len(option.settings))


def _chosen(condition: Condition, options: Mapping[str, Option], algebra: ChoiceAlgebra[T]) -> T:
    """The value of a condition in an algebra: its table over the settings, folded from the last option to the first.

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
"""The largest number of combinations of settings over which a comparison is tabulated."""

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
                _check_quoted(node, options)
                _check_comparison(node, options)
                _check_size(node, options)
            case Membership():
                _check_quoted(node, options)
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


def _check_quoted(node: TermComparison | Membership, options: Mapping[str, Option]) -> None:
    """Refuse text that is the name of an option where no option is compared: it is the same in every configuration."""
    if mentioned(node):
        return
    for literal in node.find(Literal):
        if isinstance(literal.value, str) and literal.value in options:
            raise literal.error(
                f"{literal} is text, and no option is compared", fix=f"write {name_text(literal.value)} for the option"
            )


def _check_comparison(node: TermComparison, options: Mapping[str, Option]) -> None:
    left, right = _kind(node.left, options), _kind(node.right, options)
    _check_alike(node.left, left, node.right, right)
    if not node.comparator.ordered:
        _check_literal(node.left, node.right, options)
        _check_literal(node.right, node.left, options)
    elif not left.numeric:
        raise node.error(
            f"{node.left} is {_WORDS[left]} and has no order", fix="use ==, != or in; < and > are for numbers"
        )


def _check_membership(node: Membership, options: Mapping[str, Option]) -> None:
    kind = _kind(node.term, options)
    for literal in node.literals:
        _check_alike(node.term, kind, literal, literal.kind)
        _check_literal(node.term, literal, options)


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


def _check_literal(term: Term, literal: Term, options: Mapping[str, Option]) -> None:
    if not isinstance(term, Name) or not isinstance(literal, Literal):
        return
    settings = _option(term.name, term, options).settings
    if literal.value not in settings:
        fix = suggestion(setting_text(literal.value), [visible(setting_text(setting)) for setting in settings])
        raise literal.error(f"{literal} is not a setting of option {term.name!r}", fix=fix)


def _kind(term: Term, options: Mapping[str, Option]) -> OptionKind:
    """The kind of a term's value, after checking that the parts of a sum or product are numbers."""
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
