"""The document of an audit, and its published values."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from hati.core import Better
from hati.core.wording import counted
from hati.document.document import Cell, Document, Shown, Table, change, columns_of, general, percent
from hati.document.publishing import Interval, Joined, Of, StudyJson
from hati.harness.document import SampleJson
from hati.knowledge import Entry
from hati.stats import Proportion
from hati.studies.audit.auditing import LEVEL
from hati.studies.audit.conclusion import (
    Audit,
    AuditedBenchmark,
    ClusterAlarms,
    Directions,
)
from hati.studies.comparison import (
    AUTO,
    ChangeVerdict,
    StatisticChoice,
)
from hati.studies.comparison.conclusion import ChoiceJson

CONFIDENCE = 0.95
_TINY = 1e-4


def audit_facts(found: Audit) -> tuple[tuple[str, str], ...]:
    """The comparison, its error rate and its detectable changes, each under a name."""
    halves = sorted({row.runs for row in found.rows})
    size = str(halves[0]) if len(halves) == 1 else f"{halves[0]} to {halves[-1]}"
    sides, time = found.directions, found.in_time
    alike = time.p_value > LEVEL
    later = f"{time.slower} slower, {time.faster} faster of {len(found.rows)}"
    return (
        (
            "compared",
            f"{found.splits:,} times random halves of the runs of {counted(len(found.rows), 'benchmark')}, {size} and"
            f" {size} runs, {_by(found)}; alpha {percent(found.alpha)}, margin {percent(found.margin)},"
            f" seed {found.seed}",
        ),
        ("false alarms", f"{_rate(found.false_alarms)} of {found.comparisons:,} comparisons"),
        ("any alarm", f"in {_rate(found.any_alarm)} of the splits"),
        ("uncorrected", f"{_rate(found.uncorrected)} of p-values are up to alpha"),
        ("directions", f"{sides.slower} alarms slower, {sides.faster} faster{_p(sides)}"),
        (
            "called same",
            f"{percent(found.same.estimate)}; of halves that differ by exactly the margin {_rate(found.false_same)}",
        ),
        *((("clusters", _clusters_text(found.clusters)),) if found.clusters else ()),
        ("detectable", _detectable(found.detectable)),
        ("statistics", _sensitivities(found)),
        *((f"best{of}", text) for of, text in _recommended_facts(found)),
        (
            "in time",
            f"the later half of the runs against the earlier: {later}; {'as' if alike else 'more'} unlike"
            f" {'as' if alike else 'than'} random halves (p = {general(time.p_value, 2)})",
        ),
    )


def _by(found: Audit) -> str:
    if found.known:
        chosen = (f"{metric} by its {known.value.statistic.title} ({known.source})" for metric, known in _known(found))
        return f"as a check here compares: {', '.join(chosen)}"
    return "by a statistic chosen for each" if found.statistic == str(AUTO) else f"by their {found.statistic}"


def _known(found: Audit) -> list[tuple[str, Entry[StatisticChoice]]]:
    return sorted(found.known.items())


def _sensitivities(found: Audit) -> str:
    """The smallest change that each statistic detects alone, as text."""
    sizes = (
        f"{each.statistic.title} {'none' if each.detectable is None else percent(each.detectable)}"
        for each in found.by_statistic
    )
    return f"detectable by each alone: {', '.join(sizes)}"


def _recommended_facts(found: Audit) -> list[tuple[str, str]]:
    """The statistic that is recommended for each metric."""
    rows = []
    for each in found.recommended:
        of = f" of {each.metric}" if len(found.recommended) > 1 else ""
        text = f"{each.choice.statistic.title}: {each.choice.reason_in('these runs')}"
        rows.append((of, text))
    return rows


def audit_answer(found: Audit) -> str:
    """Whether alarms can be trusted, in a sentence."""
    low, high = found.false_alarms.interval
    measured = f"False alarms: {percent(found.false_alarms.estimate)} ({percent(low, 2)} to {percent(high, 2)})"
    if low > found.alpha:
        return f"{measured}, more than alpha, {percent(found.alpha)}."
    if high <= found.alpha:
        return f"{measured}, no more than alpha, {percent(found.alpha)}."
    return f"{measured}; alpha, {percent(found.alpha)}, is not exceeded by more than chance."


def audit_table(found: Audit) -> Table:
    """A row for each benchmark."""
    columns = columns_of("benchmark | > runs | > slower | > faster", "> same | > detectable | > later | verdict")
    one = len({row.sample.metric.name for row in found.rows}) == 1
    notes = (
        f"Of {found.splits:,} splits into halves of that many runs: the numbers of slower, faster and same; the"
        " smallest change that is found in 80 % of them; and how the later half compares with the earlier.",
    )
    return Table("Benchmarks", columns, tuple(_table_row(row, one=one) for row in found.rows), notes)


class RateJson(Struct, frozen=True):
    """A rate, and its 95 % interval."""

    rate: Annotated[float, Of("estimate")]
    interval: Interval


class ClusterAlarmsJson(RateJson, frozen=True):
    """How often clusters are found to change."""

    rate: Annotated[float, Of("alarms.estimate")]
    interval: Annotated[Interval, Of("alarms.interval")]
    misplaced: RateJson
    benchmarks: list[str]


class InTimeJson(Struct, frozen=True):
    """What comparisons of the earlier half of the runs with the later one say."""

    order: Annotated[str, Of(lambda found: "started" if found.started else "file")]
    false_alarm_rate: Annotated[float, Of("alarms.estimate")]
    interval: Annotated[Interval, Of("alarms.interval")]
    slower: int
    faster: int
    later_worse: Annotated[int, Of("direction.slower")]
    later_better: Annotated[int, Of("direction.faster")]
    direction_p_value: Annotated[float, Of("direction.p_value")]
    p_value: float


class MetricStatisticJson(ChoiceJson, frozen=True):
    """A statistic of a metric."""

    metric: str


class KnownStatisticOfJson(MetricStatisticJson, frozen=True):
    """A statistic that is known from earlier studies."""

    source: str


class LaterJson(Struct, frozen=True):
    """The later half of the runs compared with the earlier one."""

    verdict: Annotated[ChangeVerdict, Of("later")]
    ratio: Annotated[float | None, Of("later_ratio")]


class AuditedBenchmarkJson(SampleJson, frozen=True):
    """How often comparisons of a benchmark with itself err."""

    unit: Annotated[str, Of("sample.metric.unit")]
    better: Annotated[Better, Of("sample.metric.better")]
    runs: int
    false_alarm_rate: Annotated[float, Of(lambda row: (row.slower + row.faster) / row.splits)]
    slower: int
    faster: int
    same: int
    false_same: int
    detectable_80: Annotated[float | None, Of("detectable")]
    later: Annotated[LaterJson, Of()]


class TooFewRunsJson(Struct, frozen=True):
    """A benchmark with too few runs."""

    benchmark: str
    runs: Annotated[int, Of(lambda sample: len(sample.runs))]


class AuditJson(StudyJson, frozen=True, tag_field="format", tag="hati-audit-1"):
    """How often comparisons of halves of the same runs err."""

    false_alarm_rate: Annotated[float, Of("false_alarms.estimate")]
    interval: Annotated[Interval, Of("false_alarms.interval")]
    confidence: Annotated[float, Of(lambda _: CONFIDENCE)]
    detectable_80: Annotated[float | None, Of("detectable")]
    alpha: float
    margin: float
    statistic: str
    known_statistics: Annotated[
        list[KnownStatisticOfJson],
        Of(lambda found: [Joined(known, known.value, metric=metric) for metric, known in _known(found)]),
    ]
    seed: int
    splits: int
    comparisons: int
    slower: Annotated[int, Of("directions.slower")]
    faster: Annotated[int, Of("directions.faster")]
    one_sided_p_value: Annotated[float, Of("directions.p_value")]
    any_alarm: RateJson
    uncorrected: RateJson
    same: RateJson
    false_same: RateJson
    clusters: ClusterAlarmsJson | None
    by_statistic: Annotated[
        dict[str, float | None], Of(lambda found: {each.statistic: each.detectable for each in found.by_statistic})
    ]
    recommended: Annotated[
        list[MetricStatisticJson], Of(lambda found: [Joined(each, each.choice) for each in found.recommended])
    ]
    in_time: InTimeJson
    benchmarks: Annotated[list[AuditedBenchmarkJson], Of(lambda found: [Joined(row, found) for row in found.rows])]
    left_out: list[TooFewRunsJson]
    warnings: list[str]


def _table_row(row: AuditedBenchmark, *, one: bool) -> tuple[Cell, ...]:
    sample = row.sample
    words = (sample.benchmark, str(sample.configuration), str(sample.workload), "" if one else sample.metric.name)
    return (
        " ".join(filter(None, words)),
        row.runs,
        row.slower,
        row.faster,
        row.same,
        None if row.detectable is None else Shown(percent(row.detectable), row.detectable),
        None if row.later_ratio is None else Shown(change(row.later_ratio - 1.0), row.later_ratio),
        row.later.value,
    )


def _rate(found: Proportion) -> str:
    low, high = found.interval
    return f"{percent(found.estimate)} ({percent(low, 2)} to {percent(high, 2)})"


def _detectable(found: float | None) -> str:
    if found is None:
        return "no change, however large, is found in 80 % of cases"
    return f"a change of {percent(found)} of one benchmark alone is found in 80 % of cases"


def _clusters_text(found: ClusterAlarms) -> str:
    number = counted(len(found.benchmarks), "benchmark")
    return (
        f"a change of a cluster is found in {_rate(found.alarms)} of the comparisons of {number} with clusters; where"
        f" all of one half is smaller by the margin, a change of another kind in {_rate(found.misplaced)}"
    )


def _p(sides: Directions) -> str:
    if not sides.slower + sides.faster:
        return ""
    return f" (p {'<0.0001' if sides.p_value < _TINY else f'= {general(sides.p_value, 2)}'})"


def audit_document(found: Audit) -> Document:
    """How often comparisons err, and what each benchmark shows."""
    return Document(
        "Audit of comparisons",
        audit_answer(found),
        facts=audit_facts(found),
        sections=(audit_table(found),),
        warnings=found.warnings,
    )
