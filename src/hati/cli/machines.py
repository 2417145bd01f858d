"""``hati assert --machines``: how portable formulas are between two machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hati.cli.asserted import AssertionFormat, Target
from hati.cli.output import STDOUT, console, write, write_targets
from hati.core import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hati.studies.assertion import Portability


def refuse_others(given: Mapping[str, object], formats: Sequence[AssertionFormat]) -> None:
    """See that nothing is asked of verdicts or of measuring.

    Raises:
        InputError: where something is.
    """
    for name, value in given.items():
        if value:
            raise InputError(
                f"{name} is not for --machines, which compares what was measured", fix="leave one of them out"
            )
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
        write(render.portability_html(found), output)
    elif chosen is AssertionFormat.MARKDOWN:
        write("\n".join(map(render.table_markdown, portability_tables(found))), output)
    elif output == STDOUT:
        for number, table in enumerate(portability_tables(found)):
            if number:
                console().print()
            render.print_table(table, console())
    else:
        write("\n".join(map(render.table_text, portability_tables(found))), output)
