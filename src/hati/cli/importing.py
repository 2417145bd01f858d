"""``hati import``: convert other tools' files of measurements to samples, or merge stores."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hati.cli.commands import HERE, Output, StorePlace
from hati.cli.output import STDOUT, check_output, is_database, say, write, write_pieces
from hati.cli.progress import reading_progress
from hati.core import InputError, SampleFormat
from hati.core.wording import counted

if TYPE_CHECKING:
    from hati.store import Count


_Sources = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...", help="Files with one or several runs, a folder of criterion.rs, or stores to merge."
    ),
]
_From = Annotated[
    str | None,
    typer.Option(
        "--from", metavar="FORMAT", help=f"Format of the files: {', '.join(SampleFormat)} [default: detected]."
    ),
]
_Project = Annotated[
    Path, typer.Option("--project", metavar="PATH", help="Stores: folder with hati.toml whose store receives the runs.")
]
_DryRun = Annotated[bool, typer.Option("--dry-run", help="Stores: print what would be merged; change nothing.")]


def import_(
    sources: _Sources,
    written_as: _From = None,
    project: _Project = HERE,
    store: StorePlace = None,
    dry_run: _DryRun = False,
    output: Output = STDOUT,
) -> None:
    """Convert other tools' files to samples, or merge stores."""
    stores = [source for source in sources if "://" in source or is_database(Path(source))]
    if stores and len(stores) < len(sources):
        raise InputError("stores and files of measurements are not imported at once", fix="give them one by one")
    if stores:
        _import_stores(stores, project, store, written_as, dry_run, output)
        return
    if dry_run:
        raise InputError("--dry-run is for stores", fix="leave it out: files are only read")
    _import_files([Path(source) for source in sources], written_as, output)


def _import_files(files: list[Path], written_as: str | None, output: str) -> None:
    from hati import render
    from hati.subject.samples import read_all

    check_output(output, *files)
    with reading_progress("reading") as watch:
        found = read_all(files, written_as, watch)
    for warning in found.warnings:
        say(f"warning: {warning}")
    write_pieces(render.samples_text(found.samples), output)


def _import_stores(
    sources: list[str], project: Path, store: str | None, written_as: str | None, dry_run: bool, output: str
) -> None:
    from hati.wiring import count_import, import_stores

    if written_as is not None:
        raise InputError("--from is for files of measurements", fix="leave it out: this is a store")
    check_output(output)
    taken = count_import if dry_run else import_stores
    found = taken(sources, project, store)
    verb = "would be taken" if dry_run else "taken"
    lines = [
        f"{one.store}: {_counts_text(one.merged.taken)} {verb}; {_counts_text(one.merged.known)} there already"
        for one in found
    ]
    write("".join(f"{line}\n" for line in lines), output)


def _counts_text(count: Count) -> str:
    studies = "1 study" if count.studies == 1 else f"{count.studies:,} studies"
    return f"{studies}, {counted(count.runs, 'run')}, {counted(count.events, 'event')}"
