"""Randomly balanced two-level designs: every alias is partial, so that what a model omits looks like noise."""

from __future__ import annotations

import numpy as np

from hati.core import InputError
from hati.design.optimal.coding import Levels

_TRIES = 150
_SWAPS = 1_000


def balanced_design(factors: int, runs: int, rng: np.random.Generator) -> Levels:
    """Distinct rows whose columns hold both settings equally often, shape (runs, factors).

    Columns are random permutations; of 150 such designs the one whose main effects are least correlated is taken
    (sum of squared correlations). In a regular fraction an omitted interaction biases an effect by its full size; here
    it is spread over all effects and seen in the residuals (random balance: Satterthwaite 1959).

    Raises:
        InputError: for no factors, fewer than two runs, or more runs than half of all combinations.
    """
    if factors < 1 or runs < 2 or 2 * runs > 2**factors:  # two settings
        raise InputError(f"no balanced design has {factors} factors and {runs} runs", fix="run the full factorial")
    column = np.arange(runs, dtype=np.int16) % 2
    chosen, least = None, np.inf
    for _ in range(_TRIES):
        levels = _distinct(rng.permuted(np.tile(column, (factors, 1)), axis=1).T, rng)
        signs = 2.0 * levels - 1.0
        correlated = float(np.sum(np.square(signs.T @ signs)))
        if correlated < least:
            chosen, least = levels, correlated
    assert chosen is not None
    return chosen


def _distinct(levels: Levels, rng: np.random.Generator) -> Levels:
    """The same columns' settings with equal rows made different, by exchanges within a column."""
    for _ in range(_SWAPS):
        _, first = np.unique(levels, axis=0, return_index=True)
        if len(first) == len(levels):
            break
        twice = np.setdiff1d(np.arange(len(levels)), first)
        factor, other = int(rng.integers(levels.shape[1])), int(rng.integers(len(levels)))
        levels[[twice[0], other], factor] = levels[[other, twice[0]], factor]
    return levels
