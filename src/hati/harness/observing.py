"""How many observations a run needs for a quantile."""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, InputError
from hati.stats import effective_size, normal_quantile

_DECIMALS = 100.0
_ROUNDING = 1e-9


_FINEST = 1e-9


class QuantilePrecision(Struct, frozen=True):
    """That a quantile's estimate is, with that confidence, the true quantile of a probability within +- ``precision``.

    Raises:
        InputError: for what is not between 0 and 1.
    """

    quantile: float = 0.5
    precision: float = 0.005
    confidence: float = 0.95

    def __post_init__(self) -> None:
        for name in ("quantile", "precision", "confidence"):
            value = getattr(self, name)
            if not 0.0 < value < 1.0:
                raise InputError(f"the {name} is between 0 and 1, not {value:g}", fix="write 0.95, or 95%")
        if not _FINEST <= self.precision < min(self.quantile, 1.0 - self.quantile):
            raise InputError(
                f"a precision of {self.precision:g} says nothing of the {self.quantile:g} quantile",
                fix=f"give a --precision below {min(self.quantile, 1.0 - self.quantile):g}, and not below {_FINEST:g}",
            )

    @property
    def observations(self) -> int:
        """How many independent observations that takes.

        n_p >= z^2 p (1 - p) / eps'^2 (Chen and Kelton 1999, Simulation-based estimation of quantiles, Winter Simulation
        Conference, 428-434; Kalibera paper, section 3.2), with z rounded up to two decimals as in tables, so that
        there are never fewer than the exact one would give.

        >>> QuantilePrecision().observations
        38416
        """
        number = self._z**2 * self.quantile * (1.0 - self.quantile) / self.precision**2
        return max(2, math.ceil(number * (1.0 - _ROUNDING)))

    def reached(self, independent: float) -> float:
        """The precision that so many independent observations have."""
        return self._z * math.sqrt(self.quantile * (1.0 - self.quantile) / independent)

    @property
    def _z(self) -> float:
        return math.ceil(normal_quantile(0.5 + self.confidence / 2.0) * _DECIMALS - _ROUNDING) / _DECIMALS


class Sufficiency(Struct, frozen=True):
    """What a run has for a quantile: observations, how many independent ones they are worth, and what that gives.

    ``needed`` is how many of this run's observations would do, correlated as they are.
    """

    observations: int
    effective: float
    precision: float
    needed: int
    enough: bool


def sufficiency(values: FloatArray, wanted: QuantilePrecision) -> Sufficiency:
    """Whether a run's observations after warm-up, shape (n,), are enough.

    What must be independent is whether an observation is below the quantile: how many independent ones there are is
    told from the autocorrelation of just that.
    """
    below = (values <= np.quantile(values, wanted.quantile)).astype(np.float64)
    effective = effective_size(below)
    needed = math.ceil(wanted.observations * len(values) / effective)
    enough = effective >= wanted.observations
    return Sufficiency(len(values), effective, wanted.reached(effective), needed, enough)
