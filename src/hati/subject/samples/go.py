"""What ``go test -bench`` prints: each process names its package first; what ``-count`` repeats is of one process."""

from __future__ import annotations

import re
from array import array

import numpy as np

from hati.core import Better, InputError, Metric, Place, Workload, is_unit
from hati.subject.samples.building import Complain, Label, SampleBuilder, direction, values_run
from hati.subject.samples.source import OpenedFile

_NAMES = {"ns/op": "time", "MB/s": "throughput", "B/op": "memory", "allocs/op": "allocations"}
_BENCHMARK = re.compile(r"Benchmark\S*\s+\d")
_SETTING = re.compile(r"([a-z][\w-]*):(?:\s+(.*))?")
_DIRECTION = re.compile(r"Unit\s+(\S+)\s.*\bbetter=(lower|higher)\b.*")
_PROCESSORS = re.compile(r"(.*\S)-(\d{1,6})")
_END = re.compile(r"(PASS|FAIL|ok\s|---\s)")

_Key = tuple[str, str]  # a benchmark's name and a unit


def read_go(source: OpenedFile, book: SampleBuilder) -> None:
    """Take in the benchmark lines of a text.

    Raises:
        InputError: for a line that is no result, with its number.
    """
    settings: dict[str, str] = {}
    process: dict[_Key, tuple[array[float], Complain]] = {}
    told: dict[str, Better] = {}
    found = False
    for number, line in source.lines():
        setting = _SETTING.fullmatch(line)
        if (setting or _END.match(line)) and process:
            _finish(process, settings, told, book)
            process = {}
        if direct := _DIRECTION.fullmatch(line):
            told[direct[1]] = Better(direct[2])
        if setting:
            settings[setting[1]] = (setting[2] or "").strip()
        elif _BENCHMARK.match(line):
            found = True
            _result(line, _at(source.file, number, line), process)
    _finish(process, settings, told, book)
    if not found:
        raise InputError("there is no line of a benchmark's result", place=Place(source.file))


def _at(file: str, number: int, line: str) -> Complain:
    return lambda message: InputError(message, place=Place(file, number, 1, line))


def _result(line: str, complain: Complain, process: dict[_Key, tuple[array[float], Complain]]) -> None:
    name, _, *pairs = line.split()
    if not pairs or len(pairs) % 2:
        raise complain("a result is a name, a count, and pairs of a value and a unit")
    for text, unit in zip(pairs[::2], pairs[1::2], strict=True):
        try:
            value = float(text)
        except ValueError:
            raise complain(f"{text!r} stands where a number is needed") from None
        process.setdefault((name, unit), (array("d"), complain))[0].append(value)


def _finish(
    process: dict[_Key, tuple[array[float], Complain]],
    settings: dict[str, str],
    told: dict[str, Better],
    book: SampleBuilder,
) -> None:
    for (written, unit), (values, complain) in process.items():
        parts = _PROCESSORS.fullmatch(written)
        name, workload = (parts[1], Workload({"procs": int(parts[2])})) if parts else (written, Workload())
        package = settings.get("pkg", "")
        metric = _metric(unit, told.get(unit))
        label = Label(
            benchmark=f"{package}.{name}" if package else name,
            metric=metric,
            revision=settings.get("commit", ""),
            workload=workload,
            machine=settings.get("machine", ""),
        )
        book.add(label, values_run(np.frombuffer(values), metric, complain), complain)


def _metric(written: str, better: Better | None) -> Metric:
    """What a unit is of: Go's own have names, and of others it stands before a unit that is known, as in p99-ns/op."""
    name, _, unit = written.rpartition("-")
    if not name or not is_unit(unit.partition("/")[0]):
        name, unit = _NAMES.get(written, written), written
    return Metric(name, unit, better or direction(unit))
