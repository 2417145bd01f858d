"""Orthogonal arrays of strength two with columns of different numbers of settings, constructed when asked for."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import combinations_with_replacement
from math import prod

import numpy as np

from hati.design.catalogue import by_runs, catalogue
from hati.design.coding import Levels
from hati.design.difference import difference_scheme, group_table
from hati.design.galois import prime_power
from hati.design.geometric import geometric_columns
from hati.design.hadamard import hadamard, reachable_orders

Wanted = tuple[tuple[int, int], ...]
"""Numbers of settings and how many columns should have them, the most settings first."""

Columns = dict[int, Levels]
"""The columns for each number of settings, shape (runs, columns) each."""

_MOST_FIELD = 128
_MOST_HADAMARD = 128

# Columns of two settings that go with one of 3, 5 or 7 settings in groups of four runs: found by search.
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
    """The sizes counted.

    >>> wanted((2, 3, 2))
    ((3, 1), (2, 2))
    """
    return tuple(sorted(Counter(sizes).items(), reverse=True))


@cache
def array(runs: int, columns: Wanted) -> Columns | None:
    """An array with those columns in exactly that many runs; None where none of the constructions has one.

    They are the table of two-level fractions, subspaces of finite spaces, Hadamard's matrices, and difference schemes
    on smaller arrays: an array of r s runs is a scheme of r rows with s settings added to each of its elements, beside
    each of the s copies of an array of r runs (Bose and Bush 1952, Ann. Math. Stat. 23; Wang and Wu 1991, JASA 86).
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
    """Whether the runs are divisible by what each pair of columns needs, and as many as there are parameters."""
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
    beside = np.array([[int(entry) for entry in column] for column in two[: counts[2]]], dtype=np.int16)
    return {size: groups if size == runs // 4 else beside.T for size, _ in columns}


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
    """A column of four settings in place of three of two: which copy, a column of the smaller array, their sum."""
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
