"""The effects that a screening by a model seeks and shows, and the effects of options at settings of others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import combinations, product
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from hati.core import Assignment, FloatArray, Task, generator
from hati.design import Levels, Model, candidates, levels
from hati.design.information import Ties, ties
from hati.stats import Index, ModelTerms, Term, additive_blocks, log_variances
from hati.studies.screening.changes import EffectContrast, Readable, RelativeChange
from hati.studies.screening.conclusion import (
    DOMINATING,
    ConditionalEffect,
    DominatingOption,
    Effect,
    EffectScale,
)
from hati.studies.screening.model import ModelAnalysis, analyse_model, analyse_model_variance, model_terms
from hati.studies.screening.model_fit import ModelFit
from hati.studies.screening.population import ValidPopulation
from hati.studies.screening.reruns import FLIP_STAGE, flip_stage, is_of_flip, run_key, suspected
from hati.studies.screening.runs import MeasuredDesign, Units, choose_scale_of_model, model_units

if TYPE_CHECKING:
    from hati.space import Option, Space


_POPULATION = 4_096


class ScreeningModel(Struct, frozen=True, dict=True):
    """Effects of options, and of up to ``order`` together, judged at a study-wise ``alpha``.

    ``relevant`` is the fraction that matters, ``seed`` is the seed of permutations and samples.
    """

    space: Space
    order: int
    seed: int
    alpha: float
    relevant: float

    @cached_property
    def effects(self) -> Model:
        """The effects that are sought."""
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

    @cached_property
    def valid(self) -> ValidPopulation:
        """The valid configurations, over which means are taken."""
        return ValidPopulation.of(self.space, self.seed)

    def analysis(self, found: MeasuredDesign) -> ModelAnalysis:
        """The analysis of the runs."""
        return self._analysis(analyse_model, found, found.values, "permutations")

    def variance_analysis(self, found: MeasuredDesign, scale: EffectScale) -> tuple[str, ModelAnalysis] | None:
        """The source of the variance within runs and its analysis; None if runs have single observations."""
        logs = scale is EffectScale.LOG and all(np.min(sample) > 0.0 for sample in found.samples)
        spread = log_variances([np.log(sample) for sample in found.samples] if logs else found.samples)
        if spread is None:
            return None
        source = "log observations" if logs else "observations"
        return source, self._analysis(analyse_model_variance, found, spread, "dispersion")

    def _analysis(
        self, analyse: Callable[..., ModelAnalysis], found: MeasuredDesign, values: FloatArray, purpose: str
    ) -> ModelAnalysis:
        flips = _machines_and_flips(found)
        return analyse(
            self.effects,
            self._levels(found),
            values,
            additive_blocks(found.blocks, flips),
            generator(self.seed, purpose),
            alpha=self.alpha,
            relevant=self.relevant,
            machines=flips,
            order=found.in_time,
            population=self.valid,
        )

    def scale(self, found: MeasuredDesign) -> EffectScale:
        """The deciding scale of the runs' analysis."""
        units = model_units(self.effects, self._levels(found), found.blocks, _machines_and_flips(found))
        terms = model_terms(self.effects, units.levels, units.blocks)
        return choose_scale_of_model(found.values, terms, units)[0]

    def suspected(self, found: MeasuredDesign, scale: EffectScale) -> tuple[Index, FloatArray]:
        """The places of suspect runs, the most suspect first, and the values with predictions in their place."""
        terms = model_terms(self.effects, self._levels(found), found.blocks, found.in_time)
        candidates = _with_effects_in_flips(terms, [run.task for run in found.runs], self.space.names)
        return suspected(candidates, found, scale)

    def important(self, analysis: ModelAnalysis) -> tuple[str, ...]:
        """The options whose main effect is important, the largest first."""
        return tuple(self.space.names[e.term[0]] for e in analysis.effects if e.important and len(e.term) == 1)

    def _levels(self, found: MeasuredDesign) -> Levels:
        return levels([run.task.configuration for run in found.runs], self.space)


def _machines_and_flips(found: MeasuredDesign) -> Index:
    """The machine and the flip of each run, as in ``additive_blocks``.

    The runs of a flip differ in one option. Interactions that are missing from the model add nearly the same to both,
    and would count twice as evidence for the other options. A block shows only the effects of the flipped option.
    """
    keys = map(run_key, (run.task for run in found.runs))
    flips = [f"{stage} {number}" if stage.startswith(FLIP_STAGE) else "" for stage, _, number in keys]
    return additive_blocks(found.machines, np.unique(flips, return_inverse=True)[1].astype(np.intp))


