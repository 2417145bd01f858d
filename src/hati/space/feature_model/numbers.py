"""The settings of numeric options: listed, or from a least to a greatest by a step function."""

from __future__ import annotations

import re
from fractions import Fraction

from hati.core import InputError, Setting
from hati.space.evaluation import value
from hati.space.feature_model.xml import Element
from hati.space.formula import Comparison, FormulaError, Literal, Name, Term
from hati.space.parser import parse_formula

_MOST = 10_000
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d{1,2})?", re.ASCII)


def numeric_settings(option: Element) -> tuple[Setting, ...]:
    """The settings of a numeric option: its ``values``, or its ``minValue``, ``maxValue`` and ``stepFunction``.

    Integers where all are whole, reals otherwise.

    Raises:
        InputError: for what is no number, a step that does not rise, or more than 10,000 settings.
    """
    listed = option.value("values")
    if listed:
        numbers = [_number(part.strip(), option) for part in listed.split(";") if part.strip()]
    else:
        numbers = _steps(option)
    if all(number.denominator == 1 for number in numbers):
        return tuple(int(number) for number in numbers)
    return tuple(float(number) for number in numbers)


def _steps(option: Element) -> list[Fraction]:
    number, greatest = (_number(option.value(tag), option) for tag in ("minValue", "maxValue"))
    step = _step(option)
    numbers: list[Fraction] = []
    while number <= greatest:
        numbers.append(number)
        following = Fraction(value(step, {"n": number}.__getitem__))
        if following <= number or len(numbers) >= _MOST:
            raise InputError(
                f"the step function leads from {number} to {following}" if following <= number else "too many settings",
                place=option.place,
                fix=f"let it rise to <maxValue> in {_MOST} steps at most",
            )
        # As the decimal of a double, which is what SPL Conqueror reckons with; fractions would grow without end.
        number = Fraction(repr(float(following))) if following <= greatest else following
    if not numbers:
        raise InputError("<minValue> is above <maxValue>", place=option.place)
    return numbers


def _step(option: Element) -> Term:
    """The step function, a term in ``n``; without one, 1 is added."""
    element = option.child("stepFunction")
    if element is None or not element.text:
        return _term("n + 1")
    try:
        return _term(element.text)
    except FormulaError as error:
        raise InputError(
            f"the step function {element.text[:80]!r} cannot be read: {error.message}",
            place=element.place,
            fix="write sums and products of numbers and n, such as n + 10 or n * 2",
        ) from None


def _term(text: str) -> Term:
    comparison = parse_formula(f"{text} == 0")
    if not isinstance(comparison, Comparison):
        raise FormulaError("it is not a valid term", 0)
    for node in comparison.left.nodes():
        if (isinstance(node, Name) and node.name != "n") or (isinstance(node, Literal) and not node.kind.numeric):
            raise FormulaError(f"{node} is neither a number nor n", node.offset)
    return comparison.left


def _number(text: str, option: Element) -> Fraction:
    text = text.replace(",", ".")
    number = Fraction(text) if len(text) <= 40 and _NUMBER.fullmatch(text) else None
    if number is None or abs(number) >= 2**63:
        raise InputError(
            f"{text[:40]!r} is not a valid number",
            place=option.place,
            fix="check its <minValue>, <maxValue> or <values>",
        )
    return number
