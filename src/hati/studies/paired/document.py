"""What is shown of a paired comparison: its table, notes and published values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from hati.core import Configuration, Pairing, Stopping, Workload, setting_text
from hati.document.document import (
    Cell,
    Document,
    Shown,
    Table,
    change,
    columns_of,
    duration,
    general,
    percent,
    quantity,
)
from hati.document.publishing import Joined, Of, RunsJson, StudyJson
from hati.studies.comparison import ChangeVerdict, Comparison, IntervalMethod
from hati.studies.comparison.conclusion import (
    interval_text,
    needed_notes,
    statistic_notes,
    statistics_text,
    verdict_text,
    wide_interval_notes,
)
from hati.studies.comparison.document import ComparisonJson, WarmedSideJson, comparison_cases, comparison_sentence
from hati.studies.paired.study import PairedConclusion, Variant, Weighed


class VariantJson(WarmedSideJson, frozen=True):
    """One of two variants, with what it is."""

    benchmark: Annotated[str, Of("benchmark.name")]
    configuration: Configuration
    workload: Annotated[Workload, Of("benchmark.workload")]


class PairedComparisonJson(ComparisonJson, frozen=True, kw_only=True):
    """A comparison of a metric, and how it was measured."""

    before: VariantJson
    after: VariantJson
    study: str
    stopping: Stopping
    pairing: Pairing
    pairs: int
    looks: int
    e_value: float | None
    runs: Annotated[RunsJson, Of()]
    failures: list[str]
    seconds: float


class PairedJson(StudyJson, frozen=True, tag_field="format", tag="hati-compare-1"):
    """A comparison of two variants that were measured in pairs."""

    comparisons: Annotated[list[PairedComparisonJson], Of(_rows)]


def _rows(found: PairedConclusion) -> Iterator[Joined]:
    method = IntervalMethod.T if found.stopping is Stopping.FIXED else found.stopping
    for row, weighed in zip(found.comparisons.rows, found.weighed, strict=True):
        sides = {"before": Joined(row.before, found.before), "after": Joined(row.after, found.after)}
        yield Joined(row, weighed, found, found.comparisons, interval_method=method, **sides)


def paired_table(found: PairedConclusion) -> Table:
    """A row for each metric: its change and verdict first, which a narrow terminal shows beside each other."""
    columns = columns_of("metric | > change | > interval | verdict | > before | > after | > pairs")
    rows = tuple(_table_row(row, each) for row, each in zip(found.comparisons.rows, found.weighed, strict=True))
    before, after = variant_names(found.before, found.after)
    return Table(f"{after} against {before}", columns, rows, _notes(found))


def _table_row(row: Comparison, weighed: Weighed) -> tuple[Cell, ...]:
    found = row.change
    pairs: Cell = weighed.pairs
    if found.verdict is ChangeVerdict.INCONCLUSIVE:
        needed = "?" if found.runs_needed is None else f"{found.runs_needed:,}"
        pairs = Shown(f"{weighed.pairs} of {needed}", found.runs_needed)
    return (
        row.metric.name,
        None if found.ratio is None else Shown(change(found.ratio - 1.0), found.ratio),
        "none yet" if found.interval is None else f"{interval_text(found.interval)} %",
        verdict_text(found),
        Shown(quantity(row.before.mean, row.metric.unit), row.before.mean),
        Shown(quantity(row.after.mean, row.metric.unit), row.after.mean),
        pairs,
    )


def variant_names(before: Variant, after: Variant) -> tuple[str, str]:
    """The names of two variants: the benchmarks and settings that differ, or the benchmark if nothing does.

    A setting on one side only is shown as inactive on the other.
    """
    first, second = before.configuration, after.configuration
    other = [name for name in sorted({*first, *second}) if _text(name, before) != _text(name, after)]
    same = before.benchmark.name == after.benchmark.name

    def named(variant: Variant) -> str:
        settings = [f"{n}={setting_text(variant.configuration[n])}" for n in other if n in variant.configuration]
        return " ".join(([] if same and settings else [variant.benchmark.name]) + settings)

    return named(before), named(after)


def _text(name: str, variant: Variant) -> str | None:
    return setting_text(variant.configuration[name]) if name in variant.configuration else None


def _notes(found: PairedConclusion) -> tuple[str, ...]:
    asked = found.comparisons
    alpha, margin = percent(asked.alpha), percent(asked.margin)
    several = " for all metrics together" if len(asked.rows) > 1 else ""
    made = {
        Pairing.INTERLEAVED: "follow each other in random order",
        Pairing.DUET: "run at the same time, each on one of two cores at random",
    }
    looked = {
        Stopping.ANYTIME: f"The error of {alpha}{several} is that of all looks together, wherever measuring stops.",
        Stopping.FIXED: f"Student's t on the differences of pairs, once, at {alpha}{several}.",
    }
    notes = [
        f"Each run counts as {statistics_text(asked)}; the runs of a pair {made[found.pairing]} (seed {found.seed}). "
        f"Intervals have {percent(1.0 - asked.alpha)} confidence; the same: within {margin}.",
        looked[found.stopping],
        *wide_interval_notes(asked.rows, asked.alpha, asked.margin),
        *statistic_notes(asked.rows),
    ]
    notes += [
        f"The evidence for a change of {row.metric.name} is {general(each.e_value, 2)} to 1 (e-value)."
        for row, each in zip(asked.rows, found.weighed, strict=True)
        if each.e_value is not None
    ]
    notes += [
        f"A change of {row.metric.name} by {percent(row.change.detectable)} would have been found with 80 % power."
        for row in asked.rows
        if row.change.detectable is not None
    ]
    notes += needed_notes(asked.rows, "pairs")
    disturbed = [
        f"{side}, {each.disturbed} of {each.runs}"
        for side, each in (("before", asked.rows[0].before), ("after", asked.rows[0].after))
        if each.disturbed
    ]
    if disturbed:
        notes.append(f"Runs that something else on the machine disturbed, and that count: {'; '.join(disturbed)}.")
    runs = f"{found.done:,} runs done, {found.failed:,} failed, {duration(found.seconds)} in all."
    return (*notes, runs)


def paired_document(found: PairedConclusion) -> Document:
    """A comparison of two variants that were measured in pairs."""
    before, after = variant_names(found.before, found.after)
    sentences = (f"{row.metric.name} {comparison_sentence(row)}" for row in found.comparisons.rows)
    return Document(
        f"{after} against {before}",
        f"{'; '.join(sentences)}.",
        sections=(paired_table(found),),
        failures=found.failures,
        cases=tuple(comparison_cases(found.comparisons)),
        suite="hati compare",
        study=found.study,
    )
