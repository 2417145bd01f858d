"""The cheapest screening that finds an effect of a given size, or by how much a budget falls short of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from hati.core import Evidence, InputError, Metric, replace
from hati.core.wording import counted
from hati.design import CatalogueEntry, by_runs
from hati.stats.distributions import chi_square_quantiles
from hati.studies.screening.planning.choosing import AnyChoice, suits_two_levels
from hati.studies.screening.planning.fractions import Choice
from hati.studies.screening.planning.models import (
    ALPHA,
    PER_PARAMETER,
    RELEVANT,
    ModelChoice,
    Precision,
    choose_optimal,
    model_precision,
    precision,
)
from hati.studies.screening.planning.pilot import STAGE, Pilot
from hati.studies.screening.runs import measured

if TYPE_CHECKING:
    from hati.space import Space


Enough = Callable[[Precision | None], bool]
"""Whether a design of that precision has the power that is wanted."""

MOST_RUNS = 1_000_000
_PER_PARAMETER = 2
_GROWTH = 1.08
_TRIES = 6


def cheapest_factorial(
    factors: int, runs: float, enough: Enough, precision: Callable[[Choice], Precision | None], most: float = math.inf
) -> Choice | None:
    """The full factorial with the fewest repetitions that are enough; None where ``runs`` do not suffice."""
    entry = CatalogueEntry(factors, 2**factors, None)
    return _repetitions(entry, int(min(runs // entry.runs, most)), enough, precision)


def factorial_of(factors: int, runs: int, most: float = math.inf) -> Choice | None:
    """The full factorial, repeated as often as the runs allow; None where they do not suffice."""
    entry = CatalogueEntry(factors, 2**factors, None)
    return _repeated(entry, int(min(runs // entry.runs, most))) if entry.runs <= runs else None


def cheapest_optimal(
    first: ModelChoice,
    space: Space,
    runs: int,
    rng: np.random.Generator,
    enough: Enough,
    precision: Callable[[ModelChoice], Precision | None],
    most: float = math.inf,
    alpha: float = ALPHA,
) -> ModelChoice | None:
    """The optimal design with about the fewest runs that is enough; None where ``runs`` do not suffice.

    The number of runs is predicted from the errors of ``first``, which fall with the square root of the runs; then the
    design is computed. It has at least two runs per parameter: with fewer, interactions are too easily taken for noise
    and main effects for each other.
    """
    if runs < fewest_of_optimal(first):
        return None
    size = min(needed_of_optimal(first, enough, alpha) or runs, runs)
    for _ in range(_TRIES):
        made = first if size == first.runs else choose_optimal(space, size, rng, most)
        if enough(precision(made)):
            return made
        if size >= runs:
            return None
        size = min(runs, math.ceil(_GROWTH * size))
    return None


def first_optimal(space: Space, runs: int, rng: np.random.Generator, most: float = math.inf) -> ModelChoice:
    """The optimal design of the usual size, or of all runs if they are fewer."""
    parameters = 1 + sum(len(option.settings) - 1 for option in space.options)
    return choose_optimal(space, min(runs, PER_PARAMETER * parameters), rng, most)


def precision_of_optimal(first: ModelChoice, runs: int, alpha: float = ALPHA) -> Precision | None:
    """The expected precision of ``runs`` runs at a study-wise error, from a design of another size."""
    error = first.standard_error * math.sqrt(first.configurations / runs)
    return model_precision(runs, 1, first.parameters, error, first.settings, alpha)


def fewest_of_optimal(first: ModelChoice) -> int:
    """The runs that an optimal design needs for a prediction of its power."""
    return _PER_PARAMETER * first.parameters


def needed_of_optimal(first: ModelChoice, enough: Enough, alpha: float = ALPHA) -> int | None:
    """The expected number of runs that are enough."""
    return _fewest(fewest_of_optimal(first), MOST_RUNS, lambda runs: enough(precision_of_optimal(first, runs, alpha)))


def _repetitions(
    entry: CatalogueEntry, most: int, enough: Enough, precision: Callable[[Choice], Precision | None]
) -> Choice | None:
    """The fewest repetitions that are enough; a single one is checked separately, because Lenth's method judges it."""
    if most < 1:
        return None
    once = _repeated(entry, 1)
    if enough(precision(once)):
        return once

    def enough_times(repetitions: int) -> bool:
        return enough(precision(_repeated(entry, repetitions)))

    found = _fewest(2, most, enough_times)
    return None if found is None else _repeated(entry, found)


