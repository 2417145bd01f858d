"""SPL Conqueror's feature models as documents: features, numeric options with their settings, constraints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from msgspec import Struct

from hati.core import InputError, Place, Setting
from hati.core.wording import suggestion
from hati.core.xml_document import Element, parse_xml
from hati.formula import FormulaError
from hati.space.constraint import Literal, Name, Term, TermComparison, parse_formula
from hati.space.evaluation import value

_MOST = 10_000
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d{1,2})?", re.ASCII)


def numeric_settings(option: Element) -> tuple[Setting, ...]:
    """The settings of a numeric option: its ``values``, or its ``minValue``, ``maxValue`` and ``stepFunction``.

    Integers where all are whole, reals otherwise.

    Raises:
        InputError: for a malformed number, a step that does not rise, or more than 10,000 settings.
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
        # Rounded to a double's decimal, as SPL Conqueror calculates; exact fractions would grow without end.
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
    if not isinstance(comparison, TermComparison):
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


_SECTIONS = ("binaryOptions", "numericOptions", "booleanConstraints", "nonBooleanConstraints", "mixedConstraints")


class Feature(Struct, frozen=True):
    """A feature that is selected or not.

    ``implied``: at least one name of each set is selected with it. ``excluded``: none of these names is.
    """

    name: str
    parent: str
    optional: bool
    implied: tuple[tuple[str, ...], ...]
    excluded: tuple[str, ...]
    place: Place


class Numeric(Struct, frozen=True):
    """An option with numbers for settings, active where its parent is selected."""

    name: str
    parent: str
    settings: tuple[Setting, ...]
    default: Setting
    place: Place


class Rule(Struct, frozen=True):
    """A constraint's text."""

    text: str
    place: Place


class FeatureDocument(Struct, frozen=True):
    """A feature model; parents are names of features, or empty, and not circular."""

    name: str
    features: tuple[Feature, ...]
    numerics: tuple[Numeric, ...]
    boolean: tuple[Rule, ...]
    arithmetic: tuple[Rule, ...]


def read_document(text: str, file: str) -> FeatureDocument:
    """Read and check a feature model.

    Raises:
        InputError: for malformed or unknown elements, with their place.
    """
    root = parse_xml(text, file)
    if root.tag != "vm":
        raise InputError(
            f"a feature model of SPL Conqueror starts with <vm>, this one with <{root.tag}>", place=root.place
        )
    for section in root.children:
        if section.tag not in _SECTIONS:
            raise InputError(
                f"unknown element <{section.tag}>", place=section.place, fix=suggestion(section.tag, _SECTIONS)
            )
    mixed = next(_rules(root, "mixedConstraints"), None)
    if mixed:
        raise InputError(
            "mixed constraints are not supported",
            place=mixed.place,
            fix="write it as a boolean or non-boolean constraint",
        )
    document = FeatureDocument(
        root.attributes.get("name", ""),
        tuple(_feature(option) for option in _options(root, "binaryOptions")),
        tuple(_numeric(option) for option in _options(root, "numericOptions")),
        tuple(_rules(root, "booleanConstraints")),
        tuple(_rules(root, "nonBooleanConstraints")),
    )
    _check(document)
    return document


def _options(root: Element, section: str) -> Iterator[Element]:
    for element in root.all(section):
        yield from element.all("configurationOption")


def _rules(root: Element, section: str) -> Iterator[Rule]:
    for element in root.all(section):
        for constraint in element.all("constraint"):
            yield Rule(constraint.text, constraint.place)


def _name(option: Element) -> str:
    name = option.value("name")
    if not name:
        raise InputError("a configuration option has no name", place=option.place, fix="add <name>...</name>")
    return name


def _feature(option: Element) -> Feature:
    optional = option.value("optional").lower() or "false"
    if optional not in ("true", "false"):
        raise InputError(
            f"<optional> is {optional!r}", place=(option.child("optional") or option).place, fix="write True or False"
        )
    listed = [_alternatives(entry) for entry in _entries(option, "excludedOptions")]
    return Feature(
        _name(option),
        option.value("parent"),
        optional == "true",
        tuple(_alternatives(entry) for entry in _entries(option, "impliedOptions")),
        tuple(name for names in listed for name in names),
        option.place,
    )


def _entries(option: Element, tag: str) -> Iterator[str]:
    for element in option.all(tag):
        for entry in element.children:
            if entry.tag in ("option", "options") and entry.text:
                yield entry.text


def _alternatives(entry: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in entry.split("|"))


def _numeric(option: Element) -> Numeric:
    settings = numeric_settings(option)
    default = option.value("defaultValue")
    matching = [setting for setting in settings if _is_number(default) and float(default) == setting]
    return Numeric(_name(option), option.value("parent"), settings, (matching or settings)[0], option.place)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _check(document: FeatureDocument) -> None:
    features = {feature.name: feature for feature in document.features}
    seen: set[str] = set()
    options: tuple[Feature | Numeric, ...] = (*document.features, *document.numerics)
    for option in options:
        if option.name in seen:
            raise InputError(f"there are two options named {option.name!r}", place=option.place, fix="rename one")
        seen.add(option.name)
        if option.parent and option.parent not in features:
            raise InputError(
                f"{option.name!r} has an unknown parent {option.parent!r}",
                place=option.place,
                fix=suggestion(option.parent, features),
            )
    for feature in document.features:
        for name in (*feature.excluded, *(name for names in feature.implied for name in names)):
            if name not in features:
                raise InputError(
                    f"{feature.name!r} implies or excludes {name!r}, which is not a feature",
                    place=feature.place,
                    fix=suggestion(name, features),
                )
        _check_ancestors(feature, features)


def _check_ancestors(feature: Feature, features: dict[str, Feature]) -> None:
    passed = [feature.name]
    while features[passed[-1]].parent:
        parent = features[passed[-1]].parent
        if parent in passed:
            raise InputError(
                f"{feature.name!r} is its own ancestor: {' in '.join([*passed, parent])}", place=feature.place
            )
        passed.append(parent)
