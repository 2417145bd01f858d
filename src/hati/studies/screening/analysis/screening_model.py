"""The effects that a screening by a model looks for and shows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, Task, generator
from hati.design import Levels, Model, candidates, levels
from hati.design.information import Ties, ties
from hati.stats import Index, ModelTerms, Term, log_variances
from hati.studies.screening.analysis.model import (
    ModelAnalysis,
    ModelFit,
    analyse_model,
    analyse_model_variance,
    model_terms,
)
from hati.studies.screening.analysis.runs import MeasuredDesign, Readable, Units, choose_scale_of_model, model_units
from hati.studies.screening.analysis.suspects import suspected
from hati.studies.screening.conclusion import Effect, EffectScale, Options
from hati.studies.screening.follow_up.flips import STAGE as FLIPS
from hati.studies.screening.follow_up.flips import flip_stage, is_of_flip
from hati.studies.screening.follow_up.reruns import run_key

if TYPE_CHECKING:
    from hati.space import Option, Space


_POPULATION = 4_096


class ScreeningModel(Struct, frozen=True, dict=True):
    """Effects of options, and of up to ``order`` together, judged at a study-wise ``alpha``.

    ``relevant`` is the fraction that matters, ``seed`` that of permutations and samples.
    """

    space: Space
    order: int
    seed: int
    alpha: float
    relevant: float

    @cached_property
    def effects(self) -> Model:
        """The effects that are looked for."""
        model = Model.of_order([len(option.settings) for option in self.space.options], self.order)
        lost = {(option,) for option in self.ties.wholly}
        return Model(model.sizes, tuple(term for term in model.terms if term not in lost))

    @cached_property
    def ties(self) -> Ties:
        """The options that have no effect of their own, since others decide them in all valid configurations."""
        return ties(self.population, [len(option.settings) for option in self.space.options])

    @cached_property
    def population(self) -> Levels:
        """The valid configurations, or a uniform sample of them."""
        rng = generator(self.seed, "population")
        among = candidates(self.space, rng)
        return among.levels if len(among.levels) else among.draw(_POPULATION, rng)

    def analysis(self, found: MeasuredDesign) -> ModelAnalysis:
        """The effects that runs show."""
        rng, flips = generator(self.seed, "permutations"), _machines_and_flips(found)
        return analyse_model(
            self.effects,
            self._levels(found),
            found.values,
            _crossed(found.blocks, flips),
            rng,
            alpha=self.alpha,
            relevant=self.relevant,
            machines=flips,
            order=found.in_time,
        )

    def variance_analysis(self, found: MeasuredDesign, scale: EffectScale) -> tuple[str, ModelAnalysis] | None:
        """Of the variance within runs, and its source; None where runs have single observations."""
        logs = scale is EffectScale.LOG and all(np.min(sample) > 0.0 for sample in found.samples)
        spread = log_variances([np.log(sample) for sample in found.samples] if logs else found.samples)
        if spread is None:
            return None
        rng, flips = generator(self.seed, "dispersion"), _machines_and_flips(found)
        return "log observations" if logs else "observations", analyse_model_variance(
            self.effects,
            self._levels(found),
            spread,
            _crossed(found.blocks, flips),
            rng,
            alpha=self.alpha,
            relevant=self.relevant,
            machines=flips,
            order=found.in_time,
        )

    def suspected(self, found: MeasuredDesign) -> tuple[Index, FloatArray]:
        """The places of suspect runs, the most suspect first, and the values with what the others predict."""
        rows = self._levels(found)
        units = model_units(self.effects, rows, found.blocks, _machines_and_flips(found))
        scale, _ = choose_scale_of_model(found.values, model_terms(self.effects, units.levels, units.blocks), units)
        terms = model_terms(self.effects, rows, found.blocks, found.in_time)
        candidates = _with_effects_in_flips(terms, [run.task for run in found.runs], self.space.names)
        return suspected(candidates, found.values, scale)

    def important(self, analysis: ModelAnalysis) -> tuple[str, ...]:
        """The options whose main effect is important, the largest first."""
        return tuple(self.space.names[e.term[0]] for e in analysis.effects if e.important and len(e.term) == 1)

    def named(self, term: Term) -> Options:
        """The options of a term."""
        return tuple(self.space.names[option] for option in term)

    def _levels(self, found: MeasuredDesign) -> Levels:
        return levels([run.task.configuration for run in found.runs], self.space)


def _machines_and_flips(found: MeasuredDesign) -> Index:
    """The block of each run: its machine, or its flip on it, shape (runs,).

    The runs of a flip differ in one option. What interactions that are in no model add to them is nearly the same, and
    would count twice as evidence for the other options. Within a block only the effects of the flipped option are seen.
    """
    keys = map(run_key, (run.task for run in found.runs))
    flips = [f"{stage} {number}" if stage.startswith(FLIPS) else "" for stage, _, number in keys]
    return _crossed(found.machines, np.unique(flips, return_inverse=True)[1])


def _crossed(one: Index, other: Index) -> Index:
    """The combinations that there are of two classifications, counted from 0."""
    both = np.column_stack([one, other])
    return np.asarray(np.unique(both, axis=0, return_inverse=True)[1].reshape(-1), dtype=np.intp)


def _with_effects_in_flips(terms: ModelTerms, tasks: Sequence[Task], options: Sequence[str]) -> ModelTerms:
    """The terms, and one for each flipped option: its effect and the mean in the rows of flips alone.

    Flips that contradict what the design's rows say of an option are so explained, and not suspect.
    """
    flips = np.array([[is_of_flip(task)] for task in tasks], dtype=np.float64)
    stages = {run_key(task)[0] for task in tasks}
    places = (
        place for place, option in enumerate(options) if flip_stage(option) in stages and (place,) in terms.columns
    )
    own: dict[Term, FloatArray] = {
        (len(options) + place,): np.hstack([flips, flips * terms.columns[(place,)]]) for place in places
    }
    return ModelTerms(terms.always, {**own, **terms.columns})


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
        """The units' values fitted by these terms, within blocks and with a trend over the order of runs."""
        return ModelFit.of(self._columns(terms), terms, self._sizes, self._values)

    def aliased(self, one: Term, other: Term) -> bool:
        """Whether the runs give two terms the same estimate."""
        return not self._columns((one, other)).added(one, [other]).size

    def explained(self, terms: Sequence[Term]) -> float:
        """The fraction of the units' variance, within blocks and after the trend, that these terms alone explain.

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
