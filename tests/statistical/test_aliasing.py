"""How often an option that does nothing is called important, and one that matters is found, with a follow-up."""

from __future__ import annotations

from functools import cache

import pytest
from benchmarks.aliasing import WORLDS, Outcome, screened

from hati.studies.screening import choose_design

pytestmark = [pytest.mark.statistical, pytest.mark.acceptance]

MILD = WORLDS[2]
STUDIES = 10
LEAST = 0.95


@cache
def outcomes(place: int) -> tuple[Outcome, ...]:
    return tuple(screened(WORLDS[place], STUDIES))


@pytest.mark.parametrize("place", [0, 2], ids=["strong", "mild"])
def test_an_inert_option_is_rarely_important_and_large_effects_are_found(place: int) -> None:
    """At most 2 of 10: of studies that err in 5 % more are seen in 1 %."""
    found = outcomes(place)
    assert sum(one.inert_important for one in found) <= 2
    assert sum(one.important for one in found) >= LEAST * sum(one.large for one in found)


@pytest.mark.parametrize("place", [9, 10], ids=["strong", "mild"])
def test_what_is_absent_in_most_configurations_is_not_refuted_and_hides_nothing(place: int) -> None:
    """Found of large effects: .97 and .99 of 100 studies, .77 and .81 while interactions of three were noise."""
    found = outcomes(place)
    assert sum(one.important for one in found) >= 0.9 * sum(one.large for one in found)
    assert sum(one.inert_important for one in found) <= 2
    assert sum(one.large_flipped for one in found) >= STUDIES
    assert sum(one.large_refuted for one in found) == 0


def test_in_mild_programs_nothing_large_is_refuted_and_as_much_is_found_as_without_follow_up() -> None:
    followed, whole = outcomes(2), screened(MILD, STUDIES, choose_design)
    assert sum(one.large_flipped for one in followed) >= STUDIES / 2
    assert sum(one.large_refuted for one in followed) == 0
    assert sum(one.important for one in followed) >= sum(one.important for one in whole)
