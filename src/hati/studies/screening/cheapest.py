"""The cheapest design whose power suffices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from hati.core.wording import counted
from hati.design import CatalogueEntry, by_runs
from hati.studies.screening.choice import Choice
from hati.studies.screening.forecast import Precision, model_precision
from hati.studies.screening.model_choice import PER_PARAMETER, ModelChoice, choose_optimal

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
    """The full factorial, repeated as often as so many runs allow; None where they do not suffice."""
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
) -> ModelChoice | None:
    """The optimal design with about the fewest runs that is enough; None where ``runs`` do not suffice.

    Foreseen from the errors of ``first``, which fall with the square root of the runs, then made. Never less than two
    runs for a parameter: with fewer, interactions are too easily taken for noise and main effects for each other.
    """
    if runs < fewest_of_optimal(first):
        return None
    size = min(needed_of_optimal(first, enough) or runs, runs)
    for _ in range(_TRIES):
        made = first if size == first.runs else choose_optimal(space, size, rng, most)
        if enough(precision(made)):
            return made
        if size >= runs:
            return None
        size = min(runs, math.ceil(_GROWTH * size))
    return None


def first_optimal(space: Space, runs: int, rng: np.random.Generator, most: float = math.inf) -> ModelChoice:
    """The design of the usual size, or of all runs where they are fewer."""
    parameters = 1 + sum(len(option.settings) - 1 for option in space.options)
    return choose_optimal(space, min(runs, PER_PARAMETER * parameters), rng, most)


def precision_of_optimal(first: ModelChoice, runs: int) -> Precision | None:
    """What so many runs are foreseen to know, from a design of another size."""
    error = first.standard_error * math.sqrt(first.configurations / runs)
    return model_precision(runs, 1, first.parameters, error, first.settings)


def fewest_of_optimal(first: ModelChoice) -> int:
    """How many runs an optimal design needs for its power to be foreseen."""
    return _PER_PARAMETER * first.parameters


def needed_of_optimal(first: ModelChoice, enough: Enough) -> int | None:
    """How many runs are foreseen to be enough."""
    return _fewest(fewest_of_optimal(first), MOST_RUNS, lambda runs: enough(precision_of_optimal(first, runs)))


def _repetitions(
    entry: CatalogueEntry, most: int, enough: Enough, precision: Callable[[Choice], Precision | None]
) -> Choice | None:
    """The fewest repetitions that are enough; one by itself, because there Lenth's method judges."""
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
    """The smallest number from ``least`` to ``most`` that is enough, as all larger ones are."""
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
