"""The cheapest screening that finds an effect of a given size, or how far a budget is from it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hati.core import Evidence, InputError, Metric
from hati.stats.distributions import chi_square_quantiles
from hati.studies.screening.cheapest import (
    MOST_RUNS,
    Enough,
    cheapest_fraction,
    cheapest_optimal,
    fewest_of_optimal,
    first_optimal,
    fractions_for,
    needed_of_optimal,
    precision_of_optimal,
)
from hati.studies.screening.choice import Choice
from hati.studies.screening.choosing import AnyChoice, suits_two_levels
from hati.studies.screening.forecast import RELEVANT, Precision, precision
from hati.studies.screening.measured import measured
from hati.studies.screening.pilot import STAGE, Pilot

if TYPE_CHECKING:
    from hati.space import Space

POWER = 0.9
PILOT_RUNS = 12
_STEPS = 20
_HALVINGS = 40
_LARGEST = 100.0


@dataclass(frozen=True)
class RunNoise:
    """The standard deviation of a run as a fraction of the mean, estimated with so many degrees of freedom."""

    deviation: float
    df: int

    def __post_init__(self) -> None:
        if self.deviation < 0.0 or self.df < 1:
            raise InputError("the noise of a run is known from two runs of a configuration at least")


@dataclass(frozen=True)
class Shortfall:
    """Why a budget does not suffice.

    ``found`` is the effect that it finds with the wanted power, as a fraction, None where it finds none of any size;
    ``needed`` the number of design runs that would find the one that was asked for, None where no number does.
    """

    found: float | None
    needed: int | None


def run_noise(pilot: Pilot, evidence: Evidence, metric: Metric) -> RunNoise | None:
    """The noise of pilot runs, pooled over their configurations; None where none has two runs with a value.

    Of positive values that of their logarithms; of others the deviation is divided by the mean size.
    """
    places = {configuration: i for i, configuration in enumerate(dict.fromkeys(t.configuration for t in pilot.tasks))}
    found = measured(evidence.stage(STAGE), metric, places)
    groups = [values for row in range(len(places)) if len(values := found.values[found.rows == row]) > 1]
    df = sum(len(values) - 1 for values in groups)
    if not df:
        return None
    logs = bool(np.min(found.values) > 0.0)
    size = 1.0 if logs else float(np.mean(np.abs(found.values))) or 1.0
    squares = sum(float(np.var(np.log(v) if logs else v / size)) * len(v) for v in groups)
    return RunNoise(math.sqrt(squares / df), df)


def power_expected(known: Precision | None, noise: RunNoise, detect: float, relevant: float = RELEVANT) -> float:
    """The probability that a main effect of that size, a fraction, is found, averaged over what the noise may be.

    The variance of a run is df s^2 / chi^2 with the pilot's degrees of freedom: over many pilots the plans that reach a
    power so have it on average, whatever the noise is.
    """
    if known is None:
        return 0.0
    chi = chi_square_quantiles((np.arange(_STEPS) + 0.5) / _STEPS, noise.df)
    deviations = noise.deviation * np.sqrt(noise.df / chi)
    effect, least = math.log1p(detect), math.log1p(relevant)
    return float(np.mean([known.power(effect, float(deviation), least) for deviation in deviations]))


def plan_design(
    space: Space,
    runs: int,
    noise: RunNoise,
    detect: float,
    rng: np.random.Generator,
    *,
    most: float = math.inf,
    relevant: float = RELEVANT,
    power: float = POWER,
) -> AnyChoice | Shortfall:
    """The cheapest design and repetitions that find a main effect of that size with that power, study-wise.

    Args:
        space: what is screened.
        runs: how many the budget has for the design.
        noise: of a run, from a pilot.
        detect: the effect, a fraction above ``relevant``.
        rng: for optimal designs.
        most: how many runs of a configuration can be had.
        relevant: the fraction below which no effect is important.
        power: the probability of finding it.

    Raises:
        InputError: where effects of that size are not important at all, or the runs are too few for any design.
    """
    check_detect(detect, relevant)

    def enough(known: Precision | None) -> bool:
        return power_expected(known, noise, detect, relevant) >= power

    told = _Wanted(noise, detect, relevant, power, enough)
    if suits_two_levels(space):
        return _fraction(len(space.options), runs, most, told)
    return _optimal(space, runs, rng, most, told)


def check_detect(detect: float, relevant: float) -> None:
    """See that effects of that size can be important.

    Raises:
        InputError: where they are not larger than what is relevant.
    """
    if detect <= relevant:
        raise InputError(
            f"effects of {100 * detect:.3g} % are never important: --relevant is {100 * relevant:.3g} %",
            fix="ask for larger ones by --detect, or lower --relevant",
        )


@dataclass(frozen=True)
class _Wanted:
    noise: RunNoise
    detect: float
    relevant: float
    power: float
    enough: Enough

    def reason(self, made: str, known: Precision | None) -> str:
        found = power_expected(known, self.noise, self.detect, self.relevant)
        return f"{made}: the cheapest that finds an effect of {100 * self.detect:.3g} % (power {100 * found:.0f} %)"

    def smallest(self, designs: Sequence[Precision | None]) -> float | None:
        """The smallest effect that one of the designs finds, as a fraction."""
        found = [self._found(known) for known in designs if known is not None]
        return min(found, default=None)

    def _found(self, known: Precision) -> float:
        low, high = 0.0, 0.125
        while high < _LARGEST and power_expected(known, self.noise, math.expm1(high), self.relevant) < self.power:
            low, high = high, 2.0 * high
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            good = power_expected(known, self.noise, math.expm1(middle), self.relevant) >= self.power
            low, high = (low, middle) if good else (middle, high)
        return math.expm1(high)


def _fraction(factors: int, runs: int, most: float, told: _Wanted) -> Choice | Shortfall:
    made = cheapest_fraction(factors, runs, told.enough, precision, most)
    if made is not None:
        return replace(made, reason=told.reason(made.reason, precision(made)))
    more = cheapest_fraction(factors, MOST_RUNS, told.enough, precision, most)
    found = told.smallest([precision(choice) for choice in fractions_for(factors, runs, most)])
    return Shortfall(found, more.runs if more else None)


def _optimal(space: Space, runs: int, rng: np.random.Generator, most: float, told: _Wanted) -> AnyChoice | Shortfall:
    first = first_optimal(space, runs, rng, most)
    made = cheapest_optimal(first, space, runs, rng, told.enough, precision, most)
    if made is not None:
        return replace(made, reason=told.reason(made.reason, precision(made)))
    needed = needed_of_optimal(first, told.enough)
    known = precision_of_optimal(first, runs) if runs >= fewest_of_optimal(first) else None
    found = told.smallest([known])
    return Shortfall(found, None if needed is None else max(needed, runs + 1))
