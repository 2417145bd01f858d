"""The time of a kernel's unit of work on a machine, which converts a demand in milliseconds to a number of units."""

from __future__ import annotations

import math

from msgspec import Struct

from hati.core import InputError
from hati.generate.tasks import CALIBRATED, Kernel

UNSTABLE = 0.05
"""Largest error of a demand, or departure from linearity, of a kernel that is stable."""


class DemandCheck(Struct, frozen=True):
    """A demand that was executed between calibrations.

    ``error`` is the median of its CPU times relative to the calibrated time of its units, minus 1; ``cv`` is the
    coefficient of variation of these CPU times.
    """

    demand_ms: float
    error: float
    cv: float


class KernelCalibration(Struct, frozen=True):
    """The CPU time of a unit of a kernel's work.

    ``ns_per_unit`` is a median over executions, ``cv`` their coefficient of variation. ``linearity`` is the CPU time
    of a unit in the longest demand relative to that in the shortest, minus 1. ``drift`` is the change of the CPU time
    of a unit since the calibration shortly before.
    """

    kernel: Kernel
    ns_per_unit: float
    cv: float = 0.0
    linearity: float = 0.0
    drift: float = 0.0
    checks: tuple[DemandCheck, ...] = ()

    def __post_init__(self) -> None:
        if self.kernel not in CALIBRATED:
            raise InputError(f"the kernel {self.kernel} has no units of work", fix="leave it out")
        if not (math.isfinite(self.ns_per_unit) and self.ns_per_unit > 0):
            raise InputError(f"{self.ns_per_unit} ns is not the time of a unit of work", fix="calibrate again")

    @property
    def stable(self) -> bool:
        """Whether work is linear, and every checked demand took its time, both within ``UNSTABLE``."""
        return all(abs(error) <= UNSTABLE for error in (self.linearity, *(check.error for check in self.checks)))


class Calibration(Struct, frozen=True):
    """Kernels calibrated on a machine, with the compiler and its flags: these determine the unit, too."""

    kernels: tuple[KernelCalibration, ...]
    machine: str = ""
    compiler: str = ""

    def units(self, kernel: Kernel, demand_ms: float) -> int:
        """The number of units that take as long as the demand, at least one.

        Raises:
            InputError: if the kernel is not calibrated.
        """
        for each in self.kernels:
            if each.kernel is kernel:
                return max(1, round(demand_ms * 1e6 / each.ns_per_unit))
        raise InputError(f"the kernel {kernel} is not calibrated", fix="run `hati probe calibrate`")
