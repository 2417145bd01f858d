"""Models of single effects: against full enumeration, and the window's promises."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from box_meyer import block_columns

from hati.core import InputError
from hati.design import by_runs
from hati.design.coding import Model
from hati.stats.probable_models import BOUND, HEREDITY, HeredityPrior, likely_models, log_marginals, moments


def fraction(options: int, runs: int) -> np.ndarray[tuple[int, int]]:
    return ((by_runs([f"x{i}" for i in range(options)], runs).matrix + 1) // 2).astype(np.int16)


def test_the_window_holds_what_enumeration_finds() -> None:
    """Models of four options in a half fraction made twice, weighed one by one."""
    model = Model.of_order((2, 2, 2, 2), 2)
    columns = model.matrix(np.concatenate([fraction(4, 8)] * 2))[:, 1:]
    rng = np.random.default_rng(3)
    values = 2.0 * columns[:, 0] - 1.5 * columns[:, 1] + 1.5 * columns[:, 4] + 0.3 * rng.standard_normal(16)
    found = moments(columns, values)
    prior = HeredityPrior(model.terms, 0.05, HEREDITY)
    scores = {}
    for size in range(9):
        for chosen in combinations(range(10), size):
            logarithm, _ = log_marginals(found, np.array([chosen], dtype=np.intp).reshape(1, -1), 2.0)
            scores[chosen] = float(logarithm[0]) + prior.logarithm(np.isin(np.arange(10), chosen))
    top = max(scores.values())
    near = {m: s for m, s in scores.items() if s >= top - np.log(BOUND)}
    kept = {m for m in near if not any(scores[tuple(e for e in m if e != d)] > near[m] for d in m)}
    told = likely_models(found, model.terms, model.owners[1:], gamma=2.0, activity=0.05)
    assert set(told.models) == kept
    assert told.log_odds == pytest.approx([scores[m] - top for m in told.models])
    assert len(kept) > 1  # aliased pairs cannot be told apart


def test_additions_of_the_prior_are_what_it_says_of_the_larger_set() -> None:
    terms = Model.of_order((2,) * 5, 3).terms
    prior = HeredityPrior(terms, 0.1, 0.3)
    active = np.isin(np.arange(len(terms)), [0, 3, 7, 20])
    for place, logarithm in enumerate(prior.additions(active)):
        assert logarithm == pytest.approx(prior.logarithm(active | (np.arange(len(terms)) == place)))


def test_heredity_alone_gives_up_no_interaction_of_two() -> None:
    assert HEREDITY**-2 < BOUND


def test_options_with_three_settings_enter_with_all_their_columns() -> None:
    rng = np.random.default_rng(2)
    levels = np.array([[a, b, c] for a in range(3) for b in range(3) for c in range(2)] * 2, dtype=np.int16)
    model = Model.of_order((3, 3, 2), 2)
    columns = model.matrix(levels)[:, 1:]
    values = np.where(levels[:, 0] == 1, 4.0, 0.0) + 2.0 * levels[:, 2] + 0.5 * rng.standard_normal(len(levels))
    told = likely_models(moments(columns, values), model.terms, model.owners[1:])
    assert {model.terms[i] for i in told.models[0]} == {(0,), (2,)}


def test_a_shift_between_blocks_is_no_effect() -> None:
    model = Model.of_order((2,) * 6, 2)
    levels = np.concatenate([fraction(6, 16), np.array([[1, 0, 0, 0, 0, 0]] * 6, dtype=np.int16)])
    blocks = np.repeat([0, 1], [16, 6])
    values = 3.0 * levels[:, 1] + 8.0 * blocks + 0.3 * np.random.default_rng(1).standard_normal(22)
    columns = model.matrix(levels)[:, 1:]
    told = likely_models(moments(columns, values, block_columns(blocks)), model.terms, model.owners[1:])
    assert [[model.terms[i] for i in m] for m in told.models] == [[(1,)]]
    blind = likely_models(moments(columns, values), model.terms, model.owners[1:])
    assert [[model.terms[i] for i in m] for m in blind.models] != [[(1,)]]


@pytest.mark.parametrize("wrong", [{"bound": 1.0}, {"activity": 0.0}, {"heredity": 2.0}])
def test_what_cannot_be_asked_is_an_error(wrong: dict[str, float]) -> None:
    model = Model.of_order((2, 2), 1)
    with pytest.raises(InputError):
        likely_models(moments(np.eye(4)[:, :2], np.arange(4.0)), model.terms, model.owners[1:], **wrong)
