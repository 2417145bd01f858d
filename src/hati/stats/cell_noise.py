"""How the cells of a design vary from round to round."""

from __future__ import annotations

import numpy as np

from hati.core import FloatArray


def cell_noise(values: FloatArray) -> tuple[float, float]:
    """The mean variance of the cells of a design, from rounds of them all, and its degrees of freedom.

    What all cells of a round have in common is left out. The degrees of freedom are those of Satterthwaite (1946), An
    approximate distribution of estimates of variance components, Biometrics Bulletin 2(6), 110-114, for cells that vary
    unequally: as many as (rounds - 1)(cells - 1) where they do not. The mean of squared variances, each from rounds - 1
    degrees of freedom, is too large by (rounds + 1) / (rounds - 1).

    Args:
        values: shape (rounds, cells), at least two of each.
    """
    rounds, cells = values.shape
    means = values.mean(axis=0)
    rest = values - values.mean(axis=1, keepdims=True) - means + means.mean()
    most = (rounds - 1.0) * (cells - 1.0)
    variances = np.sum(rest**2, axis=0) / (rounds - 1.0)
    total = float(variances.sum())
    if total == 0.0:
        return 0.0, most
    squares = float(np.sum(variances**2)) * (rounds - 1.0) / (rounds + 1.0)
    return total / (cells - 1.0), min(most, (cells - 1.0) / cells * (rounds - 1.0) * total**2 / squares)
