"""Experiments with real kernels: what is found is right, or said to be disturbed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from hati.core import replace
from hati.probing import KernelProgram, NotPermittedError, Setting, execute
from hati.probing.executing import execute_steps, execute_wakeups, execute_weights
from hati.probing.kernel import disk_bytes
from hati.studies.probe import LIBRARY, ProbeVerdict, Property

pytestmark = pytest.mark.acceptance
INPUTS = {"clock.cost": 50.0, "cpu.rate": 400_000.0, "mem.caches": 32e6, "sched.slice": 100.0}
DETECTORS = {each.name: each.detect for each in LIBRARY}
TWO_CPUS = len(os.sched_getaffinity(0)) > 1


@pytest.fixture
def setting(tmp_path: Path) -> Setting:
    return Setting(KernelProgram(), tmp_path)


def detected(name, raw) -> dict[str, Property]:
    return {each.name: each for each in DETECTORS[name](raw, INPUTS)}


DISTURBED = re.compile(r"something else had \d+ %|others used [\d.]+|did not run|changes? of|in some rounds only")
"""How a reason names other load; nothing else excuses that a value is not measured."""


def right(found: Property, low: float, high: float) -> bool:
    if found.verdict is ProbeVerdict.MEASURED:
        return found.value is not None and low <= found.value <= high
    return bool(DISTURBED.search(found.reason))


@pytest.fixture
def busy() -> Iterator[None]:
    """A process that never leaves the first CPU."""
    first = min(os.sched_getaffinity(0))
    program = f"import os\nos.sched_setaffinity(0, [{first}])\nprint(flush=True)\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield
        process.kill()


@pytest.mark.usefixtures("busy")
@pytest.mark.parametrize(
    "experiment",
    [
        "sched.wakeups",
        "sched.weights",
        "mem.stream",
        "cpu.work",
        "noise.repetition",
        "sched.demand",
        "disk.file",
        pytest.param("cpu.pair", marks=pytest.mark.skipif(not TWO_CPUS, reason="needs two CPUs")),
    ],
)
def test_a_competitor_is_named(setting: Setting, experiment: str) -> None:
    properties = detected(experiment, execute(experiment, setting, INPUTS).raw).values()
    for found in (each for each in properties if "O_DIRECT" not in each.reason):
        assert found.verdict is ProbeVerdict.CONTAMINATED
        assert DISTURBED.search(found.reason)


def test_another_writer_on_the_disk_is_named(setting: Setting) -> None:
    if disk_bytes(setting.folder) is None:
        pytest.skip("the disk of the folder is not known")
    program = "import os, sys\nfile = open(sys.argv[1], 'wb', 0)\nprint(flush=True)\nwhile True:\n"
    program += "    file.seek(0); file.write(bytes(4 << 20)); os.fdatasync(file.fileno())"
    command = [sys.executable, "-c", program, str(setting.folder / "other")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        raw = execute("disk.file", setting, INPUTS).raw
        process.kill()
    found = detected("disk.file", raw | {"others": np.zeros(1)})["disk.durable"]
    assert found.verdict is ProbeVerdict.CONTAMINATED
    assert "others moved" in found.reason


def test_a_timer_slack_delays_wake_ups(setting: Setting) -> None:
    raws = [execute_wakeups(setting, slack)[0] for slack in (1, 1_000_000)]
    soon, late = (detected("sched.wakeups", raw)["sched.wakeup"] for raw in raws)
    assert soon.value is not None
    assert late.value is not None
    assert right(late, 800.0, soon.value + 1200.0)


def test_every_byte_that_is_handed_over_is_a_switch(setting: Setting) -> None:
    raw = execute("sched.switching", setting, INPUTS).raw
    assert raw["switches"][0] >= raw["all_hands"][0]
    assert right(detected("sched.switching", raw)["sched.switch"], 0.2, 100.0)


@pytest.mark.parametrize(("steps", "truth"), [(3, 1024 / 526), (5, 1024 / 335)])
def test_a_nicer_process_has_its_weight(setting: Setting, steps: int, truth: float) -> None:
    found = detected("sched.weights", execute_weights(setting, INPUTS, steps)[0])["sched.weight_ratio"]
    assert right(found, truth / 1.1, truth * 1.1)


@pytest.mark.alone
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
    assert 0.0 < raw["spread_ns"].min() <= raw["spread_ns"].max() <= raw["limit_ns"][0]
    assert right(found["sched.evenness"], 0.7, 1.0), "it is 0.75 where one of three processes keeps a CPU"
    assert right(found["sched.spread"], 0.0, 50.0)


@pytest.mark.skipif(not TWO_CPUS, reason="needs two CPUs")
def test_processes_that_may_not_spread_are_no_other_load(setting: Setting) -> None:
    one = replace(setting, prefix=("taskset", "-c", str(setting.cpus[0])))
    raw = execute("sched.balance", one, INPUTS).raw
    assert set(raw["spread_ns"]) == {raw["limit_ns"][0]}
    spread = detected("sched.balance", raw)["sched.spread"]
    others = raw["others"][0] / raw["cpus"][0] > 0.05
    assert spread.verdict is (ProbeVerdict.CONTAMINATED if others else ProbeVerdict.INCONCLUSIVE)
    assert re.search("something else had" if others else "in 100 % of the trials, no process moved", spread.reason)


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
    if count.verdict is ProbeVerdict.CONTAMINATED:
        assert DISTURBED.search(count.reason)
    elif "listed" not in raw:
        assert "the kernel's list of siblings is not visible" in count.reason
    elif count.value != raw["listed"].sum():
        assert re.search("the kernel does not list them|the kernel lists .* as siblings", count.reason)
    else:
        assert (count.verdict, count.reason) == (ProbeVerdict.MEASURED, "")
