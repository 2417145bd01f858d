"""The least-squares fit that effects of any design are told from, beside statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from hati.design import Levels, Model
from hati.stats import ModelTerms, Term
from hati.studies.screening.model import model_terms
from hati.studies.screening.model_fit import ModelFit
from hati.studies.screening.population import ValidPopulation

SIZES = (2, 3, 2, 4)
every = ValidPopulation.unconstrained


def data(runs: int = 57, seed: int = 1) -> tuple[ModelTerms, np.ndarray, Levels]:
    rng = np.random.default_rng(seed)
    levels = np.column_stack([rng.integers(0, size, runs) for size in SIZES]).astype(np.int16)
    blocks = np.arange(runs) % 3
    terms = model_terms(Model.of_order(SIZES, 2), levels, blocks)
    return terms, levels[:, 0] + 0.7 * levels[:, 1] + blocks + rng.standard_normal(runs), levels


CHOSEN: tuple[Term, ...] = ((0,), (1,), (2,), (3,), (0, 2))


def test_means_at_settings_are_those_of_a_balanced_space_however_unbalanced_the_runs() -> None:
    rng = np.random.default_rng(4)
    levels = np.column_stack([rng.choice(4, 40, p=[0.6, 0.2, 0.1, 0.1]), rng.random(40) < 0.8]).astype(np.int16)
    values = 10.0 + 3.0 * (levels[:, 0] == 2) + 8.0 * levels[:, 1]
    terms = model_terms(Model.of_order((4, 2), 1), levels, np.zeros(40, dtype=np.intp))
    exact = ModelFit.of(terms, ((0,), (1,)), every((4, 2)), values)
    assert [mean.estimate for mean in exact.means(0).values()] == pytest.approx([14.0, 14.0, 17.0, 14.0])
    noisy = values + rng.standard_normal(40)
    fit = ModelFit.of(terms, ((0,), (1,)), every((4, 2)), noisy)
    design = sm.OLS(
        noisy, np.column_stack([levels[:, 0, None] == np.arange(4), levels[:, 1] - 0.5]).astype(float)
    ).fit()
    for place, mean in fit.means(0).items():
        low, high = design.conf_int(0.05)[place]
        assert mean.estimate == pytest.approx(design.params[place])
        assert mean.margin == pytest.approx((high - low) / 2.0)


def test_two_settings_have_the_t_test_and_interval_of_statsmodels() -> None:
    terms, values, _ = data()
    fit = ModelFit.of(terms, CHOSEN, every(SIZES), values)
    expected = sm.OLS(values, fit.columns).fit()
    for term in ((0,), (2,), (0, 2)):
        place = fit.places[term].start
        found = fit.effect(term)
        assert found.estimate == pytest.approx(2.0 * expected.params[place])
        assert found.standard_error == pytest.approx(2.0 * expected.bse[place])
        low, high = 2.0 * expected.conf_int(0.05)[place]
        assert found.margin == pytest.approx((high - low) / 2.0)
    assert fit.df == expected.df_resid
    assert fit.variance == pytest.approx(expected.scale)
    assert fit.r_squared == pytest.approx(expected.rsquared)


def test_settings_have_the_contrasts_of_statsmodels_and_their_extremes_scheffe_s_interval() -> None:
    terms, values, _ = data()
    fit = ModelFit.of(terms, CHOSEN, every(SIZES), values)
    expected = sm.OLS(values, fit.columns).fit()
    weights = np.zeros((4, fit.columns.shape[1]))
    weights[:, fit.places[3,]] = Model((4,), ((0,),)).matrix(np.arange(4, dtype=np.int16)[:, None])[:, 1:]
    for found, row in zip(fit.settings(3).values(), weights, strict=True):
        other = expected.t_test(row)
        assert found.estimate == pytest.approx(other.effect.item())
        assert found.standard_error == pytest.approx(other.sd.item())
        assert found.margin == pytest.approx(float(np.ptp(other.conf_int())) / 2.0)
    assert sum(found.estimate for found in fit.settings(3).values()) == pytest.approx(0.0, abs=1e-12)
    means = weights @ expected.params
    other = expected.t_test(weights[means.argmax()] - weights[means.argmin()])
    found = fit.effect((3,))
    assert found.estimate == pytest.approx(np.ptp(means))
    assert found.standard_error == pytest.approx(other.sd.item())
    assert found.margin == pytest.approx(np.sqrt(3.0 * stats.f.ppf(0.95, 3, fit.df)) * other.sd.item())


def test_an_interaction_of_two_settings_each_is_half_the_difference_of_effects() -> None:
    levels = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 2, dtype=np.int16)
    values = np.array([1.0, 2.0, 4.0, 9.0] * 2)
    terms = model_terms(Model.of_order((2, 2), 2), levels, np.zeros(8, dtype=np.intp))
    fit = ModelFit.of(terms, list(terms), every((2, 2)), values)
    assert fit.effect((0, 1)).estimate == pytest.approx(((9 - 4) - (2 - 1)) / 2)
    assert fit.effect((0,)).estimate == pytest.approx(((9 - 2) + (4 - 1)) / 2)
    assert fit.effect((0,)).standard_error == pytest.approx(0.0, abs=1e-12)


def test_the_effect_of_a_nested_option_is_that_where_it_is_active() -> None:
    levels = np.array([[0, -1], [0, -1], [1, 0], [1, 0], [1, 1], [1, 1]], dtype=np.int16)
    values = np.array([1.0, 1.2, 4.0, 4.2, 9.0, 9.2])
    terms = model_terms(Model.of_order((2, 2), 1), levels, np.zeros(6, dtype=np.intp))
    fit = ModelFit.of(terms, list(terms), every((2, 2)), values)
    assert fit.effect((1,)).estimate == pytest.approx(5.0)
    assert fit.effect((0,)).estimate == pytest.approx((4.1 + 9.1) / 2 - 1.1)


def test_what_the_runs_do_not_tell_has_no_error_and_the_rest_has() -> None:
    terms, values, levels = data()
    kept = levels[:, 3] != 3
    told = ModelTerms(terms.always[kept], {term: columns[kept] for term, columns in terms.columns.items()})
    fit = ModelFit.of(told, CHOSEN, every(SIZES), values[kept])
    assert list(fit.determined((3,))) == list(fit.settings(3)) == list(fit.means(3)) == [0, 1, 2]
    assert fit.effect((0,)).standard_error is not None
    assert list(fit.determined((0,))) == [0, 1]
    assert fit.df == int(kept.sum()) - (3 + 1 + 2 + 1 + 2 + 1)
    rest = Model.of_order((2, 3, 2, 3), 2)
    there = model_terms(rest, levels[kept], np.arange(57)[kept] % 3)
    without = ModelFit.of(there, CHOSEN, every(rest.sizes), values[kept])
    for found, expected in (
        (fit.effect((3,)), without.effect((3,))),
        *zip(fit.settings(3).values(), without.settings(3).values(), strict=True),
        *zip(fit.means(3).values(), without.means(3).values(), strict=True),
    ):
        assert found.estimate == pytest.approx(expected.estimate)
        assert found.standard_error == pytest.approx(expected.standard_error)
        assert found.margin == pytest.approx(expected.margin)
    assert fit.means(1)[0].margin is None  # over settings of which one was never run
    assert fit.means(1)[0].estimate == pytest.approx(without.means(1)[0].estimate, abs=0.5)


def test_without_residuals_there_is_an_estimate_alone() -> None:
    levels = np.array([[0], [1]], dtype=np.int16)
    terms = model_terms(Model((2,), ((0,),)), levels, np.zeros(2, dtype=np.intp))
    found = ModelFit.of(terms, [(0,)], every((2,)), np.array([1.0, 4.0])).effect((0,))
    assert (found.estimate, found.standard_error, found.margin) == (pytest.approx(3.0), None, None)


def test_beside_an_interaction_that_lacks_combinations_an_option_is_told_without_it() -> None:
    terms, values, levels = data()
    kept = ~((levels[:, 0] == 1) & (levels[:, 1] == 2))
    there = ModelTerms(terms.always[kept], {term: columns[kept] for term, columns in terms.columns.items()})
    mains: list[Term] = [(0,), (1,), (2,), (3,)]
    whole, plain = (ModelFit.of(there, chosen, every(SIZES), values[kept]) for chosen in ([*mains, (0, 1)], mains))
    for option in (0, 1):
        assert whole.effect((option,)) == plain.effect((option,))
        assert whole.settings(option) == plain.settings(option)
    assert whole.effect((2,)) != plain.effect((2,))
    assert whole.effect((0, 1)).standard_error is None


def test_of_options_that_are_tied_in_part_the_settings_are_told_that_can_be() -> None:
    """Two options that decide each other in part: what lies between them is told of neither."""
    rng = np.random.default_rng(3)
    levels = np.array([(0, 0), (1, 1), (1, 2), (2, 1), (2, 2)] * 12, dtype=np.int16)
    values = 1e3 + 0.1 * (levels[:, 0] == 2) - 1.0 * (levels[:, 0] == 0) + 0.1 * rng.standard_normal(60)
    terms = model_terms(Model.of_order((3, 3), 1), levels, np.zeros(60, dtype=np.intp))
    fit = ModelFit.of(terms, list(terms), every((3, 3)), values)
    assert list(fit.determined((0,))) == list(fit.determined((1,))) == [1, 2]
    rest = levels[:, 0] != 0
    expected = values[rest & (levels[:, 0] == 2)].mean() - values[rest & (levels[:, 0] == 1)].mean()
    assert fit.effect((0,)).estimate == pytest.approx(expected)
    assert [c.estimate for c in fit.settings(0).values()] == pytest.approx([-expected / 2, expected / 2])


def test_a_size_that_is_not_told_does_not_depend_on_the_mean() -> None:
    levels = np.array([(i, j) for i, j in np.ndindex(3, 3) if (i, j) != (2, 2)] * 4, dtype=np.int16)
    values = np.random.default_rng(3).standard_normal(32) + 2.0 * levels[:, 0] * levels[:, 1]
    terms = model_terms(Model.of_order((3, 3), 2), levels, np.zeros(32, dtype=np.intp))
    fits = [ModelFit.of(terms, list(terms), every((3, 3)), mean + values) for mean in (0.0, 1e4)]
    found = [fit.effect((0, 1)) for fit in fits]
    assert [effect.standard_error for effect in found] == [None, None]
    mains = np.hstack([terms.always, terms.columns[0,], terms.columns[1,]])
    left = [np.linalg.lstsq(columns, values)[1] for columns in (mains, np.eye(8)[np.arange(32) % 8])]
    for effect in found:
        assert effect.estimate == pytest.approx(2.0 * np.sqrt((left[0] - left[1]) / 32).item(), rel=1e-6)


def test_the_size_of_an_orthogonal_pair_is_its_effect() -> None:
    levels = np.array(list(np.ndindex(2, 2, 2)) * 2, dtype=np.int16)
    values = 3.0 + levels @ [1.0, 0.2, 0.1] + 0.3 * (levels[:, 0] ^ levels[:, 1])
    terms = model_terms(Model.of_order((2, 2, 2), 2), levels, np.zeros(16, dtype=np.intp))
    fit = ModelFit.of(terms, list(terms), every((2, 2, 2)), values)
    assert all(fit._spread(term) == pytest.approx(abs(fit.effect(term).estimate)) for term in terms)
