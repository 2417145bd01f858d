"""Orthogonal arrays of strength two, and other designs of factors with more than two settings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, combinations_with_replacement, product
from math import comb, lcm, prod
from typing import TYPE_CHECKING, Literal

import numpy as np
from msgspec import Struct

from hati.core import InputError
from hati.design.coding import Levels, Model
from hati.design.constructions import (
    difference_scheme,
    geometric_columns,
    group_table,
    hadamard,
    prime_power,
    reachable_orders,
)
from hati.design.fractions import by_runs, catalogue
from hati.design.matrix import check_factors, check_runs, letters

if TYPE_CHECKING:
    from hati.space import Space


LevelKind = Literal["orthogonal array", "nearly orthogonal array", "given"]

_MOST_SETS = 200_000


@dataclass(frozen=True, eq=False)
class LevelDesign:
    """The position of every factor's setting in every run, from 0 to its size less one.

    ``levels`` is a read-only copy of shape (runs, factors). ``kind`` names the construction; all properties
    are recomputed from the levels. Two designs are equal when they have the same factors, sizes and levels.

    Raises:
        InputError: for unsuitable names, fewer than two settings, levels of another shape or out of range.
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
    """Properties of the levels.

    ``unbalanced``: factors with unequally frequent settings. ``strength``: the number of factors whose combinations of
    settings are always equally frequent, checked up to three. ``correlated``: pairs of factors whose combinations are
    not in proportion to their settings' frequencies, so that their main effects are not orthogonal. ``d_efficiency``:
    |X'X / runs|^(1 / parameters) for the mean and the main effects, 1 where these are orthogonal and balanced, 0 where
    they cannot all be estimated.
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


def check_unconstrained(space: Space) -> None:
    """Check that all combinations of the space's settings are valid and no setting is ever without influence.

    Raises:
        InputError: where not; the message names the obstacle and the alternative.
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


Wanted = tuple[tuple[int, int], ...]
"""Numbers of settings with the number of columns for each, the most settings first."""

Columns = dict[int, Levels]
"""The columns for each number of settings, shape (runs, columns) each."""

_MOST_FIELD = 128
_MOST_HADAMARD = 128

# Columns of two settings that are orthogonal to one of 3, 5 or 7 settings in groups of four runs: found by search.
_IN_FOURS = {
    12: ("100101101010", "101001011100", "101011000011", "110001100101"),
    20: (
        "11001100010110010110", "11001001100101101100", "11001010011010101001", "10101010101000110110",
        "10010110100110100101", "10011100101011001010", "10010101011000111100", "10100110010101101010",
    ),
    28: (
        "1001110001011001101010100011", "1001100101010110010110011010", "1010001111001010101000111010",
        "1001010110101010100111001001", "1100110010101010011010010110", "1001001100111001110001010110",
        "1100011011000101110011001010", "1100001100111100011010101001", "1100010101010110101001010101",
        "1010011000110110100110100110", "1001011011001100010100110101",
    ),
}  # fmt: skip


def wanted(sizes: tuple[int, ...]) -> Wanted:
    """The number of columns of each size.

    >>> wanted((2, 3, 2))
    ((3, 1), (2, 2))
    """
    return tuple(sorted(Counter(sizes).items(), reverse=True))


@cache
def array(runs: int, columns: Wanted) -> Columns | None:
    """An array with those columns in exactly that many runs; None where none of the constructions has one.

    The constructions are the table of two-level fractions, subspaces of finite spaces, Hadamard's matrices, and
    difference schemes on smaller arrays. An array of r s runs is a scheme of r rows with s settings added to each of
    its elements, next to each of the s copies of an array of r runs (Bose and Bush 1952, Ann. Math. Stat. 23; Wang and
    Wu 1991, JASA 86).
    """
    if not possible(runs, columns):
        return None
    if columns in {(), ((runs, 1),)}:
        return {size: np.arange(runs, dtype=np.int16)[:, None] for size, _ in columns}
    for construct in (_every_combination, _two_settings, _geometric, _in_fours, _by_differences, _with_four_settings):
        found = construct(runs, columns)
        if found is not None:
            return found
    return None


def possible(runs: int, columns: Wanted) -> bool:
    """Whether the runs are divisible as each pair of columns requires, and at least as many as there are parameters."""
    sizes = [size for size, count in columns for _ in range(min(count, 2))]
    pairs = combinations_with_replacement(range(len(sizes)), 2)
    divisible = all(runs % (sizes[i] * (sizes[j] if i != j else 1)) == 0 for i, j in pairs)
    return divisible and sum((size - 1) * count for size, count in columns) < runs


def _geometric(runs: int, columns: Wanted) -> Columns | None:
    power, powers = prime_power(runs), {size: prime_power(size) for size, _ in columns}
    if power is None or runs > _MOST_FIELD or any(its is None or its[0] != power[0] for its in powers.values()):
        return None
    dimensions = {its[1]: size for size, its in powers.items() if its}
    counts = dict(columns)
    numbers = tuple(counts.get(dimensions.get(d, 0), 0) for d in range(1, power[1] + 1))
    found = geometric_columns(*power, numbers)
    return None if found is None else {power[0] ** d: levels for d, levels in found.items()}


