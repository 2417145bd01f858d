"""The runs of a confirmation, and the number of runs that decide the undecided."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import generator
from hati.design.coding import Candidates, Levels
from hati.design.configurations import unmeasured
from hati.design.optimal_designs import refine
from hati.space import Space
from hati.stats import POWER, Term, fewest_runs, normal_quantile
from hati.studies.screening.analysis.model import EffectContrast
from hati.studies.validation.prediction import LEAST_PREDICTED

_CONFIDENCE = 0.95
_CASES = 2_000
_ERRORS = np.array([normal_quantile((place + 0.5) / _CASES) for place in range(_CASES)])
"""Equally probable errors of an estimate, in standard errors."""


class OpenEffect(Struct, frozen=True):
    """An effect that is undecided, and what decides it.

    It is shown where its estimate from the ``before`` first runs and the new ones is significant, with a p-value of at
    most ``critical``, and larger than ``relevant``, and where the new runs alone show it, one-sided, with one of at
    most ``alone``. It is refuted where its 95 % interval leaves nothing that is larger than ``relevant``. A run has the
    ``variance``: the standard error of an effect is twice the deviation over the root of the number of runs.
    """

    estimate: float
    variance: float
    relevant: float
    critical: float
    before: int = 0
    alone: float = 0.5

    @classmethod
    def of(
        cls, contrast: EffectContrast, runs: int, relevant: float, critical: float, before: int = 0, alone: float = 0.5
    ) -> OpenEffect | None:
        """The same of a contrast that was estimated from that many runs; None where it has no standard error."""
        if not contrast.standard_error or critical <= 0.0:
            return None
        return cls(contrast.estimate, runs * contrast.standard_error**2 / 4.0, relevant, critical, before, alone)

    def power(self, runs: int) -> float:
        """The probability that this number of new runs decides, if the estimate is true and that of the first runs."""
        size, deviation = abs(self.estimate), 2.0 * math.sqrt(self.variance)
        error, new_error = deviation / math.sqrt(self.before + runs), deviation / math.sqrt(runs)
        new = size + new_error * _ERRORS
        every = (self.before * size + runs * new) / (self.before + runs)
        margin = normal_quantile(0.5 + _CONFIDENCE / 2.0) * error
        significant = np.abs(every) > max(self.relevant, normal_quantile(1.0 - self.critical / 2.0) * error)
        alone = np.sign(every) * new >= normal_quantile(1.0 - self.alone) * new_error
        return float(np.mean((significant & alone) | (np.abs(every) + margin < self.relevant)))


def runs_to_decide(effects: Sequence[OpenEffect], fewest: int) -> int | None:
    """The number of new runs that decide all effects with 80 % power; None where 10,000 do not, or of no effects.

    Their estimates are taken for independent.
    """
    if not effects:
        return None
    return fewest_runs(lambda runs: math.prod(effect.power(runs) for effect in effects) >= POWER, fewest)


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
        measured: the runs so far, shape (runs, options).
        terms: of the model.
        predictable: which configurations the screening's model can predict.
        runs: how many to choose.
        seed: for all that is random.
    """
    rng = generator(seed, "confirmation")
    among = unmeasured(space, measured, rng)
    places = rng.permutation(len(among.levels))
    able = predictable(among.levels)[places]
    places_able = places[able]
    random = min(max(FEWEST, runs // 2), runs, len(places_able)) if len(places_able) >= LEAST_PREDICTED else 0
    chosen, rest = among.levels[places_able[:random]], among.levels[np.setdiff1d(places, places_able[:random])]
    share = float(np.mean(able)) if len(able) else 0.0
    more = min(runs - random, len(rest))
    if not more or not terms:
        return NewRuns(chosen, rest[:0], share)
    made = np.vstack([measured, chosen])
    blocks = np.concatenate([np.full(len(measured), -1.0), np.ones(random + more)])[:, None]
    others = refine(Candidates(space, among.reach, rest), made, blocks, terms, more, rng, _STARTS)
    return NewRuns(chosen, others, share)
