"""Comparisons as a document: plain values, tables with clusters and classical tests, and verdicts as test cases."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Annotated

from msgspec import UNSET, Struct, UnsetType

from hati.core import Better, Configuration, Workload
from hati.core.wording import listed
from hati.document.document import (
    Align,
    Case,
    Cell,
    Column,
    Document,
    Shown,
    Table,
    change,
    columns_of,
    general,
    p_text,
    percent,
    quantity,
)
from hati.document.publishing import Interval, Joined, Of
from hati.stats import TwoSampleTest
from hati.studies.comparison import (
    Change,
    ChangeVerdict,
    ClusterChange,
    ClusterSide,
    Comparison,
    Comparisons,
    IntervalMethod,
    Joining,
    Side,
    WarmUp,
)
from hati.studies.comparison.conclusion import (
    WITH_POWER,
    ChangeJson,
    ChoiceJson,
    WithinProcessJson,
    change_text,
    chosen,
    interval_text,
    p_cell,
    statistic_name,
    statistic_notes,
    statistics_text,
    verdict_text,
    wide_interval_notes,
    within_process_notes,
    within_process_sentence,
    within_process_verdict,
)


def benchmark_name(row: Comparison) -> str:
    """Benchmark and settings."""
    return " ".join([row.benchmark, *(str(each) for each in (row.configuration, row.workload) if str(each))])


def comparison_name(row: Comparison) -> str:
    """Benchmark, settings and metric."""
    return f"{benchmark_name(row)} {row.metric.name}"


class ShareJson(Struct, frozen=True):
    """A cluster's mean fraction of a run's observations, before and after."""

    before: Annotated[float, Of("before.share")]
    after: Annotated[float, Of("after.share")]
    p_value: Annotated[float | None, Of("share_p_value")]
    q_value: Annotated[float | None, Of("share_q_value")]
    moved: Annotated[bool, Of("share_moved")]


class ClusterJson(ChangeJson, frozen=True):
    """One cluster of observations: its centre in both samples, and the runs that have it."""

    before: Annotated[float | None, Of("before.centre")]
    after: Annotated[float | None, Of("after.centre")]
    runs: Annotated[tuple[int, int], Of(lambda part: (part.before.runs, part.after.runs))]
    share: Annotated[ShareJson, Of()]


def cluster_rows(row: Comparison) -> list[tuple[Cell, ...]]:
    """A row for each cluster; none if no cluster changed."""
    if not any(part.changed for part in row.clusters):
        return []
    return [
        (
            f"  cluster {_shares(part)}",
            _centre(part.before, row),
            _centre(part.after, row),
            change_text(part.change),
            _interval(part.change),
            p_cell(part.change),
            str(part.before.runs) if part.before.runs == part.after.runs else f"{part.before.runs}+{part.after.runs}",
            f"{part.change.verdict.value}, share" if part.share_moved else part.change.verdict.value,
        )
        for part in row.clusters
    ]


def cluster_sentence(row: Comparison) -> str:
    """The clusters that changed, in a sentence; empty if none did."""
    described = [_cluster_text(part, row) for part in row.clusters if part.changed]
    return f"of {len(row.clusters)} clusters of observations {'; '.join(described)}" if described else ""


def _cluster_text(part: ClusterChange, row: Comparison) -> str:
    side = part.before if part.before.centre is not None else part.after
    assert side.centre is not None, "a cluster has observations in one of the samples"
    where = f"the one about {quantity(side.centre, row.metric.unit)}"
    moved = [f"is {part.change.verdict.value} ({change_text(part.change).text})"] if part.change.changed else []
    mixed = [f"has {_shares(part)} of them"] if part.share_moved else []
    return f"{where} {' and '.join(moved + mixed)}"


def _shares(part: ClusterChange) -> str:
    if part.share_moved:
        return f"{_rounded(part.before.share)} → {_rounded(part.after.share)}"
    return _rounded((part.before.share + part.after.share) / 2.0)


def _rounded(share: float) -> str:
    return f"{general(100.0 * share, 2)} %"


def _centre(side: ClusterSide, row: Comparison) -> Cell:
    return None if side.centre is None else quantity(side.centre, row.metric.unit)


_NORMAL = 0.05
_SHORT = {"Kolmogorov-Smirnov": "K-S", "Kruskal-Wallis": "K-W"}


class NormalityJson(Struct, frozen=True):
    """The p-values of Shapiro and Wilk's test of both samples."""

    before: Annotated[float | None, Of(lambda pair: pair[0])]
    after: Annotated[float | None, Of(lambda pair: pair[1])]