def _every_combination(runs: int, columns: Wanted) -> Columns | None:
    sizes = [size for size, count in columns for _ in range(count)]
    if prod(sizes) != runs:
        return None
    levels = np.indices(sizes, dtype=np.int16).reshape(len(sizes), runs).T
    return {size: levels[:, [j for j, other in enumerate(sizes) if other == size]] for size, _ in columns}


def _two_settings(runs: int, columns: Wanted) -> Columns | None:
    if len(columns) != 1 or columns[0][0] != 2:
        return None
    count = columns[0][1]
    if (count, runs) in catalogue():
        return {2: (by_runs([f"x{i}" for i in range(count)], runs).matrix > 0).astype(np.int16)}
    if runs not in reachable_orders(_MOST_HADAMARD):
        return None
    return {2: (hadamard(runs)[:, 1 : 1 + count] < 0).astype(np.int16)}


def _in_fours(runs: int, columns: Wanted) -> Columns | None:
    counts = Counter(dict(columns))
    two = _IN_FOURS.get(runs, ())
    if not two or counts - Counter({runs // 4: 1, 2: len(two)}):
        return None
    groups = np.repeat(np.arange(runs // 4, dtype=np.int16), 4)[:, None]
    columns_of_two = np.array([[int(entry) for entry in column] for column in two[: counts[2]]], dtype=np.int16)
    return {size: groups if size == runs // 4 else columns_of_two.T for size, _ in columns}


def _by_differences(runs: int, columns: Wanted) -> Columns | None:
    for size, count in sorted(columns, key=lambda pair: -pair[1]):
        scheme = difference_scheme(runs // size, size)
        used = min(count, scheme.shape[1])
        below = array(runs // size, _changed(columns, {size: -used}))
        if below is not None:
            added = group_table(size)[scheme[:, None, :used], np.arange(size)[None, :, None]]
            return _joined({size: added.reshape(runs, used)}, below, size)
    return None


def _with_four_settings(runs: int, columns: Wanted) -> Columns | None:
    """A four-setting column in place of three two-setting ones: the copy, a column of the smaller array, their sum."""
    counts = dict(columns)
    half = runs // 2
    if 4 not in counts or half % 4 or half not in reachable_orders(_MOST_HADAMARD):
        return None
    used = min(counts.get(2, 0), half - 2)
    below = array(half, _changed(columns, {4: -1, 2: 1 - used}))
    if below is None:
        return None
    own = below[2][:, -1]
    scheme = (hadamard(half) < 0).astype(np.int16)
    ordered = np.empty_like(scheme)
    ordered[np.argsort(own, kind="stable")] = scheme[np.argsort(scheme[:, 1], kind="stable")]
    copies = np.arange(2, dtype=np.int16)
    four = (2 * copies[None, :] + own[:, None]).reshape(runs, 1)
    two = (ordered[:, None, 2 : 2 + used] ^ copies[None, :, None]).reshape(runs, used)
    rest = {size: levels[:, :-1] if size == 2 else levels for size, levels in below.items()}
    return {size: levels for size, levels in _joined({4: four, 2: two}, rest, 2).items() if levels.shape[1]}


def _changed(columns: Wanted, change: dict[int, int]) -> Wanted:
    counts = Counter(dict(columns))
    counts.update(change)
    return tuple(sorted(((size, count) for size, count in counts.items() if count > 0), reverse=True))


def _joined(above: Columns, below: Columns, copies: int) -> Columns:
    repeated = {size: np.repeat(levels, copies, axis=0) for size, levels in below.items()}
    return {size: np.hstack([part[size] for part in (above, repeated) if size in part]) for size in {*above, *repeated}}


MOST_ARRAY_RUNS = 144
_MOST_SETTINGS = 49
_MOST_SIZES = 6


def orthogonal_array(sizes: Sequence[int], runs: int | None = None, names: Sequence[str] = ()) -> LevelDesign:
    """The smallest array of strength two, up to 144 runs, with columns for factors of these numbers of settings.

    If none is known, or none in ``runs`` runs, a nearly orthogonal one: some factors take a column with more settings
    than they have, whose surplus settings stand for their first ones again ('dummy levels'). An array of fewer runs
    without such surplus is repeated to have ``runs`` runs. Factors are lettered where no ``names`` are given.

    Raises:
        InputError: for sizes for which no array here has columns; the message lists the available numbers of runs.
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
    """The runs of an array that makes up ``runs``, whole or repeated, with the fewest repetitions."""
    return next((size for size in sorted(_all_exact(sizes), reverse=True) if runs % size == 0), None)


@cache
def _nearly(sizes: tuple[int, ...]) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Runs and the columns' numbers of settings, with some surplus; by runs, each with the least surplus."""
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
    available = "; ".join(there) or (
        f"all {every:,} combinations, or an optimal design" if every < 10**6 else "an optimal design"
    )
    shape = " x ".join(f"{size}^{count}" for size, count in wanted(sizes))
    within = f"in {runs} runs" if runs is not None else f"in up to {MOST_ARRAY_RUNS} runs"
    return InputError(f"there is no orthogonal array for {shape} here {within}", fix=f"available: {available}")
