"""Power for a given effect, and the effect for another power than 80 %."""

from __future__ import annotations

import pytest
from scipy import stats

from hati.stats import detectable_by_lenth, detectable_by_pure_error, power_by_lenth, power_by_pure_error


@pytest.mark.parametrize("power", [0.5, 0.8, 0.9, 0.99])
def test_power_is_the_inverse_of_what_is_detectable(power: float) -> None:
    for relevant in (0.0, 4.0):
        effect = detectable_by_pure_error(2.0, 12, 3.0, relevant, power)
        assert power_by_pure_error(effect, 2.0, 12, 3.0, relevant) == pytest.approx(power, abs=1e-3)
        effect = detectable_by_lenth(2.0, 31, 3.5, relevant, power)
        assert power_by_lenth(effect, 2.0, 31, 3.5, relevant) == pytest.approx(power, abs=2e-3)


def test_power_by_pure_error_is_that_of_the_noncentral_t() -> None:
    for effect in (1.0, 3.0, 6.0):
        expected = stats.nct.sf(3.0, 12, effect) + stats.nct.cdf(-3.0, 12, effect)
        assert power_by_pure_error(effect, 1.0, 12, 3.0, 0.0) == pytest.approx(expected, abs=2e-3)
        assert power_by_pure_error(-effect, 1.0, 12, 3.0, 0.0) == pytest.approx(expected, abs=2e-3)


def test_without_noise_what_is_relevant_is_found_for_certain() -> None:
    assert power_by_pure_error(0.02, 0.0, 5, 3.0, 0.01) == power_by_lenth(0.02, 0.0, 31, 3.0, 0.01) == 1.0
    assert power_by_pure_error(0.005, 0.0, 5, 3.0, 0.01) == power_by_lenth(0.005, 0.0, 31, 3.0, 0.01) == 0.0
