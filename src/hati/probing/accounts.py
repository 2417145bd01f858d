"""The CPU time of a window: its unused and stolen time, and the other processes on its CPUs."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from hati.studies.probe import Neighbour

_IDLE, _IOWAIT, _IRQ, _SOFT, _STEAL = 3, 4, 5, 6, 7
_NOT_IDLE = (0, 1, 2, _IRQ, _SOFT, _STEAL)
_LEAST = 0.01
_KERNEL_THREAD = 0x00200000
"""PF_KTHREAD among the flags of a thread, in Linux's include/linux/sched.h."""


class Accounts(Struct, frozen=True):
    """The CPU time of a window in s: its length, unused and stolen time; and the other processes on its CPUs.

    ``foreign`` is the number of cores that neither this process nor its children used, in total: other processes, those
    that ended meanwhile included, interrupts, stolen time, and the changes of a CPU between work and idleness.
    ``ticked`` is the same by the kernel's ticks, without these changes: a tick finds a CPU either at work or idle.
    ``soft`` are the cores of soft interrupts, where the kernel counts them apart from the processes that they
    interrupt; else 0. ``kernel`` are those of the kernel's threads among the neighbours.
    """

    wall: float
    unused: float
    stolen: float
    neighbours: tuple[Neighbour, ...]
    foreign: float = 0.0
    soft: float = 0.0
    kernel: float = 0.0
    ticked: float = math.inf

    @property
    def others(self) -> float:
        """The cores that other processes used, in total."""
        return sum(each.share for each in self.neighbours)

    @property
    def taken(self) -> float:
        """The cores that others on this machine used: stolen time is no process's here."""
        return max(self.others, self.foreign - self.stolen / self.wall)

    @property
    def beside_packets(self) -> float:
        """The cores that others used where soft interrupts, also those in threads, are of this process's packets.

        So are the changes between work and idleness, as packets wake CPUs.
        """
        threads = sum(each.share for each in self.neighbours if each.name.startswith("ksoftirqd/"))
        return max(self.others - threads, min(self.foreign, self.ticked) - max(self.soft, threads))

    @property
    def beside_kernel(self) -> float:
        """The cores that others used where the kernel, in threads and interrupts, works for this process's files."""
        return max(self.others - self.kernel, self.foreign - self.soft - self.kernel)


class Watch:
    """Watches CPUs from its construction to ``accounts``; this process itself is left out."""

    def __init__(self, cpus: Sequence[int]) -> None:
        self._cpus = tuple(cpus)
        self._used = _read_processes()
        self._at, self._ticks, self._own = time.monotonic(), self._read_ticks(), os.times()

    def accounts(self) -> Accounts:
        """The accounts of the CPUs since the construction."""
        wall = time.monotonic() - self._at
        ticks = [after - before for before, after in zip(self._ticks, self._read_ticks(), strict=True)]
        own = sum(os.times()[:4]) - sum(self._own[:4])
        hertz = float(os.sysconf("SC_CLK_TCK"))
        unused = (ticks[_IDLE] + ticks[_IOWAIT]) / hertz
        foreign = max(0.0, len(self._cpus) - (unused + own) / wall)
        found, kernel = list[Neighbour](), 0.0
        for number, each in _read_processes().items():
            share = (each.seconds - (self._used[number].seconds if number in self._used else 0.0)) / wall
            if share > _LEAST and each.cpu in self._cpus:
                found.append(Neighbour(each.name, number, each.cpu, share))
                kernel += share if each.of_kernel else 0.0
        ordered = tuple(sorted(found, key=lambda each: -each.share))
        soft = ticks[_SOFT] / hertz / wall if self._apart else 0.0
        ticked = max(0.0, sum(ticks[each] for each in _NOT_IDLE) / hertz - own) / wall
        return Accounts(wall, unused, ticks[_STEAL] / hertz, ordered, foreign, soft, kernel, ticked)

    @property
    def _apart(self) -> bool:
        """Whether interrupts are counted apart from processes: without it the kernel counts no hard interrupts."""
        return self._ticks[_IRQ] > 0

    def _read_ticks(self) -> list[int]:
        lines = dict(
            line.split(maxsplit=1) for line in Path("/proc/stat").read_text().splitlines() if line[:3] == "cpu"
        )
        own = [[int(word) for word in lines[f"cpu{cpu}"].split()] for cpu in self._cpus if f"cpu{cpu}" in lines]
        return [sum(column) for column in zip(*own, strict=True)]


class _Thread(NamedTuple):
    """A thread of another process: its last CPU, and its CPU time in s."""

    name: str
    cpu: int
    seconds: float
    of_kernel: bool


def _read_processes() -> dict[int, _Thread]:
    """The threads of all other processes, by their numbers."""
    found: dict[int, _Thread] = {}
    own = os.getpid()
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == own:
            continue
        with suppress(OSError, ValueError, IndexError):
            for task in (folder / "task").iterdir():
                text = (task / "stat").read_text(errors="replace")
                name, fields = text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 2 :].split()
                of_kernel = bool(int(fields[6]) & _KERNEL_THREAD)
                found[int(task.name)] = _Thread(name, int(fields[36]), _seconds(task, fields), of_kernel)
    return found


def _seconds(task: Path, fields: Sequence[str]) -> float:
    """The CPU time in s, to a ns if the kernel counts so, else in ticks."""
    with suppress(OSError, ValueError, IndexError):
        return int((task / "schedstat").read_text().split()[0]) / 1e9
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
