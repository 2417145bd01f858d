"""Effects at each setting of another option: from which model, and whether their intervals hold."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

from hati.core import FloatArray
from hati.design import Levels
from hati.space import Option, Space
from hati.studies.screening.conclusion import Effect, Scale
from hati.studies.screening.conditional import conditional_effects, effects_at
from hati.studies.screening.model_units import Units
from hati.studies.screening.readable import Readable
from hati.studies.screening.shown_effects import ShownEffects

STUDIES = 400


def shown(place: Space, levels: Levels, values: FloatArray, effects: Sequence[Effect] = ()) -> ShownEffects:
    zeros = np.zeros(len(levels), dtype=np.intp)
    units = Units(levels, zeros, np.arange(len(levels)), zeros)
    return ShownEffects(place, units, Readable(values, Scale.RAW, 1.0), 0.01, tuple(effects), place.names)


def important(options: tuple[str, ...], contrast: float) -> Effect:
    return Effect(options, contrast, None, None, contrast, None, contrast, 0.1, 0.001, True, 1.0, ())


def switches(names: str) -> Space:
    return Space(tuple(Option(name, (False, True), default=False) for name in names))


@pytest.mark.statistical
@pytest.mark.parametrize(("settings", "most"), [(2, 0.985), (6, 1.0)])
def test_where_no_setting_does_anything_intervals_hold_nothing(settings: int, most: float) -> None:
    """In at least 92.5 %, two standard errors below 95 %, though the lowest and the highest mean are chosen."""
    place = Space((Option("size", tuple(range(settings)), 0), Option("fast", (False, True), default=False)))
    cells = np.array([*product(range(settings), range(2), range(4))], dtype=np.int16)[:, :2]
    rng = np.random.default_rng(5)
    interaction = important(("size", "fast"), 1.0)
    held = 0
    for _ in range(STUDIES):
        first, *_ = effects_at(shown(place, cells, rng.standard_normal(len(cells)), [interaction]), "size", "fast")
        assert first.interval is not None
        held += first.interval[0] <= 0.0 <= first.interval[1]
    assert 0.925 <= held / STUDIES <= most


def test_effects_at_settings_are_differences_of_means() -> None:
    """Of a full factorial: of an option with three settings before and after one with two, at each of its settings."""
    place = Space((Option("a", (0, 1), default=1), Option("b", ("x", "y", "z"), "y"), Option("c", (0, 1), default=0)))
    levels = np.array([*product(range(2), range(3), range(2))] * 2, dtype=np.int16)
    values = np.random.default_rng(2).standard_normal(len(levels))
    found = shown(place, levels, values, [important(("a", "b"), 1.0), important(("c",), 0.5)])
    means = np.array([[values[(levels[:, 0] == i) & (levels[:, 1] == j)].mean() for j in range(3)] for i in range(2)])
    of_a, of_b = effects_at(found, "a", "b"), effects_at(found, "b", "a")
    assert [(each.before, each.after, each.setting) for each in of_a] == [(0, 1, "y"), (0, 1, "x"), (0, 1, "z")]
    assert [each.relative for each in of_a] == pytest.approx([means[1, j] - means[0, j] for j in (1, 0, 2)])
    assert [each.setting for each in of_b] == [1, 0]
    assert [each.relative for each in of_b] == pytest.approx([np.ptp(means[i]) for i in (1, 0)])


def test_a_shown_interaction_may_be_the_one_that_it_is_aliased_with() -> None:
    """Of four options in eight configurations ab is aliased with cd, and the runs do not distinguish the two."""
    place = switches("abcd")
    levels = np.array([(i, j, k, (i + j + k) % 2) for i, j, k in product(range(2), repeat=3)] * 4, dtype=np.int16)
    signs = 2.0 * levels - 1.0
    values = signs @ [1.0, 0.8, 0.6, 0.4] + signs[:, 0] * signs[:, 1]
    values += 0.01 * np.random.default_rng(3).standard_normal(len(levels))
    mains = [important((name,), size) for name, size in zip("abcd", (2.0, 1.6, 1.2, 0.8), strict=True)]
    found = conditional_effects(shown(place, levels, values, [*mains, important(("a", "b"), 2.0)]))
    assert {(each.option, each.given, each.found) for each in found} == {
        ("a", "b", True),
        ("b", "a", True),
        ("c", "d", False),
        ("d", "c", False),
    }
