"""The runs of a confirmation: random ones to be predicted, and those that tell most of a model's effects."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hati.core import generator
from hati.design.augmentation import refine
from hati.design.candidates import Candidates
from hati.design.coding import Levels
from hati.design.unmeasured import unmeasured
from hati.space import Space
from hati.stats import Term

FEWEST = 4
_STARTS = 4


def new_runs(space: Space, measured: Levels, terms: Sequence[Term], runs: int, seed: int) -> tuple[Levels, Levels]:
    """Configurations that were not run before: uniformly random ones, and D-optimal ones for a model with these.

    Half of them is random, and at least four. There are fewer where the space has no more.

    Args:
        space: the options.
        measured: what was run before, shape (runs, options).
        terms: of the model.
        runs: how many to choose.
        seed: for all that is random.
    """
    rng = generator(seed, "confirmation")
    among = unmeasured(space, measured, rng)
    places = rng.permutation(len(among.levels))
    random = min(max(FEWEST, runs // 2), runs, len(places))
    chosen, rest = among.levels[places[:random]], among.levels[np.sort(places[random:])]
    more = min(runs - random, len(rest))
    if not more or not terms:
        return chosen, rest[:0]
    made = np.vstack([measured, chosen])
    blocks = np.concatenate([np.full(len(measured), -1.0), np.ones(random + more)])[:, None]
    return chosen, refine(Candidates(space, among.reach, rest), made, blocks, terms, more, rng, _STARTS)
