"""Which options carry a change: the margin decides, and not significance alone."""

from __future__ import annotations

from itertools import product

import numpy as np

from hati.studies.gate.carriers import carriers

CONFIGURATIONS = [dict(zip("abc", settings, strict=True)) for settings in product((False, True), repeat=3)]
LIMIT = float(np.log(1.05))


def named(change: dict[str, float], noise: float, limit: float) -> set[str]:
    """The carriers of a change that is the sum of what each option's second setting adds, in six rounds."""
    size = [sum(change[name] for name in change if each[name]) for each in CONFIGURATIONS]
    values = np.array(size) + noise * np.random.default_rng(1).standard_normal((6, len(CONFIGURATIONS)))
    return {one.option for one in carriers("b", "m", CONFIGURATIONS, values, 0.01, limit)}


def test_an_option_that_adds_less_than_the_margin_carries_nothing_however_clear_it_is() -> None:
    assert named({"a": 0.3, "b": 0.0005}, 1e-5, 0.0) == {"a", "b"}
    assert named({"a": 0.3, "b": 0.0005}, 1e-5, LIMIT) == {"a"}
    assert named({"a": 0.3, "b": 0.0005}, 0.0, LIMIT) == {"a"}


def test_an_option_that_adds_more_than_the_margin_carries_it() -> None:
    assert named({"a": 0.3, "b": 0.1}, 0.01, LIMIT) == {"a", "b"}
    assert named({}, 0.01, LIMIT) == set()
