"""A uniform random sample without repetition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hati.core import Configuration
from hati.space import Space, count, enumerate_configurations, sample

if TYPE_CHECKING:
    from numpy.random import Generator

_DENSE = 2


def random_sample(space: Space, number: int, rng: Generator) -> tuple[Configuration, ...]:
    """So many different valid configurations, all sets of them equally likely; all where there are not more."""
    total = count(space)
    if total <= _DENSE * number:
        everything = list(enumerate_configurations(space))
        return tuple(everything[int(place)] for place in rng.permutation(total)[:number])
    found: dict[Configuration, None] = {}
    while len(found) < number:
        found.update(dict.fromkeys(sample(space, number - len(found), rng)))
    return tuple(found)
