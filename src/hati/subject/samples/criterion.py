"""What criterion.rs writes for each benchmark: the times of its samples, all of one process, one run."""

from __future__ import annotations

from hati.core import InputError, Metric, Place, SampledRun
from hati.subject.samples.building import Label, SampleBuilder, observations
from hati.subject.samples.document import JsonNode

_TIME = Metric("time", "ns")


def read_criterion(sample: JsonNode, benchmark: JsonNode | None, name: str, book: SampleBuilder) -> None:
    """Take in a benchmark: its ``sample.json``, and its ``benchmark.json``, or a name where that is not known.

    Each observation is the time of an iteration, over those of a sample.

    Raises:
        InputError: for anything that is not as criterion.rs writes it, with its path.
    """
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
