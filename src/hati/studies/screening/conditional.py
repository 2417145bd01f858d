"""The effects of options at each setting of another option."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hati.core import FloatArray
from hati.design import setting_contrasts
from hati.stats import Term
from hati.studies.screening.conclusion import ConditionalEffect
from hati.studies.screening.model_fit import Contrast, ModelFit
from hati.studies.screening.readable import Readable
from hati.studies.screening.shown_effects import ShownEffects

if TYPE_CHECKING:
    from hati.space import Option

_CHANGED = 0.5
"""An interaction is excluded where no effect can differ by this part of itself between the settings."""
_TWO_LEVEL = 2


def conditional_effects(shown: ShownEffects) -> tuple[ConditionalEffect, ...]:
    """The effects of shown options at each setting of one that they may depend on, the default's setting first.

    From least squares of the runs on the shown options, the shown interactions and the one that is asked about. For
    each option the found interaction with the largest effect counts, else the one with the most important option that
    is not excluded. What the runs cannot estimate is left out.
    """
    found: list[ConditionalEffect] = []
    for name in shown.options:
        effects = (effects_at(shown, name, given) for given in _partners(shown, name))
        found += next(filter(None, effects), ())
    return tuple(found)


def effects_at(shown: ShownEffects, name: str, given: str) -> tuple[ConditionalEffect, ...]:
    """The effects of an option at each setting of a given one.

    None where the runs cannot estimate the interaction, or exclude it: the 95 % interval of the change of the effect
    between two settings reaches neither half of the effect itself nor the relevant size.
    """
    main, interaction = shown.term(name), shown.term(name, given)
    fit = shown.fit(_chosen(shown, main, shown.term(given), interaction))
    if not fit.determines(main) or not fit.determines(interaction):
        return ()
    option, other = shown.option(name), shown.option(given)
    places = _default_first(other)
    differences = [_difference(fit, option, _cells(main, interaction, option, other, place)) for place in places]
    found = interaction in shown.interactions
    if not found and _excluded(fit, [each.weights for each in differences], shown.limit):
        return ()
    contrasts = [fit.difference(each.weights, len(option.settings) - 1) for each in differences]
    return tuple(
        ConditionalEffect(
            option=name,
            before=option.settings[each.before],
            after=option.settings[each.after],
            given=given,
            setting=other.settings[place],
            relative=shown.readable.relative(contrast.estimate),
            interval=_interval(shown.readable, contrast),
            found=found,
        )
        for place, each, contrast in zip(places, differences, contrasts, strict=True)
    )


@dataclass(frozen=True, eq=False)
class _Difference:
    """Between the means at two settings of an option: what the coefficients of terms count in it."""

    before: int
    after: int
    weights: Mapping[Term, FloatArray]


def _partners(shown: ShownEffects, name: str) -> list[str]:
    """Found interactions first, the largest before; then the other shown options by their main effects."""
    others = [other for other in shown.options if other != name]
    found = {other: each for other in others if (each := shown.interactions.get(shown.term(name, other)))}
    mains = {other: each for other in others if other not in found and (each := shown.main_effects.get(other))}
    return [
        *sorted(found, key=lambda other: -abs(found[other].contrast)),
        *sorted(mains, key=lambda other: -abs(mains[other].contrast)),
    ]


def _chosen(shown: ShownEffects, main: Term, given: Term, interaction: Term) -> tuple[Term, ...]:
    """The terms of the model: a shown interaction may be the one that is asked about, where the two are aliased."""
    mains = dict.fromkeys((main, given, *map(shown.term, shown.options)))
    others = (term for term in shown.interactions if not shown.aliased(term, interaction))
    return (*mains, *others, interaction)


def _cells(main: Term, interaction: Term, option: Option, given: Option, place: int) -> dict[Term, FloatArray]:
    """The columns of both terms at each setting of an option, shape (settings, any), at one of a given option."""
    own, other = setting_contrasts(len(option.settings)), setting_contrasts(len(given.settings))[place]
    first = main[0] == interaction[0]
    products = own[:, :, None] * other[None, None, :] if first else other[None, :, None] * own[:, None, :]
    return {main: own, interaction: products.reshape(len(own), -1)}


def _difference(fit: ModelFit, option: Option, cells: Mapping[Term, FloatArray]) -> _Difference:
    """From the first setting to the second; of more from the lowest mean to the highest."""
    means = sum((rows @ fit.coefficients[fit.places[term]] for term, rows in cells.items()), np.zeros(1))
    before, after = (0, 1) if len(option.settings) == _TWO_LEVEL else (int(np.argmin(means)), int(np.argmax(means)))
    return _Difference(before, after, {term: rows[after] - rows[before] for term, rows in cells.items()})


def _excluded(fit: ModelFit, differences: Sequence[Mapping[Term, FloatArray]], limit: float) -> bool:
    """Whether no effect changes by half of the mean effect, and by what is relevant, from the first setting."""
    size = abs(float(np.mean([fit.difference(weights).estimate for weights in differences])))
    allowed = max(_CHANGED * size, limit)
    first, *rest = differences
    changes = [fit.difference({term: weights[term] - first[term] for term in first}) for weights in rest]
    return all(change.margin is not None and abs(change.estimate) + change.margin < allowed for change in changes)


def _interval(readable: Readable, contrast: Contrast) -> tuple[float, float] | None:
    if contrast.margin is None:
        return None
    low, high = contrast.estimate - contrast.margin, contrast.estimate + contrast.margin
    return readable.relative(low), readable.relative(high)


def _default_first(option: Option) -> list[int]:
    """The places of the settings."""
    first = option.settings.index(option.default)
    return [first, *(place for place in range(len(option.settings)) if place != first)]
