"""The smallest orthogonal array for factors with given numbers of settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations, product
from math import lcm, prod

import numpy as np

from hati.core import InputError
from hati.design.arrays import array, wanted
from hati.design.coding import Levels
from hati.design.level_design import LevelDesign
from hati.design.names import letters

MOST_ARRAY_RUNS = 144
_MOST_SETTINGS = 49
_MOST_SIZES = 6


def orthogonal_array(sizes: Sequence[int], runs: int | None = None, names: Sequence[str] = ()) -> LevelDesign:
    """The smallest array of strength two, up to 144 runs, with columns for factors of these numbers of settings.

    Where none is known, or none in ``runs`` runs, a nearly orthogonal one: some factors take a column with more
    settings than they have, whose surplus settings stand for their first ones again ('dummy levels'). Without such
    surplus an array of fewer ``runs`` is repeated to have that many. Factors are lettered where no ``names`` are given.

    Raises:
        InputError: for sizes that no array here has columns for, with the numbers of runs that there are.
    """
    sizes = tuple(sizes)
    _check(sizes)
    names = tuple(names) or (letters(len(sizes)) if len(sizes) <= 52 else tuple(f"x{i + 1}" for i in range(len(sizes))))
    whole = _exact_runs(sizes) if runs is None else _repeated(sizes, runs)
    if whole is not None:
        levels = np.tile(_filled(sizes, sizes, whole), (1 if runs is None else runs // whole, 1))
        return LevelDesign(names, sizes, levels, "orthogonal array")
    for size, columns in _nearly(sizes):
        if runs in {None, size}:
            return LevelDesign(names, sizes, _filled(sizes, columns, size), "nearly orthogonal array")
    raise _missing(sizes, runs)


def array_runs(sizes: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The numbers of runs up to 144 of the orthogonal arrays for these sizes, and of the nearly orthogonal ones."""
    sizes = tuple(sizes)
    _check(sizes)
    exact = tuple(_all_exact(sizes))
    return exact, tuple(runs for runs, _ in _nearly(sizes) if runs not in exact)


def _check(sizes: tuple[int, ...]) -> None:
    if not sizes:
        raise InputError("there are no factors to make an array for", fix="give at least one")
    if min(sizes) < 2 or max(sizes) > _MOST_SETTINGS:
        raise InputError(f"an array's factors have 2 to {_MOST_SETTINGS} settings", fix="use an optimal design")


@cache
def _exact_runs(sizes: tuple[int, ...]) -> int | None:
    """The fewest runs of an array that has a column for each factor."""
    return next(_all_exact(sizes), None)


def _all_exact(sizes: tuple[int, ...]) -> Iterator[int]:
    step = lcm(*(sizes[i] * sizes[j] for i, j in combinations(range(len(sizes)), 2)), *sizes)
    for runs in range(step, MOST_ARRAY_RUNS + 1, step):
        if array(runs, wanted(sizes)) is not None:
            yield runs


def _repeated(sizes: tuple[int, ...], runs: int) -> int | None:
    """The runs of an array that makes up ``runs``, whole or repeated; as few repetitions as can be."""
    return next((size for size in sorted(_all_exact(sizes), reverse=True) if runs % size == 0), None)


@cache
def _nearly(sizes: tuple[int, ...]) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Runs and the columns' numbers of settings, with a surplus somewhere; by runs, the least surplus of each."""
    distinct = sorted(set(sizes))
    if len(distinct) > _MOST_SIZES:
        return ()
    best: dict[int, tuple[int, tuple[int, ...]]] = {}
    for targets in product(*(range(size, min(2 * size, _MOST_SETTINGS) + 1) for size in distinct)):
        larger = dict(zip(distinct, targets, strict=True))
        columns = tuple(larger[size] for size in sizes)
        surplus = sum(columns) - sum(sizes)
        if surplus and (runs := _exact_runs(tuple(sorted(columns)))) is not None:
            best[runs] = min(best.get(runs, (surplus, columns)), (surplus, columns))
    return tuple((runs, columns) for runs, (_, columns) in sorted(best.items()))


def _filled(sizes: tuple[int, ...], columns: tuple[int, ...], runs: int) -> Levels:
    """The array's columns in the factors' order, surplus settings read as the first ones again."""
    found = array(runs, wanted(columns))
    assert found is not None
    waiting = {size: iter(levels.T) for size, levels in found.items()}
    return np.column_stack([next(waiting[column]) % size for size, column in zip(sizes, columns, strict=True)])


def _missing(sizes: tuple[int, ...], runs: int | None) -> InputError:
    exact, nearly = array_runs(sizes)
    there = [f"orthogonal in {', '.join(map(str, exact))} runs"] if exact else []
    there += [f"nearly so in {', '.join(map(str, nearly))} runs"] if nearly else []
    every = prod(sizes)
    told = "; ".join(there) or (
        f"all {every:,} combinations, or an optimal design" if every < 10**6 else "an optimal design"
    )
    shape = " x ".join(f"{size}^{count}" for size, count in wanted(sizes))
    within = f"in {runs} runs" if runs is not None else f"in up to {MOST_ARRAY_RUNS} runs"
    return InputError(f"there is no orthogonal array for {shape} here {within}", fix=f"available: {told}")
