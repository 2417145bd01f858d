"""``hati assert --machines``: how portable formulas are between two machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hati.cli.asserted import Target
from hati.cli.documents import VerdictFormat, write_document
from hati.cli.given import refuse_given
from hati.cli.output import write_targets
from hati.core import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import typer

    from hati.studies.assertion import Portability


SAMPLES = "--samples, which are in files"

_OF_VERDICTS = ("history", "interpretation", "margin", "fail_on", "explain")
_OF_MEASURING = ("budget", "seed", "fresh", "dry_run")


def refuse_others(context: typer.Context, formats: Sequence[VerdictFormat]) -> None:
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
    from hati.report import portability_document, portability_json

    document = portability_document(found)
    errors, _ = write_targets(
        targets, lambda kind, file: write_document(document, lambda: portability_json(found), kind, file)
    )
    return errors
