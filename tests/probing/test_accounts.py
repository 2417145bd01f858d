"""What others used of CPUs, by the kernel's counts with and without the accounting of interrupts."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

from hati.probing import executing
from hati.probing.executing import Accounts, Watch
from hati.studies.probe import Neighbour

HERTZ = os.sysconf("SC_CLK_TCK")


def watched(monkeypatch: pytest.MonkeyPatch, *, own: float, idle: float, soft: float, apart: bool) -> Accounts:
    """The accounts of a second on one CPU; all arguments but ``apart`` are in seconds."""
    hard = 7 if apart else 0
    ticks = iter([[0, 0, 0, 0, 0, hard, 0, 0], [0, 0, 0, int(idle * HERTZ), 0, hard, int(soft * HERTZ), 0]])
    times, clock = iter([0.0, own]), iter([0.0, 1.0])
    monkeypatch.setattr(Watch, "_read_ticks", lambda _: next(ticks))
    monkeypatch.setattr(executing, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr(os, "times", lambda: (next(times), 0.0, 0.0, 0.0, 0.0))
    monkeypatch.setattr(executing, "_read_processes", dict)
    return Watch([0]).accounts()


@pytest.mark.parametrize("others", [0.0, 0.4])
def test_soft_interrupts_of_ones_own_packets_are_not_of_others(monkeypatch: pytest.MonkeyPatch, others: float) -> None:
    """A process has 0.3 s, its packets 0.3 s, and processes that ended meanwhile the rest."""
    idle = 0.4 - others
    apart = watched(monkeypatch, own=0.3, idle=idle, soft=0.3, apart=True)
    assert apart.beside_packets == pytest.approx(others)
    together = watched(monkeypatch, own=0.6, idle=idle, soft=0.3, apart=False)
    assert together.beside_packets == pytest.approx(others)


@pytest.mark.parametrize("soft", [0.0, 0.5])
def test_threads_of_soft_interrupts_are_of_ones_own_packets(soft: float) -> None:
    seen = (Neighbour("ksoftirqd/0", 9, 0, 0.5), Neighbour("other", 17, 0, 0.2))
    assert Accounts(1.0, 0.0, 0.0, seen, 0.7, soft).beside_packets == pytest.approx(0.2)
