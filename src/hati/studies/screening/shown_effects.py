"""The effects that a screening shows, and fits of its runs by some of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from hati.core import FloatArray
from hati.design import Model
from hati.stats import ModelTerms, Term
from hati.studies.screening.conclusion import Effect
from hati.studies.screening.model_analysis import model_terms
from hati.studies.screening.model_fit import ModelFit
from hati.studies.screening.model_units import Units
from hati.studies.screening.readable import Readable

if TYPE_CHECKING:
    from hati.space import Option, Space


class ShownEffects(Struct, frozen=True, eq=False, dict=True):
    """The ``effects`` of a conclusion that are important, or important or aliased, and what they are estimated from.

    ``readable`` holds the runs' values, of which the ``units`` take theirs. ``ranking`` orders the options, and
    ``relevant`` is the fraction that matters.
    """

    space: Space
    units: Units
    readable: Readable
    relevant: float
    effects: tuple[Effect, ...]
    ranking: tuple[str, ...]

    @cached_property
    def options(self) -> tuple[str, ...]:
        """The options of shown effects, ranked."""
        named = {name for effect in self._shown for name in effect.options}
        return tuple(name for name in self.ranking if name in named)

    @cached_property
    def main_effects(self) -> dict[str, Effect]:
        """The shown effects of single options."""
        return {effect.options[0]: effect for effect in self._shown if len(effect.options) == 1}

    @cached_property
    def interactions(self) -> dict[Term, Effect]:
        """The shown effects of several options."""
        return {self.term(*effect.options): effect for effect in self._shown if len(effect.options) > 1}

    @cached_property
    def limit(self) -> float:
        """The difference that matters, on the deciding scale."""
        return self.readable.difference(self.relevant)

    def option(self, name: str) -> Option:
        """The option of that name."""
        return self.space.option(name)

    def term(self, *names: str) -> Term:
        """The term of these options."""
        return tuple(sorted(self.space.names.index(name) for name in names))

    def fit(self, terms: Sequence[Term]) -> ModelFit:
        """The units' values fitted by these terms, within blocks and beside a trend over the order of runs."""
        return ModelFit.of(self._columns(terms), terms, self._sizes, self._values)

    def aliased(self, one: Term, other: Term) -> bool:
        """Whether the runs give two terms the same estimate."""
        return not self._columns((one, other)).added(one, [other]).size

    def explained(self, terms: Sequence[Term]) -> float:
        """The fraction of the units' variance, within blocks and beside the trend, that these terms alone explain.

        The adjusted coefficient of determination: many columns explain much by chance.
        """
        fit = self.fit(terms)
        total = ModelFit(self._sizes, fit.always, {}, self._values).variance
        return 1.0 - fit.variance / total if total and fit.variance is not None else 0.0

    @cached_property
    def _shown(self) -> tuple[Effect, ...]:
        return tuple(effect for effect in self.effects if effect.shown)

    @cached_property
    def _sizes(self) -> tuple[int, ...]:
        return tuple(len(option.settings) for option in self.space.options)

    @cached_property
    def _values(self) -> FloatArray:
        values = self.units.values(self.readable.values)
        return np.asarray(values - values[0])  # equal values are zero then, without what rounding leaves

    def _columns(self, terms: Sequence[Term]) -> ModelTerms:
        units = self.units
        return model_terms(Model(self._sizes, tuple(terms)), units.levels, units.blocks, units.order)
