"""``hati assert --machines``: how portable formulas are between two machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hati.cli.asserted import AssertionFormat, Target
from hati.cli.given import refuse_given
from hati.cli.output import TableFormat, write, write_page, write_targets
from hati.cli.tables import write_tables
from hati.core import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import typer

    from hati.studies.assertion import Portability


SAMPLES = "--samples, which are in files"

_OF_VERDICTS = ("history", "interpretation", "margin", "fail_on", "explain")
_OF_MEASURING = ("budget", "seed", "fresh", "dry_run")


def refuse_others(context: typer.Context, formats: Sequence[AssertionFormat]) -> None:
    """See that nothing is asked of verdicts or of measuring on the command line.

    Raises:
        InputError: where something is.
    """
    refuse_given(context, (*_OF_VERDICTS, *_OF_MEASURING), "--machines, which compares what was measured")
    if context.params["samples"]:
        refuse_given(context, ("store",), SAMPLES)
    if AssertionFormat.JUNIT in formats:
        raise InputError("--machines gives no verdicts for junit", fix="write text, json, markdown or html")


def write_portability(found: Portability, targets: Sequence[Target]) -> list[str]:
    """Write every report that can be written; what is wrong with the others."""
    errors, _ = write_targets(targets, lambda kind, file: _write(found, kind, file))
    return errors


def _write(found: Portability, chosen: AssertionFormat, output: str) -> None:
    from hati import render
    from hati.report import portability_json, portability_tables

    if chosen is AssertionFormat.JSON:
        write(render.to_json(portability_json(found)), output)
    elif chosen is AssertionFormat.HTML:
        write_page(render.portability_html(found), output)
    else:
        write_tables(portability_tables(found), TableFormat(chosen.value), output)
