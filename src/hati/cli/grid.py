"""``hati grid``: the workers and batches in a store's ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hati.cli.commands import HERE, FormatOption, Output, ProjectPath, StorePlace, TableFormatOption
from hati.cli.output import STDOUT, Format, TableFormat, check_output, say, write, write_tables

_Out = Annotated[Path, typer.Option("--out", metavar="FILE", help="File for the private key; FILE.pub is the public.")]
_KeyFile = Annotated[Path, typer.Option("--key", metavar="FILE", help="File of the private key.")]
_Revision = Annotated[
    str | None,
    typer.Option("--revision", metavar="REVISION", help="Revision to sign [default: what is in the folder]."),
]
_Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the machine.")]

app = typer.Typer(
    help="Show machines and their batches, sign for volunteers.", no_args_is_help=True, rich_markup_mode=None
)


@app.callback()
def grid() -> None:
    """Show machines and their batches, sign for volunteers."""


@app.command("status")
def status(
    path: ProjectPath = HERE,
    store: StorePlace = None,
    output: Output = STDOUT,
    chosen: FormatOption = Format.TEXT,
) -> None:
    """Show machines, batches, why batches wait, and what failed."""
    from hati import render
    from hati.steering.document import grid_tables
    from hati.wiring import existing_store

    check_output(output)
    found = existing_store(path, store).ledger.status()
    tables = grid_tables(found)
    if chosen is Format.JSON:
        write(render.to_json(found), output)
    elif tables:
        write_tables(tables, TableFormat(chosen.value), output)
    else:
        write("Nothing was released to workers, and no worker is there.\n", output)


@app.command("key")
def key(out: _Out) -> None:
    """Make a key that signs what volunteers may run."""
    from hati.wiring.volunteers import make_key, public_file

    public = make_key(out)
    say(f"private key: {out}; keep it away from the server")
    say(f"public key: {public_file(out)}; volunteers pin it by `hati join URL --key {public}`")


@app.command("sign")
def sign(key: _KeyFile, path: ProjectPath = HERE, revision: _Revision = None, store: StorePlace = None) -> None:
    """Sign the benchmarks of a revision for volunteers."""
    from hati.wiring.volunteers import sign as signed

    found = signed(path, store, key, revision, say)
    for release in found.releases:
        say(f"signed: benchmark {release.benchmark} at {release.revision}")
    for name, why in found.left_out:
        say(f"not signed: benchmark {name}, which volunteers cannot run: {why}")
    say(f"artefact: {found.artefact[:12]}, {found.bytes / 2**10:,.1f} KiB")


@app.command("revoke")
def revoke(
    name: _Name, path: Annotated[Path, typer.Option("--project", metavar="PATH")] = HERE, store: StorePlace = None
) -> None:
    """Revoke the token of a volunteer's machine."""
    from hati.wiring.volunteers import revoke as revoked

    done = revoked(path, store, name)
    say(f"{name}: its token {'is revoked' if done else 'was revoked before'}")


@app.command("volunteers")
def volunteers(
    path: ProjectPath = HERE,
    store: StorePlace = None,
    output: Output = STDOUT,
    chosen: TableFormatOption = TableFormat.TEXT,
) -> None:
    """List the volunteers' machines that ever registered."""
    from hati.wiring.volunteers import registered, volunteers_table

    check_output(output)
    found = registered(path, store)
    if found:
        write_tables([volunteers_table(found)], chosen, output)
    else:
        write("No volunteer has registered: start `hati serve --volunteers`.\n", output)
