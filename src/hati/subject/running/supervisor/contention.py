"""What the kernel counts of contention for the processors: others' work that a program has to wait for."""

from __future__ import annotations

import os
from collections.abc import Sequence

from .channel import Message

_PRESSURE = "/proc/pressure/cpu"
_STATISTICS = "/proc/stat"
_MOST = 1 << 16
_STEAL = 8  # the column of /proc/stat, its name being the first


class Contention:
    """The counters of now, of the whole machine or of some of its CPUs."""

    def __init__(self, cpus: Sequence[int]) -> None:
        self._cpus = cpus
        self._pressure = pressure()
        self._steal = steal(cpus)

    def since(self) -> Message:
        """What they have counted since, in seconds; None where the kernel does not count it."""
        waited, stolen = pressure(), steal(self._cpus)
        return {
            "pressure": None if waited is None or self._pressure is None else waited - self._pressure,
            "steal": None if stolen is None or self._steal is None else stolen - self._steal,
        }


def pressure() -> float | None:
    """Seconds in which at least one task of the machine waited for a CPU (pressure stall information, `some`)."""
    for line in _lines(_PRESSURE):
        if line.startswith("some "):
            return int(line.rpartition("total=")[2]) * 1e-6
    return None


def steal(cpus: Sequence[int]) -> float | None:
    """Seconds in which a virtual CPU had work and did not run: the mean over these CPUs, or over all."""
    wanted = {f"cpu{number}" for number in cpus}
    found = []
    for line in _lines(_STATISTICS):
        columns = line.split()
        if not columns or not columns[0].startswith("cpu"):
            break
        if len(columns) > _STEAL and (columns[0] in wanted or (not wanted and columns[0] != "cpu")):
            found.append(int(columns[_STEAL]))
    return sum(found) / len(found) / os.sysconf("SC_CLK_TCK") if found else None


def _lines(path: str) -> list[str]:
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return []
    try:
        return os.read(fd, _MOST).decode("ascii", "replace").splitlines()
    except OSError:  # a kernel with the file, but not the counters
        return []
    finally:
        os.close(fd)
