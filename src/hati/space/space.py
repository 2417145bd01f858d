"""Spaces: options and the constraints between them; and templates, which fix or restrict options.

A template is read from text: settings ``X=S`` or constraints.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import product

from msgspec import Struct, field

from hati.core import Assignment, Configuration, InputError, Place, Setting, canonical_json, digest, setting_text
from hati.core.wording import suggestion
from hati.formula import Comparator, FormulaError, Or
from hati.space.constraint import (
    Constraint,
    Literal,
    Name,
    OptionKind,
    TermComparison,
    conjunction,
    mentioned,
    parse_formula,
)
from hati.space.evaluation import Option, check_formula, holds, no_setting, read_setting


class SettingUsage(Struct, frozen=True):
    """The ``fraction`` of uses of an option in which it has a setting."""

    option: str
    setting: Setting
    fraction: float


class UsageDistribution(Struct, frozen=True):
    """The fractions of use of options' settings; options without any are not weighted."""

    settings: tuple[SettingUsage, ...] = ()

    @classmethod
    def of(cls, weights: Mapping[str, Mapping[Setting, float]]) -> UsageDistribution:
        """The distribution with these weights, which need not add up to 1.

        Raises:
            InputError: for a weight that is negative or not finite, or an option whose weights add up to 0.
        """
        found: list[SettingUsage] = []
        for name, each in weights.items():
            if not all(math.isfinite(weight) and weight >= 0 for weight in each.values()) or not sum(each.values()):
                raise InputError(
                    f"the usage of option {name!r} is {', '.join(f'{weight:g}' for weight in each.values())}",
                    fix="give a number from 0 for each setting, not all of them 0",
                )
            total = sum(each.values())
            found += [SettingUsage(name, setting, weight / total) for setting, weight in each.items()]
        return cls(tuple(found))

    def __bool__(self) -> bool:
        return bool(self.settings)

    def fraction(self, elements: Iterable[tuple[str, Setting]]) -> float:
        """The fraction of uses with all of these settings; options without weights are left out.

        >>> usage = UsageDistribution.of({"log": {"full": 1, "none": 3}, "cache": {True: 1, False: 1}})
        >>> usage.fraction([("log", "full"), ("cache", True), ("threads", 4)])
        0.125
        """
        known = {(each.option, canonical_json(each.setting)): each.fraction for each in self.settings}
        return math.prod(known.get((name, canonical_json(setting)), 1.0) for name, setting in elements)


class SpaceError(InputError):
    """Inconsistent options; ``option`` names the one to check."""

    def __init__(self, message: str, option: str, *, fix: str | None = None) -> None:
        super().__init__(message, fix=fix)
        self.option = option


