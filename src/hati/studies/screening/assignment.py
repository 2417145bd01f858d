"""Which option is which factor of a fraction: those that mattered before get the columns that tell most of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np
from msgspec import Struct

from hati.design import from_generators
from hati.design.matrix import Matrix
from hati.studies.screening.choice import Choice, reassigned

_MOST = 5_000


def assigned(choice: Choice, likely: Sequence[int]) -> Choice:
    """The same fraction, of which the ``likely`` options, the likeliest first, take the factors that suit them best.

    These are those whose interactions are aliased least: first with main effects, then with each other's, then with
    those of one likely option, then with any. Of so many likely options the first that can be searched through.
    """
    factors = choice.factors
    chosen = [option for option in dict.fromkeys(likely) if 0 <= option < factors]
    while comb(factors, len(chosen)) > _MOST:
        chosen.pop()
    if not choice.generators or len(chosen) < 2:
        return choice
    chosen.sort()
    aliasing = _Aliasing(from_generators(_names(factors), choice.generators).matrix)
    found = min([tuple(chosen), *combinations(range(factors), len(chosen))], key=aliasing.of)
    others = iter(option for option in range(factors) if option not in chosen)
    taken = dict(zip(found, chosen, strict=True))
    owner = [taken[factor] if factor in taken else next(others) for factor in range(factors)]
    return reassigned(choice, owner)


class _Aliasing(Struct, frozen=True, eq=False, dict=True):
    """The alias sets of a two-level design, up to interactions of two factors; ``matrix`` is (runs, factors)."""

    matrix: Matrix

    @cached_property
    def mains(self) -> dict[bytes, int]:
        """The factor of each main effect's column, whatever its sign."""
        return {_key(self.matrix[:, factor]): factor for factor in range(self.matrix.shape[1])}

    @cached_property
    def pairs(self) -> dict[tuple[int, int], bytes]:
        """The column of each pair, whatever its sign."""
        return {
            (a, b): _key(self.matrix[:, a] * self.matrix[:, b]) for a, b in combinations(range(self.matrix.shape[1]), 2)
        }

    @cached_property
    def sets(self) -> dict[bytes, list[tuple[int, int]]]:
        """The pairs that share a column."""
        found: dict[bytes, list[tuple[int, int]]] = {}
        for pair, key in self.pairs.items():
            found.setdefault(key, []).append(pair)
        return found

    def of(self, factors: tuple[int, ...]) -> tuple[int, int, int, int]:
        """How badly the interactions of these factors are aliased: less is better."""
        keys = [self.pairs[pair] for pair in combinations(factors, 2)]
        own, inside = set(keys), set(factors)
        shared = [sum(not inside.isdisjoint(pair) for pair in self.sets[key]) - 1 for key in keys]
        with_mains = sum(key in self.mains for key in keys) + sum(
            len(self.sets.get(key, ())) for key, factor in self.mains.items() if factor in inside
        )
        return with_mains, len(keys) - len(own), sum(shared), sum(len(self.sets[key]) - 1 for key in keys)


def _key(column: Matrix) -> bytes:
    return np.asarray(column * column[0], dtype=np.int8).tobytes()


def _names(factors: int) -> tuple[str, ...]:
    return tuple(f"x{place}" for place in range(1, factors + 1))
