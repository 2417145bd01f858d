"""Screening suites: few configurations that represent a space, by the combinations of its important options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import Configuration, FloatArray, InputError
from hati.core.wording import counted
from hati.design.coding import INACTIVE, Levels, Model, levels
from hati.design.populations import COUNTED, LISTED, Population, StratumParts, all_levels, population, stratum_parts
from hati.space import Space, count
from hati.space.arrays import drawn_positions
from hati.space.constraint import mentioned

if TYPE_CHECKING:
    from numpy.random import Generator


LEADING = 6
"""The largest number of influential options with a larger pull, at most half of all: their interactions are
balanced first. With a larger pull for all, suites of a heavily constrained space would prefer the same configurations.
"""

_LEADING_PULL = 0.3
_PULL = 0.1
_REFERENCE = 8192
_CHUNK = 128


class Discrepancy(Struct, frozen=True, eq=False):
    """The squared distance between a weighted sample and the space in a product kernel over the options.

    The kernel of two configurations is the product over options of 1 + b (s [equal settings] - 1), s the number of
    settings and b the option's pull: the discrete discrepancy of Hickernell and Liu (2002), Uniform designs limit
    aliasing, Biometrika 89, 893-904, with a pull for each option. It adds up the imbalance of settings (order b), of
    pairs (b^2), of triples (b^3) and so on. Where it is 0 the sample is an orthogonal array or, in a space with
    constraints, has the space's frequencies.

    ``reference`` represents the space in the ``tied`` options; over the others all settings are equally frequent, and
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
    """The options that constraints tie, and configurations that represent the space in these options.

    These are all configurations if they can be listed, else a uniform sample; none if no options are tied.
    """
    tied = _tied(space)
    if not tied:
        return tied, np.empty((0, len(space.options)), dtype=np.int16)
    if count(space) <= LISTED:
        return tied, all_levels(space)
    return tied, drawn_positions(space, _REFERENCE, rng)


def _tied(space: Space) -> tuple[int, ...]:
    """The options whose settings are not equally frequent, or depend on those of others."""
    names = {name for constraint in space.constraints for name in mentioned(constraint)}
    for option in space.options:
        if option.active_if is not None:
            names |= {option.name, *mentioned(option.active_if)}
    return tuple(place for place, option in enumerate(space.options) if option.name in names)


_PASSES = 20
_GAIN = 1e-12


class Pool(Struct, frozen=True, eq=False):
    """Candidates in random order, stratum by stratum; for each stratum their number, the number to take, its share."""

    candidates: Levels
    available: tuple[int, ...]
    wanted: tuple[int, ...]
    shares: tuple[float, ...]


def balanced(pool: Pool, distance: Discrepancy, rng: Generator) -> NDArray[np.bool_]:
    """Which candidates to take, shape (candidates,): a random choice, improved by exchanges within strata.

    A configuration's weight is its stratum's share divided by the number that is taken there. The search ends where no
    exchange brings the sample nearer to the space, or after a number of passes.
    """
    search = _Search.start(pool, distance)
    for _ in range(_PASSES):
        moved = [search.exchange(int(place)) for place in rng.permutation(np.flatnonzero(search.taken))]
        if not any(moved):
            break
    return search.taken


@dataclass(eq=False)
class _Search:
    """``towards`` is the kernel's mean with the space, ``among`` its weighted sum with the chosen configurations."""

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
        """Replace a configuration by the best candidate of its stratum, if that is better."""
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


LEAST = 2
"""The smallest number of configurations of a stratum that has as many: with fewer it has no variance."""

_POOL = 2048
_CANDIDATES = 12
_FEWEST = 16
"""Candidates: 12 for each configuration of a stratum, fewer in large suites, but at least 16 for each stratum."""


class Stratum(Struct, frozen=True):
    """The valid completions of one combination of the important options, and those that are measured.

    ``setting`` has no entry for an option that is inactive; ``weight`` is the number of valid completions.
    """

    setting: Configuration
    weight: int
    configurations: tuple[Configuration, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.configurations) <= self.weight:
            raise InputError(f"a stratum of {self.weight} completions cannot have {len(self.configurations)}")


class Suite(Struct, frozen=True, dict=True):
    """Configurations that represent a space: all strata of the important ``options``."""

    options: tuple[str, ...]
    strata: tuple[Stratum, ...]

    @cached_property
    def configurations(self) -> tuple[Configuration, ...]:
        """All configurations, stratum after stratum."""
        return tuple(configuration for stratum in self.strata for configuration in stratum.configurations)

    @cached_property
    def owners(self) -> NDArray[np.intp]:
        """The position of each configuration's stratum, shape (configurations,)."""
        return np.repeat(np.arange(len(self.strata)), [len(stratum.configurations) for stratum in self.strata])

    @cached_property
    def shares(self) -> FloatArray:
        """The strata's shares of the space, shape (strata,); they sum to 1."""
        total = sum(stratum.weight for stratum in self.strata)
        return np.array([stratum.weight / total for stratum in self.strata])

    @cached_property
    def weights(self) -> FloatArray:
        """The weight of each configuration in estimates for the whole space, shape (configurations,); sum 1."""
        sizes = np.array([len(stratum.configurations) for stratum in self.strata])
        return np.asarray((self.shares / sizes)[self.owners])


