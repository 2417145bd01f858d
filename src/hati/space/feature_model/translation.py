"""Features to options: groups of alternatives, optional features, numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from hati.core import InputError, Place, Setting, replace
from hati.formula import Comparator, FormulaError, Implies, Not, Or
from hati.space.constraint import TRUE, Constraint, Flag, Literal, Name, TermComparison, conjunction
from hati.space.diagram import blocks
from hati.space.feature_model.features import Feature, FeatureDocument, Numeric, read_document
from hati.space.feature_model.rules import arithmetic, boolean
from hati.space.option import Option, OptionError
from hati.space.sampling import enumerate_configurations
from hati.space.space import Space, SpaceError

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
        """The names of the features that a configuration selects, those that must always be there among them."""
        nothing: frozenset[str] = frozenset()
        return self.always.union(*(self.by_setting.get(item, nothing) for item in configuration.items()))


class _Group(Struct, frozen=True):
    """Alternatives: exactly one of the members is selected where their parent is."""

    name: str
    members: tuple[Feature, ...]


def parse_feature_model(text: str, file: str = "FeatureModel.xml") -> FeatureModel:
    """The space of a feature model's XML text; ``file`` is its name in errors.

    Raises:
        InputError: for malformed XML, document types, unknown names and what has no counterpart, with its place.
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
    """The space with the first valid configuration for a default, where its default is not valid.

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
    """The group of every feature that is in one."""
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
    """The parent's name where it stands for nothing but the choice; it is freed by not being an option itself."""
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
    told: set[frozenset[str]] = set()
    for feature in document.features:
        for names in feature.implied:
            alternatives = tuple(selected[name] for name in names)
            needed = alternatives[0] if len(alternatives) == 1 else Or(alternatives)
            yield needed if selected[feature.name] == TRUE else Implies(selected[feature.name], needed)
        for other in feature.excluded:
            pair = frozenset({feature.name, other})
            alternatives_anyway = feature.name in groups and groups[feature.name] is groups.get(other)
            if pair not in told and not alternatives_anyway:
                told.add(pair)
                yield Not(conjunction(selected[feature.name], selected[other]))
