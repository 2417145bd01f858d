"""The effects of options at the settings of others, and the option that explains most of the variance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, product
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from hati.core import Assignment, FloatArray
from hati.design import setting_contrasts
from hati.stats import Term, interaction_columns
from hati.studies.screening.analysis.model import EffectContrast, ModelFit
from hati.studies.screening.analysis.runs import Readable
from hati.studies.screening.analysis.screening_model import ShownEffects
from hati.studies.screening.conclusion import ConditionalEffect, DominatingOption

if TYPE_CHECKING:
    from hati.space import Option


_CHANGED = 0.5
"""An interaction is excluded where no effect can differ by this part of itself between the settings."""
_TWO_LEVEL = 2
_MOST = 9
"""The most combinations of two other options' settings that are shown."""


def conditional_effects(shown: ShownEffects) -> tuple[ConditionalEffect, ...]:
    """The effects of shown options at the settings of others that they may depend on, the default's settings first.

    From least squares of the runs on the shown options, the shown interactions and the one that is asked about. For
    each option the found interaction with the largest effect counts, or one of three options that it is a part of; else
    that with the most important option that is not excluded. What the runs cannot estimate is left out.
    """
    found: list[ConditionalEffect] = []
    for name in shown.options:
        effects = (effects_at(shown, name, given) for given in _partners(shown, name))
        found += next(filter(None, effects), ())
    return tuple(found)


def effects_at(shown: ShownEffects, name: str, given: Sequence[str]) -> tuple[ConditionalEffect, ...]:
    """The effects of an option at each combination of settings of given ones.

    None where the runs cannot estimate the interactions, or exclude that of a single one: the 95 % interval of the
    change of the effect between two settings reaches neither half of the effect itself nor the relevant size.
    """
    subsets = (some for size in range(len(given) + 1) for some in combinations(given, size))
    main, *interactions = (shown.term(name, *some) for some in subsets)
    fit = shown.fit(_chosen(shown, main, given, interactions))
    if not all(map(fit.determines, (main, *interactions))):
        return ()
    option, others = shown.option(name), [shown.option(other) for other in given]
    ats = list(product(*map(_default_first, others)))
    differences = [
        _difference(fit, option, _cells(shown, (main, *interactions), name, dict(zip(given, at, strict=True))))
        for at in ats
    ]
    found = interactions[-1] in shown.interactions
    if not found and _excluded(fit, [each.weights for each in differences], shown.limit):
        return ()
    contrasts = [fit.difference(each.weights, len(option.settings) - 1) for each in differences]
    return tuple(
        ConditionalEffect(
            option=name,
            before=option.settings[each.before],
            after=option.settings[each.after],
            at=Assignment({other.name: other.settings[place] for other, place in zip(others, at, strict=True)}),
            relative=shown.readable.relative(contrast.estimate),
            interval=_interval(shown.readable, contrast),
            found=found,
        )
        for at, each, contrast in zip(ats, differences, contrasts, strict=True)
    )


class _Difference(Struct, frozen=True, eq=False):
    """Between the means at two settings of an option: what the coefficients of terms count in it."""

    before: int
    after: int
    weights: Mapping[Term, FloatArray]


def _partners(shown: ShownEffects, name: str) -> list[tuple[str, ...]]:
    """Those of found interactions first, the largest before; then the other shown options by their main effects."""
    sizes = {frozenset(effect.options): abs(effect.contrast) for effect in shown.interactions.values()}
    found = [each - {name} for each in sizes if name in each]
    able = [each for each in found if len(each) == 1 or prod(len(shown.option(o).settings) for o in each) <= _MOST]

    def largest(others: frozenset[str]) -> float:
        return max(size for each, size in sizes.items() if name in each and each <= {name, *others})

    mains = {other: abs(effect.contrast) for other, effect in shown.main_effects.items() if other != name}
    return [
        *(tuple(sorted(each)) for each in sorted(able, key=lambda each: (-largest(each), -len(each)))),
        *((other,) for other in sorted(mains, key=lambda other: -mains[other]) if {other} not in found),
    ]


def _chosen(shown: ShownEffects, main: Term, given: Sequence[str], interactions: Sequence[Term]) -> tuple[Term, ...]:
    """The terms of the model: a shown interaction may be one that is asked about, where the two are aliased."""
    mains = dict.fromkeys((main, *map(shown.term, (*given, *shown.options))))
    with_others = dict.fromkeys([*shown.interactions, *([shown.term(*given)] if len(given) > 1 else [])])
    others = [term for term in with_others if not any(shown.aliased(term, own) for own in interactions)]
    return (*mains, *others, *interactions)


def _cells(shown: ShownEffects, terms: Sequence[Term], name: str, at: Mapping[str, int]) -> dict[Term, FloatArray]:
    """The terms' columns at each setting of an option, shape (settings, any), at one place of each other option."""
    coded = {other: setting_contrasts(len(shown.option(other).settings))[[place]] for other, place in at.items()}
    coded[name] = setting_contrasts(len(shown.option(name).settings))
    return {term: interaction_columns([coded[shown.space.names[place]] for place in term]) for term in terms}


def _difference(fit: ModelFit, option: Option, cells: Mapping[Term, FloatArray]) -> _Difference:
    """From the first setting to the second; of more from the lowest mean to the highest."""
    means = sum((rows @ fit.coefficients[fit.places[term]] for term, rows in cells.items()), np.zeros(1))
    before, after = (0, 1) if len(option.settings) == _TWO_LEVEL else (int(np.argmin(means)), int(np.argmax(means)))
    return _Difference(before, after, {term: rows[after] - rows[before] for term, rows in cells.items()})


def _excluded(fit: ModelFit, differences: Sequence[Mapping[Term, FloatArray]], limit: float) -> bool:
    """Whether no effect changes by half of the mean effect, and by the relevant size, from the first setting."""
    size = abs(float(np.mean([fit.difference(weights).estimate for weights in differences])))
    allowed = max(_CHANGED * size, limit)
    first, *rest = differences
    changes = [fit.difference({term: weights[term] - first[term] for term in first}) for weights in rest]
    return all(change.margin is not None and abs(change.estimate) + change.margin < allowed for change in changes)


def _interval(readable: Readable, contrast: EffectContrast) -> tuple[float, float] | None:
    if contrast.margin is None:
        return None
    low, high = contrast.estimate - contrast.margin, contrast.estimate + contrast.margin
    return readable.relative(low), readable.relative(high)


def _default_first(option: Option) -> list[int]:
    """The places of the settings."""
    first = option.settings.index(option.default)
    return [first, *(place for place in range(len(option.settings)) if place != first)]


MOST = 0.9
"""An option that explains this part of the variance, alone and with others, hides the rest."""
_FEWEST = 2
"""Fewer options leave no others to screen."""


def dominating_option(shown: ShownEffects) -> DominatingOption | None:
    """The option that explains most of the variance, its interactions included; None where none does.

    What it explains alone counts: where columns are correlated, what the others leave of it is less.
    """
    shares = {name: _explained(shown, name) for name in shown.options if name in shown.main_effects}
    name = max(shares, key=lambda name: shares[name], default=None)
    if name is None or shares[name] < MOST or len(shown.space.options) < _FEWEST:
        return None
    fixed = tuple(shown.space.fixed.items())
    return DominatingOption(name, min(1.0, shares[name]), shown.option(name).default, fixed)


def _explained(shown: ShownEffects, name: str) -> float:
    own = shown.term(name)
    return shown.explained([own, *(term for term in shown.interactions if set(own) < set(term))])
