"""What the methods of all commits are called with."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import repeat
from string import ascii_letters

import hati

SHORTEST, LONGEST = 5, 20


@hati.workload
def words(n: int, rng: random.Random) -> Iterator[list[str]]:
    """Of letters in random order, the same for all calls of a run."""
    return repeat(["".join(rng.choices(ascii_letters, k=rng.randint(SHORTEST, LONGEST))) for _ in range(n)])
