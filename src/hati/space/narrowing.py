"""Spaces narrowed by a template: what is fixed leaves the options, what cannot occur leaves the settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from hati.core import Configuration, InputError, Setting, replace
from hati.space.diagnosis import check
from hati.space.evaluation import holds
from hati.space.fitting import check_formula
from hati.space.formula import And, Formula, Truth, literal_text
from hati.space.option import Option
from hati.space.simplification import Remaining
from hati.space.solver import Solver, UndecidedError
from hati.space.space import Space


def narrowed(space: Space, template: Sequence[Formula]) -> Space:
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
def _narrowed(space: Space, template: tuple[Formula, ...]) -> Space:
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
        tuple(constraint for constraint in simple if constraint != Truth(value=True)),
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
        always = option.active_if is None or known.simplified(option.active_if) == Truth(value=True)
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
    if any(option.active_if is not None for option in whole.options) or any(len(part.options) != 1 for part in parts):
        return None
    found = {
        option.name: tuple(
            setting
            for setting in option.settings
            if all(holds(part, {option.name: setting}) for part in parts if part.options == (option.name,))
        )
        for option in whole.options
    }
    return found if all(found.values()) else None


def _conjuncts(formula: Formula) -> Iterator[Formula]:
    if isinstance(formula, And):
        for part in formula.formulas:
            yield from _conjuncts(part)
    else:
        yield formula


def _occurring(whole: Space, template: tuple[Formula, ...]) -> dict[str, tuple[Setting, ...]]:
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
    direct = whole.canonical(forced)  # any valid configuration differs from the default in what is forced
    if whole.valid(direct):
        return direct
    try:
        found = Solver(whole).nearest(_distance)
    except UndecidedError:
        found = None
    if found is None:
        raise InputError(
            "whether any configuration is valid could not be decided within the solver's bound of steps",
            fix="fix more options by --set",
        )
    return found


def _distance(option: Option, setting: Setting) -> int:
    positions = option.position(setting), option.position(option.default)
    assert positions[0] is not None
    assert positions[1] is not None
    return abs(positions[0] - positions[1])
