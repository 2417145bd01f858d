"""Listings 1 and 6: formulas in the code that they are about."""

from __future__ import annotations

import sorts
from workloads import keys, numbers

import hati
from hati import Performance


def get(table: dict[str, int], name: str) -> int:
    return table[name]


@hati.spl("cpu(SELF[keys](1000)) <= 3 * cpu(get[keys](1000))", keys=keys)
def get_property(table: dict[str, int], name: str) -> int:
    """HOLDS: a property costs what looking into a dictionary costs, and one call more (Listing 1)."""
    return get(table, name)


@hati.spl(Performance(sorts.insertion, numbers, 1000) < Performance(sorts.bubble, numbers, 1000))
def insertion_sort_is_faster_than_bubble_sort() -> None:
    """HOLDS: in the mean an insertion sort makes half of the comparisons (Listing 6)."""
