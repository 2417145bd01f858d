"""Comparisons as a document with verdicts as test cases, for continuous integration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hati.core.wording import listed
from hati.document.document import Case, Document
from hati.studies.comparison import ChangeVerdict, Comparison, Comparisons
from hati.studies.comparison.document import (
    benchmark_name,
    comparison_name,
    comparison_sentence,
    comparison_table,
    median_tests_table,
)


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
