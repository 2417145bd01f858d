"""The valid configurations of a space: counted, enumerated, sampled uniformly, and the nearest one.

A diagnosis names contradictions, settings that cannot occur and options without a choice. A template narrows a space:
constraints are evaluated partially; fixed options leave the space, and so do settings that cannot occur.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any

import numpy as np
from msgspec import Struct

from hati.core import Configuration, InputError, Setting, replace
from hati.formula import SIMPLIFYING, And, Connective, Truth, combined
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
from hati.space.diagram import Diagram, Solver, TooEntangledError, UndecidedError, blocks, build, compact, contradicting
from hati.space.evaluation import Option, check_formula, holds
from hati.space.space import Space

_WORD = 32


def count(space: Space) -> int:
    """The exact number of valid configurations.

    Raises:
        InputError: where the constraints are too entangled to count.
    """
    constant = all(holds(constraint, {}) for constraint in space.constraints if not mentioned(constraint))
    return prod(diagram.count for diagram in diagrams(space)) if constant else 0


def sample(space: Space, number: int, rng: np.random.Generator) -> list[Configuration]:
    """Draw ``number`` valid configurations uniformly and independently.

    Drawn with replacement: a configuration can occur twice.

    Raises:
        InputError: where no configuration is valid, or the constraints are too entangled.
    """
    parts = diagrams(space)
    return [space.complete(_settings(parts, drawn)) for drawn in sampled_numbers(space, number, rng)]


def sampled_numbers(space: Space, number: int, rng: np.random.Generator) -> list[int]:
    """The numbers of the configurations that `sample` draws, in the order of `enumerate_configurations` from 0.

    Raises:
        InputError: where no configuration is valid, or the constraints are too entangled.
    """
    if number < 0:
        raise InputError(f"cannot draw {number} configurations", fix="ask for 0 or more")
    total = count(space)
    if number and not total:
        raise InputError("the space has no valid configuration", fix="see what contradicts with: hati space check")
    return [_below(rng, total) for _ in range(number)]


def enumerate_configurations(space: Space) -> Iterator[Configuration]:
    """All valid configurations, each once, in a reproducible order.

    The first option without ties changes slowest; options tied by constraints move together.

    Raises:
        InputError: where the constraints are too entangled.
    """
    parts = diagrams(space)
    return (space.complete(_settings(parts, number)) for number in range(count(space)))


@lru_cache(maxsize=16)
def diagrams(space: Space) -> tuple[Diagram, ...]:
    """One diagram for every set of options that depend on each other."""
    ties = [mentioned(constraint) for constraint in space.constraints]
    ties += [(option.name, *mentioned(option.active_if)) for option in space.options if option.active_if is not None]
    found = []
    for names in blocks(space.names, [tie for tie in ties if tie]):
        members = set(names)
        options = [space.by_name[name] for name in compact(names, [tie for tie in ties if members & set(tie)])]
        constraints = [constraint for constraint in space.constraints if members & set(mentioned(constraint))]
        found.append(build(options, constraints))
    return tuple(found)


def _settings(parts: Sequence[Diagram], number: int) -> dict[str, Setting]:
    """The settings of the valid configuration with that number.

    The number's digits are numbers in the diagrams; the last one changes fastest.
    """
    settings: dict[str, Setting] = {}
    for diagram in reversed(parts):
        number, digit = divmod(number, diagram.count)
        settings.update(diagram.configuration(digit))
    return settings


def _below(rng: np.random.Generator, bound: int) -> int:
    """A uniform integer from 0 to ``bound`` - 1, of any size: bits are redrawn until they are below it."""
    bits = (bound - 1).bit_length()
    while True:
        drawn = 0
        for _ in range(-(-bits // _WORD)):
            drawn = drawn << _WORD | int(rng.integers(1 << _WORD))
        drawn &= (1 << bits) - 1
        if drawn < bound:
            return drawn


def occurring(space: Space) -> set[tuple[str, int]]:
    """The settings that some valid configuration has, as options and positions; there must be one.

    Raises:
        TooEntangledError: where the constraints are too entangled.
    """
    return {item for diagram in diagrams(space) for item in diagram.occurring}


def contradiction(space: Space) -> tuple[Constraint, ...]:
    """A minimal set of constraints that cannot hold together; empty where there is a valid configuration.

    Raises:
        TooEntangledError: where the constraints are too entangled.
    """
    for constraint in space.constraints:
        if not mentioned(constraint) and not holds(constraint, {}):
            return (constraint,)
    for diagram in diagrams(space):
        if not diagram.count:
            members = {option.name for option in diagram.options}
            tied = [constraint for constraint in space.constraints if members & set(mentioned(constraint))]
            return tuple(tied[number] for number in contradicting(diagram.options, tied))
    return ()


def nearest(space: Space, distance: Callable[[Option, Setting], int]) -> Configuration | None:
    """The valid configuration with the fewest settings at a distance above 0, or None where none is valid.

    Ties are broken by the smallest sum of distances, then by the order of settings.

    Raises:
        TooEntangledError: where the constraints are too entangled.
    """
    if contradiction(space):
        return None
    most = 1 + sum(distance(option, setting) for option in space.options for setting in option.settings)

    def cost(option: Option, setting: Setting) -> int:
        apart = distance(option, setting)
        return most + apart if apart else 0

    settings: dict[str, Setting] = {}
    for diagram in diagrams(space):
        settings.update(diagram.cheapest(cost))
    return space.complete(settings)


class Diagnosis(Struct, frozen=True):
    """The result of checking a space; all empty if it is sound.

    ``contradiction``: a minimal set of constraints that cannot hold together. ``dead``: settings that no valid
    configuration has. ``forced``: options with several settings of which only that one can occur. ``never_active``:
    options that no valid configuration has. ``violated``: the constraints that the default configuration breaks.
    ``undecided`` says what the solver could not decide within its bound of steps. Where there is a contradiction,
    nothing is valid, and ``dead``, ``forced`` and ``never_active`` are empty.
    """

    contradiction: tuple[Constraint, ...] = ()
    dead: tuple[tuple[str, Setting], ...] = ()
    forced: tuple[tuple[str, Setting], ...] = ()
    never_active: tuple[str, ...] = ()
    violated: tuple[Constraint, ...] = ()
    undecided: str = ""

    @property
    def sound(self) -> bool:
        """Whether nothing was found and everything decided."""
        return self == Diagnosis()


def check(space: Space) -> Diagnosis:
    """Check a space for errors.

    It uses decision diagrams, and a solver for constraints that are too entangled for them. Both are bounded by
    steps, not by a clock: the same space gives the same answer everywhere.

    Raises:
        FormulaError: for a comparison over too many combinations of settings.
        NotInstalledError: where a solver is needed and not installed.
    """
    default = space.default
    violated = tuple(constraint for constraint in space.constraints if not holds(constraint, default))
    try:
        conflict = contradiction(space)
        if conflict:
            return Diagnosis(contradiction=conflict, violated=violated)
        return _judged(space, occurring(space), violated)
    except TooEntangledError:
        return check_by_solver(space, violated)


def check_by_solver(space: Space, violated: tuple[Constraint, ...]) -> Diagnosis:
    """The same by a constraint solver; ``violated`` are the constraints that the space's default breaks."""
    solver = Solver(space)
    everything = set(range(len(space.constraints)))
    try:
        if solver.solve(everything) is None:
            numbers, note = _minimal(solver, everything)
            conflict = tuple(space.constraints[number] for number in sorted(numbers))
            return Diagnosis(contradiction=conflict, violated=violated, undecided=note)
        alive = _alive(space, solver, everything)
    except UndecidedError:
        return Diagnosis(violated=violated, undecided="whether every setting can occur")
    return _judged(space, alive, violated)


