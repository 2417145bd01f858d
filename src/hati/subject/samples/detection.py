"""Which format a file is of."""

from __future__ import annotations

import re
from collections.abc import Callable

from hati.core import SampleFormat
from hati.subject.samples.action import PREFIX
from hati.subject.samples.outline import Outline, outline
from hati.subject.samples.table import NEEDED

_LISTS: tuple[tuple[SampleFormat, Callable[[Outline], bool]], ...] = (
    (SampleFormat.JMH, lambda shape: shape.has("primaryMetric") or shape.has("jmhVersion")),
    (SampleFormat.GITHUB_ACTION, lambda shape: shape.has("name", "value")),
)
_OBJECTS: tuple[tuple[SampleFormat, Callable[[Outline], bool]], ...] = (
    (SampleFormat.HATI, lambda shape: shape.has("format") or shape.has("samples")),
    (SampleFormat.HYPERFINE, lambda shape: shape.has("results.command")),
    (SampleFormat.ASV, lambda shape: shape.has("result_columns")),
    (SampleFormat.PYPERF, lambda shape: shape.has("benchmarks.runs")),
    (SampleFormat.PYTEST_BENCHMARK, lambda shape: shape.has("machine_info") or shape.has("benchmarks.stats")),
    (SampleFormat.GOOGLE_BENCHMARK, lambda shape: shape.has("context") or shape.has("benchmarks.real_time")),
    (SampleFormat.BENCHMARK_DOTNET, lambda shape: shape.has("Benchmarks") or shape.has("HostEnvironmentInfo")),
    (SampleFormat.CRITERION, lambda shape: shape.has("iters", "times") or shape.has("full_id", "group_id")),
    (SampleFormat.GITHUB_ACTION, lambda shape: shape.has("entries")),
    (SampleFormat.BENCHER, lambda shape: any(re.search(r"[^.]\..*[^.]\.value$", member) for member in shape.members)),
)
_GO = re.compile(rb"^(goos|goarch|pkg): |^Benchmark\S*\s+\d", re.MULTILINE)


def detected(head: bytes) -> SampleFormat | None:
    """The format of a file that begins like this; None where it is none that is known."""
    start = head.lstrip()
    if start.startswith((b"{", b"[")):
        shape = outline(head)
        rules = () if shape is None else _LISTS if shape.listed else _OBJECTS
        return next((found for found, fits in rules if shape is not None and fits(shape)), None)
    if start.startswith(PREFIX):
        return SampleFormat.GITHUB_ACTION
    if start.startswith(b"<"):
        return SampleFormat.CATCH2
    names = {name.strip(' "').lower() for name in start.split(b"\n", 1)[0].decode("utf-8", "replace").split(",")}
    if names & set(NEEDED):
        return SampleFormat.CSV
    return SampleFormat.GO if _GO.search(head) else None
