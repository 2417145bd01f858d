"""``hati import``: other tools' files of measurements, as samples."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hati.cli.output import STDOUT, check_output, say, write_pieces
from hati.cli.parameters import Output
from hati.cli.progress import reading_progress
from hati.core import SampleFormat

_Files = Annotated[
    list[Path], typer.Argument(metavar="FILE...", help="Files of one or several runs, or a folder of criterion.rs.")
]
_From = Annotated[
    SampleFormat | None, typer.Option("--from", help="The files' format [default: found from how a file begins].")
]


def import_(files: _Files, written_as: _From = None, output: Output = STDOUT) -> None:
    """Read other tools' measurements and write them as samples: raw data in order, units kept."""
    from hati import render
    from hati.subject.samples import read_all

    check_output(output, *files)
    with reading_progress("reading") as watch:
        found = read_all(files, written_as, watch)
    for warning in found.warnings:
        say(f"warning: {warning}")
    write_pieces(render.samples_text(found.samples), output)
