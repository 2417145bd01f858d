"""A space's configurations by the combinations of some options, and systematic samples of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import Configuration, FloatArray, InputError, replace
from hati.design.coding import INACTIVE, Levels, levels
from hati.formula import Comparator, Not
from hati.space import Constraint, Option, Space, count, enumerate_configurations, sample
from hati.space.arrays import every_position
from hati.space.constraint import Literal, Membership, Name, TermComparison

if TYPE_CHECKING:
    from numpy.random import Generator


LISTED = 20_000
"""Constrained spaces of up to that number of configurations are listed; larger ones are sampled."""

_FEW = 4
"""A combination's configurations are listed if they are at most this multiple of those to draw."""


class Combination(Struct, frozen=True):
    """Settings of the important options, without inactive ones, and the number of valid completions."""

    setting: Configuration
    weight: int


class Population(Struct, frozen=True, eq=False):
    """A space's configurations by combinations of ``options``.

    ``listed`` holds all configurations' levels, and ``members`` the rows of it that belong to each combination; both
    are None where there are too many to list.
    """

    space: Space
    options: tuple[str, ...]
    combinations: tuple[Combination, ...]
    listed: Levels | None = None
    members: tuple[NDArray[np.intp], ...] | None = None

    @property
    def weights(self) -> NDArray[np.float64]:
        """The combinations' shares of the space, which sum to 1."""
        counts = [combination.weight for combination in self.combinations]
        total = sum(counts)
        return np.array([number / total for number in counts])

    def draw(self, combination: int, number: int, rng: Generator) -> Levels:
        """Up to ``number`` different configurations of a combination, each equally likely, in random order."""
        if self.listed is not None and self.members is not None:
            rows = self.members[combination]
            return np.asarray(self.listed[rng.choice(rows, size=min(number, len(rows)), replace=False)])
        narrowed = _narrowed(self.space, self.options, self.combinations[combination].setting)
        if self.combinations[combination].weight <= _FEW * number:
            everything = levels(list(enumerate_configurations(narrowed)), self.space)
            return np.asarray(everything[rng.permutation(len(everything))[:number]])
        drawn = levels(sample(narrowed, number, rng), self.space)
        _, first = np.unique(drawn, axis=0, return_index=True)
        return np.asarray(drawn[np.sort(first)])


def population(space: Space, options: Sequence[str]) -> Population:
    """The valid combinations of the settings of some options, in the order of their settings, by exact counting.

    Being inactive counts as a further setting, the last.

    Raises:
        InputError: for an unknown option, one that is named twice, or a space without a valid configuration.
    """
    names = tuple(options)
    chosen = [space.option(name) for name in names]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"option {twice!r} is named twice", fix="name each once")
    total = count(space)
    if total == 0:
        raise InputError("the space has no valid configuration", fix="see what contradicts with: hati space check")
    if total <= LISTED:
        return _listed(space, names, chosen)
    combinations = tuple(
        Combination(setting, number) for setting, number in _counted(space, chosen, Configuration(), total)
    )
    return Population(space, names, combinations)


def _listed(space: Space, names: tuple[str, ...], chosen: Sequence[Option]) -> Population:
    table = all_levels(space)
    columns = [space.names.index(name) for name in names]
    parts = table[:, columns].astype(np.intp)
    for place, option in enumerate(chosen):
        parts[parts[:, place] == INACTIVE, place] = len(option.settings)
    keys, owner = np.unique(parts, axis=0, return_inverse=True)
    members = tuple(np.flatnonzero(owner.ravel() == place) for place in range(len(keys)))
    combinations = tuple(
        Combination(_setting(chosen, key), len(rows)) for key, rows in zip(keys.tolist(), members, strict=True)
    )
    return Population(space, names, combinations, table, members)


@lru_cache(maxsize=4)
def all_levels(space: Space) -> Levels:
    """The levels of all valid configurations, read-only."""
    table = every_position(space)
    table.flags.writeable = False
    return table


def _setting(options: Sequence[Option], key: Sequence[int]) -> Configuration:
    return Configuration(
        {
            option.name: option.settings[place]
            for option, place in zip(options, key, strict=True)
            if place < len(option.settings)
        }
    )


def _counted(
    space: Space, options: Sequence[Option], setting: Configuration, total: int
) -> Iterator[tuple[Configuration, int]]:
    """The combinations that extend a setting, with their counts, by fixing one option after the other."""
    if not options:
        yield setting, total
        return
    option, *others = options
    for narrowed, extended in _cases(space, option, setting):
        number = count(narrowed)
        if number:
            yield from _counted(narrowed, others, extended, number)


def _cases(space: Space, option: Option, setting: Configuration) -> Iterator[tuple[Space, Configuration]]:
    for value in option.settings:
        narrowed = replace(space, constraints=(*space.constraints, _fixed(option, value)))
        yield narrowed, Configuration({**setting, option.name: value})
    if option.active_if is not None:
        yield replace(space, constraints=(*space.constraints, _inactive(option))), setting


