"""The combinations of settings of a few options, numbered, and those that configurations have."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import InputError, Setting
from hati.design.optimal.coding import INACTIVE, Levels, levels

if TYPE_CHECKING:
    from numpy.random import Generator

    from hati.space import Space

MOST_COMBINATIONS = 20_000_000

Flags = NDArray[np.bool_]
"""Shape (combinations,)."""

Numbers = NDArray[np.int64]

_PROBES = 2000
_CHUNK = 1 << 16


class Combinations(Struct, frozen=True, dict=True):
    """All combinations of the settings of ``strength`` options, numbered group of options after group.

    ``sizes`` is the number of codes of each option: its settings, and one more where it may be inactive.

    Raises:
        InputError: for more than ``MOST_COMBINATIONS``.
    """

    sizes: tuple[int, ...]
    strength: int

    def __post_init__(self) -> None:
        if self.total > MOST_COMBINATIONS:
            raise InputError(
                f"there are {self.total:,} combinations of the settings of {self.strength} options, "
                f"more than {MOST_COMBINATIONS:,}",
                fix="lower the strength, or fix some options by a template",
            )

    @cached_property
    def total(self) -> int:
        """How many there are, valid or not: the elementary symmetric polynomial of the sizes."""
        sums = [1, *[0] * self.strength]
        for size in self.sizes:
            sums = [1, *(here + size * before for before, here in itertools.pairwise(sums))]
        return sums[-1]

    @classmethod
    def of(cls, space: Space, strength: int) -> Combinations:
        """Those of a space's options; of all options where there are fewer than the strength."""
        sizes = tuple(len(option.settings) + (option.active_if is not None) for option in space.options)
        return cls(sizes, min(strength, len(sizes)))

    @cached_property
    def groups(self) -> NDArray[np.intp]:
        """The options that are combined, shape (groups, strength)."""
        return np.array(list(itertools.combinations(range(len(self.sizes)), self.strength)), dtype=np.intp).reshape(
            -1, self.strength
        )

    @cached_property
    def strides(self) -> Numbers:
        """What a code of each option of a group adds to the number of a combination, shape (groups, strength)."""
        widths = np.array(self.sizes, dtype=np.int64)[self.groups]
        return np.hstack([np.cumprod(widths[:, :0:-1], axis=1)[:, ::-1], np.ones((len(widths), 1), dtype=np.int64)])

    @cached_property
    def offsets(self) -> Numbers:
        """The number of the first combination of each group, shape (groups + 1,): the last is the total."""
        widths = np.array(self.sizes, dtype=np.int64)[self.groups].prod(axis=1)
        return np.concatenate([[0], np.cumsum(widths)])

    def codes(self, rows: Levels) -> NDArray[np.int64]:
        """The positions of settings, with the last code for an inactive option, shape (rows, options)."""
        return np.where(rows == INACTIVE, np.array(self.sizes) - 1, rows).astype(np.int64)

    def of_rows(self, rows: Levels) -> Numbers:
        """The numbers of the combinations that each row has, shape (rows, groups)."""
        codes = self.codes(rows)
        found = np.tile(self.offsets[:-1], (len(rows), 1))
        for place in range(self.strength):
            found += codes[:, self.groups[:, place]] * self.strides[:, place]
        return found

    def covered(self, rows: Levels) -> Flags:
        """The combinations that some row has."""
        found = np.zeros(self.total, dtype=np.bool_)
        for at in range(0, len(rows), _CHUNK):
            found[self.of_rows(rows[at : at + _CHUNK])] = True
        return found

    def parts(self, numbers: Numbers) -> tuple[NDArray[np.intp], Numbers]:
        """The options and the codes of combinations, each of shape (combinations, strength)."""
        group = np.searchsorted(self.offsets, numbers, side="right") - 1
        within = (numbers - self.offsets[group])[:, None] // self.strides[group]
        options = self.groups[group]
        return options, within % np.array(self.sizes, dtype=np.int64)[options]

    def partial(self, numbers: Numbers, conditional: Flags) -> Levels:
        """Partial configurations with these combinations and nothing else, shape (combinations, options)."""
        from hati.space.completion import OPEN

        options, codes = self.parts(numbers)
        last = codes == np.array(self.sizes)[options] - 1
        rows = np.full((len(numbers), len(self.sizes)), OPEN, dtype=np.int16)
        np.put_along_axis(rows, options, np.where(last & conditional[options], INACTIVE, codes).astype(np.int16), 1)
        return rows


def conditional(space: Space) -> Flags:
    """Which options may be inactive, shape (options,)."""
    return np.array([option.active_if is not None for option in space.options], dtype=np.bool_)


def valid_combinations(space: Space, found: Combinations, rng: Generator) -> Flags:
    """The combinations that some valid configuration has, exactly.

    Those that random configurations have are valid; each of the others is looked up in the space's decision diagrams.

    Raises:
        InputError: where there is no valid configuration, or the constraints are too entangled.
    """
    from hati.space import sample
    from hati.space.completion import Completion

    valid = found.covered(levels(sample(space, _PROBES, rng), space))
    completion, may = Completion(space), conditional(space)
    unknown = np.flatnonzero(~valid)
    for at in range(0, len(unknown), _CHUNK):
        part = unknown[at : at + _CHUNK]
        valid[part] = completion.possible(found.partial(part, may))
    return valid


def combination_settings(space: Space, found: Combinations, numbers: Numbers) -> Iterator[dict[str, Setting | None]]:
    """Combinations by names of options and their settings, None where an option is inactive."""
    for options, codes in zip(*found.parts(numbers), strict=True):
        chosen = [space.options[option] for option in options.tolist()]
        yield {
            option.name: option.settings[code] if code < len(option.settings) else None
            for option, code in zip(chosen, codes.tolist(), strict=True)
        }
