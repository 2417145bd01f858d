"""The runs of a confirmation: random ones to be predicted, and those that tell most of a model's effects."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import generator
from hati.design.augmentation import refine
from hati.design.candidates import Candidates
from hati.design.coding import Levels
from hati.design.unmeasured import unmeasured
from hati.space import Space
from hati.stats import Term
from hati.studies.validation.prediction import LEAST_PREDICTED

FEWEST = 4
_STARTS = 4

Predictable = Callable[[Levels], NDArray[np.bool_]]
"""Of which configurations the screening's model says something."""


class NewRuns(Struct, frozen=True, eq=False):
    """Configurations that were not run before: ``random`` ones that a model predicts, and ``others``.

    The random ones are drawn uniformly from the ``share`` of those not run before that the model can predict. There is
    none where these are fewer than three.
    """

    random: Levels
    others: Levels
    share: float

    @property
    def levels(self) -> Levels:
        """All of them."""
        return np.vstack([self.random, self.others])

    @property
    def lack(self) -> str | None:
        """Why no predictions can be tested, before any run is made; None where they can."""
        if len(self.random):
            return None
        if not len(self.others):
            return "no remaining configuration would add information: nothing can be confirmed"
        return (
            f"the screening's model can predict fewer than {LEAST_PREDICTED} of the configurations that were not run: "
            "its predictions cannot be tested; screen with more runs"
        )


def new_runs(
    space: Space, measured: Levels, terms: Sequence[Term], predictable: Predictable, runs: int, seed: int
) -> NewRuns:
    """Uniformly random configurations of those that can be predicted, and D-optimal ones for a model with these.

    Half of them is random, and at least four. There are fewer where the space has no more.

    Args:
        space: the options.
        measured: what was run before, shape (runs, options).
        terms: of the model.
        predictable: which configurations the screening's model can predict.
        runs: how many to choose.
        seed: for all that is random.
    """
    rng = generator(seed, "confirmation")
    among = unmeasured(space, measured, rng)
    places = rng.permutation(len(among.levels))
    able = predictable(among.levels)[places]
    told = places[able]
    random = min(max(FEWEST, runs // 2), runs, len(told)) if len(told) >= LEAST_PREDICTED else 0
    chosen, rest = among.levels[told[:random]], among.levels[np.setdiff1d(places, told[:random])]
    share = float(np.mean(able)) if len(able) else 0.0
    more = min(runs - random, len(rest))
    if not more or not terms:
        return NewRuns(chosen, rest[:0], share)
    made = np.vstack([measured, chosen])
    blocks = np.concatenate([np.full(len(measured), -1.0), np.ones(random + more)])[:, None]
    others = refine(Candidates(space, among.reach, rest), made, blocks, terms, more, rng, _STARTS)
    return NewRuns(chosen, others, share)
