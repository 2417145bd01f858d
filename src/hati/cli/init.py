"""``hati init``: a first project file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hati.core import InputError

_Folder = Annotated[Path, typer.Argument(metavar="PATH", help="The folder for hati.toml.")]


def init(path: _Folder = Path()) -> None:
    """Write a commented hati.toml to start from; never over one that is there."""
    from hati.project import skeleton

    if not path.is_dir():
        raise InputError(f"there is no folder {path}", fix="make it first")
    file = path / "hati.toml"
    try:
        with file.open("x", encoding="utf-8") as stream:
            stream.write(skeleton(path.resolve().name or "subject"))
    except FileExistsError as error:
        raise InputError(f"{file} is there already", fix="edit it, or remove it first") from error
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error.strerror}") from error
    typer.echo(f"{file} is written; adapt it, then: hati run {path}")