class TestJson(Struct, frozen=True):
    """One test of run medians; null where it is not defined."""

    test: Annotated[str, Of("name")]
    transformed: str
    statistic: float | None
    p_value: float | None
    normality: NormalityJson | None


def median_tests_table(found: Comparisons) -> Table:
    """The p-values of the tests: a row for each comparison, a column for each test (Kalibera paper, Fig. 5)."""
    tests = found.rows[0].tests
    columns = (Column("benchmark"), *(Column(_heading(one), align=Align.RIGHT) for one in tests))
    one = len({row.metric.name for row in found.rows}) == 1
    names = [benchmark_name(row) if one else comparison_name(row) for row in found.rows]
    rows = tuple((name, *(_cell(one) for one in row.tests)) for name, row in zip(names, found.rows, strict=True))
    notes = (
        "p-values, not corrected for each other, and no part of the verdict. t: Student's, of unequally many runs"
        " Welch's, after the transformation; *: Shapiro-Wilk says at 5 % that a sample is not normal.",
    )
    return Table("Tests of run medians", columns, rows, notes)


def _heading(one: TwoSampleTest) -> str:
    return _SHORT.get(one.name, one.name) if one.normality is None else f"t {one.transformed}"


def _cell(one: TwoSampleTest) -> Cell:
    if one.p_value is None:
        return None
    refused = any(normal is not None and normal <= _NORMAL for normal in one.normality or ())
    return Shown(p_text(one.p_value) + ("*" if refused else ""), one.p_value)


_ROUNDING = 1e-9
_NAMED = 3
_MOST_JOINED = 5
_UNSTEADY, _ONE_SIDED = "not steady", "one-sided warm-up"


class SideJson(Struct, frozen=True):
    """One of two samples: its mean, the half-width of the mean's interval as a fraction, and its runs."""

    mean: float
    spread: float | None
    runs: int
    revision: str
    machine: str
    disturbed: int


class WarmedSideJson(SideJson, frozen=True):
    """One of two samples, with the observations that were dropped as warm-up."""

    warm_up: WarmUp


class JoiningJson(Struct, frozen=True):
    """Revisions measured on both machines, and by them what the second machine measures over what the first does."""

    machines: tuple[str, str]
    revisions: list[str]
    ratio: float | None
    interval: Interval | None
    bridges_needed: int | None


class ComparedJson(ChangeJson, frozen=True):
    """Fields of all comparisons of two samples; ``statistic_choice`` is null where the user chose the statistic."""

    benchmark: str
    configuration: Configuration
    workload: Workload
    metric: Annotated[str, Of("metric.name")]
    unit: Annotated[str, Of("metric.unit")]
    better: Annotated[Better, Of("metric.better")]
    alpha: float
    margin: float
    statistic: Annotated[str, Of(lambda row: str((chosen(row) or row).statistic))]
    statistic_choice: Annotated[ChoiceJson | None, Of(chosen)]
    of_tail: Annotated[bool, Of(lambda row: chosen(row) is not None and row.change.of_tail)]
    clusters: list[ClusterJson]


class ComparisonJson(ComparedJson, frozen=True, kw_only=True):
    """A comparison of a benchmark, metric, configuration and workload."""

    before: WarmedSideJson
    after: WarmedSideJson
    interval_method: str
    seed: int | None
    within_process: WithinProcessJson | None
    joining: JoiningJson | None
    tests: Annotated[list[TestJson] | UnsetType, Of(lambda row: row.tests or None)] = UNSET


class ComparisonsJson(Struct, frozen=True, tag_field="format", tag="hati-compare-files-1"):
    """A comparison of files of samples."""

    comparisons: Annotated[list[ComparisonJson], Of(lambda found: [Joined(row, found) for row in found.rows])]


def comparison_table(found: Comparisons) -> Table:
    """A row for each comparison, followed by its clusters if one of them changed."""
    metrics = {row.metric.name for row in found.rows}
    one = len(metrics) == 1
    rows: list[tuple[Cell, ...]] = []
    for row in found.rows:
        rows += [_row(row, benchmark_name(row) if one else comparison_name(row)), *cluster_rows(row)]
    means = tuple(
        _mean_row(name if len(metrics) > 1 else "", ratio, _with_ratio(found, name))
        for name, ratio in found.mean_ratios.items()
    )
    columns = (
        *columns_of("benchmark | > before | > after | > change"),
        Column(f"{percent(1.0 - found.alpha)} interval", "%", align=Align.RIGHT),
        *columns_of("> p | > n | verdict"),
    )
    title = f"Comparison of {metrics.pop()}" if len(metrics) == 1 else "Comparison"
    return Table(title, columns, (*rows, *means), _notes(found))


