"""What the functions are called with, and on."""

from __future__ import annotations

import random
from collections.abc import Iterator

from containers import ArrayList, LinkedList, filled

import hati

KEY = 16


@hati.workload
def numbers(n: int, rng: random.Random) -> list[float]:
    """In random order."""
    return [rng.random() for _ in range(n)]


@hati.workload
def buffer(n: int, rng: random.Random) -> list[int]:
    return list(rng.randbytes(n))


@hati.workload
def buffer_and_pad(n: int, rng: random.Random) -> tuple[list[int], list[int]]:
    """A key as long as the text."""
    return buffer(n, rng), buffer(n, rng)


@hati.workload
def buffer_and_key(n: int, rng: random.Random) -> tuple[list[int], list[int]]:
    return buffer(n, rng), buffer(KEY, rng)


@hati.workload
def random_search(size: int, rng: random.Random) -> Iterator[int]:
    """Listing 4, ``randomSearch``: one search after the other."""
    while True:
        yield rng.randrange(size)


@hati.instance
def factory_array_list(size: int) -> ArrayList | LinkedList:
    """Listing 4, ``factoryArrayList``."""
    return filled(ArrayList(), range(size))


@hati.instance
def factory_linked_list(size: int) -> ArrayList | LinkedList:
    """Listing 4, ``factoryLinkedList``."""
    return filled(LinkedList(), range(size))


@hati.workload
def keys(n: int, rng: random.Random) -> Iterator[tuple[dict[str, int], str]]:
    """One table, and a key that is in it."""
    table = {f"key {number}": number for number in range(n)}
    while True:
        yield table, f"key {rng.randrange(n)}"
