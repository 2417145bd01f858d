"""The time that ``hati probe`` plans for its experiments, whatever they take on this machine."""

from __future__ import annotations

import os
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from hati.probing import KernelProgram, Setting, execute, executing
from hati.probing.accounts import Accounts
from hati.studies.probe import LIBRARY, chosen_experiments
from hati.studies.probe.planning import plan_of

S, MS = 1e9, 1e6
WHOLE = 4.0
"""The scale without --quick."""
INPUTS = {"clock.cost": 50.0, "cpu.rate": 400_000.0, "mem.caches": 32e6}
WORK = {"clock": 0.02, "switch": 0.6, "chase": 2.0, "triad": 2.0, "disk": 1.0}
"""Kernels that do a fixed amount of work: their seconds on a usual machine, with --quick."""
TRIP = 30e-6


def planned(kernel: str, *given: Any) -> float:
    """The seconds that a kernel runs by its arguments, as in ``kernels.c``."""
    if kernel in WORK:
        return WORK[kernel]
    if kernel == "spin":
        duration, _, _, processes = given[:4]
        return float(duration / S + 0.02 + 0.002 * processes)
    if kernel in {"work", "wide"}:
        return float(given[0] / S + 0.02 + 0.002 * len(given[3:]))
    if kernel == "steps":
        rounds, pause, working = given[:3]
        return float(rounds * (pause + working) / S)
    if kernel == "wake":
        return float(given[0] * given[1] / S)
    if kernel == "spread":
        return float(given[0] * (given[1] + 22 * MS) / S)
    assert kernel == "net"
    return float(given[3] / S + 1.1 * given[2] * TRIP)


class Planner:
    """Takes the place of the kernels: sums what they would take, by experiment."""

    def __init__(self, scale: float) -> None:
        self.scale = scale
        self.experiment, self.seconds, self.kernels = "", defaultdict[str, float](float), Counter[tuple[str, str]]()

    def run(self, *given: Any, timeout: float, prefix: object) -> dict[str, np.ndarray]:
        seconds = planned(*given) * (self.scale if given[0] in WORK else 1.0)
        assert timeout > seconds
        self.kernels[self.experiment, given[0]] += 1
        self.wait(seconds)
        names = ("window_ns", "work_cpu_ns", "work_cpu_ns/0", "work_cpu_ns/1", "load_ps/0")
        return {name: np.ones(3) for name in names if (given[0] == "chase") == ("load" in name)}

    def wait(self, seconds: float) -> None:
        self.seconds[self.experiment] += seconds

    def accounts(self) -> Accounts:
        return Accounts(1.0, 0.0, 0.0, ())


def plan(monkeypatch: pytest.MonkeyPatch, cpus: int, scale: float = 1.0) -> Planner:
    planner = Planner(scale)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cpus)))
    monkeypatch.setattr(executing, "Watch", lambda _: planner)
    monkeypatch.setattr(time, "sleep", planner.wait)
    monkeypatch.setattr(executing, "validate_hypervisor", lambda: None)
    setting = Setting(cast("KernelProgram", planner), Path(), scale)
    for each in chosen_experiments(()):
        planner.experiment = each.name
        execute(each.name, setting, INPUTS)
    return planner


@pytest.mark.parametrize(("cpus", "most"), [(2, 48.0), (4, 53.0)])
def test_all_experiments_are_planned_to_fit_in_a_minute(
    monkeypatch: pytest.MonkeyPatch, cpus: int, most: float
) -> None:
    seconds = plan(monkeypatch, cpus).seconds
    assert sum(seconds.values()) <= most, seconds


@pytest.mark.parametrize("cpus", [2, 4, 32])
def test_the_whole_library_is_planned_to_fit_in_a_third_of_15_minutes(
    monkeypatch: pytest.MonkeyPatch, cpus: int
) -> None:
    seconds = plan(monkeypatch, cpus, WHOLE).seconds
    assert sum(seconds.values()) <= 15 * 60 / 3, seconds


def test_pairs_of_cpus_do_work_that_fills_a_cores_units(monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = plan(monkeypatch, 2).kernels
    assert {("cpu.pair", "wide"), ("cpu.siblings", "wide")} <= set(kernels)
    assert ("cpu.pair", "work") not in kernels


def test_each_window_of_the_clock_is_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert plan(monkeypatch, 2).kernels["clock.reading", "clock"] == 8


@pytest.mark.parametrize("cpus", [2, 4, 32])
@pytest.mark.parametrize("scale", [1.0, WHOLE])
def test_a_dry_run_has_the_seconds_that_are_planned(monkeypatch: pytest.MonkeyPatch, cpus: int, scale: float) -> None:
    shown = {each.experiment: each.seconds for each in plan_of(chosen_experiments(()), cpus, scale).experiments}
    found = plan(monkeypatch, cpus, scale).seconds
    assert shown == {name: pytest.approx(seconds, rel=0.05) for name, seconds in found.items()}
    assert sum(seconds or 0.0 for seconds in shown.values()) == pytest.approx(sum(found.values()), rel=0.02)


def test_every_experiment_of_the_library_has_planned_seconds() -> None:
    measured = [each for each in LIBRARY if not each.asks]
    assert all(each.seconds for each in plan_of(measured, 2, 1.0).experiments)
