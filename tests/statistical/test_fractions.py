"""The options of TAO that matter, from 128 of its 16,384 configurations, with the goals of the benchmark."""

from __future__ import annotations

import pytest
from benchmarks.fractions import EXACT, IMPORTANT, INERT, LOST, defaults, fractions
from examples.study.systems import TAO, system

pytestmark = pytest.mark.statistical


def test_fractions_of_128_runs_name_the_important_options() -> None:
    found = fractions(system(TAO))
    for letter, part in IMPORTANT.items():
        assert found.share(letter) >= part, letter
    assert found.exact >= EXACT
    assert found.inert <= INERT


@pytest.mark.acceptance
def test_default_designs_of_128_runs_lose_little() -> None:
    """An inert option in no more studies than the 99 % binomial bound of 5 % allows: 13 of 128."""
    asked, chosen = fractions(system(TAO)), defaults(system(TAO))
    for letter in IMPORTANT:
        assert chosen.share(letter) >= asked.share(letter) - LOST, letter
    assert chosen.exact >= asked.exact - LOST
    assert chosen.inert <= 13 / 128
