"""The cheapest screening that finds an effect of a given size, or how far a budget is from it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from hati.core import Evidence, InputError, Metric, replace
from hati.stats.distributions import chi_square_quantiles
from hati.studies.screening.cheapest import (
    MOST_RUNS,
    cheapest_factorial,
    cheapest_optimal,
    factorial_of,
    fewest_of_optimal,
    first_optimal,
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
_LARGEST_FACTORIAL = 1_024
_FEWEST_OF_MODEL = 3
"""Fewer options have no design that is smaller than the full factorial and leaves anything to judge by."""


class RunNoise(Struct, frozen=True):
    """The standard deviation of a run as a fraction of the mean, estimated with so many degrees of freedom."""

    deviation: float
    df: int

    def __post_init__(self) -> None:
        if self.deviation < 0.0 or self.df < 1:
            raise InputError("the noise of a run is known from two runs of a configuration at least")


class Shortfall(Struct, frozen=True):
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
    interactions: float = 0.0,
) -> AnyChoice | Shortfall:
    """The cheapest default design that finds a main effect of that size with that power, study-wise.

    That is the full factorial of options with two settings, or fewer configurations that are judged by what a model
    leaves: with the noise of runs the variation of configurations about the main effects.

    Args:
        space: what is screened.
        runs: how many the budget has for the design.
        noise: of a run, from a pilot.
        detect: the effect, a fraction above ``relevant``.
        rng: for optimal designs.
        most: how many runs of a configuration can be had.
        relevant: the fraction below which no effect is important.
        power: the probability of finding it.
        interactions: the variance between configurations which main effects leave, on the scale of the noise.

    Raises:
        InputError: where effects of that size are not important at all, or the runs are too few for any design.
    """
    check_detect(detect, relevant)

    about = replace(noise, deviation=math.hypot(noise.deviation, math.sqrt(interactions)))
    told = _Wanted(about, detect, relevant, power)
    if not suits_two_levels(space):
        return _optimal(space, runs, rng, most, told, math.inf)
    factors = len(space.options)
    found: list[AnyChoice | Shortfall] = [_factorial(factors, runs, most, _Wanted(noise, detect, relevant, power))]
    if factors >= _FEWEST_OF_MODEL:
        found.append(_optimal(space, runs, rng, most, told, 2**factors))
    made = [each for each in found if not isinstance(each, Shortfall)]
    return min(made, key=lambda choice: choice.runs) if made else _nearest(found)


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


class _Wanted(Struct, frozen=True):
    noise: RunNoise
    detect: float
    relevant: float
    power: float

    def enough(self, known: Precision | None) -> bool:
        """Whether a design of that precision has the power."""
        return power_expected(known, self.noise, self.detect, self.relevant) >= self.power

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


def _factorial(factors: int, runs: int, most: float, told: _Wanted) -> Choice | Shortfall:
    """The full factorial where it is not larger than any that one would run."""
    if 2**factors > max(runs, _LARGEST_FACTORIAL):
        return Shortfall(None, None)
    made = cheapest_factorial(factors, runs, told.enough, precision, most)
    if made is not None:
        return replace(made, reason=told.reason(made.reason, precision(made)))
    more = cheapest_factorial(factors, MOST_RUNS, told.enough, precision, most)
    whole = factorial_of(factors, runs, most)
    return Shortfall(told.smallest([precision(whole)]) if whole else None, more.runs if more else None)


def _optimal(
    space: Space, runs: int, rng: np.random.Generator, most: float, told: _Wanted, configurations: float
) -> AnyChoice | Shortfall:
    """A design of fewer configurations than there are in all."""
    runs = int(min(runs, configurations - 1))
    first = first_optimal(space, runs, rng, most)
    made = cheapest_optimal(first, space, runs, rng, told.enough, precision, most)
    if made is not None:
        return replace(made, reason=told.reason(made.reason, precision(made)))
    needed = needed_of_optimal(first, told.enough)
    known = precision_of_optimal(first, runs) if runs >= fewest_of_optimal(first) else None
    found = told.smallest([known])
    needed = None if needed is None else max(needed, runs + 1)
    return Shortfall(found, None if needed is None or needed >= configurations else needed)


def _nearest(found: Sequence[AnyChoice | Shortfall]) -> Shortfall:
    """The smallest effect that is found, and the fewest runs that are needed."""
    short = [each for each in found if isinstance(each, Shortfall)]
    return Shortfall(
        min((each.found for each in short if each.found is not None), default=None),
        min((each.needed for each in short if each.needed is not None), default=None),
    )