def _with_effects_in_flips(terms: ModelTerms, tasks: Sequence[Task], options: Sequence[str]) -> ModelTerms:
    """The terms, and one for each flipped option: its effect and the mean in the rows of flips alone.

    These explain flips that contradict the design's rows about an option, so that such flips are not suspect.
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
    """The shown ``effects`` of a conclusion (important, or important or aliased), with the data that estimate them.

    ``readable`` holds the runs' values, from which those of the ``units`` are computed. ``ranking`` orders the options,
    ``relevant`` is the fraction that matters, and means are taken over a ``population``. ``judged`` are the terms of
    the model that estimates the effects; empty for a fraction, where they would leave no degrees of freedom.
    """

    space: Space
    population: ValidPopulation
    units: Units
    readable: Readable
    relevant: float
    effects: tuple[Effect, ...]
    ranking: tuple[str, ...]
    judged: tuple[Term, ...] = ()

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
        """The size of a change of an effect that matters, on the deciding scale.

        It is a fraction of the mean size: a difference of two effects is not from one mean, as an effect is.
        """
        return self.readable.difference(self.relevant)

    def change(self, contrast: EffectContrast) -> RelativeChange:
        """A difference that a ``fit`` estimates, as a fraction."""
        return self.readable.change(contrast.above(self._offset))

    def option(self, name: str) -> Option:
        """The option of that name."""
        return self.space.option(name)

    def term(self, *names: str) -> Term:
        """The term of these options."""
        return tuple(sorted(self.space.names.index(name) for name in names))

    def fit(self, terms: Sequence[Term]) -> ModelFit:
        """The units' values fitted by these terms, within blocks and with a trend over the order of runs."""
        return ModelFit.of(self._columns(terms), terms, self.population, self._values)

    def aliased(self, one: Term, other: Term) -> bool:
        """Whether the runs give two terms the same estimate."""
        return not self._columns((one, other)).added(one, [other]).size

    def explained(self, terms: Sequence[Term]) -> float:
        """The fraction of the units' variance, within blocks and after the trend, that these terms alone explain.

        This is the adjusted coefficient of determination, because many columns explain much by chance.
        """
        fit = self.fit(terms)
        total = ModelFit(self.population, fit.always, {}, self._values).variance
        return 1.0 - fit.variance / total if total and fit.variance is not None else 0.0

    @cached_property
    def _shown(self) -> tuple[Effect, ...]:
        return tuple(effect for effect in self.effects if effect.shown)

    @cached_property
    def _sizes(self) -> tuple[int, ...]:
        return tuple(len(option.settings) for option in self.space.options)

    @cached_property
    def _values(self) -> FloatArray:
        return np.asarray(self._of_units - self._offset)  # equal values become zero, without a rounding error

    @cached_property
    def _of_units(self) -> FloatArray:
        return self.units.values(self.readable.values)

    @property
    def _offset(self) -> float:
        return float(self._of_units[0])

    def _columns(self, terms: Sequence[Term]) -> ModelTerms:
        units = self.units
        return model_terms(Model(self._sizes, tuple(terms)), units.levels, units.blocks, units.order)


_CHANGED = 0.5
"""An interaction is excluded if no effect can change by this fraction of itself between the settings."""
_FEWEST_DF = 3
_FEWEST_SETTINGS = 2
_MOST = 9
"""The most combinations of two other options' settings that are shown."""


def conditional_effects(shown: ShownEffects) -> tuple[ConditionalEffect, ...]:
    """The effects of shown options at the settings of others that they may depend on, the default's settings first.

    They are estimated by least squares on the terms that estimate the effects and on the interaction in question. The
    mean of an effect over the settings of an option that it depends on, each counted as often as valid configurations
    with it stay valid with both settings, is then the effect itself.

    The interaction is the found one with the largest effect, or one of three options that contains it; else the one, if
    not excluded, with the most important option. Effects that the runs cannot estimate are left out.
    """
    found: list[ConditionalEffect] = []
    for name in shown.options:
        effects = (effects_at(shown, name, given) for given in _partners(shown, name))
        found += next(filter(None, effects), ())
    return tuple(found)


