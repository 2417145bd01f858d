"""The warm-up that runs show."""

from __future__ import annotations

import numpy as np
import pytest

from hati.core import FloatArray, InputError, generator, replace
from hati.knowledge import KnownWarmUp, warm_up_of

SIZE = 200


def drawn(runs: int, warming: float = 0.0, drift: float = 0.0, size: int = SIZE) -> list[FloatArray]:
    """Runs with noise of 1 % whose warm-up of some 20 observations begins so much above their level."""
    rng, places = generator(1, "warm-up"), np.arange(size)
    shape = 1.0 + warming * np.exp(-places / 5.0) + drift * places
    return [shape * np.exp(0.01 * rng.standard_normal(size)) for _ in range(runs)]


def test_it_is_that_of_nine_in_ten_runs() -> None:
    found = warm_up_of(drawn(20, warming=1.0))
    assert found is not None
    assert (found.steady, found.runs) == (20, 20)
    assert 8 <= found.observations <= 40


def test_a_run_that_is_steady_later_is_not_steady_after_it() -> None:
    usual = drawn(20, warming=1.0)
    late = np.concatenate([np.full(80, 2.0), usual[0]])
    assert warm_up_of([*usual, late]) == replace(some(warm_up_of(usual)), runs=21)


def some(found: KnownWarmUp | None) -> KnownWarmUp:
    assert found is not None
    return found


@pytest.mark.parametrize(
    "runs",
    [
        drawn(20),
        drawn(7, warming=1.0),
        drawn(20, warming=1.0, size=29),
        drawn(20, warming=1.0, drift=0.01),
        [*drawn(16, warming=1.0), *drawn(4, drift=0.01)],
        [*drawn(20, warming=1.0), *drawn(1, size=30)],
    ],
    ids=["steady", "few", "short", "drifting", "some drift", "one is short"],
)
def test_it_is_not_known_of(runs: list[FloatArray]) -> None:
    assert warm_up_of(runs) is None


def test_none_is_no_warm_up() -> None:
    with pytest.raises(InputError, match="one observation or more"):
        KnownWarmUp(0, 8, 8)
