"""The other load on the CPUs during a measurement: the kernel's accounts before and after."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from hati.studies.probe import Neighbour

_IDLE, _IOWAIT, _STEAL = 3, 4, 7
_LEAST = 0.01


class Accounts(Struct, frozen=True):
    """The CPU time of a window in s: its length, unused and stolen time; and the other processes on its CPUs."""

    wall: float
    unused: float
    stolen: float
    neighbours: tuple[Neighbour, ...]

    @property
    def others(self) -> float:
        """The cores that other processes used, in total."""
        return sum(each.share for each in self.neighbours)


class Watch:
    """Watches CPUs from its construction to ``accounts``; this process itself is left out."""

    def __init__(self, cpus: Sequence[int]) -> None:
        self._cpus = tuple(cpus)
        self._at, self._ticks, self._used = time.monotonic(), self._read_ticks(), _read_processes()

    def accounts(self) -> Accounts:
        """The accounts of the CPUs since the construction."""
        wall = time.monotonic() - self._at
        ticks = [after - before for before, after in zip(self._ticks, self._read_ticks(), strict=True)]
        hertz = float(os.sysconf("SC_CLK_TCK"))
        found = []
        for pid, (name, cpu, seconds) in _read_processes().items():
            share = (seconds - self._used.get(pid, (name, cpu, 0.0))[2]) / wall
            if share > _LEAST and cpu in self._cpus:
                found.append(Neighbour(name, pid, cpu, share))
        ordered = tuple(sorted(found, key=lambda each: -each.share))
        return Accounts(wall, (ticks[_IDLE] + ticks[_IOWAIT]) / hertz, ticks[_STEAL] / hertz, ordered)

    def _read_ticks(self) -> list[int]:
        lines = dict(
            line.split(maxsplit=1) for line in Path("/proc/stat").read_text().splitlines() if line[:3] == "cpu"
        )
        own = [[int(word) for word in lines[f"cpu{cpu}"].split()] for cpu in self._cpus if f"cpu{cpu}" in lines]
        return [sum(column) for column in zip(*own, strict=True)]


def _read_processes() -> dict[int, tuple[str, int, float]]:
    """Name, last CPU and CPU seconds of each thread of each other process, by the thread's number."""
    found: dict[int, tuple[str, int, float]] = {}
    own = os.getpid()
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == own:
            continue
        with suppress(OSError, ValueError, IndexError):
            for task in (folder / "task").iterdir():
                text = (task / "stat").read_text(errors="replace")
                name, fields = text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 2 :].split()
                found[int(task.name)] = name, int(fields[36]), _seconds(task, fields)
    return found


def _seconds(task: Path, fields: Sequence[str]) -> float:
    """The CPU time in s, to a ns if the kernel counts so, else in ticks."""
    with suppress(OSError, ValueError, IndexError):
        return int((task / "schedstat").read_text().split()[0]) / 1e9
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
