"""A design's properties at a glance."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from hati.design.matrix import Design
from hati.design.structure import hull
from hati.design.words import resolution


class DesignProperties(Struct, frozen=True):
    """What the matrix says.

    ``balanced``: every factor is at -1 as often as at +1. ``orthogonal``: so are the products of any two.
    ``regular``: any two effects are equal up to the sign, or orthogonal. ``distinct``: number of different runs.
    """

    runs: int
    distinct: int
    factors: int
    balanced: bool
    orthogonal: bool
    regular: bool
    resolution: int | None


def properties(design: Design) -> DesignProperties:
    """Recompute the design's properties from its matrix.

    Raises:
        InputError: for a design that is not regular and has more than 2^14 runs.
    """
    values = design.matrix.astype(np.float64)
    products = values.T @ values
    return DesignProperties(
        runs=design.runs,
        distinct=len(np.unique(np.packbits(design.matrix > 0, axis=1), axis=0)),
        factors=len(design.factors),
        balanced=not np.any(values.sum(axis=0)),
        orthogonal=not np.any(products - np.diag(np.diag(products))),
        regular=hull(design).regular,
        resolution=resolution(design),
    )
