"""How many runs of a validation decide what is undecided of effects, if their estimates and the noise hold."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from hati.stats import POWER, fewest_runs, normal_quantile
from hati.studies.screening.model_fit import Contrast

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
        cls, contrast: Contrast, runs: int, relevant: float, critical: float, before: int = 0, alone: float = 0.5
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
