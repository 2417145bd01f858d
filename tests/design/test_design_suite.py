"""Screening suites: strata are complete, exactly weighted, and stand for the whole space."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hati.core import Configuration, InputError
from hati.design.coding import levels
from hati.design.populations import LISTED, population
from hati.design.suite import Suite, centred_columns, leading_options, runs_for, screening_suite
from hati.space import Option, Space, count, enumerate_configurations, parse_formula
from spaces import spaces


def two_level(number: int, *constraints: str) -> Space:
    options = tuple(Option(f"o{i}", (False, True), default=False) for i in range(number))
    return Space(options, tuple(map(parse_formula, constraints)))


def nested() -> Space:
    """An option with three settings, one below it, and a constraint: 24 configurations, unequal strata."""
    return Space(
        (
            Option("kind", ("a", "b", "c"), "a"),
            Option("depth", (1, 2, 3), 1, active_if=parse_formula("kind == 'b'")),
            Option("x", (False, True), default=False),
            Option("y", (False, True), default=False),
            Option("z", (False, True), default=False),
        ),
        (parse_formula("kind != 'c' or not (x and y)"),),
    )


def part(configuration: Configuration, options: tuple[str, ...]) -> Configuration:
    return Configuration({name: configuration[name] for name in options if name in configuration})


@given(spaces(), st.data())
@settings(max_examples=120)
def test_strata_are_all_valid_combinations_weighted_by_their_completions(space: Space, data: st.DataObject) -> None:
    chosen = tuple(data.draw(st.lists(st.sampled_from(space.names or ("",)), unique=True))) if space.names else ()
    everything = list(enumerate_configurations(space))
    if not everything:
        with pytest.raises(InputError, match="no valid configuration"):
            population(space, chosen)
        return
    expected = Counter(part(configuration, chosen) for configuration in everything)
    runs = data.draw(st.integers(len(expected), len(everything)))
    suite = screening_suite(space, chosen, runs, np.random.default_rng(1))
    assert {stratum.setting: stratum.weight for stratum in suite.strata} == expected
    assert sum(stratum.weight for stratum in suite.strata) == count(space)
    assert len(set(suite.configurations)) == len(suite.configurations) == runs
    for stratum in suite.strata:
        assert all(space.valid(c) and part(c, chosen) == stratum.setting for c in stratum.configurations)
    if sum(min(2, weight) for weight in expected.values()) <= runs:
        assert all(len(stratum.configurations) >= min(2, stratum.weight) for stratum in suite.strata)
    assert suite.weights.sum() == pytest.approx(1.0)


def test_large_spaces_are_counted_and_not_listed() -> None:
    space = two_level(40, "o0 => o1", "o2 or o3")
    assert count(space) > LISTED
    suite = screening_suite(space, ("o0", "o1"), 24, np.random.default_rng(1))
    weights = {tuple(stratum.setting.values()): stratum.weight for stratum in suite.strata}
    assert weights == dict.fromkeys(((False, False), (False, True), (True, True)), 3 * 2**36)
    assert all(space.valid(configuration) for configuration in suite.configurations)
    assert [len(stratum.configurations) for stratum in suite.strata] == [8, 8, 8]


def test_a_large_space_with_a_small_stratum_gives_all_of_it() -> None:
    space = two_level(17, "o0 => (" + " and ".join(f"o{i}" for i in range(1, 16)) + ")")
    suite = screening_suite(space, ("o0",), 10, np.random.default_rng(1))
    by_setting = {stratum.setting["o0"]: stratum for stratum in suite.strata}
    assert (by_setting[True].weight, len(by_setting[True].configurations)) == (2, 2)
    assert by_setting[False].weight == 2**16


def test_inactive_is_one_more_setting() -> None:
    suite = screening_suite(nested(), ("depth",), 12, np.random.default_rng(1))
    assert {tuple(stratum.setting.items()): stratum.weight for stratum in suite.strata} == {
        (): 8 + 6,
        (("depth", 1),): 8,
        (("depth", 2),): 8,
        (("depth", 3),): 8,
    }


@pytest.mark.parametrize("seed", range(4))
def test_settings_and_pairs_are_balanced_over_the_suite(seed: int) -> None:
    space = two_level(14)
    suite = screening_suite(space, ("o3", "o7"), 32, np.random.default_rng(seed), ("o3", "o7", "o1"))
    signs = 2.0 * levels(suite.configurations, space) - 1.0
    assert np.abs(signs.mean(axis=0)).max() <= 1 / 8
    pairs = [float(signs[:, a] @ signs[:, b]) / 32 for a, b in combinations(range(14), 2)]
    assert np.sqrt(np.mean(np.square(pairs))) < 0.6 / np.sqrt(32)  # of a random sample: 1 / sqrt(32)


def test_settings_are_as_frequent_as_in_a_constrained_space() -> None:
    space = nested()
    whole = levels(list(enumerate_configurations(space)), space)
    suite = screening_suite(space, ("x",), 16, np.random.default_rng(2))
    mine = levels(suite.configurations, space)
    for option in range(len(space.options)):
        for setting in np.unique(whole[:, option]):
            share = float(suite.weights @ (mine[:, option] == setting))
            assert share == pytest.approx(float(np.mean(whole[:, option] == setting)), abs=0.08)


def response(space: Space, rng: np.random.Generator) -> dict[Configuration, float]:
    """Main effects, pairs and noise of each configuration's own."""
    everything = list(enumerate_configurations(space))
    coded = levels(everything, space).astype(float)
    pulls, pairs = rng.normal(size=coded.shape[1]), rng.normal(size=(coded.shape[1],) * 2)
    values = coded @ pulls + np.einsum("ij,jk,ik->i", coded, pairs, coded) + rng.normal(size=len(coded))
    return dict(zip(everything, values.tolist(), strict=True))