def _row(row: Comparison, name: str) -> tuple[Cell, ...]:
    return (
        name,
        quantity(row.before.mean, row.metric.unit),
        quantity(row.after.mean, row.metric.unit),
        change_text(row.change),
        _interval((row.within_process or row).change),
        p_cell(row.change),
        _runs(row),
        _verdict(row),
    )


def _verdict(row: Comparison) -> Cell:
    if row.within_process is not None:
        return Shown(within_process_verdict(row, row.within_process), row.change.verdict.value)
    text, phase = verdict_text(row.change), _phase(row)
    return Shown(f"{text} ({phase})", row.change.verdict.value) if phase else text


def _phase(row: Comparison) -> str:
    """Why warm-up may explain a verdict; empty if nothing suggests it."""
    if row.change.verdict is ChangeVerdict.INCONCLUSIVE:
        return ""
    return _UNSTEADY if row.unsteady else _ONE_SIDED if row.one_sided else ""


def comparison_sentence(row: Comparison) -> str:
    """The result of a comparison, in a sentence."""
    if row.within_process is not None:
        return within_process_sentence(row, row.within_process)
    tail = f"of the mean relative to the {statistic_name(row)}" if row.change.of_tail else ""
    decided = _sentence(row.change) if row.joining is None else _joined_sentence(row.change, row.joining)
    return "; ".join(filter(None, (decided, tail, cluster_sentence(row), _phase(row))))


def _joined_sentence(found: Change, joining: Joining) -> str:
    """The result of a comparison across machines, in a sentence."""
    if not joining.revisions:
        return "inconclusive: no revision was measured on both machines, and a change is not distinguished from these"
    if found.ratio is None or found.interval is None:
        return f"inconclusive: too few runs of {joining.revisions[0]} on both machines"
    low, high = (change(end - 1.0) for end in found.interval)
    described = f"{found.verdict.value}: {change(found.ratio - 1.0)} ({low} to {high}"
    if found.q_value is None:
        return f"{described}), by one revision on both machines, which decides nothing"
    described += f", adjusted p {p_text(found.q_value)}), by {len(joining.revisions)} revisions on both machines"
    if joining.bridges_needed is None:
        return described
    return f"{described}; {joining.bridges_needed} would decide {WITH_POWER}"


def _joining_notes(found: Comparisons) -> list[str]:
    """The ratio between machines that was removed from each change, and the revisions on both that would decide."""
    joined = [(row, row.joining) for row in found.rows if row.joining is not None and row.joining.ratio is not None]
    return [_joining_note(row, joining) for row, joining in joined[:_MOST_JOINED]] + (
        [f"{len(joined) - _MOST_JOINED} further comparisons are joined: see --format json."]
        if len(joined) > _MOST_JOINED
        else []
    )


def _joining_note(row: Comparison, joining: Joining) -> str:
    first, second = joining.machines
    assert joining.ratio is not None
    shown = "" if joining.interval is None else f" ({interval_text(joining.interval)} %)"
    needed = joining.bridges_needed
    more = "" if needed is None else f" {needed} revisions on both would decide {WITH_POWER}."
    included = "; its variance is included" if len(joining.revisions) > 1 else ""
    interval = row.change.interval
    change_of = "" if interval is None else f", which leaves {interval_text(interval)} % for the change"
    return (
        f"{benchmark_name(row)}: from {first} to {second} {row.metric.name} changes by {change(joining.ratio - 1.0)}"
        f"{shown} by {listed(joining.revisions, _NAMED)}, measured on both{change_of}{included}.{more}"
    )


def _sentence(found: Change) -> str:
    undecided = found.verdict is ChangeVerdict.INCONCLUSIVE
    if found.q_value is None and undecided:
        return "inconclusive: too few runs to distinguish a change from noise"
    adjusted = "" if found.q_value is None else f"adjusted p {p_text(found.q_value)}"
    if found.ratio is None or found.interval is None:
        return f"{found.verdict.value}: the ratio is unknown{f' ({adjusted})' if adjusted else ''}"
    low, high = (change(end - 1.0) for end in found.interval)
    known = ", ".join(filter(None, (f"{low} to {high}", adjusted)))
    described = f"{found.verdict.value}: {change(found.ratio - 1.0)} ({known})"
    if not undecided:
        return described
    needed = "no number of runs" if found.runs_needed is None else f"{found.runs_needed:,} runs each"
    return f"{described}; {needed} would decide {WITH_POWER}"


