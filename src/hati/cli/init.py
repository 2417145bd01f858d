"""``hati init``: a first project file, its schema, or a first pipeline."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hati.cli.output import STDOUT, say, write, write_files
from hati.core import InputError
from hati.core.wording import command_text, suggestion

if TYPE_CHECKING:
    from hati.project import InstalledHati, PipelineFile

VALGRIND = "valgrind"
_Folder = Annotated[Path, typer.Argument(metavar="PATH", help="Folder for hati.toml, or the project's folder.")]
_Service = Annotated[
    str | None,
    typer.Option("--ci", metavar="SERVICE", help="Write a CI pipeline that checks changes: github, gitlab or jenkins."),
]
_Schema = Annotated[bool, typer.Option("--schema", help="Write the JSON Schema of hati.toml, for editors.")]
_Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")]
_Output = Annotated[
    str | None, typer.Option("--output", "-o", metavar="FILE", help="Write to FILE instead; - is standard output.")
]


def init(
    path: _Folder = Path(),
    service: _Service = None,
    schema: _Schema = False,
    force: _Force = False,
    output: _Output = None,
) -> None:
    """Create a commented hati.toml, its JSON Schema, or a CI pipeline."""
    if schema and service is not None:
        raise InputError("--schema and --ci write different files", fix="give them one by one")
    if service is not None:
        _write_pipeline(path, service, output, force=force)
    elif schema:
        _write_schema(path, output, force=force)
    else:
        _write_skeleton(path, output, force=force)


def _write_skeleton(path: Path, output: str | None, *, force: bool) -> None:
    from hati.project import FILE, skeleton

    text = skeleton(path.resolve().name or "subject")
    if output == STDOUT:
        write(text, output)
        return
    file = path / FILE if output is None else Path(output)
    _write_new({file: text}, force=force, fix="edit it, or write over it by --force")
    typer.echo(f"{file} is written; adapt it, then: {command_text(('hati', 'run', str(path)))}")


def _write_schema(path: Path, output: str | None, *, force: bool) -> None:
    from hati.project import FILE, SCHEMA_FILE, json_schema

    text = json.dumps(json_schema(), indent=2) + "\n"
    if output == STDOUT:
        write(text, output)
        return
    file = path / SCHEMA_FILE if output is None else Path(output)
    _write_new({file: text}, force=force, fix="write over it by --force")
    typer.echo(f"{file} is written; begin {path / FILE} with the line: #:schema {file.name}")


def _write_pipeline(path: Path, service: str, output: str | None, *, force: bool) -> None:
    from hati.project import CheckedProject, PipelineService, installed_hati, write_pipeline
    from hati.render import comment_mark
    from hati.subject import Revisions
    from hati.wiring.kinds.gate import check_name

    known = [one.value for one in PipelineService]
    if service not in known:
        raise InputError(f"there is no pipeline for {service!r}", fix=suggestion(service, known))
    if not path.is_dir():
        raise InputError(f"there is no folder {path}", fix="write its hati.toml first: `hati init`")
    revisions = Revisions(path)
    branch = "main" if revisions.history is None else revisions.history.main_branch()
    mark = comment_mark(check_name(revisions.within))
    installed = installed_hati()
    counting = _counts(path)
    packages = (VALGRIND,) if counting else ()
    files = write_pipeline(
        PipelineService(service), CheckedProject(revisions.within, branch, mark, installed, packages)
    )
    if output == STDOUT:
        write("---\n".join(file.text for file in files), output)
    else:
        _write_files(_placed(files, revisions.top, output), force=force)
    _warn_of_missing(installed, "the printed text" if output == STDOUT else "the file")
    if not counting:
        say(
            "note: times scatter by several percent on machines of CI services, instructions by less than .1 %; "
            "a benchmark of `instructions` (reader `process`) finds smaller changes, then write the pipeline again; "
            "of Python functions, assert formulas of `instructions of module:function(...)`"
        )


def _counts(path: Path) -> bool:
    """Whether a benchmark of the project counts events that Valgrind counts without hardware counters."""
    from hati.core.benchmark import PAGE_FAULTS, counted
    from hati.project import FILE, read_project

    if not (path / FILE).exists():
        return False
    metrics = [metric.name for each in read_project(path).benchmarks for metric in each.metrics]
    return any(name != PAGE_FAULTS for name in counted(metrics))


def _placed(files: Sequence[PipelineFile], top: Path, output: str | None) -> dict[Path, str]:
    """The texts by the files that receive them."""
    if output is None:
        return {_shown(top / file.path): file.text for file in files}
    if len(files) > 1:
        raise InputError(
            f"--output {output}: the pipeline has {len(files)} files", fix="leave it out, or print them by --output -"
        )
    return {Path(output): files[0].text}


def _write_files(texts: Mapping[Path, str], *, force: bool) -> None:
    _write_new(texts, force=force, fix="add to it what --output - prints, or write over it by --force")
    written = " and ".join(map(str, texts))
    typer.echo(f"{written} {'is' if len(texts) == 1 else 'are'} written; every change is checked by: hati check")


def _warn_of_missing(installed: InstalledHati, where: str) -> None:
    if not installed.requirement:
        say(
            f"warning: the pipeline cannot install this Hati: {installed.reason}; "
            f"set HATI_REQUIREMENT in {where} to a release, a wheel's URL or a git revision"
        )


def _shown(file: Path) -> Path:
    """The path relative to the working directory, if it is below it."""
    here = Path.cwd()
    return file.relative_to(here) if file.is_relative_to(here) else file


def _write_new(texts: Mapping[Path, str], *, force: bool, fix: str) -> None:
    for file in texts:
        if file.exists() and not force:
            raise InputError(f"{file} is there already", fix=fix)
    write_files(texts)
