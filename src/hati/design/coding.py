"""Configurations as numbers: settings' positions, columns of a linear model, and the valid ones to choose from."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import cached_property, lru_cache, reduce
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import Configuration, FloatArray, InputError, Setting
from hati.stats import Index, Term, interaction_columns

if TYPE_CHECKING:
    from hati.space import Space
    from hati.space.arrays import ArraySpace


Levels = NDArray[np.int16]
"""Shape (configurations, options): the position of each option's setting, ``INACTIVE`` where it has none."""

INACTIVE = -1


def levels(configurations: Sequence[Mapping[str, Setting]], space: Space) -> Levels:
    """The positions of the configurations' settings, options in the space's order.

    Raises:
        InputError: for a setting that its option does not have.
    """
    places = {
        (option.name, type(setting), setting): (column, place)
        for column, option in enumerate(space.options)
        for place, setting in enumerate(option.settings)
    }
    found = np.full((len(configurations), len(space.options)), INACTIVE, dtype=np.int16)
    for row, configuration in zip(found, configurations, strict=True):
        for name, setting in configuration.items():
            known = places.get((name, type(setting), setting))
            if known is not None:
                row[known[0]] = known[1]
            elif name in space.names:
                raise InputError(f"{setting!r} is not a setting of option {name!r}")
    return found


@lru_cache(maxsize=64)
def setting_contrasts(settings: int) -> FloatArray:
    """The columns that code an option, shape (settings, settings - 1): Helmert's, orthogonal.

    Each sums to zero over the settings and has mean square one; -1 and +1 for two settings. They span the same space as
    sum coding, so that sums of squares of type III, tests and fitted values are the same.
    """
    coded = np.zeros((settings, settings - 1))
    for j in range(1, settings):
        coded[:j, j - 1], coded[j, j - 1] = -1.0, j
        coded[:, j - 1] *= np.sqrt(settings / (j * (j + 1.0)))
    coded.flags.writeable = False
    return coded


def sum_codes(settings: int) -> FloatArray:
    """Sum coding, shape (settings + 1, settings - 1): a row for each setting, then that of an inactive option."""
    size = settings - 1
    return np.vstack([np.eye(size), -np.ones(size), np.zeros(size)])


class Model(Struct, frozen=True, dict=True):
    """A linear model of effects: an intercept, then ``terms`` over options with ``sizes`` settings each.

    An interaction's columns are the products of its options' columns. The columns of an inactive option are zero: a
    conditional option has an effect only where it is active, so that it and the option that it depends on are modelled
    as one factor with a setting for each valid combination.
    """

    sizes: tuple[int, ...]
    terms: tuple[Term, ...]

    @classmethod
    def of_order(cls, sizes: Sequence[int], order: int) -> Model:
        """All effects up to an order: main effects first, then pairs, and so on."""
        terms = [term for size in range(1, order + 1) for term in itertools.combinations(range(len(sizes)), size)]
        return cls(tuple(sizes), tuple(terms))

    @property
    def parameters(self) -> int:
        """The number of columns, the intercept's included."""
        return len(self.owners)

    @cached_property
    def owners(self) -> Index:
        """The position among ``terms`` that each column belongs to, shape (parameters,); -1 for the intercept."""
        widths = [prod(self.sizes[option] - 1 for option in term) for term in self.terms]
        return np.concatenate([[-1], np.repeat(np.arange(len(self.terms)), widths)]).astype(np.intp)

    def matrix(self, levels: Levels) -> FloatArray:
        """The model's columns for those configurations, shape (configurations, parameters)."""
        coded = [_coded(levels[:, option], size) for option, size in enumerate(self.sizes)]
        columns = (interaction_columns([coded[option] for option in term]) for term in self.terms)
        return np.hstack([np.ones((len(levels), 1)), *columns])

    def columns(self, levels: Levels) -> dict[Term, FloatArray]:
        """Each term's columns for those configurations."""
        matrix = self.matrix(levels)
        return {term: matrix[:, self.owners == place] for place, term in enumerate(self.terms)}


