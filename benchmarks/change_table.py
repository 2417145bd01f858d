"""Write src/hati/stats/change_table.py: the largest statistics of series that do not change, by simulation.

``python -m benchmarks.change_table`` takes about ten minutes on two cores. The noise is normal and first-order
autoregressive; the largest quantile over all autocorrelations is used. The statistics are those of normal scores, so
that any other continuous distribution of independent values has the same quantiles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from hati.core import FloatArray
from hati.stats import change_table
from hati.stats.change_test import LevelDifferences, split_statistics, stretch_statistics
from hati.stats.dependence import Dependence
from hati.stats.distributions import normal_quantiles

SIZES = (8, 10, 12, 16, 24, 32, 48, 64, 100, 150, 200, 300, 500, 1000, 2000, 5000, 10000)
VALUES = 5_000_000
BATCH = 2_000_000
SEED = 2017
KINDS: tuple[tuple[str, Callable[..., LevelDifferences], tuple[float, ...], Dependence], ...] = (
    ("SPLITS", split_statistics, (-0.3, 0.0, 0.3, 0.6), Dependence.ESTIMATED),
    ("STRETCHES", stretch_statistics, (0.0, 0.6), Dependence.ESTIMATED),
    ("INDEPENDENT_SPLITS", split_statistics, (0.0,), Dependence.INDEPENDENT),
    ("INDEPENDENT_STRETCHES", stretch_statistics, (0.0,), Dependence.INDEPENDENT),
)

HEAD = '''"""Quantiles of the largest statistic over all places of a series of so many values that does not change.

Made by benchmarks/change_table.py: 5,000,000 simulated values for each size, autocorrelation and kind, but at most
200,000 series; seed 2017.
"""

# fmt: off
PROBABILITIES = {probabilities}
"""The probabilities with which the quantiles are exceeded."""
'''


def scores(values: FloatArray) -> FloatArray:
    size = values.shape[1]
    ranks = np.argsort(np.argsort(values, axis=1), axis=1) + 1.0
    made = normal_quantiles((ranks - 0.375) / (size + 0.25))
    return np.asarray(made / made.std(axis=1, keepdims=True))


def autoregressive(draws: int, size: int, phi: float, rng: np.random.Generator) -> FloatArray:
    values = rng.normal(size=(draws, size))
    values[:, 0] /= np.sqrt(1.0 - phi**2)
    for place in range(1, size):
        values[:, place] += phi * values[:, place - 1]
    return values


def quantiles(kind: int, size: int) -> list[float]:
    _, statistics, phis, dependence = KINDS[kind]
    groups = np.zeros(size, dtype=np.intp)
    found = []
    for number, phi in enumerate(phis):
        rng = np.random.default_rng([SEED, kind, size, number])
        wanted = min(VALUES // size, 200_000)
        step = max(1, BATCH // (size * (1 + 19 * (kind % 2))))
        largest = []
        for first in range(0, wanted, step):
            drawn = scores(autoregressive(min(step, wanted - first), size, phi, rng))
            largest.append(statistics(drawn, groups, dependence.of(drawn)).statistics.max(axis=1, initial=0.0))
        found.append(np.quantile(np.concatenate(largest), 1.0 - np.array(change_table.PROBABILITIES)))
    return [float(value) for value in np.max(found, axis=0)]


def wrapped(numbers: Sequence[str]) -> str:
    return f"({', '.join(numbers)})"


def module() -> str:
    text = HEAD.format(probabilities=wrapped([repr(p) for p in change_table.PROBABILITIES]))
    with ProcessPoolExecutor(2) as pool:
        jobs = {(kind, size): pool.submit(quantiles, kind, size) for size in SIZES for kind in range(len(KINDS))}
        for kind, (name, *_) in enumerate(KINDS):
            text += f"\n{name}: dict[int, tuple[float, ...]] = {{\n"
            for size in SIZES:
                text += f"    {size}: {wrapped([f'{value:.3f}' for value in jobs[kind, size].result()])},\n"
            text += "}\n"
    return text + "# fmt: on\n"


if __name__ == "__main__":
    Path(change_table.__file__).write_text(module(), encoding="utf-8")
