"""``hati grid``, ``worker``, ``serve`` and ``join``: machines that run batches for others, and what they did."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hati.cli.commands import (
    HERE,
    FormatOption,
    Output,
    ProjectCommand,
    ProjectPath,
    StorePlace,
    TableFormatOption,
)
from hati.cli.output import STDOUT, Format, TableFormat, check_output, say, write, write_tables
from hati.core import InputError
from hati.core.metric import parse_duration
from hati.core.wording import counted

if TYPE_CHECKING:
    from typer._click import Context
    from typer._click.formatting import HelpFormatter

    from hati.core import Run


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
    from hati.wiring.grid import grid_status

    check_output(output)
    found = grid_status(path, store)
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


@app.command("forget")
def forget(
    name: _Name, path: Annotated[Path, typer.Option("--project", metavar="PATH")] = HERE, store: StorePlace = None
) -> None:
    """Plan no longer for what a machine has that ended its worker; its runs stay."""
    from hati.wiring.grid import forget_machine

    forget_machine(path, store, name)
    say(f"{name}: studies are planned without it")


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


_Once = Annotated[bool, typer.Option("--once", help="End as soon as there is nothing to run.")]
_Idle = Annotated[
    str | None,
    typer.Option("--idle", metavar="TIME", help="End after this time without work, such as 30s [default: never]."),
]
_LeaseTime = Annotated[
    str,
    typer.Option("--lease", metavar="TIME", help="Time without a sign of life after which others run the batch."),
]


_Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="Register at a Dask scheduler, such as tls://head:8786 [default: look into the store for batches].",
    ),
]


_StrategyName = Annotated[
    str,
    typer.Option("--strategy", metavar="NAME", help="What chooses among the batches of several studies."),
]


class StrategiesCommand(ProjectCommand):
    """Shows the names of all strategies in its help, also those that packages add."""

    def format_help(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write the help."""
        from hati.wiring.strategies import strategy_names

        for each in self.params:
            if each.name == "strategy":
                each.metavar = f"<{'|'.join(strategy_names())}>"
        super().format_help(ctx, formatter)


def worker(
    path: ProjectPath = HERE,
    store: StorePlace = None,
    once: _Once = False,
    idle: _Idle = None,
    lease: _LeaseTime = "60s",
    scheduler: _Scheduler = None,
    strategy: _StrategyName = "fair",
) -> None:
    """Run batches that campaigns release to workers."""
    from hati.wiring.grid import serve

    made: list[Run] = []
    if once and scheduler is not None:
        raise InputError("--once is not used with --scheduler", fix="write --idle with a time")
    limit = 0.0 if once else math.inf if idle is None else parse_duration(idle)
    try:
        serve(path, store, limit, parse_duration(lease), say, made.append, scheduler, strategy)
    except KeyboardInterrupt:
        say("ended on request")
    say(f"{counted(len(made), 'run')} done")


