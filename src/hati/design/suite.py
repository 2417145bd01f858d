"""Screening suites: few configurations that stand for a whole space, by its important options."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import Configuration, FloatArray, InputError
from hati.design.optimal.coding import INACTIVE, Levels, Model, levels
from hati.design.population import LISTED, Pool, Population, balanced, discrepancy, population, reference_levels
from hati.space import Space, count

if TYPE_CHECKING:
    from numpy.random import Generator


LEAST = 2
"""The least configurations of every stratum that has them: with fewer it has no variance."""

_COUNTED = 1024
"""The largest number of strata that are counted individually."""

_POOL = 2048
_CANDIDATES = 12
_FEWEST = 16
"""Candidates: 12 for each configuration of a stratum, fewer in large suites, but 16 for each stratum."""


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
    """Configurations that stand for a space: all strata of the important ``options``."""

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
        """What each configuration counts in estimates for the whole space, shape (configurations,); sum 1."""
        sizes = np.array([len(stratum.configurations) for stratum in self.strata])
        return np.asarray((self.shares / sizes)[self.owners])


def leading_options(space: Space, ranking: Sequence[str], runs: int) -> tuple[str, ...]:
    """The options to make strata of: as many of a ranking as leave two configurations for every stratum.

    In order of the ranking; one that would make too many strata is passed over. Give only important options.

    Raises:
        InputError: for an unknown option, or constraints that are too entangled to count.
    """
    chosen: tuple[str, ...] = ()
    for name in ranking:
        if _least(population(space, (*chosen, name))) <= runs:
            chosen = (*chosen, name)
    return chosen


def runs_for(space: Space, options: Sequence[str]) -> int | None:
    """The fewest runs with which strata of those options have two configurations each, or all that they have.

    None where there may be too many strata to count.

    Raises:
        InputError: for an unknown option, or constraints that are too entangled to count.
    """
    sizes = [len(option.settings) + (option.active_if is not None) for option in map(space.option, options)]
    if prod(sizes) > _COUNTED and count(space) > LISTED:
        return None
    return _least(population(space, options))


def screening_suite(
    space: Space, options: Sequence[str], runs: int, rng: Generator, ranking: Sequence[str] = ()
) -> Suite:
    """A suite of ``runs`` different configurations; of all configurations where the space has fewer.

    Every stratum has at least two configurations where the size allows it, and otherwise at least one; the rest
    is shared out in proportion to the strata's weights. ``ranking`` holds further influential options, the most
    influential first, whose combinations are balanced before those of others. Inclusion is equally likely within a
    stratum where the space has no constraints, and nearly so elsewhere, so that weighted means are unbiased.

    Raises:
        InputError: for an unknown option, fewer runs than strata, or constraints that are too entangled.
    """
    everything = population(space, options)
    weights = [combination.weight for combination in everything.combinations]
    runs = min(runs, sum(weights))
    if runs < len(weights):
        raise InputError(
            f"{runs} run{'' if runs == 1 else 's'} cannot cover "
            f"the {len(weights)} valid combinations of {', '.join(options)}",
            fix=f"give {2 * len(weights)} runs, or fewer options",
        )
    sizes = _allocation(weights, runs)
    found = _chosen(everything, sizes, tuple(dict.fromkeys((*options, *ranking))), rng)
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
    """The configurations of each stratum: the same minimum, then in proportion to the weights (Webster's divisors)."""
    least = LEAST if sum(min(LEAST, weight) for weight in weights) <= runs else 1
    sizes = [min(least, weight) for weight in weights]
    for _ in range(runs - sum(sizes)):
        open_ = [place for place, weight in enumerate(weights) if sizes[place] < weight]
        best = max(open_, key=lambda place: weights[place] / (sizes[place] + 0.5))
        sizes[best] += 1
    return sizes


def _chosen(everything: Population, sizes: Sequence[int], ranking: Sequence[str], rng: Generator) -> list[Levels]:
    """The levels of each stratum's configurations."""
    each = max(2, min(_CANDIDATES, _POOL // sum(sizes)))
    pools = [everything.draw(place, max(_FEWEST, each * size), rng) for place, size in enumerate(sizes)]
    distance = discrepancy(everything.space, ranking, rng)
    pool = Pool(np.vstack(pools), tuple(map(len, pools)), tuple(sizes), tuple(everything.weights.tolist()))
    taken = balanced(pool, distance, rng)
    ends = np.cumsum([len(rows) for rows in pools])
    return [rows[taken[end - len(rows) : end]] for rows, end in zip(pools, ends, strict=True)]


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
    exact for options that are free of constraints and for spaces that can be listed; otherwise those of a uniform
    sample, for which ``rng`` is.
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
