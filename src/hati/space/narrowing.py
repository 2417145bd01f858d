"""Spaces narrowed by a template: constraints are evaluated partially.

Fixed options leave the space, and so do settings that cannot occur.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any

from msgspec import Struct

from hati.core import Configuration, InputError, Setting, replace
from hati.formula import SIMPLIFYING, And, Connective, Truth, combined
from hati.space.configurations import nearest
from hati.space.constraint import (
    FALSE,
    TRUE,
    Condition,
    Constraint,
    Flag,
    Literal,
    Membership,
    Name,
    TermComparison,
    literal_text,
    mentioned,
)
from hati.space.diagnosis import check
from hati.space.diagram import TooEntangledError
from hati.space.evaluation import check_formula, holds
from hati.space.option import Option
from hati.space.solver import Solver, UndecidedError
from hati.space.space import Space

MOST_CASES = 4096
"""Up to this number of combinations of settings it is looked at whether a formula is always true, or never."""


class Remaining(Struct, frozen=True):
    """The remaining options of a space.

    ``settings`` maps each option with a choice to the settings that can occur; ``conditional`` names those that are
    inactive in some configurations; ``fixed`` holds the other options' settings. Options in none of these are inactive
    everywhere.
    """

    settings: Mapping[str, tuple[Setting, ...]]
    conditional: frozenset[str]
    fixed: Mapping[str, Setting]

    def simplified(self, formula: Constraint) -> Constraint:
        """A formula that is true in the same configurations and mentions only the options with a choice.

        It is ``true`` or ``false`` where that shows within ``MOST_CASES`` combinations of settings.
        """
        if not isinstance(formula, Connective):
            assert isinstance(formula, Condition)
            return self._atom(formula)
        found: Constraint = combined(formula, SIMPLIFYING, self.simplified)
        return self._constant(found) or found

    def _atom(self, atom: Condition) -> Constraint:
        free = [name for name in atom.options if name in self.settings]
        if any(name not in self.settings and name not in self.fixed for name in atom.options):
            return FALSE  # a comparison with an option that is never active
        if not free:
            return Truth(value=holds(atom, self.fixed))
        constant = self._constant(atom)
        if constant is not None:
            return constant
        if len(free) > 1 or isinstance(atom, Flag):
            return atom.mapped(self._substituted)
        (name,) = free
        literals = tuple(Literal(value) for value in self.settings[name] if holds(atom, {**self.fixed, name: value}))
        kept = isinstance(atom, TermComparison) and atom.options == (name,) and self._fits(atom)
        return atom if kept else Membership(Name(name), literals) if literals else FALSE

    def _fits(self, atom: TermComparison) -> bool:
        """Whether the literals of a comparison of one option are among the settings that are left, or need not be."""
        sides = (atom.left, atom.right)
        if not any(isinstance(side, Name) for side in sides):
            return True
        return all(
            not isinstance(side, Literal) or any(side.value in self.settings[name] for name in atom.options)
            for side in sides
        )

    def _constant(self, formula: Constraint) -> Constraint | None:
        """What the formula always is, or None where it depends, or there are too many cases to see."""
        names = [name for name in mentioned(formula) if name in self.settings]
        cases = prod(len(self.settings[name]) + (name in self.conditional) for name in names)
        if cases > MOST_CASES:
            return None
        found = {holds(formula, {**self.fixed, **case}) for case in self._cases(names)}
        return Truth(value=found.pop()) if len(found) == 1 else None

    def _cases(self, names: list[str]) -> Iterator[dict[str, Setting]]:
        choices = [
            [*((name, setting) for setting in self.settings[name]), *([None] if name in self.conditional else [])]
            for name in names
        ]
        for chosen in product(*choices):
            yield dict(each for each in chosen if each is not None)

    def _substituted(self, part: Any) -> Any:
        """A term with the settings of fixed options in place of their names."""
        if isinstance(part, Name):
            return Literal(self.fixed[part.name]) if part.name in self.fixed else part
        return part.mapped(self._substituted)


def narrowed(space: Space, template: Sequence[Constraint]) -> Space:
    """The space whose valid configurations are those of ``space`` in which all formulas of the template hold.

    An option with one setting left is ``fixed``, one that is inactive everywhere is left out, and so are constraints
    and conditions that always hold. The default is the valid configuration that is nearest to the old one: the fewest
    options have another setting, then these are the nearest in order.

    Raises:
        FormulaError: where a formula does not fit the options.
        InputError: where no valid configuration is left, with what contradicts what.
    """
    return _narrowed(space, tuple(template)) if template else space


@lru_cache(maxsize=16)
def _narrowed(space: Space, template: tuple[Constraint, ...]) -> Space:
    for formula in template:
        check_formula(formula, space.by_name)
    whole = replace(space, constraints=tuple(dict.fromkeys((*space.constraints, *template))))
    occurring = _alone(whole) or _occurring(whole, template)
    default = _nearest(whole, occurring)
    remaining = _remaining(whole, occurring)
    options = tuple(
        _option(option, remaining, default) for option in whole.options if option.name in remaining.settings
    )
    simple = dict.fromkeys(remaining.simplified(constraint) for constraint in whole.constraints)
    return Space(
        options,
        tuple(constraint for constraint in simple if constraint != TRUE),
        whole.complete(remaining.fixed),
        (*space.template, *template),
    )


def _option(option: Option, remaining: Remaining, default: Configuration) -> Option:
    settings = remaining.settings[option.name]
    condition = option.active_if and remaining.simplified(option.active_if)
    chosen = default.get(option.name, option.default if option.default in settings else settings[0])
    return replace(
        option,
        settings=settings,
        default=chosen,
        active_if=None if option.name not in remaining.conditional else condition,
    )


def _remaining(whole: Space, occurring: Mapping[str, tuple[Setting, ...]]) -> Remaining:
    """The options that have a choice, and those that are fixed; a condition is looked at after those it mentions."""
    settings: dict[str, tuple[Setting, ...]] = {}
    conditional: set[str] = set()
    fixed: dict[str, Setting] = {}
    for option in whole.by_dependence:
        left = occurring[option.name]
        if not left:
            continue
        known = Remaining(settings, frozenset(conditional), fixed)
        always = option.active_if is None or known.simplified(option.active_if) == TRUE
        if always and len(left) == 1:
            fixed[option.name] = left[0]
            continue
        settings[option.name] = left
        if not always:
            conditional.add(option.name)
    return Remaining(settings, frozenset(conditional), fixed)


def _alone(whole: Space) -> dict[str, tuple[Setting, ...]] | None:
    """The settings that can occur, where every condition concerns one option and all are active; else None.

    Also None where nothing can occur.
    """
    parts = [part for constraint in whole.constraints for part in _conjuncts(constraint)]
    if any(option.active_if is not None for option in whole.options) or any(
        len(mentioned(part)) != 1 for part in parts
    ):
        return None
    found = {
        option.name: tuple(
            setting
            for setting in option.settings
            if all(holds(part, {option.name: setting}) for part in parts if mentioned(part) == (option.name,))
        )
        for option in whole.options
    }
    return found if all(found.values()) else None


def _conjuncts(formula: Constraint) -> Iterator[Constraint]:
    if isinstance(formula, And):
        for part in formula.formulas:
            yield from _conjuncts(part)
    else:
        yield formula


def _occurring(whole: Space, template: tuple[Constraint, ...]) -> dict[str, tuple[Setting, ...]]:
    """The settings that some valid configuration has; all of them where the solver cannot decide."""
    found = check(whole)
    if found.contradiction:
        own = [formula for formula in found.contradiction if formula in template]
        others = [str(formula) for formula in found.contradiction if formula not in template]
        because = f"; the space demands {' and '.join(f'{text!r:.80}' for text in others)}" if others else ""
        raise InputError(
            f"no valid configuration has {' and '.join(map(str, own)) or 'any setting'}{because}",
            fix="leave one of them out",
        )
    gone = {(name, literal_text(setting)) for name, setting in found.dead}
    return {
        option.name: ()
        if option.name in found.never_active
        else tuple(setting for setting in option.settings if (option.name, literal_text(setting)) not in gone)
        for option in whole.options
    }


def _nearest(whole: Space, occurring: Mapping[str, tuple[Setting, ...]]) -> Configuration:
    """The valid configuration that is nearest to the default."""
    forced = {
        option.name: min(left, key=lambda setting: _distance(option, setting))
        for option in whole.options
        if (left := occurring[option.name])
    }
    direct = whole.canonical(forced)  # any valid configuration differs from the default in the forced settings
    if whole.valid(direct):
        return direct
    found = _searched(whole)
    if found is None:
        raise InputError(
            "whether any configuration is valid could not be decided within the solver's bound of steps",
            fix="fix more options by --set",
        )
    return found


def _searched(whole: Space) -> Configuration | None:
    """By a decision diagram, else by a solver; None where that reaches its bound of steps."""
    try:
        return nearest(whole, _distance)
    except TooEntangledError:
        pass
    try:
        return Solver(whole).nearest(_distance)
    except UndecidedError:
        return None


def _distance(option: Option, setting: Setting) -> int:
    positions = option.position(setting), option.position(option.default)
    assert positions[0] is not None
    assert positions[1] is not None
    return abs(positions[0] - positions[1])
