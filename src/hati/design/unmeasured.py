"""The valid configurations that were not run yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hati.design.candidates import MOST_LISTED, SAMPLED, Candidates, Reach
from hati.design.coding import Levels, levels

if TYPE_CHECKING:  # a space is only looked at here; its solver need not be loaded
    from hati.space import Space


def unmeasured(space: Space, measured: Levels, rng: np.random.Generator) -> Candidates:
    """The valid configurations of which there is no run: all, or of more than 20,000 a uniform sample of 4,000.

    Args:
        space: the options.
        measured: the runs that were made, shape (runs, options).
        rng: for the sample.

    Raises:
        InputError: where the constraints are too entangled to count.
    """
    from hati.space import count, enumerate_configurations, sample

    if count(space) <= MOST_LISTED:
        reach, every = Reach.LISTED, levels(list(enumerate_configurations(space)), space)
    else:
        reach, every = Reach.SAMPLED, np.unique(levels(sample(space, SAMPLED, rng), space), axis=0)
    known = {row.tobytes() for row in measured}
    return Candidates(space, reach, every[[row.tobytes() not in known for row in every]])
