"""The effects that a screening by a model looks for, and the analysis of runs by it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, Task, generator
from hati.design import Levels, Model, candidates, levels
from hati.design.identified import Ties, ties
from hati.stats import Index, ModelTerms, Term, log_variances
from hati.studies.screening.conclusion import Options, Scale
from hati.studies.screening.flip_stages import STAGE as FLIPS
from hati.studies.screening.flip_stages import flip_stage, is_of_flip
from hati.studies.screening.measured import Measured
from hati.studies.screening.model_analysis import ModelAnalysis, analyse_model, analyse_model_variance, model_terms
from hati.studies.screening.model_units import model_units
from hati.studies.screening.reruns import run_key
from hati.studies.screening.scale import choose_scale_of_model
from hati.studies.screening.suspects import suspected

if TYPE_CHECKING:
    from hati.space import Space

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

    def analysis(self, found: Measured) -> ModelAnalysis:
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

    def variance_analysis(self, found: Measured, scale: Scale) -> tuple[str, ModelAnalysis] | None:
        """Of the variance within runs, and of what it is; None where runs have single observations."""
        logs = scale is Scale.LOG and all(np.min(sample) > 0.0 for sample in found.samples)
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

    def suspected(self, found: Measured) -> tuple[Index, FloatArray]:
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

    def _levels(self, found: Measured) -> Levels:
        return levels([run.task.configuration for run in found.runs], self.space)


def _machines_and_flips(found: Measured) -> Index:
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
