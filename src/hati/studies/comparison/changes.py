"""Changes of samples, also within one process, and the statistic of a run: in words and as plain values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from msgspec import Struct

from hati.core import SampleFormat
from hati.document.document import Shown, change, change_number, percent
from hati.document.publishing import Interval, Of
from hati.studies.comparison import (
    MEAN,
    TAIL_PART,
    Change,
    ChangeVerdict,
    ChoiceBasis,
    Comparison,
    Comparisons,
    StatisticChoice,
    WithinProcess,
)

_NOTHING = "~"
WITH_POWER = "with 80 % probability, if the estimate and the noise hold"
"""The condition on which a number of runs would decide."""


class ChangeJson(Struct, frozen=True):
    """A change: its verdict and evidence; ``estimate`` is a fraction, ``ratio`` after over before."""

    verdict: Annotated[ChangeVerdict, Of("change.verdict")]
    estimate: Annotated[float | None, Of(lambda of: None if of.change.ratio is None else of.change.ratio - 1.0)]
    ratio: Annotated[float | None, Of("change.ratio")]
    interval: Annotated[Interval | None, Of("change.interval")]
    p_value: Annotated[float | None, Of("change.p_value")]
    q_value: Annotated[float | None, Of("change.q_value")]
    detectable: Annotated[float | None, Of("change.detectable")]
    runs_needed: Annotated[int | None, Of("change.runs_needed")]


def change_text(found: Change) -> Shown:
    """The change in percent; ``~`` where the ratio does not exist."""
    if found.ratio is None:
        return Shown(_NOTHING, None)
    return Shown(change(found.ratio - 1.0), found.ratio)


def needed_notes(rows: Sequence[Comparison], runs: str) -> list[str]:
    """The note that explains the numbers of runs that would decide; empty if there are none."""
    undecided = [row.change for row in rows if row.change.verdict is ChangeVerdict.INCONCLUSIVE]
    if all(found.runs_needed is None for found in undecided):
        return []
    return [f"The second number of {runs} would decide {WITH_POWER}."]


def verdict_text(found: Change) -> str:
    """The verdict, marked if it is that of the tail alone."""
    return f"{found.verdict.value} (tail)" if found.of_tail else found.verdict.value


def interval_text(interval: tuple[float, float]) -> str:
    """The interval of a ratio as changes in percent, without the percent sign."""
    low, high = (change_number(end - 1.0) for end in interval)
    return f"{low} to {high}"


def statistic_name(row: Comparison) -> str:
    """The name of the statistic that is compared."""
    return (MEAN if row.choice is None else row.choice.statistic).title


def statistics_text(found: Comparisons) -> str:
    """The statistics that stand for a run, as text."""
    names = dict.fromkeys(found.statistic if row.choice is None else row.choice.statistic.title for row in found.rows)
    *most, last = names
    return f"its {', '.join(most)} or {last}" if most else f"its {last}"


def statistic_notes(rows: Sequence[Comparison]) -> list[str]:
    """Why each statistic was chosen, where it was."""
    groups: dict[tuple[str, ChoiceBasis], list[StatisticChoice]] = defaultdict(list)
    for row in rows:
        if row.choice is not None and not _asked(row):
            groups[statistic_name(row), row.choice.basis].append(row.choice)
    notes = [_note(name, choices, len(rows)) for (name, _), choices in groups.items()]
    if any(choice.keeps_mean for choices in groups.values() for choice in choices):
        notes.append(
            f"The mean relative to it is tested too, with {percent(TAIL_PART)} of alpha: a change of that alone is"
            " marked (tail)."
        )
    return notes


class ChoiceJson(Struct, frozen=True):
    """A chosen statistic, with the version of its rule."""

    statistic: Annotated[str, Of(lambda choice: str(choice.statistic))]
    basis: ChoiceBasis
    sources: int
    spread: float | None
    version: int


def chosen(row: Any) -> StatisticChoice | None:
    """How a comparison's statistic was chosen; None where the user chose it."""
    return None if row.choice is None or _asked(row) else row.choice


def _asked(row: Comparison) -> bool:
    return row.choice is None or row.choice.basis is ChoiceBasis.ASKED


def _note(name: str, choices: list[StatisticChoice], rows: int) -> str:
    number = len(choices)
    of = "" if number == rows else f" of {number} comparison{'' if number == 1 else 's'}"
    middle = sorted(choices, key=lambda choice: choice.spread or 0.0)[number // 2]
    return f"Statistic{of} (auto, version {middle.version}): {name}; {middle.reason}."


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
