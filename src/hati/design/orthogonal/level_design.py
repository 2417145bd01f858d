"""A design whose factors may have more than two settings, and what can be said of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, prod
from typing import TYPE_CHECKING, Literal

import numpy as np
from msgspec import Struct

from hati.core import Configuration, InputError
from hati.design.optimal.coding import Levels, Model
from hati.design.two_level.matrix import check_factors, check_runs

if TYPE_CHECKING:
    from hati.space import Space


LevelKind = Literal["orthogonal array", "nearly orthogonal array", "given"]

_MOST_SETS = 200_000


@dataclass(frozen=True, eq=False)
class LevelDesign:
    """The position of every factor's setting in every run, from 0 to its size less one.

    ``levels`` is a read-only copy of shape (runs, factors). ``kind`` tells how the design was made; what it is good
    for is recomputed from the levels. Two designs are equal when they have the same factors, sizes and levels.

    Raises:
        InputError: for names that will not do, fewer than two settings, levels of another shape or out of range.
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    levels: Levels
    kind: LevelKind = "given"

    def __post_init__(self) -> None:
        check_factors(self.names)
        given = np.asarray(self.levels)
        if len(self.sizes) != len(self.names) or min(self.sizes) < 2:
            raise InputError("every factor of a design needs two settings or more")
        if given.ndim != 2 or given.shape[0] == 0 or given.shape[1] != len(self.names):
            raise InputError(f"a design of {len(self.names)} factors needs levels of that many columns and some rows")
        check_runs(given.shape[0])
        if np.any(given < 0) or np.any(given >= np.array(self.sizes)):
            raise InputError("a design's level is that of no setting of its factor")
        levels = np.array(given, dtype=np.int16, order="C")
        levels.flags.writeable = False
        object.__setattr__(self, "levels", levels)

    @property
    def runs(self) -> int:
        """Number of rows: one configuration each."""
        return int(self.levels.shape[0])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LevelDesign) or (self.names, self.sizes) != (other.names, other.sizes):
            return False
        return np.array_equal(self.levels, other.levels)

    def __hash__(self) -> int:
        return hash((self.names, self.sizes, self.levels.tobytes()))


class LevelProperties(Struct, frozen=True):
    """What the levels say.

    ``unbalanced``: the factors that have some settings more often than others. ``strength``: any so many factors have
    all their combinations of settings equally often, looked at up to three. ``correlated``: the pairs of factors whose
    combinations are not as often as their settings' frequencies would have it, so that their main effects are not
    orthogonal. ``d_efficiency``: |X'X / runs|^(1 / parameters) for the mean and the main effects, 1 where these are
    orthogonal and balanced, 0 where they cannot all be estimated.
    """

    runs: int
    distinct: int
    factors: int
    unbalanced: tuple[str, ...]
    strength: int
    correlated: tuple[tuple[str, str], ...]
    d_efficiency: float


def level_properties(design: LevelDesign) -> LevelProperties:
    """Recompute the design's properties from its levels."""
    names, levels, sizes = design.names, design.levels, design.sizes
    pairs = combinations(range(len(names)), 2)
    looked_at = 3 if comb(len(names), 3) <= _MOST_SETS else 2
    return LevelProperties(
        runs=design.runs,
        distinct=len(np.unique(design.levels, axis=0)),
        factors=len(names),
        unbalanced=tuple(name for j, name in enumerate(names) if not _even(levels, sizes, (j,))),
        strength=strength(levels, sizes, looked_at),
        correlated=tuple((names[i], names[j]) for i, j in pairs if not _proportional(levels, sizes, i, j)),
        d_efficiency=_main_effects_efficiency(design),
    )


def strength(levels: Levels, sizes: Sequence[int], most: int = 3) -> int:
    """The largest number of columns, up to ``most``, of which any have all combinations equally often; by counting.

    Raises:
        InputError: where there are more than 200,000 sets of columns to count.
    """
    for size in range(1, min(most, len(sizes)) + 1):
        if comb(len(sizes), size) > _MOST_SETS:
            raise InputError(f"{len(sizes)} columns have too many sets of {size} to count", fix="ask for fewer")
        if not all(_even(levels, sizes, chosen) for chosen in combinations(range(len(sizes)), size)):
            return size - 1
    return min(most, len(sizes))


def level_configurations(design: LevelDesign, space: Space) -> tuple[Configuration, ...]:
    """One configuration of the space for each run; factors are options by name.

    Raises:
        InputError: where factors and options do not correspond, or not all combinations of settings are valid.
    """
    check_unconstrained(space)
    if set(space.names) != set(design.names) or design.sizes != sizes_of(space, design.names):
        raise InputError("the design's factors are not the space's options", fix="name them so, with as many settings")
    settings = [space.option(name).settings for name in design.names]
    return tuple(
        space.complete({name: its[place] for name, its, place in zip(design.names, settings, row, strict=True)})
        for row in design.levels.tolist()
    )


def sizes_of(space: Space, names: Sequence[str]) -> tuple[int, ...]:
    """How many settings the options of those names have."""
    return tuple(len(space.option(name).settings) for name in names)


def check_unconstrained(space: Space) -> None:
    """All combinations of the space's settings are valid and each setting always has a say.

    Raises:
        InputError: where not, naming what is in the way and what will serve.
    """
    conditional = next((option.name for option in space.options if option.active_if is not None), None)
    if conditional is not None or space.constraints:
        what = (
            f"option {conditional!r} has no influence in some configurations"
            if conditional
            else "there are constraints"
        )
        raise InputError(
            f"{what}; an orthogonal array needs all combinations of settings to be valid",
            fix="use an optimal design, or keep to the options that are free",
        )


def _even(levels: Levels, sizes: Sequence[int], chosen: tuple[int, ...]) -> bool:
    cells = prod(sizes[column] for column in chosen)
    if len(levels) % cells:
        return False
    code = np.zeros(len(levels), dtype=np.int64)
    for column in chosen:
        code = code * sizes[column] + levels[:, column]
    return bool(np.all(np.bincount(code, minlength=cells) == len(levels) // cells))


def _proportional(levels: Levels, sizes: Sequence[int], i: int, j: int) -> bool:
    code = levels[:, i].astype(np.int64) * sizes[j] + levels[:, j]
    counts = np.bincount(code, minlength=sizes[i] * sizes[j]).reshape(sizes[i], sizes[j])
    return np.array_equal(counts * len(levels), np.outer(counts.sum(axis=1), counts.sum(axis=0)))


def _main_effects_efficiency(design: LevelDesign) -> float:
    matrix = Model.of_order(design.sizes, 1).matrix(design.levels)
    if len(matrix) < matrix.shape[1]:
        return 0.0
    sign, logarithm = np.linalg.slogdet(matrix.T @ matrix / len(matrix))
    return float(np.exp(logarithm / matrix.shape[1])) if sign > 0 and np.isfinite(logarithm) else 0.0
