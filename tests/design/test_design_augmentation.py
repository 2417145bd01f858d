"""Augmenting the corrected Scr128 of the RES paper, whose important effects are B, J, C, F and I."""

from __future__ import annotations

import numpy as np
import pytest

from hati.core import InputError
from hati.design import aliases, from_generators, letters
from hati.design.optimal.coding import Levels, Model
from hati.design.optimal.optimal import augment, entangled, runs_needed
from hati.design.optimal.search import Replication
from hati.space import Option, Space

NAMES = letters(14)
SIZES = (2,) * 14
SCR_128 = from_generators(NAMES, ["H=ABC", "I=ABDE", "J=ABDF", "K=ACEF", "L=ACDG", "M=ABEFG", "N=BCDEFG"])
LEVELS: Levels = ((SCR_128.matrix + 1) // 2).astype(np.int16)
IMPORTANT = tuple((NAMES.index(letter),) for letter in "BJCFI")
SPACE = Space(tuple(Option(name, (False, True), default=False) for name in NAMES))


def test_complete_de_aliasing_needs_635_runs() -> None:
    terms = entangled(LEVELS, SIZES, IMPORTANT, 14)
    assert len(terms) == 640
    assert runs_needed(LEVELS, SIZES, terms) == 635


def test_entangled_effects_are_the_aliases() -> None:
    terms = entangled(LEVELS, SIZES, IMPORTANT, 4)
    words = {tuple(NAMES.index(f) for f in a.factors) for letter in "BJCFI" for a in aliases(SCR_128, letter, 4)}
    assert set(terms) == words | set(IMPORTANT)
    assert terms[:5] == IMPORTANT


@pytest.mark.parametrize(("runs", "error"), [(32, 0.099), (64, 0.077)])
def test_to_third_order_the_published_standard_errors_are_reached(runs: int, error: float) -> None:
    terms = entangled(LEVELS, SIZES, IMPORTANT, 3)
    assert len(terms) == 10
    assert runs_needed(LEVELS, SIZES, terms) == 5
    found = augment(SPACE, LEVELS, terms, runs, np.random.default_rng(1))
    assert found.fit.largest_standard_error == pytest.approx(error, abs=6e-4)
    assert np.array_equal(found.levels[:128], LEVELS)
    assert len(found.levels) == 128 + runs


def test_too_few_runs_are_an_error_that_names_terms() -> None:
    terms = entangled(LEVELS, SIZES, IMPORTANT, 3)
    with pytest.raises(InputError, match=":"):
        augment(SPACE, LEVELS, terms, 4, np.random.default_rng(1))
    with pytest.raises(InputError, match="too many"):
        entangled(np.zeros((4, 30), dtype=np.int16), (2,) * 30, ((0,),), 5)


def test_the_shift_between_the_runs_made_and_those_added_takes_a_run() -> None:
    terms = entangled(LEVELS, SIZES, IMPORTANT, 3)
    with pytest.raises(InputError):
        augment(SPACE, LEVELS, terms, 5, np.random.default_rng(1))
    found = augment(SPACE, LEVELS, terms, 6, np.random.default_rng(1))
    columns = Model(SIZES, terms).matrix(found.levels)
    later = np.repeat([0.0, 1.0], [128, 6])[:, None]
    assert np.linalg.matrix_rank(np.hstack([columns, later])) == len(terms) + 2


def test_without_replication_no_configuration_is_run_twice() -> None:
    found = augment(
        SPACE, LEVELS, entangled(LEVELS, SIZES, IMPORTANT, 3), 32, np.random.default_rng(1), Replication.NONE
    )
    assert len(np.unique(found.levels, axis=0)) == 160