def _coded(positions: NDArray[np.int16], size: int) -> FloatArray:
    return np.asarray(_table(size)[positions])


@lru_cache(maxsize=64)
def _table(size: int) -> FloatArray:
    """The contrasts of an option, with those of an inactive one in the last row, -1."""
    return np.vstack([setting_contrasts(size), np.zeros(size - 1)])


class Shifts(NamedTuple):
    """Options with equally many settings, and what their other settings change.

    ``columns``, shape (options, most columns), are the positions of the columns that each option changes, filled up
    with that of the intercept, which nothing changes. A column is a product of the option's code and of ``others``,
    main-effect columns of shape (order - 1, options, most columns); ``jumps`` are the changes of the code, shape
    (options, settings, other settings, most columns).
    """

    options: Index
    columns: Index
    jumps: FloatArray
    others: Index

    def changes(self, rows: Levels, main: FloatArray) -> FloatArray:
        """What other settings add to the columns, shape (options, rows, other settings, most columns).

        Args:
            rows: none inactive, shape (rows, all options).
            main: their main-effect columns.
        """
        options, settings, moves, width = self.jumps.shape
        here = rows[:, self.options] + np.arange(0, options * settings, settings)
        found = self.jumps.reshape(options * settings, moves * width).take(here, axis=0)
        found = found.reshape(len(rows), options, moves, width)
        if len(self.others):
            found *= reduce(np.multiply, (main.take(factor, axis=1) for factor in self.others))[:, :, None]
        return found.transpose(1, 0, 2, 3)