def _interval(found: Change) -> Cell:
    """The interval of a change, in percent."""
    return None if found.interval is None else interval_text(found.interval)


def _runs(row: Comparison) -> Cell:
    """The runs of each sample and, if they do not decide, the number that would."""
    known = str(row.before.runs) if row.before.runs == row.after.runs else f"{row.before.runs}+{row.after.runs}"
    decided = row.change.verdict is not ChangeVerdict.INCONCLUSIVE
    if decided or row.within_process is not None or row.joining is not None:
        return known
    needed = row.change.runs_needed
    return Shown(f"{known} of {'?' if needed is None else f'{needed:,}'}", needed)


def _with_ratio(found: Comparisons, metric: str) -> int:
    """The number of comparisons of a metric with a positive ratio."""
    return sum(row.metric.name == metric and (row.change.ratio or 0.0) > 0.0 for row in found.rows)


def _mean_row(metric: str, ratio: float, number: int) -> tuple[Cell, ...]:
    of = f" ({metric})" if metric else ""
    return (f"geomean of {number}{of}", None, None, Shown(change(ratio - 1.0), ratio), None, None, None, None)


def _notes(found: Comparisons) -> tuple[str, ...]:
    seen = [row.change.detectable for row in found.rows if row.change.detectable is not None]
    notes = [
        f"Each run counts as {statistics_text(found)}; {_interval_note(found)}; "
        f"n: the runs of each sample, of those that would decide {WITH_POWER}.",
        f"Slower or faster: the change is significant at {percent(found.alpha)} over all comparisons (false discovery "
        f"rate) and not shown to be within {percent(found.margin)}. Same: it is shown to be within.{_p_note(found)}",
    ]
    if any(map(_of_geometric_means, found.rows)):
        notes.append("Before and after: arithmetic means over runs. Change: the ratio of their geometric means.")
    if found.intervals is IntervalMethod.T:
        notes += wide_interval_notes(found.rows, found.alpha, found.margin)
    notes += within_process_notes(found.rows)
    notes += _joining_notes(found)
    notes += statistic_notes(found.rows)
    if 0.0 < found.borrowed < float("inf"):
        notes.append(f"The noise of the other benchmarks adds {found.borrowed:.2g} degrees of freedom.")
    elif found.borrowed > 0.0:
        notes.append("All benchmarks have the same noise: it is treated as known.")
    if found.remembered:
        notes.append(
            f"Earlier samples add to the variance estimate of {found.remembered} of {len(found.rows)} comparisons."
        )
    notes += _warm_up_notes(found)
    if seen:
        middle = sorted(seen)[len(seen) // 2]
        others = f" (the median; {percent(min(seen))} to {percent(max(seen))})" if len(seen) > 1 else ""
        notes.append(f"A change of {percent(middle)}{others} would have been found with 80 % power.")
    notes += _cluster_notes(found)
    return tuple(notes)


def _p_note(found: Comparisons) -> str:
    """The meaning of p; empty if no row has one."""
    if all(row.change.q_value is None for row in found.rows):
        return ""
    return " p: of no change, corrected for all comparisons (Benjamini-Hochberg, adaptive)."


def _of_geometric_means(row: Comparison) -> bool:
    """Whether the change is of logarithms, and so differs from the ratio of the means before and after."""
    found, before = row.change, row.before.mean
    if found.ratio is None or found.of_tail or row.joining is not None or not before:
        return False
    return not math.isclose(found.ratio, row.after.mean / before, rel_tol=_ROUNDING)


def _warm_up_notes(found: Comparisons) -> list[str]:
    sides = (("before", [(row, row.before) for row in found.rows]), ("after", [(row, row.after) for row in found.rows]))
    dropped = [text for name, rows in sides if (text := _left_out(name, rows))]
    notes = [f"Detected warm-up is left out: {'; '.join(dropped)}."] if dropped else []
    marks = {_phase(row) for row in found.rows}
    if _UNSTEADY in marks:
        notes.append(f"({_UNSTEADY}): so are runs of a side, and the verdict may be that of their warm-up.")
    if _ONE_SIDED in marks:
        notes.append(
            f"({_ONE_SIDED}): most runs of one side have a warm-up, and few of the other, which may have been measured"
            " at another time of its life."
        )
    return notes


def _left_out(name: str, rows: Sequence[tuple[Comparison, Side]]) -> str:
    marked = [(row, side) for row, side in rows if side.warm_up.found]
    if not marked:
        return ""
    names = list(dict.fromkeys(row.benchmark for row, _ in marked))
    observations = sum(side.warm_up.left_out for _, side in marked)
    runs, of = sum(side.warm_up.found for _, side in marked), sum(side.runs for _, side in rows)
    return f"{name} {observations:,} observations, in {runs} of {of} runs ({listed(names, _NAMED)})"


def _interval_note(found: Comparisons) -> str:
    if found.intervals is IntervalMethod.T:
        return f"intervals of the change have {percent(1.0 - found.alpha)} confidence"
    return f"intervals of the change are by the bootstrap of runs (seed {found.seed}), verdicts and p by Student's t"


def _cluster_notes(found: Comparisons) -> list[str]:
    several = [row for row in found.rows if row.clusters]
    if not several:
        return []
    changed = sum(any(part.changed for part in row.clusters) for row in several)
    notes = [
        f"In {len(several)} of {len(found.rows)} the observations form clusters, compared one by one, with their "
        f"shares: {changed or 'none'} with a change{' (rows beneath each)' if changed else ''}."
    ]
    parts = [part.change for row in several for part in row.clusters]
    undecided = [each for each in parts if each.verdict is ChangeVerdict.INCONCLUSIVE]
    seen = [each.detectable for each in undecided if each.detectable is not None]
    if seen:
        notes.append(
            f"{len(undecided)} of {len(parts)} clusters are undecided: of one of them no change below "
            f"{percent(max(seen))} would have been found."
        )
    return notes


def comparison_cases(found: Comparisons) -> Sequence[Case]:
    """A case for each comparison: slower fails, also in a cluster; an undecided one is skipped."""
    return [
        Case(
            row.benchmark,
            comparison_name(row),
            comparison_sentence(row) if ChangeVerdict.SLOWER in row.verdicts else None,
            comparison_sentence(row) if row.verdicts == {ChangeVerdict.INCONCLUSIVE} else None,
            seconds=seconds,
        )
        for row, seconds in zip(found.rows, booked(found.rows), strict=True)
    ]


def booked(rows: Sequence[Comparison]) -> Sequence[float | None]:
    """The seconds of each comparison's runs, divided equally among the metrics of the same runs."""
    sharing = Counter(map(_measured, rows))
    taken = [(row.before.seconds, row.after.seconds, sharing[_measured(row)]) for row in rows]
    return [None if before is None or after is None else (before + after) / metrics for before, after, metrics in taken]


def _measured(row: Comparison) -> tuple[str, ...]:
    revisions = (side.revision for side in (row.before, row.after))
    return (row.benchmark, row.configuration.key, row.workload.key, *revisions)


def comparisons_document(found: Comparisons) -> Document:
    """A row for each comparison, and classical tests of medians where they were made."""
    (metric,) = metrics if len(metrics := {row.metric.name for row in found.rows}) == 1 else ("",)
    tested = (median_tests_table(found),) if any(row.tests for row in found.rows) else ()
    return Document(
        f"Comparison of {metric}" if metric else "Comparison",
        comparisons_answer(found),
        sections=(comparison_table(found), *tested),
        warnings=found.warnings,
        cases=tuple(comparison_cases(found)),
        suite="hati compare",
    )


def comparisons_answer(found: Comparisons) -> str:
    """The number of comparisons with each verdict, with the names of those that changed."""
    undecidable = sum(not row.has_verdict for row in found.rows)
    parts = (
        *(_counted(verdict, found) for verdict in ChangeVerdict),
        f"{undecidable} within one process" if undecidable else "",
        _clustered(found),
    )
    return f"{'; '.join(filter(None, parts))}."


def _clustered(found: Comparisons) -> str:
    """The benchmarks of which only clusters changed: the whole hides it."""
    rows = [
        row for row in found.rows if row.change.verdict not in _CHANGED and any(part.changed for part in row.clusters)
    ]
    return f"a cluster changed in {listed([row.benchmark for row in rows], _NAMED)}" if rows else ""


def _counted(verdict: ChangeVerdict, found: Comparisons) -> str:
    rows = [row for row in found.rows if row.has_verdict and row.change.verdict is verdict]
    one = len({row.metric.name for row in found.rows}) == 1
    names = [benchmark_name(row) if one else comparison_name(row) for row in rows]
    named = f" ({listed(names, _NAMED)})" if verdict in _CHANGED else ""
    return f"{len(rows)} {verdict.value}{named}" if rows else ""


_NAMED = 3
_CHANGED = (ChangeVerdict.SLOWER, ChangeVerdict.FASTER)
