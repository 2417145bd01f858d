"""Counts the events of batches of calls, with those of the child processes that end within a batch."""

from __future__ import annotations

import os
import resource
import struct
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol

from .trouble import Trouble

EVENTS, PLACE = "HATI_COUNTED_EVENTS", "HATI_COUNTS_AT"
"""Variables: the names of the events, and where their counts are."""
_PERF, _USAGE, _VALGRIND = "perf:", "usage", "valgrind:"


class Counter(Protocol):
    """Counts between two calls of ``mark``, after ``open``."""

    def open(self) -> None:
        """Forget earlier marks."""

    def mark(self) -> int:
        """Begin or end the counted part."""

    def counts(self) -> tuple[int, ...]:
        """The counts between the last two marks."""


class _Marks(ABC):
    """Counts as differences between readings."""

    def __init__(self) -> None:
        self._readings: list[Any] = []

    def open(self) -> None:
        self._readings.clear()

    def mark(self) -> int:
        self._readings.append(self._read())
        return 0

    def counts(self) -> tuple[int, ...]:
        before, after = self._readings
        return tuple(last - first for first, last in zip(self._values(before), self._values(after)))

    @abstractmethod
    def _read(self) -> Any: ...

    @abstractmethod
    def _values(self, reading: Any) -> list[int]: ...


class _Kernel(_Marks):
    """Reads the descriptors that count the events of this process and its children."""

    def __init__(self, descriptors: Sequence[int]) -> None:
        super().__init__()
        self._descriptors = descriptors

    def _read(self) -> list[bytes]:
        return [os.read(descriptor, 24) for descriptor in self._descriptors]

    def _values(self, reading: list[bytes]) -> list[int]:
        counts = []
        for each in reading:
            count, enabled, running = struct.unpack("=QQQ", each)
            if running < enabled:
                raise Trouble("the processor has too few counters for these events at once; count fewer of them")
            counts.append(count)
        return counts


class _Usage(_Marks):
    """Page faults of this process and of the children that it has waited for."""

    def _read(self) -> list[Any]:
        return [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]

    def _values(self, reading: list[Any]) -> list[int]:
        return [sum(usage.ru_minflt + usage.ru_majflt for usage in reading)]


class _Valgrind:
    """Reads what Callgrind writes at each mark and before each fork, and what children write as they end.

    Its marks are calls of libc's ``getppid`` (``--dump-before``), which hardly any program uses. One in the counted
    part does no harm: the parts are summed.
    """

    def __init__(self, place: str) -> None:
        """Take from ``place`` the events of Callgrind that each count sums, and the names of its files."""
        sums, _, files = place.partition(":")
        self._parts = [each.encode().split(b"+") for each in sums.split(",")]
        self._folder, prefix = os.path.split(files)
        self._own = f"{prefix}.{os.getpid()}."
        self.mark = os.getppid

    def open(self) -> None:
        for name in os.listdir(self._folder):
            os.unlink(os.path.join(self._folder, name))

    def counts(self) -> tuple[int, ...]:
        found = os.listdir(self._folder)
        own = sorted(
            (name for name in found if name.startswith(self._own)), key=lambda name: int(name[len(self._own) :])
        )
        if len(own) < 2:
            raise Trouble(
                "Valgrind did not count the calls: it does not see the function getppid of this Python's libc"
            )
        children = [name for name in found if not name.startswith(self._own)]
        totals = [self._totals(name) for name in (*own[1:], *children)]
        return tuple(sum(total.get(event, 0) for total in totals for event in parts) for parts in self._parts)

    def _totals(self, name: str) -> dict[bytes, int]:
        """The counts of a file; empty if its process was killed before it wrote them."""
        with open(os.path.join(self._folder, name), "rb") as file:
            content = file.read()
        totals = content.partition(b"\ntotals:")[2].partition(b"\n")[0].split()
        return dict(zip(content.partition(b"\nevents:")[2].partition(b"\n")[0].split(), map(int, totals)))


def asked() -> tuple[tuple[str, ...], str]:
    """The names of the events to count, empty for none, and the place of their counts; removed from the environment."""
    names, place = os.environ.pop(EVENTS, ""), os.environ.pop(PLACE, "")
    return tuple(names.split(",")) if names else (), place


def counter(names: Sequence[str], place: str) -> Counter:
    """The counter of these events.

    Raises:
        Trouble: where there is no place: nothing counts them.
    """
    if not place:
        raise Trouble("nothing counts the events of this process: measure it by an engine of Hati")
    if place == _USAGE:
        return _Usage()
    if place.startswith(_PERF):
        first = int(place[len(_PERF) :])
        return _Kernel(range(first, first + len(names)))
    return _Valgrind(place[len(_VALGRIND) :])
