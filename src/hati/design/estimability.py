"""Which effects a two-level design can estimate, and what more runs add to them."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from math import comb

import numpy as np
from msgspec import Struct

from hati.core import InputError
from hati.design.aliasing import named
from hati.design.matrix import Design
from hati.design.structure import Hull, Indices, effects, hull

_MOST_EFFECTS = 3_000
_NOTHING = 1e-9


class Estimability(Struct, frozen=True):
    """What can be estimated when effects of more than ``order`` factors are null.

    ``effects`` are those that can be told from all others up to that order and from the mean. ``rank`` is the number
    of parameters, the mean's included, that the runs tell apart: that of the model's matrix.
    """

    runs: int
    order: int
    rank: int
    effects: tuple[tuple[str, ...], ...]


class Separation(Struct, frozen=True):
    """What more runs tell apart: the estimable effects without and with them."""

    before: Estimability
    after: Estimability

    @property
    def separated(self) -> tuple[tuple[str, ...], ...]:
        """The effects that can be estimated with the added runs, and not without."""
        known = set(self.before.effects)
        return tuple(effect for effect in self.after.effects if effect not in known)


def separation(before: Design, after: Design, order: int = 2) -> Separation:
    """What the runs that ``after`` has and ``before`` has not separate among the effects up to that order.

    Raises:
        InputError: as ``estimability`` does.
    """
    return Separation(estimability(before, order), estimability(after, order))


def estimability(design: Design, order: int = 2) -> Estimability:
    """Which effects up to ``order`` factors can be estimated, from the matrix.

    Raises:
        InputError: for an order below one, more than two million effects, or, of a design that is not regular,
            more than 3,000.
    """
    if order < 1:
        raise InputError(f"an order of {order} leaves no effects", fix="use 1 or more")
    geometry = hull(design)
    known = _regular(geometry, order) if geometry.regular else _any(design, order)
    return Estimability(design.runs, order, known[0], tuple(named(design, effect) for effect in known[1]))


def _regular(geometry: Hull, order: int) -> tuple[int, list[Indices]]:
    """The effects that are alone in their column; every column in use is one parameter."""
    columns = list(effects(geometry.columns, order))
    count = Counter([0, *(column for _, column in columns)])
    return len(count), [effect for effect, column in columns if count[column] == 1]


def _any(design: Design, order: int) -> tuple[int, list[Indices]]:
    """An effect is estimable where no null vector of the model's matrix has a part in it."""
    factors = len(design.factors)
    if sum(comb(factors, size) for size in range(1, order + 1)) > _MOST_EFFECTS:
        raise InputError(
            f"the effects up to order {order} of {factors} factors are too many", fix="ask for a lower order"
        )
    chosen = [effect for size in range(1, order + 1) for effect in combinations(range(factors), size)]
    values = np.unique(design.matrix, axis=0).astype(np.float64)
    model = np.column_stack([np.ones(len(values)), *(values[:, effect].prod(axis=1) for effect in map(list, chosen))])
    _, sizes, right = np.linalg.svd(model, full_matrices=False)
    rows = right[sizes > sizes[0] * _NOTHING]
    within = np.einsum("ij,ij->j", rows, rows)[1:]
    return len(rows), [effect for effect, share in zip(chosen, within, strict=True) if share > 1 - _NOTHING]
