"""The order in which configurations are run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hati.core import InputError


def run_order(configurations: int, repetitions: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """A randomised order: which configuration each run measures, shape (repetitions x configurations,).

    Each repetition is a block of all configurations, shuffled anew, so that a drift hits all of them alike.

    Raises:
        InputError: for no configurations or no repetitions.
    """
    if configurations < 1 or repetitions < 1:
        raise InputError(f"{configurations} configurations x {repetitions} repetitions is nothing to run")
    return np.concatenate([rng.permutation(configurations) for _ in range(repetitions)]).astype(np.intp)
