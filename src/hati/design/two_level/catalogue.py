"""Regular fractions of minimum aberration, by runs and by resolution, from a table.

The table (``catalogue.csv``) holds for each size the generated factors' columns and nothing that can be
recomputed. It is package data, read once when first needed: the one thing that this room reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from types import MappingProxyType

from msgspec import Struct

from hati.core import InputError
from hati.design.two_level.factorial import from_columns, full_factorial
from hati.design.two_level.matrix import MOST_RUNS, Design, check_factors
from hati.design.two_level.words import resolution as resolution_of


class CatalogueEntry(Struct, frozen=True):
    """One size that can be had: the runs, and the resolution of the best design (None: the full factorial)."""

    factors: int
    runs: int
    resolution: int | None


def by_runs(factors: Sequence[str], runs: int) -> Design:
    """The design of minimum aberration in that many runs; the full factorial where these are all there are.

    The first log2(runs) factors are the base.

    Raises:
        InputError: for a size that the table lacks, with the nearest that it has.
    """
    factors = tuple(factors)
    check_factors(factors)
    if runs == 2 ** len(factors):
        return full_factorial(factors)
    generated = catalogue().get((len(factors), runs))
    if generated is None:
        raise InputError(
            f"the table has no design of {len(factors)} factors in {runs} runs", fix=_nearest(factors, runs)
        )
    return from_columns(factors, runs.bit_length() - 1, generated)


def by_resolution(factors: Sequence[str], resolution: int) -> Design:
    """The design of the table with the fewest runs that has at least that resolution.

    Raises:
        InputError: for a resolution below three, or one that no design up to 2^20 runs has.
    """
    factors = tuple(factors)
    check_factors(factors)
    if resolution < 3:
        raise InputError(f"a resolution of {resolution} does not distinguish main effects", fix="use 3 or more")
    for entry in catalogue_sizes(len(factors)):
        if entry.resolution is None or entry.resolution >= resolution:
            return by_runs(factors, entry.runs)
    raise InputError(
        f"the table has no design of {len(factors)} factors and resolution {resolution}",
        fix=f"it has {_sizes(len(factors))}",
    )


@cache
def catalogue_sizes(factors: int) -> tuple[CatalogueEntry, ...]:
    """The sizes that can be had for so many factors, by runs; the full factorial last, up to 2^20 runs."""
    names = tuple(f"x{i}" for i in range(factors))
    fractions = [
        CatalogueEntry(factors, runs, resolution_of(from_columns(names, runs.bit_length() - 1, generated)))
        for (count, runs), generated in sorted(catalogue().items())
        if count == factors
    ]
    full = [CatalogueEntry(factors, 2**factors, None)] if 1 <= factors <= MOST_RUNS.bit_length() - 1 else []
    return (*fractions, *full)


@cache
def catalogue() -> Mapping[tuple[int, int], tuple[int, ...]]:
    """The table: (factors, runs) to the generated factors' columns, as numbers in Yates order."""
    text = resources.files("hati.design").joinpath("catalogue.csv").read_text(encoding="utf-8")
    rows = [line.split(",") for line in text.splitlines() if line and not line.startswith("#")]
    return MappingProxyType(
        {(int(factors), int(runs)): tuple(map(int, columns.split())) for factors, runs, columns in rows[1:]}
    )


def _nearest(factors: tuple[str, ...], runs: int) -> str:
    sizes = [entry.runs for entry in catalogue_sizes(len(factors))]
    below = [size for size in sizes if size < runs][-1:]
    above = [size for size in sizes if size > runs][:1]
    if not sizes:
        return "give generators"
    return f"the nearest that it has: {' and '.join(str(size) for size in below + above)} runs; or give generators"


def _sizes(factors: int) -> str:
    entries = [f"{entry.runs} runs (resolution {entry.resolution})" for entry in catalogue_sizes(factors)]
    return ", ".join(entries) or "none for this number of factors"
