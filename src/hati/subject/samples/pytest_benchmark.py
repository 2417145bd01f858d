"""What ``pytest --benchmark-json`` writes: all rounds of a test are of one process, observations of one run."""

from __future__ import annotations

from array import array

from hati.core import Metric, SampledRun
from hati.subject.samples.building import (
    Label,
    SampleBuilder,
    moment,
    observations,
    optional,
    optional_text,
    single,
    summary_only,
)
from hati.subject.samples.document import JsonNode, read_document
from hati.subject.samples.source import OpenedFile

_TIME = Metric("time", "s")
_UNVERSIONED = "unversioned"


def read_pytest_benchmark(source: OpenedFile, book: SampleBuilder) -> None:
    """Take in the benchmarks of a document.

    Raises:
        InputError: for anything that is not as pytest-benchmark writes it, with its path.
    """
    found: list[tuple[JsonNode, JsonNode]] = []
    for node in read_document(source.stream, source.file, ("benchmarks",)):
        if node.path:
            stats = node["stats"]
            found.append((node["fullname"], stats["data"] if "data" in stats else stats["mean"]))
            continue
        machine, revision = _where(node)
        started = optional(node, "datetime", moment)
        for name, data in found:
            label = Label(name.text(), _TIME, revision=revision, machine=machine)
            if isinstance(data.value, array):
                run = SampledRun(observations(data.numbers(), _TIME, data.error), started)
            else:
                book.warn(summary_only("means", "this pytest-benchmark file"))
                run = single(data.number(), _TIME, data.error)
            book.add(label, run, data.error)
    book.warn_of_one_process("pytest-benchmark")


def _where(node: JsonNode) -> tuple[str, str]:
    """The machine and the revision."""
    info, commit = node.get("machine_info"), node.get("commit_info")
    machine = optional_text(info, "node") if info else ""
    revision = optional_text(commit, "id") if commit else ""
    if revision == _UNVERSIONED:
        revision = ""
    dirty = commit.get("dirty") if commit else None
    return machine, f"{revision}-dirty" if revision and dirty and dirty.value is True else revision
