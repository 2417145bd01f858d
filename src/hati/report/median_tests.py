"""Classical tests of run medians as plain values and as a table."""

from __future__ import annotations

from hati.report.changes import p_text
from hati.report.comparison_names import benchmark_name, comparison_name
from hati.report.plain import Plain
from hati.report.table import Align, Cell, Column, Shown, Table
from hati.stats import TwoSampleTest
from hati.studies.comparison import Comparisons

_NORMAL = 0.05
_SHORT = {"Kolmogorov-Smirnov": "K-S", "Kruskal-Wallis": "K-W"}


def test_json(one: TwoSampleTest) -> Plain:
    """One test; null where it is not defined."""
    return {
        "test": one.name,
        "transformed": one.transformed,
        "statistic": one.statistic,
        "p_value": one.p_value,
        "normality": None if one.normality is None else dict(zip(("before", "after"), one.normality, strict=True)),
    }


def median_tests_table(found: Comparisons) -> Table:
    """The p-values of a row's tests in a column each, as in the Kalibera paper, Fig. 5, turned."""
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
