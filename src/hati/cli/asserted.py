"""How judged formulas are written."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from hati.cli.output import Format, TableFormat, say, write, write_page, write_targets
from hati.cli.tables import write_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hati.studies.assertion import Answer, Assured, Standard

_TITLE = "hati assert"


class AssertionFormat(StrEnum):
    """How judged formulas are written."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    JUNIT = "junit"
    HTML = "html"

    @property
    def plain(self) -> Format:
        """How a plan is written where this was chosen."""
        tables = self not in {AssertionFormat.JUNIT, AssertionFormat.HTML}
        return Format(self.value) if tables else Format.TEXT


Target = tuple[AssertionFormat, str]
"""A format and a file."""


def write_assured(found: Assured, standard: Standard, targets: Sequence[Target]) -> list[str]:
    """Write every report that can be written; what is wrong with the others.

    Where standard output has none that could be, the answer goes to standard error: it is told.
    """
    from hati.report import assertion_answer

    errors, shown = write_targets(targets, lambda kind, file: _write(found, standard, kind, file))
    if errors and not shown:
        say(assertion_answer(found.answers))
    return errors


def write_explanation(each: Answer, standard: Standard, output: str) -> None:
    """Write in words how a verdict arose."""
    from hati.report import explanation

    write(explanation(each, standard), output)


def _write(found: Assured, standard: Standard, chosen: AssertionFormat, output: str) -> None:
    from hati import render
    from hati.report import assertion_cases, assertion_json, assertion_table

    if chosen is AssertionFormat.JSON:
        write(render.to_json(assertion_json(found)), output)
    elif chosen is AssertionFormat.JUNIT:
        write(render.to_junit(_TITLE, assertion_cases(found)), output)
    elif chosen is AssertionFormat.HTML:
        write_page(render.assertion_html(found, standard), output)
    else:
        write_table(assertion_table(found, standard), TableFormat(chosen.value), output)
