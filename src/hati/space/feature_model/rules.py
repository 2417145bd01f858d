"""SPL Conqueror's constraints as formulas over a space's options."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import partial

from hati.core import InputError
from hati.core.wording import suggestion
from hati.formula import Connective, FormulaError, Implies, Truth
from hati.space.constraint import (
    Constraint,
    Flag,
    Literal,
    Name,
    NegatedTerm,
    Product,
    Sum,
    Term,
    TermComparison,
    conjunction,
    mentioned,
    name_text,
)
from hati.space.feature_model.features import Rule
from hati.space.parser import parse_formula

_TOKEN = re.compile(r"\s+|<=>|=>|[<>!=]=|[!&|()=<>*+-]|[^\s!&|()=<>*+]+")
_SIGNS = {"!": " not ", "&": " and ", "|": " or ", "=": " == "}
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")


def boolean(rule: Rule, selected: Mapping[str, Constraint]) -> Constraint:
    """A constraint such as ``!a | b & c``: names of features, with ! & | => <=> and parentheses.

    Raises:
        InputError: for what cannot be read or is no feature, with its place.
    """
    try:
        return _substituted(parse_formula(_translated(rule.text)), rule, selected)
    except FormulaError as error:
        raise _located(rule, error) from None


def arithmetic(rule: Rule, selected: Mapping[str, Constraint], conditions: Mapping[str, Constraint]) -> Constraint:
    """A constraint such as ``a * 2 + b <= 10`` over numeric options, which only counts where all of them are there.

    A feature among them stands for 1 where it is selected. ``conditions`` says when a numeric option is there.

    Raises:
        InputError: for what cannot be read or is no option, with its place.
    """
    try:
        formula = parse_formula(_translated(rule.text))
        if not isinstance(formula, TermComparison):
            raise FormulaError("it compares no two terms", 0)
        known = {**conditions, **selected}
        for name in mentioned(formula):
            if name not in known:
                raise _unknown(rule, name, known)
        left, right = (_counted(term, selected) for term in (formula.left, formula.right))
        there = conjunction(*(known[name] for name in mentioned(formula)))
        comparison = TermComparison(left, formula.comparator, right)
        return comparison if isinstance(there, Truth) else Implies(there, comparison)
    except FormulaError as error:
        raise _located(rule, error) from None


def _translated(text: str) -> str:
    return "".join(_word(match[0]) for match in _TOKEN.finditer(text))


def _word(token: str) -> str:
    if token in _SIGNS:
        return _SIGNS[token]
    if token.isspace() or _NUMBER.fullmatch(token) or not re.match(r"[\w]", token):
        return token
    return name_text(token)


def _located(rule: Rule, error: FormulaError) -> InputError:
    return InputError(
        f"the constraint {rule.text[:120]!r} cannot be read: {error.message}", place=rule.place, fix=error.fix
    )


def _unknown(rule: Rule, name: str, known: Collection[str]) -> InputError:
    return InputError(
        f"the constraint {rule.text[:120]!r} mentions {name!r}, which is not a feature",
        place=rule.place,
        fix=suggestion(name, known),
    )


def _substituted(formula: Constraint, rule: Rule, selected: Mapping[str, Constraint]) -> Constraint:
    if isinstance(formula, Flag):
        if formula.name not in selected:
            raise _unknown(rule, formula.name, selected)
        return selected[formula.name]
    if not isinstance(formula, Connective) or isinstance(formula, Truth):
        raise formula.error(f"{formula} is not a combination of features")
    return formula.mapped(partial(_substituted, rule=rule, selected=selected))


def _counted(term: Term, selected: Mapping[str, Constraint]) -> Term:
    match term:
        case Name(name=name):
            return Literal(1) if name in selected else term
        case NegatedTerm(term=part):
            counted = _counted(part, selected)
            return Literal(-1) if isinstance(counted, Literal) else NegatedTerm(counted)
        case Product(factors=factors):
            return Product(tuple(_counted(factor, selected) for factor in factors))
        case Sum(terms=terms, signs=signs):
            return Sum(tuple(_counted(part, selected) for part in terms), signs)
        case _:
            return term
