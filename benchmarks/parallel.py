"""Simulations in a process for each core."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

from threadpoolctl import threadpool_limits

_CHUNKS = 8
"""The number of parts of a process's work: the last ones end at nearly the same time."""
_LOADED = ("hati.studies.screening", "hati.testing", "scipy.stats")
"""What all processes need, loaded once."""
Item = TypeVar("Item")
Result = TypeVar("Result")


def spread(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """The results of a function for all items, in their order, computed by a process for each core.

    What the function returns must depend on its item alone, such as a seed. Function, items and results are pickled.
    """
    everything, processes = list(items), os.cpu_count() or 1
    size = max(1, len(everything) // (processes * _CHUNKS))
    context = multiprocessing.get_context("forkserver")  # this process may have threads, so that it must not fork
    context.set_forkserver_preload(list(_LOADED))
    with ProcessPoolExecutor(processes, context, initializer=threadpool_limits, initargs=(1,)) as pool:
        return list(pool.map(function, everything, chunksize=size))