def _fewest(least: int, most: int, enough: Callable[[int], bool]) -> int | None:
    """The smallest number from ``least`` to ``most`` that is enough, if all larger ones are enough, too; else None."""
    low, high = least - 1, least
    while high < most and not enough(high):
        low, high = high, 2 * high
    high = min(high, most)
    if high < least or not enough(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _repeated(entry: CatalogueEntry, repetitions: int) -> Choice:
    names = tuple(f"x{i}" for i in range(1, entry.factors + 1))
    return Choice(
        factors=entry.factors,
        configurations=entry.runs,
        repetitions=repetitions,
        resolution=entry.resolution,
        generators=by_runs(names, entry.runs).generators,
        reason=f"{counted(entry.runs, 'configuration')} x {counted(repetitions, 'repetition')}",
    )


POWER = 0.9
PILOT_RUNS = 12
_STEPS = 20
_HALVINGS = 40
_LARGEST = 100.0
_LARGEST_FACTORIAL = 1_024
_FEWEST_OF_MODEL = 3
"""With fewer options, no design smaller than the full factorial leaves degrees of freedom to judge by."""


class RunNoise(Struct, frozen=True):
    """The standard deviation of a run as a fraction of the mean, with its estimate's degrees of freedom."""

    deviation: float
    df: int

    def __post_init__(self) -> None:
        if self.deviation < 0.0 or self.df < 1:
            raise InputError("the noise of a run is known from two runs of a configuration at least")


class Shortfall(Struct, frozen=True):
    """Why a budget does not suffice.

    ``found`` is the effect that it finds with the wanted power, as a fraction, None if it finds no effect of any size;
    ``needed`` is the number of design runs that would find the requested effect, None if no number does.
    """

    found: float | None
    needed: int | None


def run_noise(pilot: Pilot, evidence: Evidence, metric: Metric) -> RunNoise | None:
    """The noise of pilot runs, pooled over their configurations; None if no configuration has two runs with a value.

    For positive values it is the deviation of their logarithms; otherwise the deviation is divided by the mean size.
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
    """The probability that a main effect of that size, a fraction, is found, averaged over the uncertain noise.

    The variance of a run is df s^2 / chi^2 with the pilot's degrees of freedom. Over many pilots, plans that reach a
    power by this measure therefore have it on average, whatever the noise is.
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
    alpha: float = ALPHA,
    interactions: float = 0.0,
) -> AnyChoice | Shortfall:
    """The cheapest default design that finds a main effect of that size with a power of 90 %, study-wise.

    This is the full factorial of options with two settings, or a design of fewer configurations that is judged by a
    model's residuals, which hold the noise of runs and the variation of configurations about the main effects.

    Args:
        space: the space to screen.
        runs: the number of runs that the budget has for the design.
        noise: of a run, from a pilot.
        detect: the effect, a fraction above ``relevant``.
        rng: for optimal designs.
        most: the largest available number of runs of a configuration.
        relevant: the fraction below which no effect is important.
        alpha: the study-wise error.
        interactions: the variance between configurations that main effects leave, on the scale of the noise.

    Raises:
        InputError: if effects of that size are not important at all, or the runs are too few for any design.
    """
    check_detect(detect, relevant)
    about = replace(noise, deviation=math.hypot(noise.deviation, math.sqrt(interactions)))
    wanted = _Wanted(about, detect, relevant, alpha)
    if not suits_two_levels(space):
        return _optimal(space, runs, rng, most, wanted, math.inf)
    factors = len(space.options)
    found: list[AnyChoice | Shortfall] = [_factorial(factors, runs, most, _Wanted(noise, detect, relevant, alpha))]
    if factors >= _FEWEST_OF_MODEL:
        found.append(_optimal(space, runs, rng, most, wanted, 2**factors))
    made = [each for each in found if not isinstance(each, Shortfall)]
    return min(made, key=lambda choice: choice.runs) if made else _nearest(found)


