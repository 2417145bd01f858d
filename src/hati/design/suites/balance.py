"""What a weighted sample of configurations has more or less of than the whole space, and the sample that is
nearest to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import FloatArray
from hati.design.optimal.coding import Levels, levels
from hati.design.suites.strata import LISTED, all_levels
from hati.space import Space, count, sample

if TYPE_CHECKING:
    from numpy.random import Generator


LEADING = 6
"""So many options at most, the most influential, and no more than half of all count more: their interactions are
balanced first. Were all to count more, suites of a heavily constrained space would lean to the same configurations."""

_LEADING_PULL = 0.3
_PULL = 0.1
_REFERENCE = 8192
_CHUNK = 128


class Discrepancy(Struct, frozen=True, eq=False):
    """The squared distance between a weighted sample and the space in a product kernel over the options.

    The kernel of two configurations is the product over options of 1 + b (s [equal settings] - 1), s the number of
    settings and b the option's pull: the discrete discrepancy of Hickernell and Liu (2002), Uniform designs limit
    aliasing, Biometrika 89, 893-904, with a pull of its own for each option. It adds up the imbalance of settings
    (order b), of pairs (b^2), of triples (b^3) and so on: where it is 0 the sample is an orthogonal array; in a space
    with constraints, a sample with the space's own frequencies.

    ``reference`` stands for the space in the ``tied`` options; over the others all settings are equally frequent, and
    the kernel's mean is 1.
    """

    sizes: NDArray[np.float64]
    pulls: NDArray[np.float64]
    tied: tuple[int, ...]
    reference: Levels

    def kernel(self, one: Levels, other: Levels) -> FloatArray:
        """The kernel of every configuration of one with every one of the other, shape (one, other)."""
        return self._product(one, other, range(len(self.sizes)))

    def towards_space(self, configurations: Levels) -> FloatArray:
        """The mean of the kernel of each configuration with those of the whole space, shape (configurations,)."""
        if not self.tied:
            return np.ones(len(configurations))
        rows, where = np.unique(configurations[:, list(self.tied)], axis=0, return_inverse=True)
        full = np.full((len(rows), configurations.shape[1]), 0, dtype=configurations.dtype)
        full[:, list(self.tied)] = rows
        total = np.zeros(len(rows))
        for start in range(0, len(self.reference), _CHUNK):
            total += self._product(full, self.reference[start : start + _CHUNK], self.tied).sum(axis=1)
        return (total / len(self.reference))[where.ravel()]

    def _product(self, one: Levels, other: Levels, options: Sequence[int]) -> FloatArray:
        product = np.ones((len(one), len(other)))
        for option in options:
            pull, size = self.pulls[option], self.sizes[option]
            same = one[:, option][:, None] == other[:, option][None, :]
            product *= np.where(same, 1.0 + pull * (size - 1.0), 1.0 - pull)
        return product


def discrepancy(space: Space, ranking: Sequence[str], rng: Generator) -> Discrepancy:
    """The discrepancy from a space, with the first options of a ranking counting more."""
    sizes = np.array([len(option.settings) + (option.active_if is not None) for option in space.options], dtype=float)
    leading = set(ranking[: min(LEADING, len(sizes) // 2)])
    pulls = np.array([_LEADING_PULL if option.name in leading else _PULL for option in space.options])
    tied, reference = reference_levels(space, rng)
    return Discrepancy(sizes, pulls / np.sqrt(np.maximum(sizes - 1.0, 1.0)), tied, reference)


def reference_levels(space: Space, rng: Generator) -> tuple[tuple[int, ...], Levels]:
    """The options that constraints tie, and configurations that stand for the space in them.

    All of them where they can be listed, a uniform sample otherwise; none where no options are tied.
    """
    tied = _tied(space)
    if not tied:
        return tied, np.empty((0, len(space.options)), dtype=np.int16)
    if count(space) <= LISTED:
        return tied, all_levels(space)
    return tied, levels(sample(space, _REFERENCE, rng), space)


def _tied(space: Space) -> tuple[int, ...]:
    """The options whose settings are not equally frequent, or depend on those of others."""
    names = {name for constraint in space.constraints for name in constraint.options}
    for option in space.options:
        if option.active_if is not None:
            names |= {option.name, *option.active_if.options}
    return tuple(place for place, option in enumerate(space.options) if option.name in names)


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
