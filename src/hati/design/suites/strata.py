"""All valid combinations of some options, each with its number of valid completions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import Configuration, InputError, replace
from hati.design.optimal.coding import INACTIVE, Levels, levels
from hati.space import Constraint, Option, Space, count, enumerate_configurations, sample
from hati.space.formula import Literal, Membership, Name, Negation, TermComparator, TermComparison

if TYPE_CHECKING:
    from numpy.random import Generator


LISTED = 20_000
"""Constrained spaces of up to so many configurations are listed; of larger ones configurations are drawn."""

_FEW = 4
"""A combination with up to so many times the configurations that are to be drawn is listed."""


class Combination(Struct, frozen=True):
    """Settings of the important options, an inactive one being left out, with the number of valid completions."""

    setting: Configuration
    weight: int


class Population(Struct, frozen=True, eq=False):
    """A space's configurations by combinations of ``options``.

    ``listed`` holds all configurations' levels, and ``members`` which of them belong to each combination; both are
    None where there are too many to list.
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
    """The valid combinations of the settings of some options, in the order of their settings; exact.

    Being inactive counts as one more setting, the last.

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
    """The levels of all valid configurations, not to be written to."""
    table = levels(list(enumerate_configurations(space)), space)
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
    """The combinations that extend a setting and their counts, by fixing one option after the other."""
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
    return TermComparison(Name(option.name), TermComparator.EQUAL, Literal(setting))


def _inactive(option: Option) -> Constraint:
    return Negation(Membership(Name(option.name), tuple(Literal(setting) for setting in option.settings)))
