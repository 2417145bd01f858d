"""How many independent observations a run's correlated ones are worth."""

from __future__ import annotations

import numpy as np

from hati.core import FloatArray

_NOTHING = 1e-24
_FEWEST = 4


def effective_size(values: FloatArray) -> float:
    """The independent observations whose mean would be as precise as that of these, shape (n,); within [1, n].

    n / (1 + 2 sum of the autocorrelations), summed over pairs of successive lags as long as these are positive, none
    larger than the one before: the initial monotone sequence (Geyer 1992, Practical Markov chain Monte Carlo,
    Statistical Science 7(4), 473-483, section 3.3). What does not vary, or fewer than four values, counts in full.
    """
    size = len(values)
    apart = values - np.mean(values)
    total = float(apart @ apart)
    if size < _FEWEST or total <= _NOTHING * size * float(np.max(np.abs(values))) ** 2:
        return float(size)
    length = 1 << (2 * size - 1).bit_length()
    transformed = np.fft.rfft(apart, length)
    correlations = np.fft.irfft(transformed * np.conj(transformed), length)[:size] / total
    pairs = correlations[: size - size % 2].reshape(-1, 2).sum(axis=1)
    ends = np.flatnonzero(pairs <= 0.0)
    kept = np.minimum.accumulate(pairs[: int(ends[0]) if ends.size else len(pairs)])
    inflation = 2.0 * float(kept.sum()) - 1.0
    return float(min(max(size / inflation, 1.0), size)) if inflation > 0.0 else float(size)