def check_detect(detect: float, relevant: float) -> None:
    """Check that effects of that size can be important.

    Raises:
        InputError: where they are not larger than the relevant size.
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
    alpha: float

    def precision(self, choice: AnyChoice) -> Precision | None:
        """The precision of a design at the study-wise error."""
        return precision(choice, alpha=self.alpha)

    def enough(self, known: Precision | None) -> bool:
        """Whether a design of that precision has the power."""
        return power_expected(known, self.noise, self.detect, self.relevant) >= POWER

    def reason(self, made: str, known: Precision | None) -> str:
        found = power_expected(known, self.noise, self.detect, self.relevant)
        return f"{made}: the cheapest that finds an effect of {100 * self.detect:.3g} % (power {100 * found:.0f} %)"

    def smallest(self, designs: Sequence[Precision | None]) -> float | None:
        """The smallest effect that one of the designs finds, as a fraction."""
        found = [self._found(known) for known in designs if known is not None]
        return min(found, default=None)

    def _found(self, known: Precision) -> float:
        low, high = 0.0, 0.125
        while high < _LARGEST and power_expected(known, self.noise, math.expm1(high), self.relevant) < POWER:
            low, high = high, 2.0 * high
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            good = power_expected(known, self.noise, math.expm1(middle), self.relevant) >= POWER
            low, high = (low, middle) if good else (middle, high)
        return math.expm1(high)


def _factorial(factors: int, runs: int, most: float, wanted: _Wanted) -> Choice | Shortfall:
    """The cheapest full factorial, or the shortfall; without figures if the factorial is too large to consider."""
    if 2**factors > max(runs, _LARGEST_FACTORIAL):
        return Shortfall(None, None)
    made = cheapest_factorial(factors, runs, wanted.enough, wanted.precision, most)
    if made is not None:
        return replace(made, reason=wanted.reason(made.reason, wanted.precision(made)))
    more = cheapest_factorial(factors, MOST_RUNS, wanted.enough, wanted.precision, most)
    whole = factorial_of(factors, runs, most)
    return Shortfall(wanted.smallest([wanted.precision(whole)]) if whole else None, more.runs if more else None)


def _optimal(
    space: Space, runs: int, rng: np.random.Generator, most: float, wanted: _Wanted, configurations: float
) -> AnyChoice | Shortfall:
    """The cheapest optimal design with fewer runs than ``configurations``, or the shortfall."""
    runs = int(min(runs, configurations - 1))
    first = first_optimal(space, runs, rng, most)
    made = cheapest_optimal(first, space, runs, rng, wanted.enough, wanted.precision, most, wanted.alpha)
    if made is not None:
        return replace(made, reason=wanted.reason(made.reason, wanted.precision(made)))
    needed = needed_of_optimal(first, wanted.enough, wanted.alpha)
    known = precision_of_optimal(first, runs, wanted.alpha) if runs >= fewest_of_optimal(first) else None
    found = wanted.smallest([known])
    needed = None if needed is None else max(needed, runs + 1)
    return Shortfall(found, None if needed is None or needed >= configurations else needed)


def _nearest(found: Sequence[AnyChoice | Shortfall]) -> Shortfall:
    """The smallest effect that any design finds, and the fewest runs that any needs."""
    short = [each for each in found if isinstance(each, Shortfall)]
    return Shortfall(
        min((each.found for each in short if each.found is not None), default=None),
        min((each.needed for each in short if each.needed is not None), default=None),
    )
