"""The check of inputs that are given, by bursts on this machine: a wrong one makes experiments end late, or blind."""

from __future__ import annotations

import os
from collections.abc import Mapping

import numpy as np

from hati.core import InputError
from hati.probing.kernel import KernelProgram

_UNITS, _BURST_NS = 200_000, 20_000_000
_BATCHES = 24
_FACTOR = 10.0
CHECKED = frozenset({"cpu.rate", "clock.cost"})
"""The inputs that a burst shows."""


def validate_here(program: KernelProgram, given: Mapping[str, float]) -> None:
    """Check a rate of work in 1/ms, by a burst of 20 ms, and the cost of the clock in ns, by one of 10 ms.

    Raises:
        InputError: where one differs from that of the burst by more than a factor of 10.
        MeasurementError: where the burst cannot be measured.
    """
    cpu = min(os.sched_getaffinity(0))
    if "cpu.rate" in given:
        burst = program.run("work", _BURST_NS, _UNITS, "other", cpu)
        _validate("cpu.rate", given, _UNITS / float(np.median(burst["work_cpu_ns"])) * 1e6, "1/ms", "cpu")
    if "clock.cost" in given:
        burst = program.run("clock", _BATCHES)
        _validate("clock.cost", given, float(np.median(burst["cost_ps"])) / 1000.0, "ns", "clock")


def _validate(name: str, given: Mapping[str, float], here: float, unit: str, domain: str) -> None:
    if not 1.0 / _FACTOR <= given[name] / here <= _FACTOR:
        raise InputError(
            f"{name} is about {_shown(here)} {unit} here: the given one is {given[name] / here:,.3g} times that",
            fix=f"give it in {unit}, as `hati probe {domain}` reports it, or leave it out",
        )


def _shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000.0 else f"{value:.3g}"
