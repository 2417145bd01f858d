"""Whether a formula fits the options that it speaks of: names, types and settings."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from hati.core.nearest import nearest, suggestion
from hati.core.values import setting_text
from hati.space.formula import (
    Comparator,
    Comparison,
    Flag,
    Formula,
    FormulaError,
    Literal,
    Membership,
    Name,
    Node,
    Term,
    name_text,
    quoted,
)
from hati.space.kind import Kind
from hati.space.option import Option

MOST_COMBINATIONS = 10**6
"""How many combinations of settings a comparison may range over: it is tabulated over them."""

_WORDS = {Kind.BOOLEAN: "true or false", Kind.ENUMERATION: "text", Kind.INTEGER: "a number", Kind.REAL: "a number"}


def check_formula(formula: Formula, options: Mapping[str, Option]) -> None:
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
            case Comparison():
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
    raise FormulaError(f"unknown option {name!r}", node.offset, fix=fix)


def _check_flag(option: Option, node: Node) -> None:
    if option.kind is not Kind.BOOLEAN:
        example = Literal(option.settings[0])
        raise FormulaError(
            f"option {option.name!r} is {_WORDS[option.kind]}, not true or false",
            node.offset,
            fix=f"compare it, as in {name_text(option.name)} == {example}",
        )


def _check_comparison(node: Comparison, options: Mapping[str, Option]) -> None:
    left, right = _kind(node.left, options), _kind(node.right, options)
    _check_alike(node.left, left, node.right, right)
    if node.comparator in (Comparator.EQUAL, Comparator.UNEQUAL):
        _check_setting(node.left, node.right, options)
        _check_setting(node.right, node.left, options)
    elif not left.numeric:
        raise FormulaError(
            f"{node.left} is {_WORDS[left]} and has no order",
            node.offset,
            fix="use ==, != or in; < and > are for numbers",
        )


def _check_membership(node: Membership, options: Mapping[str, Option]) -> None:
    kind = _kind(node.term, options)
    for literal in node.literals:
        _check_alike(node.term, kind, literal, literal.kind)
        _check_setting(node.term, literal, options)


def _check_size(node: Comparison | Membership, options: Mapping[str, Option]) -> None:
    combinations = prod(len(options[name].settings) for name in node.options)
    if combinations > MOST_COMBINATIONS:
        raise FormulaError(
            f"'{node!s:.80}' ranges over {combinations:,} combinations of settings, more than {MOST_COMBINATIONS:,}",
            node.offset,
            fix="compare fewer options at once or give them fewer settings",
        )


def _check_alike(left: Term, left_kind: Kind, right: Term, right_kind: Kind) -> None:
    if left_kind is not right_kind and not (left_kind.numeric and right_kind.numeric):
        wrong = right if isinstance(right, Literal) or not isinstance(left, Literal) else left
        raise FormulaError(
            f"{left} is {_WORDS[left_kind]}, {right} is {_WORDS[right_kind]}", wrong.offset, fix="compare what is alike"
        )


def _check_setting(term: Term, literal: Term, options: Mapping[str, Option]) -> None:
    if not isinstance(term, Name) or not isinstance(literal, Literal):
        return
    settings = _option(term.name, term, options).settings
    if literal.value not in settings:
        fix = suggestion(setting_text(literal.value), [setting_text(setting) for setting in settings])
        raise FormulaError(f"{literal} is not a setting of option {term.name!r}", literal.offset, fix=fix)


def _kind(term: Term, options: Mapping[str, Option]) -> Kind:
    """The kind of a term's value, once its parts are known to be numbers where they must be."""
    if isinstance(term, Literal):
        return term.kind
    if isinstance(term, Name):
        return _option(term.name, term, options).kind
    for part in term.parts:
        assert isinstance(part, Term)
        kind = _kind(part, options)
        if not kind.numeric:
            raise FormulaError(
                f"{part} is {_WORDS[kind]}, and only numbers can be added and multiplied",
                part.offset,
                fix="use a number",
            )
    return Kind.REAL
