"""Verdicts as test cases, for continuous integration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from hati.report.comparison import comparison_sentence
from hati.report.comparison_names import comparison_name
from hati.studies.comparison import Comparison, Comparisons, Verdict


class Case(NamedTuple):
    """A test case: ``failure``, ``skipped`` and ``error`` are why, None where it passes.

    An error is what could not be measured; ``note`` is what is to be said of a case that passes; ``seconds`` are those
    of its runs, None where they are not known; of runs that several cases share each has an equal part.
    """

    suite: str
    name: str
    failure: str | None = None
    skipped: str | None = None
    error: str | None = None
    note: str | None = None
    seconds: float | None = None


def comparison_cases(found: Comparisons) -> Sequence[Case]:
    """A case for each comparison: slower fails, also in a cluster; what is not decided is skipped."""
    return [
        Case(
            row.benchmark,
            comparison_name(row),
            comparison_sentence(row) if Verdict.SLOWER in row.verdicts else None,
            comparison_sentence(row) if row.verdicts == {Verdict.INCONCLUSIVE} else None,
            seconds=seconds,
        )
        for row, seconds in zip(found.rows, booked(found.rows), strict=True)
    ]


def booked(rows: Sequence[Comparison]) -> Sequence[float | None]:
    """The seconds of each comparison's runs, which those of several metrics share."""
    sharing = Counter(map(_measured, rows))
    taken = [(row.before.seconds, row.after.seconds, sharing[_measured(row)]) for row in rows]
    return [None if before is None or after is None else (before + after) / metrics for before, after, metrics in taken]


def _measured(row: Comparison) -> tuple[str, ...]:
    revisions = (side.revision for side in (row.before, row.after))
    return (row.benchmark, row.configuration.key, row.workload.key, *revisions)
