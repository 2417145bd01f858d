"""SPL Conqueror's feature models as they are written: features, numeric options and constraints."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from hati.core import InputError, Place, Setting
from hati.core.nearest import suggestion
from hati.space.feature_model.numbers import numeric_settings
from hati.space.feature_model.xml import Element, parse_xml

_SECTIONS = ("binaryOptions", "numericOptions", "booleanConstraints", "nonBooleanConstraints", "mixedConstraints")


class Feature(Struct, frozen=True):
    """A feature that is selected or not.

    ``implied``: of each set of names, one at least is selected with it. ``excluded``: none of those is.
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


class Document(Struct, frozen=True):
    """A feature model; parents are names of features, or empty, and never go in a circle."""

    name: str
    features: tuple[Feature, ...]
    numerics: tuple[Numeric, ...]
    boolean: tuple[Rule, ...]
    arithmetic: tuple[Rule, ...]


def read_document(text: str, file: str) -> Document:
    """Read and check a feature model.

    Raises:
        InputError: for what is malformed or unknown, with its place.
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
    document = Document(
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


def _check(document: Document) -> None:
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
