"""Intervals of effects where constraints make settings rare hold the exact changes.

Thresholds: the 95 % limits of each fraction reach 93 to 97 %, for 300 fits and 60 studies.
"""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.tied_options import KINDS, near, of_fits, of_studies

pytestmark = [pytest.mark.statistical, pytest.mark.acceptance]


def test_intervals_of_fits_hold_the_exact_changes() -> None:
    held = of_fits(300)
    assert {*held} == {*KINDS}
    assert all(near(float(np.mean(each)), 300) for each in held.values())


def test_intervals_of_studies_hold_the_exact_changes() -> None:
    held = of_studies(60)
    assert {*held} == {*KINDS[:2]}
    assert all(near(float(np.mean(each)), 60) for each in held.values())
