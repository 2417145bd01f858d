"""Metrics that are counts of a command's events: their names, and what may count them."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import Final

INSTRUCTIONS: Final = "instructions"
PAGE_FAULTS: Final = "page_faults"
SIMULATED: Final = frozenset({"simulated_branch_misses", "simulated_cache_misses"})
"""Of Valgrind's model of a processor: they have names of their own, so that nobody takes them for a processor's."""
HARDWARE: Final = frozenset({"cycles", "branch_misses", "cache_misses"})
COUNTERS: Final = frozenset({INSTRUCTIONS, PAGE_FAULTS}) | SIMULATED | HARDWARE
COUNT: Final = "count"
"""The unit of them all."""


class CounterSource(StrEnum):
    """What counts: the kernel by ``perf_event_open``, Valgrind's Callgrind, or the usage of ended processes."""

    PERF = "perf"
    VALGRIND = "valgrind"
    USAGE = "usage"

    def counts(self, metric: str) -> bool:
        """Whether it can count that metric, where all is permitted.

        >>> CounterSource.VALGRIND.counts("cycles"), CounterSource.PERF.counts("cycles")
        (False, True)
        """
        if self is CounterSource.VALGRIND:
            return metric == INSTRUCTIONS or metric in SIMULATED
        return metric == PAGE_FAULTS or (self is CounterSource.PERF and metric in COUNTERS - SIMULATED)


def counted(metrics: Collection[str]) -> tuple[str, ...]:
    """Those of the metrics that are counted, in their order."""
    return tuple(name for name in metrics if name in COUNTERS)
