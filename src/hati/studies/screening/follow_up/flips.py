"""Flips: one option changed alone in uniformly drawn valid configurations, and the stages of a follow-up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from hati.core import Configuration, FloatArray, Setting, Task
from hati.stats import t_quantile
from hati.studies.screening.follow_up.reruns import run_key

if TYPE_CHECKING:
    from hati.space import Space


STAGE = "follow-up"
"""The first word of their names, before the option's."""


def flip_stage(option: str) -> str:
    """The stage of an option's flips."""
    return f"{STAGE} {option}"


def is_flip(task: Task) -> bool:
    """Whether a task follows up."""
    return task.stage.startswith(f"{STAGE} ")


def is_of_flip(task: Task) -> bool:
    """Whether a task follows up, or repeats one that does."""
    return run_key(task)[0].startswith(f"{STAGE} ")


_TRIES = 200
"""The number of configurations drawn for a pair of which both are valid."""

Ends = tuple[Setting, Setting]
"""The settings that an option is flipped between."""

Pair = tuple[Configuration, Configuration]


class Flip(Struct, frozen=True):
    """A pair of configurations that differ in one option, and the metric's value at each, in its unit."""

    before: Configuration
    after: Configuration
    values: tuple[float, float]

    @property
    def turned(self) -> Flip:
        """The same pair from after to before."""
        return Flip(self.after, self.before, self.values[::-1])


def flipped(space: Space, option: str, ends: Ends, rng: np.random.Generator) -> Pair | None:
    """A uniformly drawn valid configuration with the option at each of two settings, all else being equal.

    Options that are active under a condition come and go with it. None where no drawn configuration is valid with both
    settings.
    """
    from hati.space import sample

    for _ in range(_TRIES):
        (drawn,) = sample(space, 1, rng)
        before, after = (space.canonical({**drawn, option: setting}) for setting in ends)
        if all(option in each and space.valid(each) for each in (before, after)):
            return before, after
    return None


def mean_interval(values: Sequence[float] | FloatArray, confidence: float) -> tuple[float, float] | None:
    """Student's interval of a mean; None of fewer than two values."""
    count = len(values)
    if count < 2:
        return None
    middle = float(np.mean(values))
    half = t_quantile(0.5 + confidence / 2.0, count - 1) * float(np.std(values, ddof=1)) / math.sqrt(count)
    return middle - half, middle + half
