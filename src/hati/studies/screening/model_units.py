"""What a screening by a model takes for independent: its runs, or its configurations."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from hati.core import FloatArray
from hati.design import Levels, Model
from hati.stats import Index, unit_means

_PER_PARAMETER = 3


class Units(Struct, frozen=True, eq=False):
    """The units' ``levels`` and ``blocks``; of each run its unit, ``places``, and its block, ``run_blocks``.

    ``order`` are the units' places in time, cleared of the blocks of their runs as their values are; None where they
    are unknown or all the same.
    """

    levels: Levels
    blocks: Index
    places: Index
    run_blocks: Index
    order: FloatArray | None = None

    @property
    def are_runs(self) -> bool:
        """Whether every run is a unit."""
        return len(self.levels) == len(self.places)

    def values(self, of_runs: FloatArray) -> FloatArray:
        """The units' values, from those of the runs."""
        return of_runs if self.are_runs else unit_means(of_runs, self.places, self.run_blocks)


def configurations_are_units(configurations: int, parameters: int) -> bool:
    """Whether so many configurations tell of their own variation beside so many parameters of main effects."""
    return configurations >= _PER_PARAMETER * parameters


def model_units(
    model: Model, levels: Levels, blocks: Index, machines: Index | None = None, order: FloatArray | None = None
) -> Units:
    """The configurations where they are three times as many as the main effects' parameters, else the runs.

    What a model leaves out belongs to configurations: repetitions would make it look like a certain effect of something
    else. Fewer configurations that are repeated are all valid ones, among which next to nothing is aliased.

    Args:
        model: the effects to look for.
        levels: each run's, shape (runs, options).
        blocks: the repetition of each run, on each machine.
        machines: each run's, from 0: a configuration on each of several is a unit.
        order: the place of each run in time, where that is known.
    """
    machines = np.zeros(len(levels), dtype=np.intp) if machines is None else machines
    units = configuration_units(levels, blocks, machines, order)
    parameters = 1 + sum(size - 1 for size in model.sizes)
    if configurations_are_units(len(units.levels), parameters) and not units.are_runs:
        return units
    return Units(levels, blocks, np.arange(len(levels)), blocks, _varying(order))


def configuration_units(levels: Levels, blocks: Index, machines: Index, order: FloatArray | None) -> Units:
    """The configurations, each on every machine where it was run; arguments as for ``model_units``."""
    both = np.column_stack([levels, machines])
    _, first, places = np.unique(both, axis=0, return_index=True, return_inverse=True)
    if len(first) == len(levels):
        return Units(levels, machines, np.arange(len(levels)), blocks, _varying(order))
    places = places.reshape(-1)
    mean = None if order is None else unit_means(order, places, blocks)
    return Units(levels[first], machines[first], places, blocks, _varying(mean))


def _varying(order: FloatArray | None) -> FloatArray | None:
    return order if order is not None and np.ptp(order) > 0.0 else None
