"""Two-level designs in a multiple of four runs, with main effects that are orthogonal to each other."""

from __future__ import annotations

from collections.abc import Sequence

from hati.core import InputError
from hati.design.hadamard import hadamard, reachable_orders
from hati.design.matrix import Design, check_factors

_FEWEST, _MOST = 8, 100


def plackett_burman(factors: Sequence[str], runs: int | None = None) -> Design:
    """The columns of a Hadamard matrix but its constant one, the first run all -1; the smallest where no runs are told.

    Main effects are orthogonal to each other. Where the runs are no power of two every two-factor interaction is
    aliased with many main effects in part: in 12 runs by a third with each that is not in it (Plackett and
    Burman 1946, Biometrika 33).

    Raises:
        InputError: for a number of runs that is not had, or too few of them for the factors.
    """
    factors = tuple(factors)
    check_factors(factors)
    sizes = plackett_burman_sizes()
    if runs is None:
        runs = next((size for size in sizes if size > len(factors)), None)
        if runs is None:
            raise InputError(f"{len(factors)} factors are too many for {_MOST} runs", fix=f"use at most {_MOST - 1}")
    if runs not in sizes:
        near = [size for size in sizes if size < runs][-1:] + [size for size in sizes if size > runs][:1]
        raise InputError(
            f"there is no Plackett-Burman design in {runs} runs here",
            fix=f"the nearest: {' and '.join(str(size) for size in near)} runs",
        )
    if len(factors) >= runs:
        raise InputError(
            f"{runs} runs have room for {runs - 1} factors, not {len(factors)}",
            fix=f"use {next((str(size) for size in sizes if size > len(factors)), 'fewer factors')}"
            + (" runs" if len(factors) < _MOST else ""),
        )
    return Design("Plackett-Burman", factors, -hadamard(runs)[:, 1 : 1 + len(factors)])


def plackett_burman_sizes() -> tuple[int, ...]:
    """The numbers of runs that can be had: multiples of four from 8 to 100, but 92."""
    return tuple(order for order in reachable_orders(_MOST) if order >= _FEWEST)
