"""What others used of CPUs, by the kernel's counts with and without the accounting of interrupts."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from hati.probing import KernelProgram, Setting, accounts, executing
from hati.probing.accounts import Accounts, Watch
from hati.studies.probe import Neighbour

HERTZ = os.sysconf("SC_CLK_TCK")


def watched(
    monkeypatch: pytest.MonkeyPatch, *, own: float, idle: float, soft: float, apart: bool, between: float = 0.0
) -> Accounts:
    """The accounts of a second on one CPU; all arguments but ``apart`` are in seconds.

    The CPU was ``between`` work and idleness for a part that the kernel counts as neither.
    """
    hard = 7 if apart else 0
    work = round((1.0 - idle - soft - between) * HERTZ)
    after = [work // 2, 0, work - work // 2, round(idle * HERTZ), 0, hard, round(soft * HERTZ), 0]
    ticks = iter([[0, 0, 0, 0, 0, hard, 0, 0], after])
    times, clock = iter([0.0, own]), iter([0.0, 1.0])
    monkeypatch.setattr(Watch, "_read_ticks", lambda _: next(ticks))
    monkeypatch.setattr(accounts, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr(os, "times", lambda: (next(times), 0.0, 0.0, 0.0, 0.0))
    monkeypatch.setattr(accounts, "_read_processes", dict)
    return Watch([0]).accounts()


@pytest.mark.parametrize("others", [0.0, 0.4])
def test_soft_interrupts_of_ones_own_packets_are_not_of_others(monkeypatch: pytest.MonkeyPatch, others: float) -> None:
    """A process has 0.3 s, its packets 0.3 s, and processes that ended meanwhile the rest."""
    idle = 0.4 - others
    apart = watched(monkeypatch, own=0.3, idle=idle, soft=0.3, apart=True)
    assert apart.beside_packets == pytest.approx(others)
    together = watched(monkeypatch, own=0.6, idle=idle, soft=0.3, apart=False)
    assert together.beside_packets == pytest.approx(others)


@pytest.mark.parametrize("others", [0.0, 0.2])
def test_time_between_work_and_idleness_is_of_ones_own_packets(monkeypatch: pytest.MonkeyPatch, others: float) -> None:
    """Each packet may wake a CPU."""
    found = watched(monkeypatch, own=0.3, idle=0.4 - others, soft=0.1, apart=False, between=0.3)
    assert found.foreign == pytest.approx(0.3 + others)
    assert found.beside_packets == pytest.approx(others), "soft interrupts are in the process's own time"
    apart = watched(monkeypatch, own=0.2, idle=0.4 - others, soft=0.1, apart=True, between=0.3)
    assert apart.beside_packets == pytest.approx(others)


@pytest.mark.parametrize("soft", [0.0, 0.5])
def test_threads_of_soft_interrupts_are_of_ones_own_packets(soft: float) -> None:
    seen = (Neighbour("ksoftirqd/0", 9, 0, 0.5), Neighbour("other", 17, 0, 0.2))
    assert Accounts(1.0, 0.0, 0.0, seen, 0.7, soft).beside_packets == pytest.approx(0.2)


@pytest.mark.parametrize(("foreign", "others"), [(0.7, 0.2), (0.9, 0.3)])
def test_what_the_kernel_does_for_files_is_not_of_others(foreign: float, others: float) -> None:
    """The kernel's threads have 0.5 CPUs, soft interrupts 0.1 and a process 0.2; others may have ended meanwhile."""
    seen = (Neighbour("kworker/0:1H", 9, 0, 0.5), Neighbour("other", 17, 0, 0.2))
    assert Accounts(1.0, 0.0, 0.0, seen, foreign, 0.1, 0.5).beside_kernel == pytest.approx(others)


def test_the_kernels_threads_are_known_by_their_flag() -> None:
    threads = accounts._read_processes()
    assert threads[os.getppid()].of_kernel is False
    kernels = [each for each in threads.values() if each.name == "kthreadd"]
    assert all(each.of_kernel for each in kernels)


def test_processes_that_ended_meanwhile_took_cores_and_a_hypervisor_did_not() -> None:
    seen = (Neighbour("other", 17, 0, 0.2),)
    assert Accounts(2.0, 0.0, 0.2, seen, 0.5).taken == pytest.approx(0.4)
    assert Accounts(2.0, 0.0, 0.8, seen, 0.5).taken == pytest.approx(0.2)


def test_the_levels_of_memory_count_processes_that_ended_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = Accounts(1.0, 0.0, 0.0, (), 0.5)
    monkeypatch.setattr(executing, "Watch", lambda _: SimpleNamespace(accounts=lambda: taken))
    program = SimpleNamespace(run=lambda *_, **__: {})
    raw = executing.execute("mem.levels", Setting(cast("KernelProgram", program), Path()), {}).raw
    assert raw["others"][0] == 0.5
    assert raw["cpus"][0] == len(os.sched_getaffinity(0))
