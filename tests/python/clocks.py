"""Simulated clocks for tests of the recorder: what they show depends on no machine and on no load.

It needs the standard library of Python 3.9 alone: measured interpreters import it too.
"""

from __future__ import annotations

from types import ModuleType
from typing import NamedTuple


class Clocks(NamedTuple):
    """Nanoseconds that a reading of the wall clock and of the processor clock takes, and the step of both."""

    wall: int
    cpu: int
    step: int = 1

    @property
    def cost(self) -> int:
        """Nanoseconds that the recorder finds at most for either clock: cost or resolution."""
        return max(2 * self.wall + self.cpu, self.step)


CLOCKS = {"quick": Clocks(40, 230), "slow": Clocks(140, 840), "coarse": Clocks(140, 840, 10**6)}


class Simulation:
    """Time that passes by reading the clocks and by ``spend``, and by nothing else."""

    def __init__(self, clocks: Clocks) -> None:
        self.now = 0
        self._clocks = clocks

    def perf_counter_ns(self) -> int:
        """The wall clock."""
        return self._read(self._clocks.wall)

    def process_time_ns(self) -> int:
        """The processor clock."""
        return self._read(self._clocks.cpu)

    def spend(self, nanoseconds: int) -> None:
        """Work for that long."""
        self.now += nanoseconds

    def sleep(self, seconds: float) -> None:
        """Work for that long."""
        self.spend(round(seconds * 1e9))

    def install(self, *modules: ModuleType) -> Simulation:
        """Put the clocks, and ``sleep``, into modules."""
        for module in modules:
            for name in ("perf_counter_ns", "process_time_ns", "sleep"):
                setattr(module, name, getattr(self, name))
        return self

    def _read(self, cost: int) -> int:
        self.now += cost
        return self.now // self._clocks.step * self._clocks.step
