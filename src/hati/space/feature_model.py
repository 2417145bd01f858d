"""Feature models of SPL Conqueror (``FeatureModel.xml``) as spaces.

Mandatory siblings that exclude each other become one option whose settings are their names. An optional feature
becomes a boolean option, and the options below it are active where it is selected. Other mandatory features
disappear. Implied and excluded features and constraints become constraints. ``FeatureModel.selected`` translates
back.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from hati.core import InputError, Place, Setting, replace
from hati.core.wording import suggestion
from hati.formula import Comparator, Connective, FormulaError, Implies, Not, Or, Truth
from hati.space.configurations import enumerate_configurations
from hati.space.constraint import (
    TRUE,
    Constraint,
    Flag,
    Literal,
    Name,
    NegatedTerm,
    TermComparison,
    conjunction,
    mentioned,
    name_text,
    parse_formula,
)
from hati.space.diagram import blocks
from hati.space.evaluation import Option, OptionError
from hati.space.features import Feature, FeatureDocument, Numeric, Rule, read_document
from hati.space.space import Space, SpaceError

_TOKEN = re.compile(r"\s+|<=>|=>|[<>!=]=|[!&|()=<>*+-]|[^\s!&|()=<>*+]+")
_SIGNS = {"!": " not ", "&": " and ", "|": " or ", "=": " == "}
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")


def boolean(rule: Rule, selected: Mapping[str, Constraint]) -> Constraint:
    """A constraint such as ``!a | b & c``: names of features, with ! & | => <=> and parentheses.

    Raises:
        InputError: for malformed text or an unknown feature, with its place.
    """
    try:
        return _substituted(parse_formula(_translated(rule.text)), rule, selected)
    except FormulaError as error:
        raise _located(rule, error) from None


def arithmetic(rule: Rule, selected: Mapping[str, Constraint], conditions: Mapping[str, Constraint]) -> Constraint:
    """A constraint such as ``a * 2 + b <= 10`` over numeric options, which applies only where all are active.

    A feature in it counts as 1 where it is selected. ``conditions`` maps each numeric option to the condition under
    which it is active.

    Raises:
        InputError: for malformed text or an unknown option, with its place.
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


def _counted(term: Any, selected: Mapping[str, Constraint]) -> Any:
    if isinstance(term, Name):
        return Literal(1) if term.name in selected else term
    counted = term.mapped(partial(_counted, selected=selected))
    return Literal(-1) if isinstance(counted, NegatedTerm) and isinstance(counted.term, Literal) else counted


_MOST_IN_NAME = 3


class FeatureModel(Struct, frozen=True):
    """A feature model's space, and which features its configurations select.

    ``always`` holds the features that are selected in every configuration, ``by_setting`` those that a
    setting of an option selects.
    """

    name: str
    space: Space
    always: frozenset[str]
    by_setting: Mapping[tuple[str, Setting], frozenset[str]]

    @property
    def features(self) -> frozenset[str]:
        """The names of all features."""
        return self.always.union(*self.by_setting.values())

    def selected(self, configuration: Mapping[str, Setting]) -> frozenset[str]:
        """The names of the features that a configuration selects, including those that are always selected."""
        nothing: frozenset[str] = frozenset()
        return self.always.union(*(self.by_setting.get(item, nothing) for item in configuration.items()))


class _Group(Struct, frozen=True):
    """Alternatives: exactly one of the members is selected where their parent is."""

    name: str
    members: tuple[Feature, ...]


def parse_feature_model(text: str, file: str = "FeatureModel.xml") -> FeatureModel:
    """The space of a feature model's XML text; ``file`` is its name in errors.

    Raises:
        InputError: for malformed XML, document types, unknown names and unsupported elements, with their place.
    """
    document = read_document(text, file)
    groups = _groups(document)
    selected = _selected(document, groups)
    conditions = {numeric.name: selected.get(numeric.parent, TRUE) for numeric in document.numerics}
    options = tuple(_options(document, groups, selected))
    constraints = [
        *_cross_tree(document, groups, selected),
        *(boolean(rule, selected) for rule in document.boolean),
        *(arithmetic(rule, selected, conditions) for rule in document.arithmetic),
    ]
    try:
        space = Space(options, tuple(dict.fromkeys(constraint for constraint in constraints if constraint != TRUE)))
    except (SpaceError, FormulaError) as error:
        raise InputError(error.message, place=Place(file), fix=error.fix) from None
    return FeatureModel(document.name, _with_valid_default(space), *_selection(selected))


def _with_valid_default(space: Space) -> Space:
    """The space with its first valid configuration as the default, if its own default is not valid.

    A feature model has no default configuration of its own.
    """
    if space.valid(space.default):
        return space
    first = next(enumerate_configurations(space), space.default)
    options = tuple(replace(option, default=first.get(option.name, option.default)) for option in space.options)
    return replace(space, options=options)


