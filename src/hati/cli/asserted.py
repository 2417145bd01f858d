"""How judged formulas are written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hati.cli.documents import VerdictFormat, write_document
from hati.cli.output import say, write, write_targets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hati.studies.assertion import Answer, Assured, Standard

Target = tuple[VerdictFormat, str]
"""A format and a file."""


def write_assured(found: Assured, standard: Standard, targets: Sequence[Target]) -> list[str]:
    """Write every report that can be written; what is wrong with the others.

    Where standard output has none that could be, the answer goes to standard error: it is told.
    """
    from hati.report import assertion_answer, assertion_document, assertion_json

    document = assertion_document(found, standard)
    errors, shown = write_targets(
        targets, lambda kind, file: write_document(document, lambda: assertion_json(found), kind, file)
    )
    if errors and not shown:
        say(assertion_answer(found.answers))
    return errors


def write_explanation(each: Answer, standard: Standard, output: str) -> None:
    """Write in words how a verdict arose."""
    from hati.report import explanation

    write(explanation(each, standard), output)
