"""Draws from spaces with constraints are uniform: Pearson's chi-square over all configurations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from scipy import stats

from hati.core import Configuration, generator
from hati.space import Space, count, enumerate_configurations, parse_feature_model, sample

ALPHA = 0.001
"""How often a uniform sampler would fail a test, over seeds: at seeds that are fixed, it does not."""


def read(shared_data: Path, system: str) -> Space:
    return parse_feature_model((shared_data / "configurable-systems" / system / "FeatureModel.xml").read_text()).space


def p_value(space: Space, drawn: Sequence[Configuration]) -> float:
    """How probable frequencies at least as uneven as these are, if all configurations are equally probable."""
    frequencies = Counter(drawn)
    observed = [frequencies.pop(configuration, 0) for configuration in enumerate_configurations(space)]
    assert not frequencies
    return float(stats.chisquare(observed).pvalue)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("system", "times", "seed"),
    [
        *(("lrzip", 10, seed) for seed in (1, 2, 3)),
        ("hipacc", 5, 1),
        *(pytest.param("hipacc", 5, seed, marks=pytest.mark.acceptance) for seed in (2, 3)),
    ],
)
def test_every_configuration_is_drawn_equally_often(shared_data: Path, system: str, times: int, seed: int) -> None:
    """Each is expected 5 times or more, as the chi-square approximation wants; too even is as wrong as too uneven."""
    space = read(shared_data, system)
    drawn = sample(space, times * count(space), generator(seed, "uniformity", system))
    assert ALPHA / 2 < p_value(space, drawn) < 1 - ALPHA / 2


@pytest.mark.statistical
def test_drawing_option_by_option_would_fail(shared_data: Path) -> None:
    """The threshold tells: half of such draws lack a compression, as a sixth of the configurations do."""
    space = read(shared_data, "lrzip")
    rng = generator(1, "option by option")
    drawn = [
        space.canonical({option.name: option.settings[rng.integers(len(option.settings))] for option in space.options})
        for _ in range(10 * count(space))
    ]
    assert p_value(space, drawn) < ALPHA
