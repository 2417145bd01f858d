"""Experiments with real kernels: what is found is right, or said to be disturbed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hati.probing import KernelProgram, NotPermittedError, Setting, execute
from hati.probing.executing import execute_steps, execute_wakeups, execute_weights
from hati.studies.probe import LIBRARY, ProbeVerdict, Property

pytestmark = pytest.mark.acceptance
INPUTS = {"clock.cost": 50.0, "cpu.rate": 400_000.0}
DETECTORS = {each.name: each.detect for each in LIBRARY}
TWO_CPUS = len(os.sched_getaffinity(0)) > 1


@pytest.fixture
def setting(tmp_path: Path) -> Setting:
    return Setting(KernelProgram(), tmp_path)


def detected(name, raw) -> dict[str, Property]:
    return {each.name: each for each in DETECTORS[name](raw, INPUTS)}


def right(found: Property, low: float, high: float) -> bool:
    return found.verdict is not ProbeVerdict.MEASURED or (found.value is not None and low <= found.value <= high)


def test_a_timer_slack_delays_wake_ups(setting: Setting) -> None:
    raws = [execute_wakeups(setting, slack)[0] for slack in (1, 1_000_000)]
    soon, late = (detected("sched.wakeups", raw)["sched.wakeup"] for raw in raws)
    assert soon.value is not None
    assert late.value is not None
    assert right(late, soon.value + 800.0, soon.value + 1200.0)


def test_every_byte_that_is_handed_over_is_a_switch(setting: Setting) -> None:
    raw = execute("sched.switching", setting, INPUTS).raw
    assert raw["switches"][0] >= raw["all_hands"][0]
    assert right(detected("sched.switching", raw)["sched.switch"], 0.2, 100.0)


@pytest.mark.parametrize(("steps", "truth"), [(3, 1024 / 526), (5, 1024 / 335)])
def test_a_nicer_process_has_its_weight(setting: Setting, steps: int, truth: float) -> None:
    found = detected("sched.weights", execute_weights(setting, INPUTS, steps)[0])["sched.weight_ratio"]
    assert right(found, truth / 1.1, truth * 1.1)


def test_the_reserve_is_the_kernels_default(setting: Setting) -> None:
    try:
        raw = execute("sched.rt_reserve", setting, INPUTS).raw
    except NotPermittedError as error:
        assert "no real-time priority" in str(error)
        return
    found = detected("sched.rt_reserve", raw)
    assert right(found["sched.reserve"], 49.0, 61.0), "50 ms and a tick of 10 ms at most"
    assert right(found["sched.reserve_period"], 950.0, 1050.0)


@pytest.mark.skipif(not TWO_CPUS, reason="needs two CPUs")
def test_one_process_too_many_is_balanced(setting: Setting) -> None:
    raw = execute("sched.balance", setting, INPUTS).raw
    found = detected("sched.balance", raw)
    assert right(found["sched.evenness"], 0.3, 1.0)
    assert right(found["sched.spread"], 0.0, 100.0)


@pytest.mark.parametrize(("cpus", "reason"), [(1, "one CPU only"), (64, "64 processes, for 64 CPUs")])
def test_one_cpu_or_too_many_are_not_balanced(
    setting: Setting, monkeypatch: pytest.MonkeyPatch, cpus: int, reason: str
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cpus)))
    with pytest.raises(NotPermittedError, match=reason):
        execute("sched.balance", setting, INPUTS)


def test_work_that_alternates_is_a_step(setting: Setting) -> None:
    found = detected("cpu.frequency", execute_steps(setting, INPUTS, 300_000_000, 80)[0])
    assert right(found["cpu.step"], 1.15, 1.35)
    assert right(found["cpu.step_at"], 270.0, 330.0)


@pytest.mark.skipif(not TWO_CPUS, reason="needs two CPUs")
def test_siblings_are_measured_as_the_kernel_lists_them_or_named(setting: Setting) -> None:
    raw = execute("cpu.siblings", setting, INPUTS).raw
    found = detected("cpu.siblings", raw)
    count = found["cpu.sibling_pairs"]
    if count.verdict is ProbeVerdict.MEASURED and "listed" in raw and count.value != raw["listed"].sum():
        assert "the kernel does not list them" in count.reason