class Columns(Struct, frozen=True, dict=True):
    """The columns of ``model``, equal to those of ``Model.matrix``, and what single settings change of them."""

    model: Model

    @cached_property
    def codes(self) -> FloatArray:
        """What each setting of each option adds to a row's main-effect columns; shape (settings + 1, columns).

        The last column is 1, for the intercept and for factors that a term lacks; the last row is that of an
        inactive option.
        """
        sizes = self.model.sizes
        table = np.zeros((sum(sizes) + 1, sum(sizes) - len(sizes) + 1))
        for option, size in enumerate(sizes):
            start = self.starts[option] - option
            table[self.starts[option] : self.starts[option] + size, start : start + size - 1] = setting_contrasts(size)
        return table

    @cached_property
    def starts(self) -> Index:
        """The row of ``codes`` at which each option's settings begin."""
        return np.concatenate([[0], np.cumsum(self.model.sizes)[:-1]]).astype(np.intp)

    @cached_property
    def factors(self) -> Index:
        """The main-effect columns whose product each column is, shape (order, parameters)."""
        sizes, order = self.model.sizes, max((len(term) for term in self.model.terms), default=1)
        one = sum(sizes) - len(sizes)
        found = [(one,) * order]
        for term in self.model.terms:
            parts = [range(self.starts[o] - o, self.starts[o] - o + sizes[o] - 1) for o in term]
            found += [(*chosen, *(one,) * (order - len(term))) for chosen in itertools.product(*parts)]
        return np.array(found, dtype=np.intp).T.copy()

    @cached_property
    def ranges(self) -> FloatArray:
        """The range (largest minus smallest value) of each column over all combinations of settings."""
        found = [0.0]
        bounds = [(c.min(0), c.max(0)) for c in (setting_contrasts(size) for size in self.model.sizes)]
        for term in self.model.terms:
            for chosen in itertools.product(*(range(self.model.sizes[option] - 1) for option in term)):
                sides = [(bounds[o][0][c], bounds[o][1][c]) for o, c in zip(term, chosen, strict=True)]
                ends = [prod(corner) for corner in itertools.product(*sides)]
                found.append(float(max(ends) - min(ends)))
        return np.array(found)

    def matrix(self, levels: Levels) -> FloatArray:
        """The model's columns for those rows, shape (rows, parameters)."""
        return self._products(self.main(levels))

    def changes(self, rows: Levels) -> list[FloatArray]:
        """What every other setting of one option adds to the columns that it changes.

        Args:
            rows: none inactive, shape (rows, options).

        Returns:
            For each group of options in ``shifts`` shape (options, rows, other settings, columns).
        """
        main = self.main(rows)
        return [each.changes(rows, main) for each in self.shifts]

    @cached_property
    def shifts(self) -> tuple[Shifts, ...]:
        """The options that have other settings, grouped by their number of settings."""
        sizes = np.array(self.model.sizes)
        return tuple(self._shifts(np.flatnonzero(sizes == size), int(size)) for size in np.unique(sizes[sizes > 1]))

    def _shifts(self, options: Index, size: int) -> Shifts:
        one = self.codes.shape[1] - 1
        owners = np.append(self._options, -1)
        own = owners[self.factors] == options[:, None, None]  # of shape (options, order, columns)
        changed = [np.flatnonzero(each.any(axis=0)) for each in own]
        columns = np.zeros((len(options), max(map(len, changed))), dtype=np.intp)
        jumps = np.zeros((len(options), size, size - 1, columns.shape[1]))
        others = np.full((len(self.factors) - 1, *columns.shape), one)
        settings = np.arange(size)[:, None]
        contrasts = setting_contrasts(size)
        steps = contrasts[(settings + np.arange(1, size)) % size] - contrasts[settings]
        for place, (option, places) in enumerate(zip(options, changed, strict=True)):
            chosen, mine = self.factors[:, places], own[place][:, places]
            columns[place, : len(places)] = places
            others[:, place, : len(places)] = chosen.T[~mine.T].reshape(len(places), len(others)).T
            jumps[place, :, :, : len(places)] = steps[..., chosen.T[mine.T] - (self.starts[option] - option)]
        return Shifts(options, columns, jumps, others)

    @cached_property
    def places(self) -> Index:
        """The position in ``shifts``, one group after the other, of each other setting in ``moves``."""
        owners = [np.repeat(each.options, self.model.sizes[each.options[0]] - 1) for each in self.shifts]
        return np.argsort(np.concatenate([*owners, np.empty(0, dtype=np.intp)]), kind="stable")

    @cached_property
    def moves(self) -> tuple[Index, Index]:
        """For each other setting of each option, the option and by how many settings it is rotated."""
        pairs = [(option, shift) for option, size in enumerate(self.model.sizes) for shift in range(1, size)]
        options, shifts = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        return options, shifts

    def main(self, levels: Levels) -> FloatArray:
        """The main-effect columns for those rows, and a last column of ones."""
        places = np.where(levels == INACTIVE, len(self.codes) - 1, levels + self.starts)
        own = self.codes[places[:, self._options], np.arange(len(self._options))]
        return np.hstack([own, np.ones((len(levels), 1))])

    @cached_property
    def _options(self) -> Index:
        """The option of each main-effect column."""
        sizes = np.array(self.model.sizes)
        return np.repeat(np.arange(len(sizes)), sizes - 1)

    def _products(self, main: FloatArray) -> FloatArray:
        first, *others = self.factors
        found: FloatArray = main.take(first, axis=-1)
        for factor in others:
            found *= main.take(factor, axis=-1)
        return found


MOST_LISTED = 20_000
SAMPLED = 4_000


class Reach(StrEnum):
    """How the valid configurations are known."""

    FREE = "every combination of settings"
    LISTED = "all valid configurations"
    SAMPLED = "a uniform sample, and what differs from a run in one option"


