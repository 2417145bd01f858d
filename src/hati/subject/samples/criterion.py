"""What criterion.rs writes for each benchmark: the times of its samples, all of one process, one run."""

from __future__ import annotations

from pathlib import Path

from hati.core import InputError, Metric, Place, SampledRun
from hati.subject.samples.building import Label, SampleBuilder, observations
from hati.subject.samples.document import JsonNode, read_whole
from hati.subject.samples.source import OpenedFile, opened

SAMPLE_FILE, _BENCHMARK_FILE = "sample.json", "benchmark.json"
_TIME = Metric("time", "ns")


def read_criterion(source: OpenedFile, book: SampleBuilder) -> None:
    """Take in a benchmark from either of its files, ``sample.json`` and ``benchmark.json``; the other stands beside.

    Each observation is the time of an iteration, over those of a sample.

    Raises:
        InputError: for anything that is not as criterion.rs writes it, with its path.
    """
    folder, given = source.folder, read_whole(source.stream, source.file)
    if folder is None:
        _benchmark(given, None, "", book)
    elif "full_id" in given:
        _benchmark(_whole(folder / SAMPLE_FILE), given, "", book)
    elif (folder / _BENCHMARK_FILE).is_file():
        _benchmark(given, _whole(folder / _BENCHMARK_FILE), "", book)
    else:
        _benchmark(given, None, folder.name, book)


def _whole(path: Path) -> JsonNode:
    with opened(path) as file:
        return read_whole(file.stream, file.file)


def _benchmark(sample: JsonNode, benchmark: JsonNode | None, name: str, book: SampleBuilder) -> None:
    if benchmark is not None:
        name = benchmark["full_id"].text()
    iterations, times = sample["iters"].numbers(), sample["times"].numbers()
    if len(iterations) != len(times):
        raise sample["times"].error(f"there are {len(times)}, and {len(iterations)} of iterations")
    if not (iterations > 0).all():
        raise sample["iters"].error("a sample has no iterations")
    if not name:
        raise InputError("the benchmark has no name", place=Place(sample.file), fix="keep benchmark.json next to it")
    values = observations(times / iterations, _TIME, sample["times"].error)
    book.add(Label(name, _TIME), SampledRun(values), sample["times"].error)
    book.warn_of_one_process("criterion.rs")
