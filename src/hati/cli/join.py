"""``hati join``: run, on this machine, benchmarks for a server of volunteers; or write the client as one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
        *(url, name, invitation, key, ca, once, hours, memory, disk, processes, cpu, keep, only or ()),
        without_sandbox=without_sandbox,
        home=home,
    )
    return run(given)
