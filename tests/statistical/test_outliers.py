"""What a screening finds where single runs are far off, and how often an inert option is important then.

A ceiling passes unless its 95 % lower limit exceeds it, a power unless its 95 % upper limit is below it.
"""

from __future__ import annotations

import pytest
from benchmarks.outliers import WORLDS, World, study
from scipy import stats

from hati.studies.screening import ALPHA

STUDIES, FEW = 20, 6
BY_NAME = {world.name: world for world in WORLDS}
ONE = BY_NAME["one outlier, 32 x 1 of 34 runs"]
EIGHTFOLD = BY_NAME["4 % x 8, 64 x 1 of 72 runs"]
FLIP = BY_NAME["one flip x 8, default, 96 runs"]
NOTHING = BY_NAME["no effects, one outlier, 32 x 1 of 34 runs"]


def lower(found: int, of: int) -> float:
    return float(stats.beta.ppf(0.05, found, of - found + 1)) if found else 0.0


def upper(found: int, of: int) -> float:
    return float(stats.beta.ppf(0.95, found + 1, of - found)) if found < of else 1.0


@pytest.mark.parametrize(
    "world", [ONE, pytest.param(EIGHTFOLD, marks=pytest.mark.acceptance)], ids=["one", "eightfold"]
)
def test_what_matters_is_found_though_runs_are_far_off(world: World) -> None:
    outcomes = [study(world, seed) for seed in range(1, STUDIES + 1)]
    assert world.least is not None
    assert upper(sum(one.found for one in outcomes), len(world.effects) * STUDIES) >= world.least
    assert lower(sum(one.inert_important for one in outcomes), STUDIES) <= ALPHA
    assert sum(one.again for one in outcomes) >= 0.9 * sum(one.off for one in outcomes)


def test_an_outlier_makes_nothing_important() -> None:
    outcomes = [study(NOTHING, seed) for seed in range(1, STUDIES + 1)]
    assert lower(sum(one.inert_important for one in outcomes), STUDIES) <= ALPHA


@pytest.mark.acceptance
def test_flips_confirm_what_matters_though_one_is_far_off() -> None:
    outcomes = [study(FLIP, seed) for seed in range(1, FEW + 1)]
    flipped = sum(one.flipped for one in outcomes)
    assert FLIP.confirmed is not None
    assert upper(sum(one.confirmed for one in outcomes), flipped) >= FLIP.confirmed
    assert sum(one.again for one in outcomes) >= FEW - 2
