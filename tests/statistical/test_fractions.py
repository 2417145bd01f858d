"""The options of TAO that matter, from 128 of its 16,384 configurations, with the goals of the benchmark."""

from __future__ import annotations

import pytest
from benchmarks.fractions import EXACT, IMPORTANT, INERT, LOST, Named, defaults, fractions
from examples.study.systems import TAO, system

pytestmark = [pytest.mark.statistical, pytest.mark.acceptance, pytest.mark.xdist_group("fractions")]


@pytest.fixture(scope="module")
def asked() -> Named:
    """What all fractions with the generators of a design name."""
    return fractions(system(TAO))


def test_fractions_of_128_runs_name_the_important_options(asked: Named) -> None:
    for letter, part in IMPORTANT.items():
        assert asked.share(letter) >= part, letter
    assert asked.exact >= EXACT
    assert asked.inert <= INERT


def test_default_designs_of_128_runs_lose_little(asked: Named) -> None:
    """An inert option in no more studies than the 99 % binomial bound of 5 % allows: 13 of 128."""
    chosen = defaults(system(TAO))
    for letter in IMPORTANT:
        assert chosen.share(letter) >= asked.share(letter) - LOST, letter
    assert chosen.exact >= asked.exact - LOST
    assert chosen.inert <= 13 / 128