@pytest.mark.parametrize(
    ("space", "options", "runs"),
    [(two_level(7), ("o0", "o4"), 16), (nested(), ("kind",), 12), (two_level(8, "o0 => o1", "o2 or o5"), ("o2",), 12)],
    ids=["free", "nested", "constrained"],
)
def test_the_weighted_mean_is_unbiased(space: Space, options: tuple[str, ...], runs: int) -> None:
    """Bias below .15 of a random sample's standard error, which 400 suites see to within .05 (one sigma) at most."""
    known = response(space, np.random.default_rng(3))
    truth = np.array(list(known.values()))
    estimates = [
        float(suite.weights @ [known[configuration] for configuration in suite.configurations])
        for suite in (screening_suite(space, options, runs, np.random.default_rng(seed)) for seed in range(400))
    ]
    error = truth.std() / np.sqrt(runs)
    assert abs(np.mean(estimates) - truth.mean()) < 0.15 * error
    assert np.std(estimates) < 0.8 * error


def shared_settings(suite: Suite, option: str) -> int:
    """The number of strata whose configurations have one setting of an option."""
    return sum(len({c[option] for c in stratum.configurations}) == 1 for stratum in suite.strata)


@pytest.mark.parametrize("seed", range(6))
def test_the_configurations_of_a_stratum_differ_in_the_options_to_spread(seed: int) -> None:
    space, options = two_level(8), ("o0", "o1", "o2")
    suite = screening_suite(space, options, 16, np.random.default_rng(seed), options, ("o3", "o4", "o5"))
    assert [shared_settings(suite, name) for name in ("o3", "o4", "o5")] == [0, 0, 0]
    pairs = Counter((c["o3"], c["o4"]) for c in suite.configurations)
    assert len(pairs) == 4


@pytest.mark.parametrize("seed", range(6))
def test_a_rarer_setting_is_in_its_share_of_the_strata(seed: int) -> None:
    """A third of each stratum's completions has o3: four of six pairs have it once, and two not at all."""
    space = Space(
        (Option("kind", ("a", "b", "c"), "a"), *two_level(7, "o3 => o4").options), two_level(7, "o3 => o4").constraints
    )
    suite = screening_suite(space, ("kind", "o0"), 12, np.random.default_rng(seed), (), ("o3",))
    assert (shared_settings(suite, "o3"), sum(bool(c["o3"]) for c in suite.configurations)) == (2, 4)


def test_spread_suites_are_unbiased() -> None:
    """Bias of the mean, and of the mean of each stratum, below four standard errors of 400 suites' mean."""
    space, options = two_level(7, "o3 => o4"), ("o0", "o1")
    known = {c: 9.0 * bool(c["o3"]) + bool(c["o5"]) + 2.0 * bool(c["o0"]) for c in enumerate_configurations(space)}
    truth = {
        s.setting: np.mean([known[c] for c in known if part(c, options) == s.setting])
        for s in screening_suite(space, options, 8, np.random.default_rng(0)).strata
    }
    errors = np.array(
        [
            [np.mean([known[c] for c in stratum.configurations]) - truth[stratum.setting] for stratum in suite.strata]
            for suite in (
                screening_suite(space, options, 8, np.random.default_rng(seed), (), ("o3",)) for seed in range(400)
            )
        ]
    )
    assert np.all(np.abs(errors.mean(axis=0)) < 4.0 * errors.std(axis=0) / 20.0)
    assert abs(errors.mean()) < 0.15  # 9 x (2 or 3 of 8 - 1 / 3) has a deviation of .53: of 400, .027