def _minimal(solver: Solver, everything: set[int]) -> tuple[set[int], str]:
    """A minimal contradicting set: a constraint is dropped if the others still contradict; and what is undecided."""
    kept = solver.core() or everything
    note = ""
    for number in sorted(kept, reverse=True):
        try:
            if solver.solve(kept - {number}) is None:
                kept = kept - {number}
        except UndecidedError:
            note = "whether fewer constraints contradict each other"
    return kept, note


def _alive(space: Space, solver: Solver, everything: set[int]) -> set[tuple[str, int]]:
    """The settings that occur: the solver is asked for configurations until none has a new setting."""
    unseen = {(option.name, code) for option in space.options for code in range(len(option.settings))}
    alive: set[tuple[str, int]] = set()
    for _ in range(len(unseen)):  # every configuration shows one more, so that this is enough
        if not unseen:
            break
        solver.demand_one_of(sorted(unseen))
        configuration = solver.solve(everything)
        if configuration is None:
            break
        found = {
            (option.name, option.settings.index(configuration[option.name]))
            for option in space.options
            if option.name in configuration
        }
        alive |= found
        unseen -= found
    return alive


def _judged(space: Space, alive: set[tuple[str, int]], violated: tuple[Constraint, ...]) -> Diagnosis:
    dead: list[tuple[str, Setting]] = []
    forced: list[tuple[str, Setting]] = []
    never: list[str] = []
    for option in space.options:
        occurring = [setting for code, setting in enumerate(option.settings) if (option.name, code) in alive]
        if not occurring:
            never.append(option.name)
            continue
        dead += [(option.name, setting) for setting in option.settings if setting not in occurring]
        if len(occurring) == 1 < len(option.settings):
            forced.append((option.name, occurring[0]))
    return Diagnosis(dead=tuple(dead), forced=tuple(forced), never_active=tuple(never), violated=violated)


MOST_CASES = 4096
"""The largest number of combinations of settings over which a formula is tested for being constant."""


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
        """Whether the literals of a comparison of one option are among its remaining settings, or need not be."""
        sides = (atom.left, atom.right)
        if not any(isinstance(side, Name) for side in sides):
            return True
        return all(
            not isinstance(side, Literal) or any(side.value in self.settings[name] for name in atom.options)
            for side in sides
        )

    def _constant(self, formula: Constraint) -> Constraint | None:
        """The constant value of a formula; None if it varies, or there are too many cases to test."""
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

    An option with one setting left is ``fixed``; options that are inactive everywhere are left out, and so are
    constraints and conditions that always hold. The default is the valid configuration nearest to the old one: it
    changes the fewest options, and these by the fewest positions.

    Raises:
        FormulaError: where a formula does not fit the options.
        InputError: where no valid configuration is left; the message names the contradicting constraints.
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
    """The options with a choice and the fixed ones; conditions are simplified after the options that they mention."""
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
    """The settings that can occur, if each constraint concerns one option and all options are active; else None.

    Also None if an option has none left.
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
    """The nearest configuration by a decision diagram, else by a solver; None at its bound of steps."""
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
