"""How judged formulas are written, for one machine or for two."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hati.cli.documents import VerdictFormat, write_document
from hati.cli.output import say, write, write_targets
from hati.cli.parameters import refuse_given
from hati.core import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import typer

    from hati.studies.assertion import Answer, Assured, Portability, Standard


Target = tuple[str, str]
"""A format and a file."""


def write_assured(found: Assured, standard: Standard, targets: Sequence[Target]) -> list[str]:
    """Write every report that can be written; what is wrong with the others.

    Where standard output has none that could be, the answer goes to standard error: it is told.
    """
    from hati.report import AssertionJson, assertion_answer, assertion_document, publish

    document = assertion_document(found, standard)
    errors, shown = write_targets(
        targets, lambda kind, file: write_document(document, lambda: publish(found, AssertionJson), kind, file)
    )
    if errors and not shown:
        say(assertion_answer(found.answers))
    return errors


def write_explanation(each: Answer, standard: Standard, output: str) -> None:
    """Write in words how a verdict arose."""
    from hati.report import explanation

    write(explanation(each, standard), output)


SAMPLES = "--samples, which are in files"

_OF_VERDICTS = ("history", "interpretation", "margin", "fail_on", "explain")
_OF_MEASURING = ("budget", "seed", "fresh", "dry_run")


def refuse_others(context: typer.Context, formats: Sequence[str]) -> None:
    """See that nothing is asked of verdicts or of measuring on the command line.

    Raises:
        InputError: where something is.
    """
    refuse_given(context, (*_OF_VERDICTS, *_OF_MEASURING), "--machines, which compares what was measured")
    if context.params["samples"]:
        refuse_given(context, ("store",), SAMPLES)
    for chosen in formats:
        if chosen in {VerdictFormat.JUNIT, VerdictFormat.GITHUB}:
            raise InputError(f"--machines gives no verdicts for {chosen}", fix="write text, json, markdown or html")


def write_portability(found: Portability, targets: Sequence[Target]) -> list[str]:
    """Write every report that can be written; what is wrong with the others."""
    from hati.report import PortabilityJson, portability_document, publish

    document = portability_document(found)
    errors, _ = write_targets(
        targets, lambda kind, file: write_document(document, lambda: publish(found, PortabilityJson), kind, file)
    )
    return errors
