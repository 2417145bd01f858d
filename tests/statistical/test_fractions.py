"""The options of TAO that matter, from 128 of its 16,384 configurations, with the goals of the benchmark."""

from __future__ import annotations

import pytest
from benchmarks.fractions import EXACT, IMPORTANT, INERT, fractions
from examples.study.systems import TAO, system

pytestmark = pytest.mark.statistical


def test_fractions_of_128_runs_name_the_important_options() -> None:
    found = fractions(system(TAO))
    for letter, part in IMPORTANT.items():
        assert found.share(letter) >= part, letter
    assert found.exact >= EXACT
    assert found.inert <= INERT
