"""Which design a budget buys."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.core import InputError
from hati.design import catalogue_sizes, resolution
from hati.studies.screening import (
    Choice,
    FractionRequest,
    asked_fraction,
    choose,
    expected_detectable,
    expected_detectable_deviations,
)


@pytest.mark.parametrize(
    ("factors", "runs", "configurations", "repetitions", "strength"),
    [
        (14, 96, 32, 3, 4),  # the issue's own example
        (14, 32, 32, 1, 4),
        (14, 63, 32, 1, 4),
        (14, 64, 32, 2, 4),
        (14, 127, 32, 3, 4),
        (14, 128, 64, 2, 4),
        (14, 256, 128, 2, 4),
        (14, 512, 256, 2, 5),
        (14, 4096, 256, 16, 5),  # nothing above resolution V
        (14, 31, 16, 1, 3),
        (14, 16, 16, 1, 3),
        (5, 96, 16, 6, 5),
        (4, 96, 16, 6, None),
        (4, 8, 8, 1, 4),
        (3, 96, 8, 12, None),
        (3, 4, 4, 1, 3),
        (2, 9, 4, 2, None),
        (1, 10, 2, 5, None),
    ],
)
def test_the_choice(factors: int, runs: int, configurations: int, repetitions: int, strength: int | None) -> None:
    choice = choose(factors, runs)
    assert (choice.configurations, choice.repetitions, choice.resolution) == (configurations, repetitions, strength)


@given(st.integers(1, 24), st.integers(1, 2000))
def test_every_choice_fits_the_budget_and_makes_the_design_that_it_promises(factors: int, runs: int) -> None:
    smallest = catalogue_sizes(factors)[0].runs
    if runs < smallest:
        with pytest.raises(InputError, match=f"needs {smallest}"):
            choose(factors, runs)
        return
    choice = choose(factors, runs)
    assert choice.runs <= runs < choice.runs + choice.configurations
    design = choice.design([f"option {i}" for i in range(factors)])
    assert design.runs == choice.configurations
    if choice.configurations <= 256:
        assert resolution(design) == choice.resolution
    assert Choice.from_json(choice.to_json()) == choice


@given(st.integers(2, 20), st.integers(4, 1000))
def test_resolution_iv_where_it_can_be_had_and_no_larger_design_without_repetition(factors: int, runs: int) -> None:
    sizes = [entry for entry in catalogue_sizes(factors) if entry.runs <= runs]
    if not sizes:
        return
    choice = choose(factors, runs)
    good = [entry for entry in sizes if entry.resolution is None or entry.resolution >= 4]
    assert (choice.resolution == 3) == (not good)
    if good and choice.configurations > good[0].runs:
        assert choice.repetitions >= 2


def test_options_named_like_letters_get_the_same_matrix() -> None:
    choice = choose(6, 16)
    one, other = choice.design("zyxwvu"), choice.design([f"o{i}" for i in range(6)])
    assert (one.matrix == other.matrix).all()


def test_the_reason_says_what_a_smaller_or_larger_budget_would_give() -> None:
    assert "32 configurations of resolution IV, once: 32 runs do not fit it twice" in choose(14, 32).reason
    assert "64" in choose(14, 96).reason
    assert "resolution IV needs 32 runs" in choose(14, 20).reason


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"factors":2}', '{"generators":[]}', "null", '"x"'])
def test_another_text_is_no_choice(text: str) -> None:
    with pytest.raises(InputError, match="--fresh"):
        Choice.from_json(text)


def test_another_number_of_options_is_refused() -> None:
    with pytest.raises(InputError, match="14 options"):
        choose(14, 32).design(["a", "b"])


def test_no_option_is_nothing_to_screen() -> None:
    with pytest.raises(InputError, match="no option"):
        choose(0, 10)


def test_what_it_will_detect_falls_with_runs_and_rises_with_noise() -> None:
    found = [expected_detectable(choose(14, runs), 0.05) for runs in (32, 64, 96, 128, 256)]
    assert None not in found
    assert found == sorted(found, reverse=True)
    assert expected_detectable(choose(14, 96), 0.10) > expected_detectable(choose(14, 96), 0.05)
    assert expected_detectable(choose(14, 96), 0.0) == pytest.approx(0.01)
    assert expected_detectable(choose(1, 2), 0.05) is None


def test_what_it_will_detect_in_standard_deviations_of_a_run() -> None:
    assert expected_detectable_deviations(choose(14, 96)) == pytest.approx(0.80, abs=0.02)
    assert expected_detectable_deviations(choose(14, 32)) == pytest.approx(1.50, abs=0.05)


def test_a_fraction_that_is_asked_for_is_assigned_at_random_by_the_seed() -> None:
    made = [asked_fraction(FractionRequest(resolution=4), 16, 96, np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert made[0] == made[1] != made[2]
    for choice in made:
        assert (choice.configurations, choice.repetitions, choice.resolution) == (32, 3, 4)
        assert resolution(choice.design([f"o{i}" for i in range(16)])) == 4
    assert asked_fraction(FractionRequest(runs=64), 16, 64, np.random.default_rng(1)).configurations == 64


def test_generators_and_rows_stay_as_they_are_written() -> None:
    written = FractionRequest(generators=("E=ABC", "F=-ABD"))
    choice = asked_fraction(written, 6, 32, np.random.default_rng(1))
    assert (choice.generators, choice.repetitions, choice.resolution) == (("E=ABC", "F=-ABD"), 2, 4)
    design = choice.design([f"o{i}" for i in range(6)])
    rows = tuple(tuple(row) for row in design.matrix[::-1].tolist())
    again = asked_fraction(FractionRequest(rows=rows), 6, 32, np.random.default_rng(1))
    found = again.design([f"o{i}" for i in range(6)])
    assert sorted(map(tuple, found.matrix.tolist())) == sorted(rows)


def test_a_fraction_that_cannot_be_had_says_why() -> None:
    with pytest.raises(InputError, match="exclude each other"):
        FractionRequest(resolution=4, runs=32)
    with pytest.raises(InputError, match="has 32 configurations, and the budget 31 runs"):
        asked_fraction(FractionRequest(resolution=4), 16, 31, np.random.default_rng(1))
    with pytest.raises(InputError, match="3 runs of 2 factors are not a regular fraction"):
        asked_fraction(FractionRequest(rows=((1, 1), (1, -1), (-1, 1))), 2, 3, np.random.default_rng(1))


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"resolution": 0}, "--resolution 0 is less"),
        ({"resolution": 2}, "--resolution 2 is less"),
        ({"resolution": 0, "runs": 16}, "exclude each other"),
        ({"runs": 0}, "--runs 0 is not"),
        ({"rows": ((1, -1), (1,))}, "different widths"),
    ],
)
def test_a_request_that_cannot_be_met_says_why(request_: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        FractionRequest(**request_)
    assert caught.value.fix
