"""The valid configurations that the runs of a design are chosen from, as levels."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from hati.core import Configuration, InputError, Setting
from hati.design.optimal.coding import INACTIVE, Levels, levels

if TYPE_CHECKING:
    from hati.space import Space
    from hati.space.arrays import ArraySpace


MOST_LISTED = 20_000
SAMPLED = 4_000


class Reach(StrEnum):
    """How the valid configurations are known."""

    FREE = "every combination of settings"
    LISTED = "all valid configurations"
    SAMPLED = "a uniform sample, and what differs from a run in one option"


class Candidates(Struct, frozen=True, dict=True):
    """What a run may be: ``levels`` are the listed or sampled configurations, none where all are valid."""

    space: Space
    reach: Reach
    levels: Levels

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of settings of each option."""
        return tuple(len(option.settings) for option in self.space.options)

    def draw(self, number: int, rng: np.random.Generator) -> Levels:
        """That many of the candidates, drawn independently."""
        if self.reach is Reach.FREE:
            return rng.integers(0, self.sizes, (number, len(self.sizes))).astype(np.int16)
        return self.levels[rng.integers(0, len(self.levels), number)]

    def neighbours(self, rows: Levels) -> list[Levels]:
        """The valid configurations that each configuration becomes by another setting of one active option.

        Options that this deactivates lose their setting, options that it activates get their default.

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
        """Those that were found: an exchange asks for a run's again in every pass."""
        return {}

    @cached_property
    def _arrays(self) -> ArraySpace:
        from hati.space.arrays import ArraySpace

        return ArraySpace(self.space)

    def _found(self, rows: Levels) -> list[Levels]:
        """The same, computed in one array of all moves."""
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
        InputError: where there is no option or no valid configuration, or the constraints are too entangled to count.
    """
    from hati.space import count, enumerate_configurations, sample

    if not space.options:
        raise InputError("the space has no options", fix="list some under [options]")
    if not space.constraints and all(option.active_if is None for option in space.options):
        return Candidates(space, Reach.FREE, np.empty((0, len(space.options)), dtype=np.int16))
    total = count(space)
    if not total:
        raise InputError("the space has no valid configuration", fix="see what contradicts with: hati space check")
    if total <= MOST_LISTED:
        return Candidates(space, Reach.LISTED, levels(list(enumerate_configurations(space)), space))
    return Candidates(space, Reach.SAMPLED, np.unique(levels(sample(space, SAMPLED, rng), space), axis=0))


def from_levels(rows: Levels, space: Space) -> tuple[Configuration, ...]:
    """The configurations whose ``levels`` these are, shape (configurations, options)."""
    return tuple(space.complete(_settings(row, space)) for row in rows)


def combinations(space: Space) -> int:
    """How many combinations of settings there are, valid or not."""
    return prod(len(option.settings) for option in space.options)


def _settings(row: Sequence[int] | Levels, space: Space) -> dict[str, Setting]:
    places = zip(space.options, row, strict=True)
    return {option.name: option.settings[place] for option, place in places if place != INACTIVE}