_Volunteers = Annotated[bool, typer.Option("--volunteers", help="Serve volunteers, who run signed releases.")]
_Host = Annotated[str, typer.Option("--host", metavar="HOST", help="Address to listen on.")]
_Port = Annotated[int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 chooses a free one.")]
_Certificate = Annotated[
    Path | None, typer.Option("--certificate", metavar="FILE", help="PEM file of the certificate, for HTTPS.")
]
_Key = Annotated[Path | None, typer.Option("--key", metavar="FILE", help="PEM file of the certificate's key.")]
_Invitation = Annotated[
    str | None,
    typer.Option(
        "--invitation",
        metavar="TEXT",
        envvar="HATI_INVITATION",
        show_envvar=True,
        help="Text that machines register with [default: a random one, which is printed].",
    ),
]
_Open = Annotated[bool, typer.Option("--open", help="Let any machine register, without an invitation.")]


def serve(
    path: ProjectPath = HERE,
    volunteers: _Volunteers = False,
    host: _Host = "127.0.0.1",
    port: _Port = 8443,
    certificate: _Certificate = None,
    key: _Key = None,
    invitation: _Invitation = None,
    anybody: _Open = False,
    lease: _LeaseTime = "60s",
    strategy: _StrategyName = "fair",
    store: StorePlace = None,
) -> None:
    """Give batches to volunteers, by HTTPS."""
    from hati.wiring.volunteers import Address, new_invitation, serve_volunteers, volunteers_app

    if not volunteers:
        raise InputError("nothing to serve is named", fix="add --volunteers")
    if anybody and invitation is not None:
        raise InputError("--open and --invitation exclude each other", fix="leave out one of them")
    if invitation == "":
        raise InputError("the invitation is empty", fix="leave out --invitation, or write --open")
    address = Address(host, port, certificate, key)
    wanted = "" if anybody else invitation or new_invitation()
    app = volunteers_app(path, store, wanted, parse_duration(lease), strategy)
    if not anybody and invitation is None:
        say(f"invitation: {wanted}")
    try:
        serve_volunteers(app, address, lambda url: say(f"volunteers: hati join {url}"))
    except KeyboardInterrupt:
        say("ended on request")


_Url = Annotated[str | None, typer.Argument(metavar="[URL]", help="Address of the server.", show_default=False)]
_Write = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the client as one file for `python3`, without Hati, and end."),
]


def _text(flag: str, metavar: str, text: str) -> object:
    return typer.Option(flag, metavar=metavar, help=text, show_default=False)


def join(
    url: _Url = None,
    name: Annotated[str | None, _text("--name", "NAME", "Name of this machine [default: the host's].")] = None,
    invitation: Annotated[str | None, _text("--invitation", "TEXT", "Invitation from the server's owner.")] = None,
    key: Annotated[str | None, _text("--key", "KEY", "Public key of the owner's releases, or its file.")] = None,
    ca: Annotated[str | None, _text("--ca", "FILE", "Certificate of the authority that signed the server's.")] = None,
    once: Annotated[bool, typer.Option("--once", help="End as soon as there is nothing to run.")] = False,
    hours: Annotated[str | None, _text("--hours", "HOURS", "Hours in which work may begin, such as 22-6.")] = None,
    memory: Annotated[str, _text("--memory", "SIZE", "Most memory of a run [default: 2G].")] = "2G",
    disk: Annotated[str, _text("--disk", "SIZE", "Most disk space of a run [default: 1G].")] = "1G",
    processes: Annotated[int, _text("--processes", "N", "Most processes of a run [default: 256].")] = 256,
    cpu: Annotated[str | None, _text("--cpu", "TIME", "Most CPU time of each process, such as 10m.")] = None,
    keep: Annotated[str, _text("--keep", "SIZE", "Most disk space of kept artefacts and builds [default: 4G].")] = "4G",
    only: Annotated[
        list[str] | None, _text("--only", "TEXT", "Settings that this machine runs: OPTION=A,B; repeatable.")
    ] = None,
    has: Annotated[
        list[str] | None, _text("--has", "TEXT", "What this machine has: NAME=VALUE,VALUE; repeatable.")
    ] = None,
    without_sandbox: Annotated[
        bool, typer.Option("--without-sandbox", help="Run jobs without a sandbox, and say so.")
    ] = False,
    home: Annotated[str | None, _text("--home", "FOLDER", "Folder of the client's files.")] = None,
    write: _Write = None,
) -> int:
    """Run benchmarks for a server of volunteers on this machine."""
    from hati.core import InputError

    if write is not None:
        from hati.volunteer.zipapp import archive

        try:
            write.write_bytes(archive())
        except OSError as error:
            raise InputError(f"cannot write {write}: {error.strerror}") from None
        return 0
    if url is None:
        raise InputError("no server is named", fix="write its address, such as: hati join https://bench.example.org")
    from hati.volunteer.command import Options, run

    given = Options(
        *(url, name, invitation, key, ca, once, hours, memory, disk, processes, cpu, keep, only or (), has or ()),
        without_sandbox=without_sandbox,
        home=home,
    )
    return run(given)