def leading_options(space: Space, ranking: Sequence[str], runs: int) -> tuple[str, ...]:
    """The options that define strata: as many of a ranking as leave two configurations for every stratum.

    They are taken in the order of the ranking; one that would make too many strata is skipped. Pass only important
    options.

    Raises:
        InputError: for an unknown option, or constraints that are too entangled to count.
    """
    chosen: tuple[str, ...] = ()
    for name in ranking:
        if _least(population(space, (*chosen, name))) <= runs:
            chosen = (*chosen, name)
    return chosen


def runs_for(space: Space, options: Sequence[str]) -> int | None:
    """The fewest runs with which strata of those options have two configurations each, or their only one.

    None where there may be too many strata to count.

    Raises:
        InputError: for an unknown option, or constraints that are too entangled to count.
    """
    sizes = [len(option.settings) + (option.active_if is not None) for option in map(space.option, options)]
    if prod(sizes) > COUNTED and count(space) > LISTED:
        return None
    return _least(population(space, options))


def screening_suite(
    space: Space,
    options: Sequence[str],
    runs: int,
    rng: Generator,
    ranking: Sequence[str] = (),
    spread: Sequence[str] = (),
) -> Suite:
    """A suite of ``runs`` different configurations; of all configurations where the space has fewer.

    Every stratum has at least two configurations where the size allows it, and otherwise at least one; the rest
    is divided in proportion to the strata's weights. ``ranking`` holds further influential options, the most
    influential first, whose combinations are balanced before those of others. Inclusion is equally likely within a
    stratum where the space has no constraints, and nearly so elsewhere, so that weighted means are unbiased.
    The configurations of a stratum differ in the ``spread`` options, important ones that define no strata: systematic
    samples have their settings exactly in proportion to their completions, on average.

    Raises:
        InputError: for an unknown option, fewer runs than strata, or constraints that are too entangled.
    """
    everything = population(space, options)
    weights = [combination.weight for combination in everything.combinations]
    runs = min(runs, sum(weights))
    if runs < len(weights):
        raise InputError(
            f"{counted(runs, 'run')} cannot cover the {len(weights)} valid combinations of {', '.join(options)}",
            fix=f"give {2 * len(weights)} runs, or fewer options",
        )
    sizes = _allocation(weights, runs)
    parts = stratum_parts(everything, sizes, spread, rng)
    found = _chosen(parts, tuple(dict.fromkeys((*options, *ranking))), rng)
    return Suite(
        tuple(options),
        tuple(
            Stratum(combination.setting, combination.weight, _configurations(space, rows))
            for combination, rows in zip(everything.combinations, found, strict=True)
        ),
    )


def _least(found: Population) -> int:
    return sum(min(LEAST, combination.weight) for combination in found.combinations)


def _allocation(weights: Sequence[int], runs: int) -> list[int]:
    """The numbers of configurations of strata: an equal minimum, then in proportion to weights (Webster's divisors)."""
    least = LEAST if sum(min(LEAST, weight) for weight in weights) <= runs else 1
    sizes = [min(least, weight) for weight in weights]
    for _ in range(runs - sum(sizes)):
        open_ = [place for place, weight in enumerate(weights) if sizes[place] < weight]
        best = max(open_, key=lambda place: weights[place] / (sizes[place] + 0.5))
        sizes[best] += 1
    return sizes


def _chosen(parts: StratumParts, ranking: Sequence[str], rng: Generator) -> list[Levels]:
    """The levels of each stratum's configurations."""
    everything = parts.population
    each = max(2, min(_CANDIDATES, _POOL // sum(parts.wanted)))
    pools = [
        everything.draw(place, max(_FEWEST, each * size), rng)
        for place, size in zip(parts.combinations, parts.wanted, strict=True)
    ]
    distance = discrepancy(everything.space, ranking, rng)
    taken = balanced(Pool(np.vstack(pools), tuple(map(len, pools)), parts.wanted, parts.shares), distance, rng)
    rows, owners = np.vstack(pools)[taken], np.repeat(parts.owners, parts.wanted)
    return [rows[owners == stratum] for stratum in range(max(parts.owners) + 1)]


def _configurations(space: Space, rows: Levels) -> tuple[Configuration, ...]:
    return tuple(
        space.complete(
            {
                option.name: option.settings[place]
                for option, place in zip(space.options, row, strict=True)
                if place != INACTIVE
            }
        )
        for row in rows.tolist()
    )


def centred_columns(suite: Suite, space: Space, rng: Generator, ranking: Sequence[str] = ()) -> FloatArray:
    """The main effects' columns of the options that define no strata, minus their means over the whole space.

    Shape (configurations, columns); the options of the ranking first, the others in the space's order. The means are
    exact for unconstrained options and for spaces that can be listed; otherwise they are those of a uniform sample
    drawn with ``rng``.
    """
    names = dict.fromkeys((*ranking, *space.names))
    others = tuple((space.names.index(name),) for name in names if name not in suite.options)
    model = Model(tuple(len(option.settings) for option in space.options), others)
    columns = model.matrix(levels(suite.configurations, space))[:, 1:]
    tied, reference = reference_levels(space, rng)
    means = model.matrix(reference).mean(axis=0)[1:] if len(reference) else np.zeros(columns.shape[1])
    free = np.array([term[0] not in tied for term in others], dtype=bool)
    means[np.repeat(free, np.bincount(model.owners[1:], minlength=len(others)))] = 0.0
    return np.asarray(columns - means)
