"""Runs of any design in blocks of nearly equal size, such as machines, that bias its effects as little as possible."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hati.core import FloatArray, InputError

_STARTS = 16
_PASSES = 50
_GAIN = 1e-9
_MOST_EXCHANGED = 1_024
"""Runs above which no exchanges are tried: at random the bias is small, of the order of the root of blocks per run."""


def balanced_blocks(
    columns: FloatArray, weights: Sequence[float], number: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Return the block of each run, from 0: as many runs in each as can be, effects as orthogonal to blocks as found.

    A difference between blocks biases an effect by the mean of its column in each. The weighted sum of the squares of
    these is made small by exchanges of two runs, from several random starts (Cook and Nachtsheim 1989, Computer-aided
    blocking of factorial and response-surface designs, Technometrics 31, 339-346).

    Args:
        columns: the coded effects, shape (runs, effects).
        weights: what each effect counts.
        number: of blocks.
        rng: for the starts.

    Raises:
        InputError: where there are fewer than two runs for a block.
    """
    runs = len(columns)
    if number < 2 or 2 * number > runs:
        raise InputError(
            f"{number} blocks of {runs} runs have fewer than two runs each", fix=f"use 2 to {max(2, runs // 2)} blocks"
        )
    centred = (columns - columns.mean(axis=0)) * np.sqrt(np.asarray(weights, dtype=np.float64))
    found = [rng.permutation(np.arange(runs) % number) for _ in range(_STARTS)]
    if runs <= _MOST_EXCHANGED:
        found = [_exchanged(centred @ centred.T, start, number) for start in found]
    # Where effects use up the runs the sums are all the same: the largest bias decides.
    return min(found, key=lambda blocks: float(np.max(explained_by_blocks(columns, blocks) * weights)))


def _exchanged(products: FloatArray, blocks: NDArray[np.intp], number: int) -> NDArray[np.intp]:
    """The blocks when no exchange of two runs makes the sum of squares of their sums smaller."""
    places, sizes = np.arange(len(blocks)), products.diagonal()
    sums = np.asarray(products @ np.eye(number)[blocks])  # of each run with the runs of each block
    for _ in range(_PASSES):
        moved = False
        for run in places:
            own = blocks[run]
            change = sums[run, blocks] - sums[run, own] + sums[:, own] - sums[places, blocks]
            change += sizes[run] + sizes - 2.0 * products[run]
            change[blocks == own] = 0.0
            other = int(np.argmin(change))
            if change[other] < -_GAIN:
                shift = products[:, other] - products[:, run]
                sums[:, own] += shift
                sums[:, blocks[other]] -= shift
                blocks[run], blocks[other] = blocks[other], own
                moved = True
        if not moved:
            break
    return blocks


def explained_by_blocks(columns: FloatArray, blocks: NDArray[np.intp]) -> FloatArray:
    """The part of each column's variance that is between blocks, shape (effects,): 0 where it is orthogonal to them."""
    centred = columns - columns.mean(axis=0)
    sizes = np.bincount(blocks)
    sums = np.zeros((len(sizes), columns.shape[1]))
    np.add.at(sums, blocks, centred)
    between = np.sum(sums**2 / sizes[:, None], axis=0)
    total = np.sum(centred**2, axis=0)
    return np.asarray(np.divide(between, total, out=np.zeros_like(between), where=total > 0.0))