def _narrowed(space: Space, names: Sequence[str], setting: Configuration) -> Space:
    rules = [
        _fixed(space.option(name), setting[name]) if name in setting else _inactive(space.option(name))
        for name in names
    ]
    return replace(space, constraints=(*space.constraints, *rules))


def _fixed(option: Option, setting: bool | int | float | str) -> Constraint:  # noqa: FBT001 - a setting, no switch
    return TermComparison(Name(option.name), Comparator.EQUAL, Literal(setting))


def _inactive(option: Option) -> Constraint:
    return Not(Membership(Name(option.name), tuple(Literal(setting) for setting in option.settings)))


COUNTED = 1024
"""The largest number of combinations that are counted individually."""


class StratumParts(Struct, frozen=True, eq=False):
    """Parts of strata that have configurations to take: combinations of ``population``, stratum by stratum.

    ``owners`` are their strata, ``wanted`` their numbers of configurations, ``shares`` their weights in estimates.
    """

    population: Population
    combinations: tuple[int, ...]
    owners: tuple[int, ...]
    wanted: tuple[int, ...]
    shares: tuple[float, ...]


_SPREAD = 3
"""The largest number of options that systematic samples spread: more leave few configurations to balance others by."""


def stratum_parts(everything: Population, sizes: Sequence[int], options: Sequence[str], rng: Generator) -> StratumParts:
    """The combinations with the options to spread over, by a systematic sample in each stratum (Cochran 1977, 8.1).

    Within a stratum, combinations are ordered so that those half of it apart differ in all options. Each start is
    uniform, so that inclusion is unbiased; those of strata of one size are evenly spaced, so that roundings cancel
    out over the space.
    """
    names = _spreadable(everything, options)
    if not names:
        strata = tuple(range(len(sizes)))
        return StratumParts(everything, strata, strata, tuple(sizes), tuple(everything.weights.tolist()))
    finer = population(everything.space, (*everything.options, *names))
    owners = _owners(finer, everything)
    starts = np.empty(len(sizes))
    for size in sorted(set(sizes)):
        members = rng.permutation(np.flatnonzero(np.array(sizes) == size))
        starts[members] = (np.arange(len(members)) + rng.random()) / len(members)
    wanted = _systematic(finer, owners, sizes, starts, _keys(_ranks(finer, names), rng))
    used = np.flatnonzero(wanted)
    shares = (everything.weights / np.array(sizes))[owners[used]] * wanted[used]
    return StratumParts(finer, *(tuple(part.tolist()) for part in (used, owners[used], wanted[used], shares)))


def _keys(ranks: NDArray[np.intp], rng: Generator) -> NDArray[np.intp]:
    """Shuffled levels of the first option, and by how much those of the others are ahead of it."""
    shuffled = np.column_stack([rng.permutation(int(rank.max()) + 1)[rank] for rank in ranks.T])
    ahead = (shuffled[:, 1:] - shuffled[:, :1]) % (shuffled[:, 1:].max(axis=0) + 1)
    return np.column_stack([shuffled[:, 0], ahead])


def _systematic(
    finer: Population, owners: NDArray[np.intp], sizes: Sequence[int], starts: FloatArray, keys: NDArray[np.intp]
) -> NDArray[np.intp]:
    """The number of configurations of each combination: within a stratum, at equal distances from its start."""
    order = np.lexsort((*keys.T[::-1], owners))
    weights = np.array([float(combination.weight) for combination in finer.combinations])
    taken = np.zeros(len(order), dtype=np.intp)
    for stratum, (size, start) in enumerate(zip(sizes, starts.tolist(), strict=True)):
        members = order[owners[order] == stratum]
        bounds = np.cumsum(weights[members])
        units = (start + np.arange(size)) * (bounds[-1] / size)
        np.add.at(taken, members[np.searchsorted(bounds, units, side="right")], 1)
    return taken


def _owners(finer: Population, everything: Population) -> NDArray[np.intp]:
    """The stratum of each finer combination."""
    places = {combination.setting: place for place, combination in enumerate(everything.combinations)}
    return np.array(
        [
            places[Configuration({n: v for n, v in combination.setting.items() if n in everything.options})]
            for combination in finer.combinations
        ]
    )


def _spreadable(everything: Population, options: Sequence[str]) -> tuple[str, ...]:
    """The first of the options, as many as leave combinations that can be counted."""
    space, names = everything.space, tuple[str, ...]()
    for name in options[:_SPREAD]:
        sizes = (len(o.settings) + (o.active_if is not None) for o in map(space.option, (*names, name)))
        if prod(sizes) * len(everything.combinations) <= COUNTED:
            names = (*names, name)
    return names


def _ranks(finer: Population, names: Sequence[str]) -> NDArray[np.intp]:
    """The level of each option in each combination, shape (combinations, options); inactive is the last."""
    options = [finer.space.option(name) for name in names]
    return np.array(
        [
            [
                option.settings.index(each.setting[option.name])
                if option.name in each.setting
                else len(option.settings)
                for option in options
            ]
            for each in finer.combinations
        ]
    )
