"""``hati init``: a first project file, or a first pipeline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hati.core import InputError
from hati.core.nearest import suggestion

_Folder = Annotated[Path, typer.Argument(metavar="PATH", help="The folder for hati.toml, or the repository's.")]
_Service = Annotated[
    str | None,
    typer.Option("--ci", metavar="SERVICE", help="Write a pipeline that checks changes instead: github or gitlab."),
]


def init(path: _Folder = Path(), service: _Service = None) -> None:
    """Write a commented hati.toml to start from, or a pipeline; never over one that is there."""
    from hati.project import skeleton

    if not path.is_dir():
        raise InputError(f"there is no folder {path}", fix="make it first")
    if service is not None:
        _write_pipeline(path, service)
        return
    file = path / "hati.toml"
    _write_new(file, skeleton(path.resolve().name or "subject"))
    typer.echo(f"{file} is written; adapt it, then: hati run {path}")


def _write_pipeline(path: Path, service: str) -> None:
    from hati.project import PIPELINES, Service

    known = [one.value for one in Service]
    if service not in known:
        raise InputError(f"there is no pipeline for {service!r}", fix=suggestion(service, known))
    pipeline = PIPELINES[Service(service)]
    file = path / pipeline.path
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{file.parent} cannot be made: {error.strerror}") from error
    _write_new(file, pipeline.text)
    typer.echo(f"{file} is written; it checks every change by: hati check")


def _write_new(file: Path, text: str) -> None:
    try:
        with file.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError as error:
        raise InputError(f"{file} is there already", fix="edit it, or remove it first") from error
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error.strerror}") from error
