"""``hati init``: a first project file, or a first pipeline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hati.cli.output import STDOUT, write
from hati.core import InputError
from hati.core.wording import suggestion

_Folder = Annotated[Path, typer.Argument(metavar="PATH", help="Folder for hati.toml, or the project's folder.")]
_Service = Annotated[
    str | None,
    typer.Option("--ci", metavar="SERVICE", help="Write a CI pipeline that checks changes instead: github or gitlab."),
]
_Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")]
_Output = Annotated[
    str | None, typer.Option("--output", "-o", metavar="FILE", help="Write to FILE instead; - is standard output.")
]


def init(path: _Folder = Path(), service: _Service = None, force: _Force = False, output: _Output = None) -> None:
    """Create a commented hati.toml, or a CI pipeline."""
    from hati.project import skeleton

    if not path.is_dir():
        raise InputError(f"there is no folder {path}", fix="make it first")
    if service is not None:
        _write_pipeline(path, service, output, force=force)
        return
    file = path / "hati.toml"
    text = skeleton(path.resolve().name or "subject")
    if output == STDOUT:
        write(text, output)
        return
    file = file if output is None else Path(output)
    _write_new(file, text, force=force, fix="edit it, or write over it by --force")
    typer.echo(f"{file} is written; adapt it, then: hati run {path}")


def _write_pipeline(path: Path, service: str, output: str | None, *, force: bool) -> None:
    from hati.project import Service, pipeline
    from hati.subject import Revisions

    known = [one.value for one in Service]
    if service not in known:
        raise InputError(f"there is no pipeline for {service!r}", fix=suggestion(service, known))
    revisions = Revisions(path)
    made = pipeline(Service(service), revisions.within)
    if output == STDOUT:
        write(made.text, output)
        return
    file = _shown(revisions.top / made.path) if output is None else Path(output)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{file.parent} cannot be made: {error.strerror}") from error
    _write_new(file, made.text, force=force, fix="add to it what --output - prints, or write over it by --force")
    typer.echo(f"{file} is written; it checks every change by: hati check")


def _shown(file: Path) -> Path:
    """From here, where it is below."""
    here = Path.cwd()
    return file.relative_to(here) if file.is_relative_to(here) else file


def _write_new(file: Path, text: str, *, force: bool, fix: str) -> None:
    try:
        with file.open("w" if force else "x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError as error:
        raise InputError(f"{file} is there already", fix=fix) from error
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error.strerror}") from error
