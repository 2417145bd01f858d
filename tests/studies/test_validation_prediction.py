"""The check of predictions allows for the model having been chosen by the runs that it was fitted to.

150 simulated studies of ten two-level options, of which four act: 36 runs, 8 later ones of random configurations after
a shift. Threshold: the predictions are doubted in at most 14, the 99 % binomial bound of 5 %; the F test alone doubts
more, so that these studies could have told. An interaction that the model lacks is seen in its predictions where
repetitions tell the noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
from scipy.stats import binom, f

from hati.core import FloatArray, generator
from hati.design import Levels, Model, from_levels
from hati.space import Option, Space
from hati.stats import ModelTerms, Term, forward_selection
from hati.studies.screening import EffectScale, choose_optimal
from hati.studies.validation import Screened, screened_runs
from hati.studies.validation.conclusion import PredictionCheck
from hati.studies.validation.screened import REPETITIONS, Runs, check_predictions

SIZES = (2,) * 10
PLACE = Space(tuple(Option(name, (False, True), default=False) for name in "abcdefghij"))
MAINS = Model.of_order(SIZES, 1)
PAIRS = Model.of_order(SIZES, 2)
SHIFT = 3.0


@cache
def design() -> Levels:
    return choose_optimal(PLACE, 36, np.random.default_rng(1)).levels


def truth(rows: Levels, pair: float) -> FloatArray:
    signs = 2.0 * rows - 1.0
    return np.asarray(signs[:, :4].sum(axis=1) * 5.0 + pair * signs[:, 8] * signs[:, 9])


def columns(terms: Sequence[Term], rows: Levels) -> FloatArray:
    return Model(SIZES, tuple(terms)).matrix(rows)


def selected(rows: Levels, values: FloatArray, lacking: Term | None = None) -> tuple[Term, ...]:
    offered = {term: columns([term], rows)[:, 1:] for term in PAIRS.terms if term != lacking}
    return forward_selection(ModelTerms(np.ones((len(rows), 1)), offered), values)


def checked(pair: float, repetitions: int, rng: np.random.Generator, lacking: Term | None = None) -> PredictionCheck:
    before, after = np.tile(design(), (repetitions, 1)), rng.integers(0, 2, (8, 10)).astype(np.int16)
    values = truth(before, pair) + rng.standard_normal(len(before))
    blocks = np.repeat(np.arange(repetitions), 36)
    runs = screened_runs(from_levels(before, PLACE), 100.0 + values, blocks, PLACE, EffectScale.RAW)
    screened = Screened("s", runs, EffectScale.RAW, (), (), relevant=0.1, typical=100.0)

    def chosen(simulated: FloatArray) -> tuple[FloatArray, FloatArray]:
        terms = selected(before, simulated, lacking)
        return columns(terms, before), columns(terms, after)

    judging = columns(MAINS.terms, before), columns(MAINS.terms, after)
    later = 100.0 + SHIFT + truth(after, pair) + rng.standard_normal(8)
    followed = Runs.together(after, later, np.zeros(8, dtype=np.intp))
    return check_predictions(screened, chosen(runs.values), judging, followed, chosen, rng)


@pytest.mark.statistical
@pytest.mark.acceptance
def test_predictions_of_a_chosen_model_are_not_doubted_for_being_chosen() -> None:
    found = [checked(0.0, 1, generator(2026, "chosen", str(study))) for study in range(150)]
    naive = sum(f.sf(one.ratio, *one.df) <= 0.05 for one in found if one.df)
    most = binom.ppf(0.99, 150, 0.05)
    assert naive > most
    assert sum(one.p_value is not None and one.p_value <= 0.05 for one in found) <= most


@pytest.mark.statistical
@pytest.mark.acceptance
def test_what_the_model_lacks_is_seen_in_its_predictions_where_repetitions_tell_the_noise() -> None:
    found = [checked(5.0, 2, generator(2026, "lacks", str(study)), lacking=(8, 9)) for study in range(3)]
    assert all(one.noise == REPETITIONS for one in found)
    assert sum(one.p_value is not None and one.p_value <= 0.05 for one in found) >= 2
