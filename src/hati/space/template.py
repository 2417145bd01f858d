"""Templates: what a user fixes or restricts, as settings ``X=S`` or constraints, from text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import product

from msgspec import Struct

from hati.core import Assignment, InputError, Place, Setting
from hati.formula import Comparator, FormulaError, Or
from hati.space.constraint import Constraint, Literal, Name, TermComparison, conjunction, parse_formula
from hati.space.evaluation import check_formula
from hati.space.option import Option, no_setting, read_setting
from hati.space.space import Space

SET = "--set"
"""The option of the command line that templates come from."""

_ASSIGNMENT = re.compile(r"\s*(?:`(?P<quoted>[^`]+)`|(?P<plain>[^=!<>`'\"]*?))\s*=(?!=)\s*")
_OPERATOR = re.compile(r"[<>=!]|(?<![\w.])(?:and|or|not|in)(?![\w.])")


class Template(Struct, frozen=True):
    """What every configuration has to satisfy: all ``constraints``, and of each of the ``choices`` one.

    A choice is of sets of settings. Where options have different settings, those that were given together are one to
    choose; all other settings are a choice of one.
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
    """The common settings, then a choice among those of options that were given several together."""
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
