"""How comparisons are written, whatever they rest on."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from hati.cli.output import TableFormat, whether_read_or_not, write
from hati.cli.tables import write_tables

if TYPE_CHECKING:
    from hati.report import Table
    from hati.report.plain import Plain
    from hati.studies.comparison import Comparisons


class ComparisonFormat(StrEnum):
    """How a comparison is written."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    JUNIT = "junit"


def write_comparisons(
    found: Comparisons, values: list[Plain], tables: list[Table], chosen: ComparisonFormat, output: str
) -> None:
    """Write verdicts as test cases, plain values or tables."""
    from hati import render
    from hati.report import comparison_cases

    with whether_read_or_not():
        if chosen is ComparisonFormat.JSON:
            write(render.to_json(values), output)
        elif chosen is ComparisonFormat.JUNIT:
            write(render.to_junit("hati compare", comparison_cases(found)), output)
        else:
            write_tables(tables, TableFormat(chosen.value), output)