class Space(Struct, frozen=True, dict=True):
    """Options and the constraints between them, all of which hold in a valid configuration.

    A configuration has a setting for every active option and for no other, and the ``fixed`` settings of options that
    are not among the ``options``: designs and analyses use only the ``options``. ``template`` holds the formulas by
    which a space was narrowed (:func:`hati.space.narrowed`).

    Raises:
        FormulaError: where a constraint or condition does not fit the options.
        SpaceError: for two options of one name, or circular conditions.
    """

    options: tuple[Option, ...]
    constraints: tuple[Constraint, ...] = ()
    fixed: Configuration = field(default_factory=Configuration)
    template: tuple[Constraint, ...] = ()

    def __post_init__(self) -> None:
        names = [*self.fixed, *(option.name for option in self.options)]
        for position, name in enumerate(names):
            if name in names[:position]:
                raise SpaceError(f"there are two options named {name!r}", name, fix="rename one")
        for option in self.options:
            if option.active_if is not None:
                self._check(option.active_if, f"option {option.name!r}: active_if: ")
        for constraint in self.constraints:
            self._check(constraint, "")
        _ = self.by_dependence

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the options, in order."""
        return tuple(option.name for option in self.options)

    def option(self, name: str) -> Option:
        """The option of that name.

        Raises:
            InputError: where there is none (the message names the nearest one), or its setting is fixed.
        """
        if name in self.fixed:
            raise InputError(
                f"option {name!r} is fixed to {setting_text(self.fixed[name])}, by --set or as no machine has another",
                fix="leave one of them out, or start a machine that has it",
            )
        if name not in self.by_name:
            raise InputError(f"unknown option {name!r}", fix=suggestion(name, self.by_name))
        return self.by_name[name]

    @cached_property
    def by_name(self) -> Mapping[str, Option]:
        """The options by their names."""
        return {option.name: option for option in self.options}

    @property
    def default(self) -> Configuration:
        """The configuration in which every active option has its default."""
        return self.canonical({})

    def canonical(self, assignment: Mapping[str, Setting]) -> Configuration:
        """The configuration of an assignment: inactive options are dropped, missing ones get defaults.

        An integer stands for the equal setting of a real option. Constraints are not checked.

        Raises:
            InputError: for an unknown option or setting, with the nearest known one, and for another setting of a fixed
                option.
        """
        own = {name: setting for name, setting in assignment.items() if self.fixed.get(name) != setting}
        given = {name: self._setting(self.option(name), setting) for name, setting in own.items()}
        settings: dict[str, Setting] = {}
        for option in self.by_dependence:
            if option.active_if is None or holds(option.active_if, settings):
                settings[option.name] = given.get(option.name, option.default)
        return self.complete(settings)

    def complete(self, settings: Mapping[str, Setting]) -> Configuration:
        """The configuration with these settings of the options and the ``fixed`` ones."""
        return Configuration({**settings, **self.fixed})

    def valid(self, configuration: Mapping[str, Setting]) -> bool:
        """Whether a configuration has a setting for exactly the active options, and every constraint holds."""
        if any(name not in configuration for name in self.fixed):
            return False
        if not all(self._known(name, setting) for name, setting in configuration.items()):
            return False
        active = all(
            (option.active_if is None or holds(option.active_if, configuration)) == (option.name in configuration)
            for option in self.options
        )
        return active and all(holds(constraint, configuration) for constraint in self.constraints)

    def parse(self, texts: Mapping[str, str]) -> Configuration:
        """The configuration of a row of texts, as in the columns of a CSV file.

        Empty text means that the option is inactive, unless its settings include empty text. Numbers
        may be written in any way (``1e3`` for 1000), booleans as true and false or 1 and 0.

        Raises:
            InputError: for an unknown option or setting, or an active option whose text is empty.
        """
        texts = {name: text for name, text in texts.items() if not self._is_fixed(name, text)}
        options = {name: self.option(name) for name in texts}
        blank = {name for name, text in texts.items() if not text and "" not in options[name].settings}
        given = {name: read_setting(options[name], text) for name, text in texts.items() if name not in blank}
        configuration = self.canonical(given)
        missing = sorted(blank & set(configuration))
        if missing:
            raise InputError(f"option {missing[0]!r} is active here and has no setting", fix="give it one")
        return configuration

    @cached_property
    def digest(self) -> str:
        """A hash of everything that determines the configurations and their equality."""
        options = sorted(
            [
                option.name,
                option.kind.value,
                list(option.settings),
                option.default,
                "" if option.active_if is None else str(option.active_if),
            ]
            for option in self.options
        )
        constraints = sorted(str(constraint) for constraint in self.constraints)
        return digest([options, constraints, *([dict(self.fixed)] if self.fixed else [])])

    @cached_property
    def by_dependence(self) -> tuple[Option, ...]:
        """The options, each after those that its condition mentions."""
        graph = {option.name: mentioned(option.active_if) if option.active_if else () for option in self.options}
        try:
            order = list(TopologicalSorter(graph).static_order())
        except CycleError as error:
            circle = list(reversed(error.args[1]))
            raise SpaceError(
                f"the conditions active_if go in a circle: {' needs '.join(circle)}",
                circle[0],
                fix="let one of them be active always",
            ) from None
        return tuple(self.by_name[name] for name in order)

    def _known(self, name: str, setting: Setting) -> bool:
        if name in self.fixed:
            return type(setting) is type(self.fixed[name]) and setting == self.fixed[name]
        return name in self.by_name and self.by_name[name].position(setting) is not None

    def _is_fixed(self, name: str, text: str) -> bool:
        return name in self.fixed and text.strip() == setting_text(self.fixed[name])

    def _check(self, formula: Constraint, where: str) -> None:
        try:
            check_formula(formula, self.by_name)
        except FormulaError as error:
            raise FormulaError(
                f"{where}{error.message}, in '{formula!s:.80}'", error.offset, place=error.place, fix=error.fix
            ) from None

    def _setting(self, option: Option, setting: Setting) -> Setting:
        wanted = float(setting) if option.kind is OptionKind.REAL and type(setting) is int else setting
        position = option.position(wanted)
        if position is None:
            raise no_setting(option, str(setting) if isinstance(setting, float) else setting_text(setting))
        return option.settings[position]


SET = "--set"
"""The option of the command line that templates come from."""

_ASSIGNMENT = re.compile(r"\s*(?:`(?P<quoted>[^`]+)`|(?P<plain>[^=!<>`'\"]*?))\s*=(?!=)\s*")
_PLAIN = re.compile(r"[^=!<>,'\"]+")
_OPERATOR = re.compile(r"[<>=!]|(?<![\w.])(?:and|or|not|in)(?![\w.])")


def assignment_text(name: str, setting: Setting) -> str:
    """A setting of an option as a template has it; a name that would not be read as one is in backquotes.

    >>> assignment_text("a b", True), assignment_text("a,b", True)
    ('a b=true', '`a,b`=true')
    """
    return f"{name if _PLAIN.fullmatch(name) else f'`{name}`'}={setting_text(setting)}"


def template_texts(formulas: Iterable[Constraint], fixed: Mapping[str, Setting]) -> tuple[str, ...]:
    """The shortest texts that `parse_template` reads as the formulas and the fixed settings.

    A formula is left out where the settings, those of the formulas included, imply it.
    """
    known = tuple(formulas)
    settings = {**dict(pair for formula in known if (pair := _equality(formula))), **fixed}
    others = (each for each in known if not (settings.keys() >= {*mentioned(each)} and holds(each, settings)))
    return (*map(str, others), *(assignment_text(name, setting) for name, setting in settings.items()))


def _equality(formula: Constraint) -> tuple[str, Setting] | None:
    match formula:
        case TermComparison(left=Name(name=name), comparator=Comparator.EQUAL, right=Literal(value=setting)):
            return name, setting
    return None


class Template(Struct, frozen=True):
    """Conditions for every configuration: all ``constraints``, and one alternative of each of the ``choices``.

    An alternative is a set of settings. Where an option is given several settings, settings given together form an
    alternative of one choice; all other settings are a choice with one alternative.
    """

    constraints: tuple[Constraint, ...] = ()
    choices: tuple[tuple[Assignment, ...], ...] = ()

    @property
    def alternatives(self) -> tuple[Assignment, ...]:
        """All combinations of the choices."""
        combined = (dict(pair for each in chosen for pair in each.items()) for chosen in product(*self.choices))
        return tuple(map(Assignment, combined))

    @property
    def formulas(self) -> tuple[Constraint, ...]:
        """The template as formulas, all of which hold."""
        return tuple(formula for choice in self.choices for formula in _one_of(choice)) + self.constraints


def parse_template(texts: Sequence[str], space: Space) -> Template:
    """Read a template: each text is ``X=S`` (or ``X=S,Y=T``), or a formula such as ``work_mem >= 4``.

    Raises:
        InputError: for an unknown option or setting or a malformed formula, with its column and the fix.
    """
    given: list[dict[str, Setting]] = []
    constraints: list[Constraint] = []
    for text in texts:
        settings = _settings(text, space)
        if settings is None:
            constraints.append(_constraint(text, space))
        else:
            given.append(settings)
    return Template(tuple(dict.fromkeys(constraints)), _choices(given))


def _choices(given: Sequence[Mapping[str, Setting]]) -> tuple[tuple[Assignment, ...], ...]:
    """The common settings, then a choice for each group of options that were given several settings."""
    settings: dict[str, set[Setting]] = {}
    for name, setting in (pair for each in given for pair in each.items()):
        settings.setdefault(name, set()).add(setting)
    varied = {name for name, own in settings.items() if len(own) > 1}
    common = {name: setting for each in given if not varied & each.keys() for name, setting in each.items()}
    groups: list[list[Mapping[str, Setting]]] = []
    for each in (each for each in given if varied & each.keys()):
        joined = [group for group in groups if any(varied & each.keys() & other.keys() for other in group)]
        groups = [group for group in groups if group not in joined]
        groups.append([*(other for group in joined for other in group), each])
    found = [tuple(dict.fromkeys(map(Assignment, group))) for group in groups]
    return tuple([(Assignment(common),), *found] if common else found)


def _one_of(choice: Sequence[Assignment]) -> tuple[Constraint, ...]:
    if len(choice) == 1:
        return _equalities(choice[0])
    return (Or(tuple(conjunction(*_equalities(each)) for each in choice)),)


def _equalities(settings: Assignment) -> tuple[Constraint, ...]:
    return tuple(TermComparison(Name(name), Comparator.EQUAL, Literal(setting)) for name, setting in settings.items())


def _settings(text: str, space: Space) -> dict[str, Setting] | None:
    """The settings that a text lists, or None where it is a formula."""
    if not text.strip():
        raise _wrong("there is neither a setting nor a constraint", text, 0, "write X=S, or a constraint as 'X >= 4'")
    start = _ASSIGNMENT.match(text)
    if start is None:
        return None
    whole = _setting(text, start, len(text), space)
    if whole is not None:
        return dict([whole])
    found: dict[str, Setting] = {}
    offset = 0
    for part in text.split(","):
        end = offset + len(part)
        match = _ASSIGNMENT.match(text, offset, end)
        setting = match and _setting(text, match, end, space)
        if match is None or (setting is None and _OPERATOR.search(text, match.end(), end)):
            if _OPERATOR.search(text, start.end()):
                return None
            raise _no_setting(text, start, len(text), space)
        if setting is None:
            raise _no_setting(text, match, end, space)
        found |= [setting]
        offset = end + 1
    return found


def _setting(text: str, match: re.Match[str], end: int, space: Space) -> tuple[str, Setting] | None:
    """The option and the setting in a part of the text, or None where the option has no such setting."""
    option = _option(text, match, space)
    written = text[match.end() : end].strip()
    unquoted = written[1:-1] if written[:1] == written[-1:] and written[:1] in {"'", '"'} else written
    for each in (written, unquoted):
        try:
            return option.name, read_setting(option, each)
        except InputError:
            continue
    return None


def _option(text: str, match: re.Match[str], space: Space) -> Option:
    name = match["quoted"] or match["plain"]
    try:
        return space.option(name)
    except InputError as error:
        start = match.start("quoted" if match["quoted"] else "plain")
        raise _wrong(error.message, text, start, error.fix) from None


def _no_setting(text: str, match: re.Match[str], end: int, space: Space) -> InputError:
    error = no_setting(_option(text, match, space), text[match.end() : end].strip())
    return _wrong(error.message, text, match.end(), error.fix)


def _constraint(text: str, space: Space) -> Constraint:
    try:
        formula = parse_formula(text)
        check_formula(formula, space.by_name)
    except FormulaError as error:
        raise _wrong(error.message, text, error.offset, error.fix) from None
    return formula


def _wrong(message: str, text: str, offset: int, fix: str | None) -> InputError:
    start = text.rfind("\n", 0, offset) + 1
    return InputError(message, place=Place(SET, None, offset - start + 1, text[start:].partition("\n")[0]), fix=fix)
