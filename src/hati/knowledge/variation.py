"""How a metric varies: between configurations beyond main effects, and between runs of one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct

from hati.core import Configuration, FloatArray, InputError

FEWEST_LEFT = 4
"""Degrees of freedom from which on the variance of interactions is estimated."""


class Variation(Struct, frozen=True):
    """Variances of logarithms (of fractions of the mean size, where a value is not above zero).

    ``interactions`` is that between configurations which main effects leave, ``noise`` that between runs of one.
    """

    interactions: float
    noise: float

    def deviation(self, repetitions: int) -> float:
        """The standard deviation of a run about main effects, as a design of ``repetitions`` counts it.

        The error of a main effect is 2 / sqrt(runs) times it: repetitions average the noise, not the interactions.
        """
        return math.sqrt(self.noise + repetitions * self.interactions)


class SumsOfSquares(Struct, frozen=True):
    """Sums of squares with their degrees of freedom: between runs of a configuration, and left by main effects.

    ``runs`` of ``configurations`` were made.
    """

    within: float
    within_df: int
    left: float
    left_df: int
    runs: int
    configurations: int

    @classmethod
    def of(cls, configurations: Sequence[Configuration], values: FloatArray) -> SumsOfSquares:
        """Of a value for each run, shape (runs,), any unit.

        Raises:
            InputError: where not every value has a configuration, or there is none.
        """
        if not len(configurations) == len(values) > 0:
            raise InputError("there is a configuration for every value, and one value at least")
        responses = _responses(values)
        places = {configuration: place for place, configuration in enumerate(dict.fromkeys(configurations))}
        owners = np.array([places[configuration] for configuration in configurations])
        sizes = np.bincount(owners)
        means = np.bincount(owners, weights=responses) / sizes
        within = float(((responses - means[owners]) ** 2).sum())
        columns, weights = _main_effects(tuple(places)), np.sqrt(sizes)
        solved, _, rank, _ = np.linalg.lstsq(columns * weights[:, None], means * weights, rcond=None)
        left = float((sizes * (means - columns @ solved) ** 2).sum())
        return cls(within, len(owners) - len(sizes), left, len(sizes) - int(rank), len(owners), len(sizes))


def variation(sums: Iterable[SumsOfSquares], fewest: int = 1) -> Variation | None:
    """Both variances, pooled; None where main effects leave fewer than ``fewest`` degrees of freedom.

    Where no configuration was repeated, all that main effects leave counts as interactions.
    """
    every = list(sums)
    left_df, within_df = sum(one.left_df for one in every), sum(one.within_df for one in every)
    if left_df < fewest:
        return None
    left = sum(one.left for one in every) / left_df
    if not within_df:
        return Variation(left, 0.0)
    noise = sum(one.within for one in every) / within_df
    repetitions = sum(one.runs for one in every) / sum(one.configurations for one in every)
    return Variation(max(0.0, (left - noise) / repetitions), noise)


def _responses(values: FloatArray) -> FloatArray:
    """Logarithms, or where a value is not above zero fractions of the mean size."""
    if (values > 0.0).all():
        return np.asarray(np.log(values), dtype=np.float64)
    return np.asarray(values / (float(np.abs(values).mean()) or 1.0), dtype=np.float64)


def _main_effects(configurations: Sequence[Configuration]) -> FloatArray:
    """An intercept and one column per option and setting, an inactive option being a setting, shape (n, columns)."""
    names = sorted({name for configuration in configurations for name in configuration})
    columns = [np.ones(len(configurations))]
    for name in names:
        own = [configuration.get(name) for configuration in configurations]
        columns += [np.array([value == setting for value in own], dtype=np.float64) for setting in dict.fromkeys(own)]
    return np.column_stack(columns)
