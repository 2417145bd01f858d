"""Draws from spaces with constraints are uniform: Pearson's chi-square over all configurations."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from hati.core import generator
from hati.space import count, enumerate_configurations, parse_feature_model, sample

ALPHA = 0.001
"""How often a uniform sampler would fail a test, over seeds."""


@pytest.mark.statistical
@pytest.mark.parametrize(("system", "draws"), [("lrzip", 10), ("hipacc", 5)])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_configuration_is_drawn_equally_often(shared_data: Path, system: str, draws: int, seed: int) -> None:
    """``draws`` times as many draws as there are configurations, so each is expected so often (5 or more)."""
    text = (shared_data / "configurable-systems" / system / "FeatureModel.xml").read_text()
    space = parse_feature_model(text).space
    total = count(space)
    drawn = Counter(sample(space, draws * total, generator(seed, "uniformity", system)))
    observed = [drawn.pop(configuration, 0) for configuration in enumerate_configurations(space)]
    assert not drawn
    statistic = sum((number - draws) ** 2 for number in observed) / draws
    # Both tails: too even is as wrong as too uneven.
    assert ALPHA / 2 < stats.chi2.sf(statistic, total - 1) < 1 - ALPHA / 2


@pytest.mark.statistical
def test_the_test_tells_a_sampler_that_is_not_uniform() -> None:
    """Drawing every option on its own favours configurations under rare parents: the threshold finds that."""
    rng = np.random.default_rng(1)
    choices = np.where(rng.random(4320) < 0.5, 0, rng.integers(1, 6, 4320))  # half none, half one of five
    statistic = sum((np.count_nonzero(choices == value) - 720) ** 2 for value in range(6)) / 720
    assert stats.chi2.sf(statistic, 5) < ALPHA
