"""Which optimal design a budget buys on a space that no fraction suits."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from hati.core import InputError, replace
from hati.design import Levels, OptimalDesign, exchanges, from_levels, levels, optimal_designs
from hati.space import Option, Space, parse_formula, sample
from hati.studies.screening import (
    Choice,
    ModelChoice,
    choose_design,
    choose_followed,
    choose_optimal,
    expected_detectable,
    expected_detectable_deviations,
    isolated_of,
    metric_of,
    partial_choice,
    read_choice,
)
from hati.studies.screening.planning import models

MIXED = Space(
    (
        Option("a", (False, True), default=False),
        Option("b", (1, 2, 3), default=1),
        Option("c", ("x", "y", "z", "w"), default="x"),
        Option("d", (False, True), default=False, active_if=parse_formula("a")),
    ),
    (parse_formula("b != 3 or c != 'w'"),),
)
"""Eight parameters of main effects; 33 valid configurations."""


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def two_level(count: int) -> Space:
    return Space(tuple(Option(f"x{i}", (False, True), default=False) for i in range(count)))


@pytest.mark.parametrize(
    ("runs", "most", "configurations", "repetitions"),
    [
        (11, math.inf, 11, 1),
        (31, math.inf, 31, 1),
        (40, math.inf, 33, 1),  # there are no more
        (64, math.inf, 33, 1),  # and 31 of them once more
        (96, math.inf, 33, 2),  # 30 runs do not fit all of them once more
        (330, math.inf, 33, 10),
        (330, 1, 33, 1),
    ],
)
def test_the_choice(runs: int, most: float, configurations: int, repetitions: int) -> None:
    choice = choose_optimal(MIXED, runs, rng(), most)
    assert (choice.configurations, choice.repetitions) == (configurations, repetitions)
    assert choice.runs <= runs
    assert choice.parameters == 8
    found = from_levels(choice.levels, MIXED)
    assert len(set(found)) == configurations
    assert all(MIXED.valid(configuration) for configuration in found)


@pytest.mark.parametrize("runs", [16, 17, 20, 23, 24, 31])
def test_more_than_twice_all_configurations_are_all_of_them_repeated(runs: int) -> None:
    """Before, 20 runs of 8 configurations were 3 times 6, and too few to tell 4 parameters."""
    space = Space((*two_level(1).options, Option("size", (1, 2, 3, 4), default=1)))
    choice = choose_optimal(space, runs, rng())
    assert (choice.configurations, choice.repetitions, choice.replicated) == (8, runs // 8, 0)


def test_a_choice_survives_its_storage() -> None:
    choice = choose_optimal(MIXED, 20, rng())
    assert read_choice(choice.to_json()) == choice == ModelChoice.from_json(choice.to_json())
    fraction = choose_design(two_level(4), 16, rng())
    assert isinstance(fraction, Choice)
    assert read_choice(fraction.to_json()) == fraction
    for text in ("", "[]", "{}", '{"rows": 3}'):
        with pytest.raises(InputError, match="no stored choice"):
            read_choice(text)
    for text in ("broken", "[]", "3"):
        for read in (metric_of, isolated_of):
            with pytest.raises(InputError, match="no stored choice"):
                read(text)
    with pytest.raises(InputError, match="at least one configuration"):
        ModelChoice((), 1, 2, 3, 1.0, 1.0, "")


def test_too_small_a_budget_says_what_is_enough() -> None:
    with pytest.raises(InputError, match="too few to screen 4 options") as caught:
        choose_optimal(MIXED, 10, rng())
    assert caught.value.fix == "give at least 11, better 32"


def test_constraints_that_leave_nothing_are_an_error_that_says_so() -> None:
    nothing = Space(MIXED.options, (parse_formula("a"), parse_formula("not a")))
    with pytest.raises(InputError, match="no valid configuration"):
        choose_design(nothing, 40, rng())
    with pytest.raises(InputError, match="no option"):
        choose_design(Space(()), 40, rng())
    with pytest.raises(InputError, match="no option"):
        choose_design(Space((Option("a", (1,), default=1),)), 40, rng())


@pytest.mark.parametrize(
    ("space", "runs", "most", "kind"),
    [
        (two_level(5), 64, math.inf, "full factorial"),
        (two_level(7), 128, 1, "full factorial"),
        (two_level(7), 64, math.inf, "Bayesian D-optimal"),
        (two_level(9), 44, 1, "Bayesian D-optimal"),
        (two_level(16), 96, math.inf, "Bayesian D-optimal"),
        (two_level(14), 128, 1, "Bayesian D-optimal"),
        (two_level(40), 200, 1, "balanced random"),
        (MIXED, 64, math.inf, "Bayesian D-optimal"),
    ],
)
def test_the_kind_of_design(space: Space, runs: int, most: float, kind: str) -> None:
    choice = choose_design(space, runs, rng(), most)
    assert kind == (choice.kind if isinstance(choice, ModelChoice) else choice.design(space.names).kind)
    assert choice.runs <= runs


def test_configurations_come_before_repetitions_and_a_few_are_replicated() -> None:
    choice = choose_design(two_level(16), 96, rng())
    assert isinstance(choice, ModelChoice)
    assert (choice.configurations, choice.repetitions, choice.replicated, choice.runs) == (92, 1, 4, 96)
    table = choose_design(two_level(16), 96, rng(), 1)
    assert isinstance(table, ModelChoice)
    assert (table.configurations, table.replicated) == (96, 0)
    assert len(np.unique(table.levels, axis=0)) == 96
    signs = 2.0 * table.levels - 1.0
    assert np.abs(signs.sum(axis=0)).max() <= 8
    correlations = np.abs(np.corrcoef(signs.T) - np.eye(16))
    assert correlations.max() < 0.3
    triples = [abs(float(signs[:, [a, b, c, d]].prod(axis=1).mean())) for a, b, c, d in combinations(range(16), 4)]
    assert max(triples) < 0.6  # no main effect is aliased with an interaction of three options


def test_more_runs_detect_less_and_noise_detects_more() -> None:
    said = [expected_detectable_deviations(choose_optimal(MIXED, runs, rng())) for runs in (11, 20, 32, 96, 330)]
    sizes = [size for size in said if size is not None]
    assert len(sizes) == 5
    assert sizes == sorted(sizes, reverse=True)
    choice = choose_optimal(MIXED, 32, rng())
    quiet, loud = (expected_detectable(choice, noise) for noise in (0.01, 0.1))
    assert quiet is not None
    assert loud is not None
    assert 0.01 <= quiet < loud


def test_a_design_beside_runs_that_were_made_holds_them_first_and_once() -> None:
    first = choose_optimal(MIXED, 20, rng()).rows[:9]
    known = from_levels(np.array(first), MIXED)
    choice = choose_optimal(MIXED, 15, rng(), known=known)
    assert choice.rows[:9] == first
    assert len(set(choice.rows)) == len(choice.rows) == 24 - choice.replicated
    assert "9 of them were run before" in choice.reason
    assert choice.standard_error < choose_optimal(MIXED, 15, rng()).standard_error
    with pytest.raises(InputError, match=r"1 run with 9 earlier ones are too few .* give 1 more"):
        choose_optimal(MIXED, 1, rng(), known=known)
    assert choose_optimal(MIXED, 24, rng(), known=from_levels(choice.levels, MIXED)).configurations == 33


@pytest.mark.parametrize("options", [12, 36])
@pytest.mark.parametrize("runs", [0, 1, 2, 3])
def test_a_design_for_few_runs_beside_many_is_these_and_takes_no_more_runs(options: int, runs: int) -> None:
    """Before: "-2 runs cannot follow up", and "no balanced design has 36 factors and 0 runs"."""
    space = two_level(options)
    known = tuple(dict.fromkeys(sample(space, 120, rng())))
    choice = choose_followed(space, runs, rng(), known)
    assert isinstance(choice, ModelChoice)
    assert choice.rows[: len(known)] == tuple(map(tuple, levels(known, space).tolist()))
    assert choice.runs + choice.again - choice.held_back <= len(known) + runs
    if not runs:
        assert (choice.kind, choice.configurations, choice.follow_up) == ("partial", len(known), 0)


def test_runs_that_were_made_are_a_design_of_their_own_whatever_they_can_estimate() -> None:
    known = from_levels(choose_optimal(MIXED, 20, rng()).levels, MIXED)
    whole, few = partial_choice(MIXED, known), partial_choice(MIXED, known[:5])
    assert (whole.kind, whole.configurations, whole.parameters) == ("partial", 20, 8)
    assert whole.d_efficiency > 0.0
    assert expected_detectable_deviations(whole) is not None
    assert (few.configurations, few.d_efficiency, expected_detectable_deviations(few)) == (5, 0.0, None)
    assert read_choice(few.to_json()) == few
    same = partial_choice(two_level(2), from_levels(np.array([[0, 0], [1, 1]] * 2, dtype=np.int16), two_level(2)))
    assert expected_detectable_deviations(same) is None
    with pytest.raises(InputError, match="no run was made before"):
        partial_choice(MIXED, ())


def test_a_large_design_is_searched_for_with_fewer_starts_and_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    place = Space(tuple(Option(name, (0, 1, 2), default=0) for name in "abcdef"))
    searches: list[int | None] = []
    search = optimal_designs.best

    def counted(*about: Any) -> tuple[Levels, float]:
        searches.append(about[-1])
        return search(*about)

    monkeypatch.setattr(optimal_designs, "best", counted)
    whole = choose_optimal(place, 60, rng())
    monkeypatch.setattr(models, "_MOST_WORK", models._MOST_WORK / 1e3)
    monkeypatch.setattr(exchanges, "_LARGE", 0.0)
    bounded = choose_optimal(place, 60, rng())
    assert searches == [8, 1]
    assert bounded.d_efficiency == pytest.approx(whole.d_efficiency, rel=0.02)


def test_searches_are_fewer_where_each_exchanges_whole_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    free = Space(tuple(Option(f"o{place}", tuple(range(2 + place % 4)), 0) for place in range(13)))
    nested = Space((*free.options[:-1], replace(free.options[-1], active_if=parse_formula("o0 == 1"))))
    starts = []

    def searched(space: Space, *given: Any, **how: Any) -> OptimalDesign:
        starts.append(how["starts"])
        return optimal_designs.optimal_design(space, *given, **{**how, "starts": 1, "order": 1})

    monkeypatch.setattr(models, "optimal_design", searched)
    for space in (MIXED, free, nested):
        choose_optimal(space, 100, rng())
    assert starts == [8, 8, 1]
    choose_optimal(nested, 84, rng(), known=tuple(sample(nested, 16, rng())))  # as earlier versions do after a look
    assert starts[-1] == 8
