"""Runs against observations: how many of each find a change at the least cost."""

from __future__ import annotations

import math

from msgspec import Struct

from hati.core import InputError
from hati.stats import Difference, NestedVariance

MOST_RUNS = 10_000


class Costs(Struct, frozen=True):
    """Seconds: ``observation`` of one more in a run, ``run`` of one more run, its warm-up included, without these.

    ``basis`` says what they are taken from.

    Raises:
        InputError: where an observation costs nothing, or a run less.
    """

    observation: float
    run: float
    basis: str

    def __post_init__(self) -> None:
        if not (0.0 < self.observation < math.inf and 0.0 <= self.run < math.inf):
            raise InputError(
                f"an observation costs more than 0 s and a run no less, not {self.observation:g} and {self.run:g} s"
            )

    def of(self, runs: int, observations: int) -> float:
        """Of so many runs with so many observations each, in seconds."""
        return runs * (self.run + observations * self.observation)


class Aim(Struct, frozen=True):
    """The relative change to be found, with what power, by a test at what level.

    Raises:
        InputError: for what is not between 0 and 1.
    """

    change: float = 0.05
    power: float = 0.8
    alpha: float = 0.01

    def __post_init__(self) -> None:
        for name in ("change", "power", "alpha"):
            value = getattr(self, name)
            if not 0.0 < value < 1.0:
                raise InputError(f"the {name} is between 0 and 1, not {value:g}")


class Allocation(Struct, frozen=True):
    """So many observations in each of so many runs of each side; ``seconds`` of both sides, None where not known.

    ``runs`` is None where 10,000 do not find the change, or nothing is known of the variance between runs.
    """

    observations: int
    runs: int | None
    seconds: float | None


def best_observations(variance: NestedVariance, costs: Costs) -> int | None:
    """How many observations a run should have, so that a given precision costs the least time.

    ceil(sqrt(c2 / c1 T1^2 / T2^2)), at least 1 (Kalibera and Jones 2013, Rigorous
    benchmarking in reasonable time, ISMM, 63-74). None where the
    variance between runs is not known or not shown to be above zero: then one more observation is always cheaper than
    one more run.
    """
    if variance.between is None or variance.between <= 0.0:
        return None
    ratio = costs.run / costs.observation * variance.independent / variance.between
    return max(1, math.ceil(math.sqrt(ratio)))


def runs_for(relative: float, aim: Aim) -> int | None:
    """The runs of each side with which Student's test on run means finds the change; at least 2.

    ``relative`` is the variance of run means over the square of their mean: on the logarithmic scale, where the test
    decides, it is theirs.
    """

    def finds(runs: int) -> bool:
        planned = Difference(0.0, relative, 2.0 * runs - 2.0, (runs, runs))
        return planned.detectable(aim.alpha, aim.power) <= math.log1p(aim.change)

    if not finds(MOST_RUNS):
        return None
    least, most = 2, MOST_RUNS
    while least < most:
        middle = (least + most) // 2
        least, most = (least, middle) if finds(middle) else (middle + 1, most)
    return most


def allocation(observations: int, relative: float | None, aim: Aim, costs: Costs | None) -> Allocation:
    """What that many observations in a run ask for; ``relative`` as in ``runs_for``, None where it is not known."""
    runs = None if relative is None else runs_for(relative, aim)
    seconds = None if runs is None or costs is None else 2.0 * costs.of(runs, observations)
    return Allocation(observations, runs, seconds)