def test_options_to_spread_of_a_large_space_are_counted() -> None:
    space = two_level(40, "o0 => o1", "o2 or o3")
    suite = screening_suite(space, ("o0", "o1"), 6, np.random.default_rng(1), (), ("o5", "o6"))
    assert (shared_settings(suite, "o5"), shared_settings(suite, "o6")) == (0, 0)
    assert [len(stratum.configurations) for stratum in suite.strata] == [2, 2, 2]


def test_every_configuration_of_a_free_space_is_as_likely() -> None:
    space = two_level(4)
    made = Counter(
        configuration
        for seed in range(600)
        for configuration in screening_suite(space, ("o1",), 4, np.random.default_rng(seed)).configurations
    )
    expected = 600 * 4 / 16
    chi_square = sum((made[c] - expected) ** 2 / expected for c in enumerate_configurations(space))
    assert chi_square < 37.7  # 15 degrees of freedom, p = .001; sampling without replacement varies less


def test_the_same_seed_makes_the_same_suite() -> None:
    def made(seed: int) -> Suite:
        return screening_suite(nested(), ("kind",), 12, np.random.default_rng(seed))

    assert made(1) == made(1)
    assert made(1).configurations != made(2).configurations


def test_leading_options_leave_two_runs_for_each_stratum() -> None:
    space = nested()
    ranking = ("kind", "depth", "x", "y")
    assert leading_options(space, ranking, 10) == ("kind", "depth")  # 5 strata
    assert leading_options(space, ranking, 20) == ("kind", "depth", "x")
    assert leading_options(space, ("kind", "x", "depth"), 8) == ("kind",)
    assert leading_options(space, ("depth", "x"), 7) == ("x",)  # depth would need 8
    assert leading_options(space, (), 8) == ()


def test_the_runs_that_strata_of_some_options_need_are_those_with_which_they_lead() -> None:
    space = Space(tuple(Option(name, (1, 2, 3), 1) for name in "abcde"))
    assert runs_for(space, "abc") == 54
    assert leading_options(space, "abc", 54) == ("a", "b", "c")
    assert leading_options(space, "abc", 53) == ("a", "b")
    assert runs_for(space, "abcde") == 243  # each stratum is one configuration
    large = Space(tuple(Option(f"o{i}", (1, 2), 1) for i in range(40)))
    assert runs_for(large, large.names) is None


def test_too_few_runs_and_unknown_options_are_refused() -> None:
    with pytest.raises(InputError, match="cannot cover the 4 valid combinations of o0, o1"):
        screening_suite(two_level(4), ("o0", "o1"), 3, np.random.default_rng(1))
    with pytest.raises(InputError, match="unknown option"):
        screening_suite(two_level(4), ("p",), 3, np.random.default_rng(1))
    with pytest.raises(InputError, match="named twice"):
        screening_suite(two_level(4), ("o1", "o1"), 3, np.random.default_rng(1))


def test_more_runs_than_configurations_are_all_of_them() -> None:
    suite = screening_suite(two_level(3), ("o0",), 100, np.random.default_rng(1))
    assert set(suite.configurations) == set(enumerate_configurations(two_level(3)))


@pytest.mark.parametrize("space", [nested(), two_level(5), two_level(16, "o0 => o1")], ids=["nested", "free", "large"])
def test_columns_of_the_other_options_are_centred_at_the_space(space: Space) -> None:
    suite = screening_suite(space, (space.names[2],), 16, np.random.default_rng(1))
    columns = centred_columns(suite, space, np.random.default_rng(2))
    others = [option for option in space.options if option.name != space.names[2]]
    assert columns.shape == (16, sum(len(option.settings) - 1 for option in others))
    if count(space) <= LISTED:
        whole = screening_suite(space, (), count(space), np.random.default_rng(1))
        all_columns = centred_columns(whole, space, np.random.default_rng(2))
        assert np.abs(all_columns.mean(axis=0)).max() < 1e-12
    assert np.abs(suite.weights @ columns).max() < 0.3


def test_a_suite_of_all_options_leaves_no_columns() -> None:
    space = two_level(2)
    suite = screening_suite(space, space.names, 4, np.random.default_rng(1))
    assert centred_columns(suite, space, np.random.default_rng(2)).shape == (4, 0)
