"""The check of a rate of work that is given: a burst of a wrong one would hardly end, or hardly begin."""

from __future__ import annotations

import os

import numpy as np

from hati.core import InputError
from hati.probing.kernel import KernelProgram

_UNITS, _BURST_NS = 200_000, 20_000_000
_FACTOR = 10.0


def validate_rate(program: KernelProgram, given: float) -> None:
    """Check a rate of work in 1/ms by a burst of 20 ms.

    Raises:
        InputError: where it differs from that of the burst by more than a factor of 10.
        MeasurementError: where the burst cannot be measured.
    """
    burst = program.run("work", _BURST_NS, _UNITS, "other", min(os.sched_getaffinity(0)))
    here = _UNITS / float(np.median(burst["work_cpu_ns"])) * 1e6
    if not 1.0 / _FACTOR <= given / here <= _FACTOR:
        raise InputError(
            f"cpu.rate is about {here:,.0f} 1/ms here: the given one is {given / here:,.3g} times that",
            fix="give it in 1/ms, as `hati probe cpu` reports it, or leave it out",
        )
