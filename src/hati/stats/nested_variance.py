"""The variance within runs and between them, apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, InputError
from hati.stats.effective import effective_size


class NestedVariance(Struct, frozen=True):
    """What observations vary by within a run, and runs beyond that; squares of the metric's unit.

    ``within`` is T1^2; ``between`` is T2^2, unbiased, and so negative where runs differ less than their observations
    would make them; None with one run. ``worth`` is the part of an independent observation that one is worth.
    """

    mean: float
    within: float
    between: float | None
    runs: int
    observations: float
    worth: float

    @property
    def independent(self) -> float:
        """``within`` as it would have to be for independent observations to make run means vary as these do."""
        return self.within / self.worth

    def of_run_means(self, observations: float) -> float | None:
        """The variance of the mean of a run of so many observations; None where ``between`` is not known."""
        if self.between is None:
            return None
        return max(self.between, 0.0) + self.independent / observations

    def relative(self, observations: float) -> float | None:
        """The same over the square of the mean; None where there is no such ratio."""
        found = self.of_run_means(observations)
        return None if found is None or self.mean == 0.0 else found / self.mean**2


def nested_variance(runs: Sequence[FloatArray]) -> NestedVariance:
    """Estimate both variances from runs, each of shape (n,).

    The within-run variance is the mean of those of the runs, S1^2; the between-run variance that of run means less
    what the observations contribute, S2^2 - S1^2 / n (Kalibera and Jones 2013, Rigorous benchmarking in reasonable
    time, ISMM, 63-74), with the harmonic mean of n where runs are of several sizes, and with n in independent
    observations (``effective_size``) where successive ones are correlated.

    Raises:
        InputError: where no run has two observations.
    """
    several = [values for values in runs if len(values) > 1]
    if not several:
        raise InputError("no run has more than one observation: nothing is known of the variance within runs")
    within = float(np.mean([np.var(values, ddof=1) for values in several]))
    worth = float(np.mean([effective_size(values) / len(values) for values in several]))
    means = np.array([np.mean(values) for values in runs])
    contributed = within * float(np.mean([1.0 / (worth * len(values)) for values in runs]))
    between = float(np.var(means, ddof=1)) - contributed if len(runs) > 1 else None
    harmonic = len(runs) / float(np.sum([1.0 / len(values) for values in runs]))
    return NestedVariance(float(means.mean()), within, between, len(runs), harmonic, worth)
