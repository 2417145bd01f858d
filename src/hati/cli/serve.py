"""``hati serve --volunteers``: give batches to machines that only reach out, by HTTPS."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hati.cli.commands import HERE, ProjectPath, StorePlace
from hati.cli.output import say
from hati.core import InputError
from hati.core.metric import parse_duration

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
_LeaseTime = Annotated[
    str, typer.Option("--lease", metavar="TIME", help="Time without a sign of life after which others run the batch.")
]


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
    app = volunteers_app(path, store, wanted, parse_duration(lease))
    if not anybody and invitation is None:
        say(f"invitation: {wanted}")
    try:
        serve_volunteers(app, address, lambda url: say(f"volunteers: hati join {url}"))
    except KeyboardInterrupt:
        say("ended on request")
