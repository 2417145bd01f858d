"""The orders in which the runs of a design are made: random ones, and those that a linear trend disturbs little."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hati.core import FloatArray, InputError

_NOTHING = 1e-9
_TIE = 1e-6  # of the trend: more than rounding errors, which differ between machines


def run_order(configurations: int, repetitions: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """A randomised order: which configuration each run measures, shape (repetitions x configurations,).

    Each repetition is a block of all configurations in a new random order, so that a drift affects all alike.

    Raises:
        InputError: for no configurations or no repetitions.
    """
    if configurations < 1 or repetitions < 1:
        raise InputError(f"{configurations} configurations x {repetitions} repetitions is nothing to run")
    return np.concatenate([rng.permutation(configurations) for _ in range(repetitions)]).astype(np.intp)


def trend_robust_order(
    main_effects: FloatArray, interactions: FloatArray, repetitions: int, orders: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Of several random orders, that in which a linear trend resembles the effects least; shape as of ``run_order``.

    It minimises the fraction of the trend that the main effects explain together, plus the largest that the column of
    an interaction explains; of equally good orders it is the first drawn, on any machine. The trend is within
    repetitions, which are blocks. Run orders of this kind were introduced by Cheng and Steinberg (1991), Trend robust
    two-level factorial designs, Biometrika 78, 325-336.

    Args:
        main_effects: their columns, shape (configurations, parameters).
        interactions: those of interactions, shape (configurations, any).
        repetitions: of each configuration.
        orders: the number of random orders.
        rng: for the orders.

    Raises:
        InputError: for no configurations, no repetitions or no orders.
    """
    if orders < 1:
        raise InputError(f"an order cannot be chosen among {orders}")
    count = len(main_effects)
    drawn = np.array([run_order(count, repetitions, rng) for _ in range(orders)])
    places = np.argsort(drawn.reshape(orders, repetitions, count), axis=2).sum(axis=1)
    # The trend's product with a column needs only the sum of each configuration's places.
    trend = np.asarray(places - places.mean(axis=1, keepdims=True), dtype=np.float64)
    together = np.sum((trend @ _orthonormal(main_effects)) ** 2, axis=1)
    largest = np.max((trend @ _normed(interactions)) ** 2, axis=1, initial=0.0)
    explained, whole = together + largest, repetitions**2 * (count**3 - count) / 12.0
    return np.asarray(drawn[np.flatnonzero(explained <= explained.min() + _TIE * whole)[0]])


def _orthonormal(columns: FloatArray) -> FloatArray:
    """An orthonormal basis of the columns within the mean."""
    left, sizes, _ = np.linalg.svd(_normed(columns), full_matrices=False)
    return np.asarray(left[:, sizes > _NOTHING])


def _normed(columns: FloatArray) -> FloatArray:
    """The columns around their means with norm 1, without the constant ones."""
    centred = columns - columns.mean(axis=0)
    norms = np.linalg.norm(centred, axis=0)
    return np.asarray(centred[:, norms > _NOTHING] / norms[norms > _NOTHING])
