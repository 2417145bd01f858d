"""``hati design``: designs, and what they can tell apart."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hati.cli.classical_design import (
    BlockCount,
    Changes,
    Foldover,
    OrthogonalArray,
    PlackettBurman,
    Replicates,
    Semifold,
    write_orthogonal_array,
    write_two_level,
)
from hati.cli.optimal_design import Augment, EffectOrder, Optimal, write_optimal
from hati.cli.output import STDOUT
from hati.cli.parameters import Output, Seed
from hati.core import InputError

if TYPE_CHECKING:
    from hati.design import Design


class DesignFormat(StrEnum):
    """How a design is written; csv is its matrix alone."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    CSV = "csv"


_Path = Annotated[
    Path | None, typer.Argument(metavar="PATH", help="Folder with hati.toml, whose options are the factors.")
]
_Factors = Annotated[str | None, typer.Option("--factors", metavar="A-N|A,B,..", help="Names of the factors.")]
_Generators = Annotated[
    str | None, typer.Option("--generators", metavar="F=ABC,..", help="Fraction with these generators.")
]
_Runs = Annotated[
    int | None, typer.Option("--runs", min=1, help="Fraction of minimum aberration with this number of runs.")
]
_Resolution = Annotated[
    int | None, typer.Option("--resolution", min=3, help="Smallest fraction of at least this resolution.")
]
_Read = Annotated[Path | None, typer.Option("--read", metavar="FILE", help="Read and check a design (CSV or JSON).")]
_Order = Annotated[
    int | None, typer.Option("--alias-order", min=1, help="Highest order of aliases to list [default: 3].")
]
_Format = Annotated[DesignFormat, typer.Option("--format", help="Output format.")]


def design(
    path: _Path = None,
    factors: _Factors = None,
    generators: _Generators = None,
    runs: _Runs = None,
    resolution: _Resolution = None,
    plackett_burman: PlackettBurman = False,
    orthogonal_array: OrthogonalArray = False,
    foldover: Foldover = None,
    semifold: Semifold = None,
    replicates: Replicates = None,
    blocks: BlockCount = None,
    read: _Read = None,
    alias_order: _Order = None,
    optimal: Optimal = None,
    order: EffectOrder = None,
    augment: Augment = None,
    seed: Seed = 1,
    output: Output = STDOUT,
    chosen: _Format = DesignFormat.TEXT,
) -> None:
    """Print, check or export a design of experiments.

    Without a size it is the full factorial of two-level factors.
    """
    changes = Changes(foldover, semifold, replicates, blocks)
    if optimal is not None:
        others = (factors, generators, resolution, read, alias_order)
        if changes or plackett_burman or orthogonal_array or any(choice is not None for choice in others):
            raise InputError("--optimal goes with --runs, --order, --augment and --seed", fix="leave the others out")
        write_optimal(path, optimal, runs, order, augment, seed, output, chosen.value)
        return
    if order is not None or augment is not None:
        raise InputError("--order and --augment are of optimal designs", fix="add --optimal D, I or bayes")
    if orthogonal_array:
        if (
            changes
            or plackett_burman
            or any(choice is not None for choice in (factors, generators, resolution, read, alias_order))
        ):
            raise InputError("--orthogonal-array goes with --runs alone", fix="leave the other options out")
        write_orthogonal_array(path, runs, chosen.value, output)
        return
    if read is not None:
        if plackett_burman or any(choice is not None for choice in (path, factors, generators, runs, resolution)):
            raise InputError("--read is a design already", fix="leave the size and the factors out")
        made = read_design(read)
    elif plackett_burman:
        made = _plackett_burman(_names(path, factors), generators, runs, resolution)
    else:
        made = _made(_names(path, factors), generators, runs, resolution)
    write_two_level(made, changes, alias_order, chosen.value, output)


def _names(path: Path | None, factors: str | None) -> tuple[str, ...]:
    from hati.design import parse_factors

    if (path is None) == (factors is None):
        raise InputError("say what the factors are", fix="give a project's PATH, or --factors such as A-N")
    if factors is not None:
        return parse_factors(factors)
    from hati.design import check_two_level
    from hati.project import read_project

    space = read_project(path or Path()).space
    check_two_level(space)
    return space.names


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


def _plackett_burman(
    names: tuple[str, ...], generators: str | None, runs: int | None, resolution: int | None
) -> Design:
    from hati.design import plackett_burman

    if generators is not None or resolution is not None:
        raise InputError("--plackett-burman goes with --runs alone", fix="leave --generators and --resolution out")
    return plackett_burman(names, runs)


def read_design(file: Path) -> Design:
    """Read a design from CSV or JSON.

    Raises:
        InputError: where it cannot be read, with its line and column.
    """
    from hati.design import read_csv, read_json

    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InputError(f"{file} cannot be read: {reason}") from error
    return read_json(text, str(file)) if file.suffix == ".json" else read_csv(text, str(file))