def effects_at(shown: ShownEffects, name: str, given: Sequence[str]) -> tuple[ConditionalEffect, ...]:
    """The effects of an option at each combination of settings of given ones.

    Each is the mean change over the valid configurations with these settings that stay valid with both settings of the
    option. Combinations without such a configuration, or where the runs do not determine the change, are left out.
    Empty if the runs cannot estimate the interactions, or exclude one that was not found: the 95 % interval of the
    change of the effect between two settings stays below half of the effect itself, or below the relevant size. Also
    empty for one that was not found if fewer than three degrees of freedom are left: they exclude nothing.
    """
    subsets = (some for size in range(len(given) + 1) for some in combinations(given, size))
    main, *interactions = (shown.term(name, *some) for some in subsets)
    fit = shown.fit(_chosen(shown, main, given, interactions))
    option, others = shown.option(name), [shown.option(other) for other in given]
    places = [shown.space.names.index(other) for other in given]
    ats = product(*map(_default_first, others))
    changes = {at: fit.change(main[0], dict(zip(places, at, strict=True))) for at in ats}
    there = {at: change for at, change in changes.items() if change is not None}
    found = interactions[-1] in shown.interactions
    if not found and (fit.df < _FEWEST_DF or _excluded(fit, [each.weights for each in there.values()], shown.limit)):
        return ()
    relatives = {at: shown.change(change.contrast) for at, change in there.items()}
    return tuple(
        ConditionalEffect(
            option=name,
            before=option.settings[change.before],
            after=option.settings[change.after],
            at=Assignment({other.name: other.settings[place] for other, place in zip(others, at, strict=True)}),
            relative=relatives[at].relative,
            interval=relatives[at].interval,
            found=found,
        )
        for at, change in there.items()
    )


def _partners(shown: ShownEffects, name: str) -> list[tuple[str, ...]]:
    """The options to condition on: those of found interactions, the largest first; then the others by main effect."""
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
    """The terms of the model, without interactions that are aliased with one in question."""
    mains = [main, *map(shown.term, (*given, *shown.options)), *(term for term in shown.judged if len(term) == 1)]
    pairs = [*shown.interactions, *(term for term in shown.judged if len(term) > 1)]
    with_others = dict.fromkeys([*pairs, *([shown.term(*given)] if len(given) > 1 else [])])
    others = [term for term in with_others if not any(shown.aliased(term, own) for own in interactions)]
    return tuple(dict.fromkeys([*mains, *others, *interactions]))


def _excluded(fit: ModelFit, changes: Sequence[FloatArray], limit: float) -> bool:
    """Whether no effect can change from the first setting by both half of the mean effect and the relevant size.

    Both are sizes on the deciding scale, on which an interaction is defined. The effects themselves are reported as
    fractions of different means, so that these differ even if there is no interaction.
    """
    if len(changes) < _FEWEST_SETTINGS:
        return True
    size = abs(fit.combination(np.mean(changes, axis=0)).estimate)
    allowed = max(_CHANGED * size, limit)
    first, *rest = changes
    found = [fit.combination(weights - first) for weights in rest]
    return all(each.margin is not None and abs(each.estimate) + each.margin < allowed for each in found)


def _default_first(option: Option) -> list[int]:
    """The positions of the settings, the default's first."""
    first = option.settings.index(option.default)
    return [first, *(place for place in range(len(option.settings)) if place != first)]


_FEWEST = 2
"""Fewer options leave no others to screen."""


def dominating_option(shown: ShownEffects) -> DominatingOption | None:
    """The option that explains most of the variance, its interactions included; None where none does.

    The fraction is what the option explains alone: if columns are correlated, it explains less given the others.
    """
    shares = {name: _explained(shown, name) for name in shown.options if name in shown.main_effects}
    name = max(shares, key=lambda name: shares[name], default=None)
    if name is None or shares[name] < DOMINATING or len(shown.space.options) < _FEWEST:
        return None
    fixed = tuple(shown.space.fixed.items())
    return DominatingOption(name, min(1.0, shares[name]), shown.option(name).default, fixed)


def _explained(shown: ShownEffects, name: str) -> float:
    own = shown.term(name)
    return shown.explained([own, *(term for term in shown.interactions if set(own) < set(term))])
