"""The cheapest design whose power suffices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from hati.design import CatalogueEntry, by_runs, catalogue_sizes
from hati.studies.screening.choice import Choice
from hati.studies.screening.forecast import Precision, model_precision
from hati.studies.screening.model_choice import PER_PARAMETER, ModelChoice, choose_optimal
from hati.studies.screening.wording import counted

if TYPE_CHECKING:
    from hati.space import Space

Enough = Callable[[Precision | None], bool]
"""Whether a design of that precision has the power that is wanted."""

MOST_RUNS = 1_000_000
_GOOD, _CLEAR = 4, 5
_PER_PARAMETER = 2
_GROWTH = 1.08
_TRIES = 6


def cheapest_fraction(
    factors: int, runs: float, enough: Enough, precision: Callable[[Choice], Precision | None], most: float = math.inf
) -> Choice | None:
    """The fraction and the repetitions with the fewest runs that are enough; None where ``runs`` do not suffice.

    Of resolution IV at least, as far as the runs allow that at all; of equal runs the larger fraction, which tells more
    effects apart.
    """
    best: Choice | None = None
    for entry in _useful(factors, runs):
        limit = min(runs, best.runs if best else MOST_RUNS)
        found = _repetitions(entry, int(min(limit // entry.runs, most)), enough, precision)
        if found is not None and (best is None or found.runs <= best.runs):
            best = found
    return best


def fractions_for(factors: int, runs: int, most: float = math.inf) -> tuple[Choice, ...]:
    """Every fraction that so many runs buy, repeated as often as they allow."""
    return tuple(_repeated(entry, int(min(runs // entry.runs, most))) for entry in _useful(factors, runs))


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


def _useful(factors: int, runs: float) -> list[CatalogueEntry]:
    """Those of resolution IV up to the first of resolution V; where none is affordable, all that are."""
    affordable = [entry for entry in catalogue_sizes(factors) if entry.runs <= runs]
    good = [entry for entry in affordable if (entry.resolution or _CLEAR) >= _GOOD]
    clear = next((entry.runs for entry in good if (entry.resolution or _CLEAR) >= _CLEAR), MOST_RUNS)
    return [entry for entry in good if entry.runs <= clear] or affordable


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