class Candidates(Struct, frozen=True, dict=True):
    """The possible runs: ``levels`` are the listed or sampled configurations, none where all are valid."""

    space: Space
    reach: Reach
    levels: Levels

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of settings of each option."""
        return tuple(len(option.settings) for option in self.space.options)

    def draw(self, number: int, rng: np.random.Generator) -> Levels:
        """That number of candidates, drawn independently."""
        if self.reach is Reach.FREE:
            return rng.integers(0, self.sizes, (number, len(self.sizes))).astype(np.int16)
        return self.levels[rng.integers(0, len(self.levels), number)]

    def moved(self, rows: Levels, options: Sequence[int]) -> tuple[Levels, NDArray[np.bool_]]:
        """The configurations after settings of options changed, and whether each is valid and these are active in it.

        Options that become inactive lose their setting, options that become active get their default.
        """
        found = self._arrays.canonical(rows)
        return found, self._arrays.valid(found) & np.all(found[:, options] != INACTIVE, axis=1)

    def neighbours(self, rows: Levels) -> list[Levels]:
        """The valid configurations that differ from each configuration in the setting of one active option.

        Options that become inactive lose their setting, options that become active get their default.

        Args:
            rows: shape (configurations, options).

        Returns:
            For each configuration shape (neighbours, options), all different; not to be written to.
        """
        keys = [row.tobytes() for row in rows]
        missing = [place for place, key in enumerate(keys) if key not in self._neighbours]
        if missing:
            found = self._found(rows[missing])
            self._neighbours.update(zip((keys[place] for place in missing), found, strict=True))
        return [self._neighbours[key] for key in keys]

    @cached_property
    def _neighbours(self) -> dict[bytes, Levels]:
        """The neighbours found so far: an exchange asks for those of a run in every pass."""
        return {}

    @cached_property
    def _arrays(self) -> ArraySpace:
        from hati.space.arrays import ArraySpace

        return ArraySpace(self.space)

    def _found(self, rows: Levels) -> list[Levels]:
        """The neighbours, computed in one array of all moves."""
        options = np.repeat(np.arange(len(self.sizes)), self.sizes)
        places = np.concatenate([np.arange(size) for size in self.sizes])
        owners, moves = np.nonzero(rows[:, options] != INACTIVE)
        moved = rows[owners]
        moved[np.arange(len(moves)), options[moves]] = places[moves]
        moved = self._arrays.canonical(moved)
        kept = self._arrays.valid(moved) & np.any(moved != rows[owners], axis=1)
        moved = moved[kept]
        moved.flags.writeable = False
        return np.split(moved, np.searchsorted(owners[kept], np.arange(1, len(rows))))


def candidates(space: Space, rng: np.random.Generator) -> Candidates:
    """The candidates of a space: all valid configurations up to ``MOST_LISTED``, otherwise a uniform sample.

    Raises:
        InputError: where the space has no option or no valid configuration, or its constraints are too entangled.
    """
    from hati.space import count

    if not space.options:
        raise InputError("the space has no options", fix="list some under [options]")
    if not space.constraints and all(option.active_if is None for option in space.options):
        return Candidates(space, Reach.FREE, np.empty((0, len(space.options)), dtype=np.int16))
    if not count(space):
        raise InputError("the space has no valid configuration", fix="see what contradicts with: hati space check")
    return listed_or_sampled(space, rng)


def listed_or_sampled(space: Space, rng: np.random.Generator) -> Candidates:
    """All valid configurations up to ``MOST_LISTED``, otherwise a uniform sample of ``SAMPLED``.

    Raises:
        InputError: where the constraints are too entangled.
    """
    from hati.space import count
    from hati.space.arrays import drawn_positions, every_position

    if count(space) <= MOST_LISTED:
        return Candidates(space, Reach.LISTED, every_position(space))
    return Candidates(space, Reach.SAMPLED, np.unique(drawn_positions(space, SAMPLED, rng), axis=0))


def from_levels(rows: Levels, space: Space) -> tuple[Configuration, ...]:
    """The configurations with these ``levels``, shape (configurations, options)."""
    return tuple(space.complete(_settings(row, space)) for row in rows)


def combinations(space: Space) -> int:
    """The number of combinations of settings, valid or not."""
    return prod(len(option.settings) for option in space.options)


def _settings(row: Sequence[int] | Levels, space: Space) -> dict[str, Setting]:
    places = zip(space.options, row, strict=True)
    return {option.name: option.settings[place] for option, place in places if place != INACTIVE}