def _selection(selected: Mapping[str, Constraint]) -> tuple[frozenset[str], dict[tuple[str, Setting], frozenset[str]]]:
    always: set[str] = set()
    by_setting: dict[tuple[str, Setting], frozenset[str]] = {}
    for feature, formula in selected.items():
        match formula:
            case Flag(name=name):
                key: tuple[str, Setting] = (name, True)
            case TermComparison(left=Name(name=name), right=Literal(value=setting)):
                key = (name, setting)
            case _:
                always.add(feature)
                continue
        by_setting[key] = by_setting.get(key, frozenset()) | {feature}
    return frozenset(always), by_setting


def _groups(document: FeatureDocument) -> dict[str, _Group]:
    """The groups of alternatives, by the names of their features."""
    names = {feature.name for feature in document.features if feature.optional}
    names |= {numeric.name for numeric in document.numerics}
    groups: dict[str, _Group] = {}
    for parent in dict.fromkeys(feature.parent for feature in document.features):
        siblings = {feature.name: feature for feature in document.features if feature.parent == parent}
        mandatory = [feature.name for feature in siblings.values() if not feature.optional]
        ties = [(name, other) for name in mandatory for other in siblings[name].excluded if other in mandatory]
        for part in blocks(mandatory, ties):
            if len(part) == 1:
                continue
            members = tuple(siblings[name] for name in part)
            _check_complete(members)
            name = _group_name(parent, members, siblings, document)
            while name in names:
                name += "_"
            names.add(name)
            groups |= dict.fromkeys(part, _Group(name, members))
    return groups


def _check_complete(members: Sequence[Feature]) -> None:
    for feature in members:
        for other in members:
            if other is not feature and other.name not in feature.excluded and feature.name not in other.excluded:
                raise InputError(
                    f"{feature.name!r} excludes some of its siblings but not {other.name!r}",
                    place=feature.place,
                    fix="let all of a group exclude each other, or make them optional",
                )


def _group_name(
    parent: str, members: Sequence[Feature], siblings: Mapping[str, Feature], document: FeatureDocument
) -> str:
    """The parent's name if the choice is all that it holds, with a suffix if it is an option; else a joined name."""
    names = [member.name for member in members]
    joined = "_or_".join(names if len(names) <= _MOST_IN_NAME else [names[0], "others"])
    if not parent or len(siblings) > len(members):
        return joined
    optional = any(feature.optional for feature in document.features if feature.name == parent)
    return f"{parent}_choice" if optional else parent


def _selected(document: FeatureDocument, groups: Mapping[str, _Group]) -> dict[str, Constraint]:
    features = {feature.name: feature for feature in document.features}

    def formula(name: str) -> Constraint:
        while name:
            if name in groups:
                return TermComparison(Name(groups[name].name), Comparator.EQUAL, Literal(name))
            if features[name].optional:
                return Flag(name)
            name = features[name].parent
        return TRUE

    return {name: formula(name) for name in features}


def _options(
    document: FeatureDocument, groups: Mapping[str, _Group], selected: Mapping[str, Constraint]
) -> Iterator[Option]:
    def option(origin: Feature | Numeric, name: str, settings: tuple[Setting, ...], *, default: Setting) -> Option:
        condition = selected.get(origin.parent, TRUE)
        try:
            return Option(name, settings, default, active_if=None if condition == TRUE else condition)
        except OptionError as error:
            raise InputError(error.message, place=origin.place, fix=error.fix) from None

    for feature in document.features:
        group = groups.get(feature.name)
        if group and group.members[0] is feature:
            names = tuple(member.name for member in group.members)
            yield option(feature, group.name, names, default=names[0])
        elif feature.optional:
            yield option(feature, feature.name, (False, True), default=False)
    for numeric in document.numerics:
        yield option(numeric, numeric.name, numeric.settings, default=numeric.default)


def _cross_tree(
    document: FeatureDocument, groups: Mapping[str, _Group], selected: Mapping[str, Constraint]
) -> Iterator[Constraint]:
    reported: set[frozenset[str]] = set()
    for feature in document.features:
        for names in feature.implied:
            alternatives = tuple(selected[name] for name in names)
            needed = alternatives[0] if len(alternatives) == 1 else Or(alternatives)
            yield needed if selected[feature.name] == TRUE else Implies(selected[feature.name], needed)
        for other in feature.excluded:
            pair = frozenset({feature.name, other})
            alternatives_anyway = feature.name in groups and groups[feature.name] is groups.get(other)
            if pair not in reported and not alternatives_anyway:
                reported.add(pair)
                yield Not(conjunction(selected[feature.name], selected[other]))
