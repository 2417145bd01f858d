"""``hati design``: regular two-level designs, and what they can tell apart."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hati.cli.output import STDOUT, TableFormat, write
from hati.cli.parameters import Output
from hati.cli.tables import write_table
from hati.core import InputError

if TYPE_CHECKING:
    from hati.design import Design


class DesignFormat(StrEnum):
    """How a design is written; csv is its matrix alone."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    CSV = "csv"


_Path = Annotated[Path | None, typer.Argument(metavar="PATH", help="A project, whose options are the factors.")]
_Factors = Annotated[str | None, typer.Option("--factors", metavar="A-N|A,B,..", help="The factors.")]
_Generators = Annotated[
    str | None, typer.Option("--generators", metavar="F=ABC,..", help="A fraction by its generators.")
]
_Runs = Annotated[int | None, typer.Option("--runs", min=1, help="A fraction of minimum aberration of that size.")]
_Resolution = Annotated[
    int | None, typer.Option("--resolution", min=3, help="The smallest fraction of at least that resolution.")
]
_Read = Annotated[Path | None, typer.Option("--read", metavar="FILE", help="A design from CSV or JSON, to be checked.")]
_Order = Annotated[int | None, typer.Option("--alias-order", min=1, help="List aliases up to that order [default: 3].")]
_Format = Annotated[DesignFormat, typer.Option("--format", help="How the design is written.")]


def design(
    path: _Path = None,
    factors: _Factors = None,
    generators: _Generators = None,
    runs: _Runs = None,
    resolution: _Resolution = None,
    read: _Read = None,
    alias_order: _Order = None,
    output: Output = STDOUT,
    chosen: _Format = DesignFormat.TEXT,
) -> None:
    """Print, check or export a two-level design; without a size the full factorial."""
    from hati import render
    from hati.design import describe, write_csv
    from hati.report import design_table

    if read is not None:
        if any(choice is not None for choice in (path, factors, generators, runs, resolution)):
            raise InputError("--read is a design already", fix="give --read alone")
        made = _from_file(read)
    else:
        made = _made(_names(path, factors), generators, runs, resolution)
    if chosen is DesignFormat.JSON:
        write(render.to_json(describe(made, alias_order)), output)
    elif chosen is DesignFormat.CSV:
        write(write_csv(made), output)
    else:
        write_table(design_table(made, alias_order), TableFormat(chosen.value), output)


def _names(path: Path | None, factors: str | None) -> tuple[str, ...]:
    from hati.design import parse_factors

    if (path is None) == (factors is None):
        raise InputError("say what the factors are", fix="give a project's PATH, or --factors such as A-N")
    if factors is not None:
        return parse_factors(factors)
    from hati.project import read_project

    return read_project(path or Path()).space.names


def _made(names: tuple[str, ...], generators: str | None, runs: int | None, resolution: int | None) -> Design:
    from hati.design import by_resolution, by_runs, from_generators, full_factorial, parse_generators

    if sum(choice is not None for choice in (generators, runs, resolution)) > 1:
        raise InputError("--generators, --runs and --resolution exclude each other", fix="give one of them")
    if generators is not None:
        if not generators.strip():
            raise InputError("--generators names none", fix="write F=ABC,G=ABD, or leave it out for the full factorial")
        return from_generators(names, parse_generators(generators))
    if runs is not None:
        return by_runs(names, runs)
    if resolution is not None:
        return by_resolution(names, resolution)
    return full_factorial(names)


def _from_file(file: Path) -> Design:
    from hati.design import read_csv, read_json

    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InputError(f"{file} cannot be read: {reason}") from error
    return read_json(text, str(file)) if file.suffix == ".json" else read_csv(text, str(file))
