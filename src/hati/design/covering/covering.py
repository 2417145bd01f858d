"""Covering arrays of a space."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from hati.core import InputError
from hati.design.covering.combinations import Combinations, Flags, conditional, valid_combinations
from hati.design.covering.listed import listed_cover
from hati.design.covering.sequential import sequential_cover
from hati.design.optimal.coding import Levels, levels

if TYPE_CHECKING:
    from numpy.random import Generator

    from hati.space import Space

STRENGTHS = (2, 3, 4)
LISTED = 20_000
_MOST_LOOKUPS = 20_000_000


class CombinationCoverage(Struct, frozen=True):
    """How many combinations of the settings of ``strength`` options are valid, and how many of them rows have."""

    strength: int
    valid: int
    invalid: int
    covered: int

    @property
    def complete(self) -> bool:
        """Whether all valid ones are covered."""
        return self.covered == self.valid


class CoveringArray(Struct, frozen=True, dict=True):
    """Configurations in which every valid combination of the settings of ``strength`` options occurs.

    ``levels`` has shape (runs, options). The first ``fixed`` runs were given. ``valid`` flags the combinations that
    some valid configuration has. An option without a setting, where it is inactive, counts as one setting more.
    """

    space: Space
    combinations: Combinations
    levels: Levels
    fixed: int
    valid: Flags

    @property
    def runs(self) -> int:
        """The number of rows, with those that were given."""
        return len(self.levels)

    @property
    def strength(self) -> int:
        """The number of options whose combinations are covered."""
        return self.combinations.strength

    @cached_property
    def coverage(self) -> CombinationCoverage:
        """What the rows cover, counted from the rows."""
        return self._coverage(self.levels)

    @cached_property
    def given(self) -> CombinationCoverage:
        """What the rows that were given cover."""
        return self._coverage(self.levels[: self.fixed])

    def _coverage(self, rows: Levels) -> CombinationCoverage:
        valid = int(self.valid.sum())
        covered = int((self.combinations.covered(rows) & self.valid).sum())
        return CombinationCoverage(self.strength, valid, self.combinations.total - valid, covered)

    @cached_property
    def fractions(self) -> tuple[float, ...]:
        """The share of the valid combinations that the runs up to each have covered."""
        numbers = self.combinations.of_rows(self.levels)
        first = np.unique(numbers, return_index=True)[1] // max(1, numbers.shape[1])
        new = np.bincount(first, minlength=self.runs)
        return tuple((np.cumsum(new) / self.coverage.valid).tolist())


def covering_array(space: Space, strength: int, rng: Generator, *, fixed: Levels | None = None) -> CoveringArray:
    """A covering array of a space under its constraints; rows that cover the most come first.

    By a greedy search over all valid configurations, up to 20,000; by AETG's search beyond.

    Args:
        space: the options and constraints.
        strength: 2, 3 or 4; where the space has fewer options, all of them are combined.
        rng: the same generator gives the same array.
        fixed: rows that exist already, shape (rows, options): only what they lack is added.

    Raises:
        InputError: for another strength, a space without options or valid configurations, too many combinations, or
            constraints that are too entangled.
    """
    if strength not in STRENGTHS:
        raise InputError(f"a covering array of strength {strength} is not offered", fix="choose 2, 3 or 4")
    if not space.options:
        raise InputError("the space has no options", fix="list some under [options]")
    found = Combinations.of(space, strength)
    given = np.empty((0, len(space.options)), dtype=np.int16) if fixed is None else fixed
    everything = _listed(space, found)
    valid = valid_combinations(space, found, rng) if everything is None else found.covered(everything)
    wanted = valid & ~found.covered(given)
    if everything is None:
        from hati.space.completion import Completion

        added = sequential_cover(Completion(space), conditional(space), found, wanted, rng)
    else:
        added = listed_cover(everything, found, wanted, rng)
    return CoveringArray(space, found, np.vstack([given, added]), len(given), valid)


def coverage(space: Space, strength: int, rows: Levels, rng: Generator) -> CombinationCoverage:
    """How many of the valid combinations of the settings of ``strength`` options some rows have.

    Raises:
        InputError: as of ``covering_array``.
    """
    found = Combinations.of(space, strength)
    return CoveringArray(space, found, rows, len(rows), valid_combinations(space, found, rng)).coverage


def _listed(space: Space, found: Combinations) -> Levels | None:
    """All valid configurations, where these are few enough."""
    from hati.space import count, enumerate_configurations

    total = count(space)
    if not total:
        raise InputError("the space has no valid configuration", fix="see what contradicts with: hati space check")
    if total > LISTED or total * len(found.groups) > _MOST_LOOKUPS:
        return None
    return levels(list(enumerate_configurations(space)), space)
