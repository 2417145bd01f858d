"""Estimates within one process as plain values and in words, and how to measure several processes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated

from msgspec import Struct

from hati.core import SampleFormat
from hati.document.publishing import Interval, Of
from hati.document.quantities import change
from hati.studies.comparison import MEAN, Comparison, WithinProcess
from hati.studies.comparison.changes import interval_text, statistic_name, verdict_text

_LABEL = "within one process"
_SEVERAL_FILES = "hati compare --before before-* --after after-*"
_FOR_EACH = "for i in $(seq 10); do "
_LINES: dict[str, tuple[str, str]] = {
    SampleFormat.GO: (
        f"{_FOR_EACH}go test -run '^$' -bench . -count 1; done > before.txt",
        "hati compare before.txt after.txt",
    ),
    SampleFormat.CRITERION: (
        f"{_FOR_EACH}CRITERION_HOME=$PWD/before-$i cargo bench; done",
        _SEVERAL_FILES,
    ),
    SampleFormat.GOOGLE_BENCHMARK: (
        f"{_FOR_EACH}./BENCHMARK --benchmark_out=before-$i.json --benchmark_out_format=json; done",
        _SEVERAL_FILES,
    ),
    SampleFormat.PYTEST_BENCHMARK: (
        f"{_FOR_EACH}pytest --benchmark-only --benchmark-json=before-$i.json; done",
        _SEVERAL_FILES,
    ),
    SampleFormat.CATCH2: (
        f"{_FOR_EACH}./TESTS --reporter xml --out before-$i.xml; done",
        _SEVERAL_FILES,
    ),
    SampleFormat.BENCHMARK_DOTNET: (
        "dotnet run -c Release -- --launchCount 10 --exporters fulljson",
        "hati compare BEFORE-report-full.json AFTER-report-full.json",
    ),
    SampleFormat.JMH: (
        "java -jar benchmarks.jar -f 10 -rf json -rff before.json",
        "hati compare before.json after.json",
    ),
    SampleFormat.PYPERF: ("python BENCHMARK.py --processes 10 -o before.json", "hati compare before.json after.json"),
    SampleFormat.HYPERFINE: (
        "hyperfine --runs 10 --export-json before.json COMMAND",
        "hati compare before.json after.json",
    ),
}
"""For each format, a command that runs ten processes and one that compares them."""


def several_processes(formats: Iterable[str]) -> list[str]:
    """Lines that say how to measure several processes with the tools that write these formats."""
    lines = ["note: one process a side does not show how much processes differ; several of each side decide:"]
    known = [_LINES[each] for each in formats if each in _LINES]
    if not known:
        return ["note: one run a side does not show how much runs differ; several of each side decide"]
    for line, comparing in known:
        lines += [f"  {line}", f"  {comparing}"]
    return lines


class WithinProcessJson(Struct, frozen=True):
    """The interval of the change within these processes, and the observations and batches of each side."""

    interval: Annotated[Interval | None, Of("change.interval")]
    observations: tuple[int, int]
    batches: tuple[int, int]
    decides: bool


def within_process_verdict(row: Comparison, within: WithinProcess) -> str:
    """The label, preceded by the verdict if there is one."""
    return f"{verdict_text(row.change)} ({_LABEL})" if within.decides else _LABEL


def within_process_sentence(row: Comparison, within: WithinProcess) -> str:
    """The result of a comparison, in a sentence."""
    label = within_process_verdict(row, within)
    if row.change.ratio is None or within.change.interval is None:
        return f"{label}: the ratio is unknown"
    text = f"{label}: {change(row.change.ratio - 1.0)} ({interval_text(within.change.interval)} %)"
    return text if within.decides else f"{text}; how much processes differ is not known"


def within_process_notes(rows: Sequence[Comparison]) -> list[str]:
    """Notes on what estimates and verdicts within one process hold for."""
    known = [row.within_process for row in rows if row.within_process is not None]
    other = {statistic_name(row) for row in rows if row.one_run_each and row.within_process is None and _of_other(row)}
    missing = [
        f"One process a side shows no interval of its {name}; it may show one of its mean (--statistic mean)."
        for name in sorted(other)
    ]
    if not known:
        return missing
    decides = any(within.decides for within in known)
    rest = (
        "the verdict holds for these two, and others may differ by more."
        if decides
        else "there is no verdict. Name several files a side, or earlier ones by --history; --within-process decides "
        "for these two processes only."
    )
    return [
        f"{_LABEL[0].upper()}{_LABEL[1:]}: each side is one process. The interval is that of their observations, in "
        f"batches of consecutive ones. How much processes differ is not known: {rest}",
        *missing,
    ]


def _of_other(row: Comparison) -> bool:
    return row.choice is not None and row.choice.statistic != MEAN
