"""The choice among candidates that is nearest to the whole space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import FloatArray
from hati.design.coding import Levels
from hati.design.discrepancy import Discrepancy

if TYPE_CHECKING:
    from numpy.random import Generator

_PASSES = 20
_GAIN = 1e-12


class Pool(Struct, frozen=True, eq=False):
    """Candidates, stratum after stratum in random order: how many there are of each, how many to take, its share."""

    candidates: Levels
    available: tuple[int, ...]
    wanted: tuple[int, ...]
    shares: tuple[float, ...]


def balanced(pool: Pool, distance: Discrepancy, rng: Generator) -> NDArray[np.bool_]:
    """Which candidates to take, shape (candidates,): a random choice, improved by exchanges within strata.

    A configuration counts its stratum's share divided by the number that is taken there. Ends where no exchange
    brings the sample nearer to the space, or after a number of passes.
    """
    search = _Search.start(pool, distance)
    for _ in range(_PASSES):
        moved = [search.exchange(int(place)) for place in rng.permutation(np.flatnonzero(search.taken))]
        if not any(moved):
            break
    return search.taken


@dataclass(eq=False)
class _Search:
    """``towards`` is the kernel's mean with the space, ``among`` its weighted sum with what is taken."""

    taken: NDArray[np.bool_]
    owners: NDArray[np.intp]
    weights: FloatArray
    kernel: FloatArray
    towards: FloatArray
    among: FloatArray

    @classmethod
    def start(cls, pool: Pool, distance: Discrepancy) -> _Search:
        owners = np.repeat(np.arange(len(pool.available)), pool.available)
        within = np.concatenate([np.arange(number) for number in pool.available])
        taken = within < np.array(pool.wanted)[owners]
        weights = (np.array(pool.shares) / np.array(pool.wanted))[owners]
        kernel = distance.kernel(pool.candidates, pool.candidates)
        towards = distance.towards_space(pool.candidates)
        return cls(taken, owners, weights, kernel, towards, kernel[:, taken] @ weights[taken])

    def exchange(self, leaving: int) -> bool:
        """Replace one by the best candidate of its stratum, if there is a better one."""
        others = np.flatnonzero((self.owners == self.owners[leaving]) & ~self.taken)
        if not len(others):
            return False
        weight = self.weights[leaving]
        own = self.kernel[others, others] + self.kernel[leaving, leaving] - 2.0 * self.kernel[leaving, others]
        pull = (self.among[others] - self.towards[others]) - (self.among[leaving] - self.towards[leaving])
        change = weight * weight * own + 2.0 * weight * pull
        best = int(np.argmin(change))
        if change[best] >= -_GAIN:
            return False
        entering = int(others[best])
        self.taken[leaving], self.taken[entering] = False, True
        self.among += weight * (self.kernel[:, entering] - self.kernel[:, leaving])
        return True
