"""What a suite's configurations have more or less of than the whole space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from hati.core import FloatArray
from hati.design.coding import Model, levels
from hati.design.discrepancy import reference_levels
from hati.design.suite import Suite
from hati.space import Space

if TYPE_CHECKING:
    from numpy.random import Generator


def centred_columns(suite: Suite, space: Space, rng: Generator, ranking: Sequence[str] = ()) -> FloatArray:
    """The main effects' columns of the options that are no strata, minus their means over the whole space.

    Shape (configurations, columns); the options of the ranking first, the others in the space's order. The means are
    exact for options that are free of constraints and for spaces that can be listed; otherwise those of a uniform
    sample, for which ``rng`` is.
    """
    names = dict.fromkeys((*ranking, *space.names))
    others = tuple((space.names.index(name),) for name in names if name not in suite.options)
    model = Model(tuple(len(option.settings) for option in space.options), others)
    columns = model.matrix(levels(suite.configurations, space))[:, 1:]
    tied, reference = reference_levels(space, rng)
    means = model.matrix(reference).mean(axis=0)[1:] if len(reference) else np.zeros(columns.shape[1])
    free = [term[0] not in tied for term in others]
    means[np.repeat(free, np.bincount(model.owners[1:], minlength=len(others)))] = 0.0
    return np.asarray(columns - means)
