"""``hati design``: designs of experiments, and the effects that they can distinguish."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import Struct

from hati.cli.commands import Output, Seed
from hati.cli.output import STDOUT, TableFormat, write, write_table
from hati.core import InputError, generator, replace

if TYPE_CHECKING:
    from hati.design import Blocks, Design, OptimalDesign, Separation
    from hati.document import Table
    from hati.space import Space


PlackettBurman = Annotated[bool, typer.Option("--plackett-burman", help="Plackett-Burman design with --runs runs.")]
Foldover = Annotated[
    str | None,
    typer.Option("--foldover", metavar="all|A,B", help="Add a foldover: all runs with these factors reversed."),
]
Semifold = Annotated[
    str | None,
    typer.Option("--semifold", metavar="A", help="Add the half of a foldover on A with A at its second setting."),
]
Replicates = Annotated[int | None, typer.Option("--replicates", min=1, help="Run each configuration this often.")]
BlockCount = Annotated[
    int | None, typer.Option("--blocks", min=2, help="Divide the design into this many blocks of nearly equal size.")
]
OrthogonalArray = Annotated[
    bool,
    typer.Option(
        "--orthogonal-array", help="Orthogonal array for options of any number of settings, with --runs runs."
    ),
]


class Changes(Struct, frozen=True):
    """Additions to a design, in this order: a foldover or half of one, replicates; then blocks."""

    foldover: str | None = None
    semifold: str | None = None
    replicates: int | None = None
    blocks: int | None = None

    def __bool__(self) -> bool:
        return any(choice is not None for choice in (self.foldover, self.semifold, self.replicates, self.blocks))


def write_two_level(
    made: Design, changes: Changes, alias_order: int | None, seed: int, chosen: str, output: str
) -> None:
    """Write a two-level design with its changes: json, csv (its matrix, with the blocks first), text or markdown."""
    from hati import render
    from hati.design import blocks_of, describe, write_csv
    from hati.design.document import DesignJson, blocks_notes, design_table, separation_note
    from hati.document import Joined, publish

    folded = _folded(made, changes)
    final = _replicated(folded, changes.replicates)
    blocks = None if changes.blocks is None else blocks_of(final, changes.blocks, generator(seed, "blocks"))
    if chosen == "csv":
        write(write_csv(final) if blocks is None else _with_blocks(write_csv(final), blocks), output)
        return
    separation = None if folded is made else _separation(made, folded)
    if chosen == "json":
        values = Joined(describe(final, alias_order), separation=separation, blocks=blocks)
        write(render.to_json(publish(values, DesignJson)), output)
        return
    table = design_table(final, alias_order)
    notes = (*([separation_note(separation)] if separation else []), *(blocks_notes(blocks) if blocks else ()))
    write_table(replace(table, notes=(*table.notes, *notes)), TableFormat(chosen), output)


def write_orthogonal_array(path: Path | None, runs: int | None, chosen: str, output: str) -> None:
    """Write an orthogonal array for a project's options, in their settings.

    Raises:
        InputError: without a project, or for options without an orthogonal array.
    """
    from hati import render
    from hati.core import setting_text
    from hati.design import array_runs, check_unconstrained, level_properties, orthogonal_array, write_level_csv
    from hati.design.document import LevelDesignJson, level_design_table
    from hati.document import Joined, publish
    from hati.project import read_project

    if path is None:
        raise InputError("--orthogonal-array is for a project's options", fix="give its PATH")
    space: Space = read_project(path).space
    check_unconstrained(space)
    sizes = [len(option.settings) for option in space.options]
    design = orthogonal_array(sizes, runs, space.names)
    texts = [[setting_text(setting) for setting in option.settings] for option in space.options]
    if chosen == "csv":
        write(write_level_csv(design, texts), output)
    elif chosen == "json":
        settings = {option.name: list(option.settings) for option in space.options}
        values = Joined(design, level_properties(design), settings=settings)
        write(render.to_json(publish(values, LevelDesignJson)), output)
    else:
        others = _elsewhere(*array_runs(sizes), design.runs)
        write_table(level_design_table(design, texts, others), TableFormat(chosen), output)


def _folded(made: Design, changes: Changes) -> Design:
    from hati.design import foldover, parse_factors, semifoldover

    reverse = None if changes.foldover in {None, "all"} else parse_factors(changes.foldover or "")
    if changes.semifold is not None:
        everything = made.factors if changes.foldover == "all" else None
        return semifoldover(made, changes.semifold.strip(), reverse=reverse or everything)
    return made if changes.foldover is None else foldover(made, reverse)


def _replicated(design: Design, times: int | None) -> Design:
    from hati.design import replicated

    return design if times is None else replicated(design, times)


def _separation(before: Design, after: Design) -> Separation:
    """The separation of effects up to second order or, if these are too many, of main effects."""
    from hati.design import separation

    try:
        return separation(before, after)
    except InputError:
        return separation(before, after, 1)


def _with_blocks(text: str, blocks: Blocks) -> str:
    header, *rows = text.splitlines()
    numbered = (f"{block},{row}" for block, row in zip(blocks.of_runs, rows, strict=True))
    return "\n".join([f"block,{header}", *numbered]) + "\n"


def _elsewhere(exact: tuple[int, ...], nearly: tuple[int, ...], runs: int) -> str:
    found = {
        "orthogonal": [size for size in exact if size != runs],
        "nearly so": [size for size in nearly if size < runs],
    }
    values = [f"{words} in {', '.join(map(str, sizes[:6]))}" for words, sizes in found.items() if sizes]
    return f"Other sizes, by --runs: {'; '.join(values)}." if values else ""


class OptimalIn(StrEnum):
    """The criteria of ``hati.design.Criterion``, repeated here so that the help need not load it."""

    D = "D"
    I = "I"  # noqa: E741  # its name in the literature
    BAYES = "bayes"


Optimal = Annotated[
    OptimalIn | None,
    typer.Option("--optimal", help="Optimal design for a model with --runs runs; with --augment, as many added runs."),
]
EffectOrder = Annotated[
    int | None, typer.Option("--order", min=1, help="With --optimal: highest order of effects [default: 1; bayes: 2].")
]
Augment = Annotated[
    Path | None, typer.Option("--augment", metavar="FILE", help="With --optimal and --covering: CSV of runs to keep.")
]
Covering = Annotated[
    int | None,
    typer.Option(
        "--covering", metavar="2|3|4", min=2, max=4, help="Covering array: all valid settings of 2, 3 or 4 options."
    ),
]


def write_covering(path: Path | None, strength: int, augment: Path | None, seed: int, output: str, chosen: str) -> None:
    """Find a covering array for a project's space, and write it.

    Raises:
        InputError: without a project, and for designs that cannot be made or read.
    """
    if path is None:
        raise InputError("--covering is for a project's options", fix="give its PATH")
    from hati import render
    from hati.design import covering_array, read_runs
    from hati.design.document import CoveringArrayJson, covering_table
    from hati.document import publish
    from hati.project import read_project

    space = read_project(path).space
    fixed = None if augment is None else read_runs(_text(augment), space, str(augment))
    made = covering_array(space, strength, generator(seed, "covering array"), fixed=fixed)
    if chosen == TableFormat.JSON.value:
        write(render.to_json(publish(made, CoveringArrayJson)), output)
    else:
        write_table(covering_table(made), TableFormat(chosen), output)


def write_optimal(
    path: Path | None,
    criterion: OptimalIn,
    runs: int | None,
    order: int | None,
    augment: Path | None,
    seed: int,
    output: str,
    chosen: str,
) -> None:
    """Find an optimal design for a project's space, and write it.

    Raises:
        InputError: without a project or a number of runs, and for designs that cannot be made or read.
    """
    if path is None or runs is None:
        raise InputError("--optimal needs a space and a size", fix="give a project's PATH and --runs")
    from hati import render
    from hati.design import Criterion, from_levels, optimal_design, read_runs
    from hati.design.document import OptimalDesignJson
    from hati.document import Joined, publish
    from hati.project import read_project

    space = read_project(path).space
    fixed = None if augment is None else read_runs(_text(augment), space, str(augment))
    usual = 2 if criterion is OptimalIn.BAYES else 1
    start = perf_counter()
    made = optimal_design(
        space,
        runs,
        generator(seed, "optimal design"),
        criterion=Criterion(criterion.value),
        order=order or usual,
        fixed=fixed,
    )
    seconds = perf_counter() - start
    if chosen == TableFormat.JSON.value:
        values = Joined(made, made.fit, seconds=seconds, runs=from_levels(made.levels, made.space))
        write(render.to_json(publish(values, OptimalDesignJson)), output)
    else:
        write_table(_table(made, seconds), TableFormat(chosen), output)


def _table(made: OptimalDesign, seconds: float) -> Table:
    from hati.core import setting_text
    from hati.design import from_levels
    from hati.document import Column, Table

    rows = [
        tuple(setting_text(run[name]) if name in run else "" for name in made.space.names)
        for run in from_levels(made.levels, made.space)
    ]
    return Table(
        f"{made.criterion.value}-optimal design: {made.runs} runs",
        tuple(Column(name) for name in made.space.names),
        tuple(rows),
        _notes(made, seconds),
    )


def _notes(made: OptimalDesign, seconds: float) -> tuple[str, ...]:
    kinds = {
        1: "main effects",
        **{order: f"{order}-factor interactions" for order in made.fit.standard_errors if order > 1},
    }
    errors = ", ".join(f"{kinds[order]} {error:.3f}" for order, error in made.fit.standard_errors.items())
    given = f"The first {made.fixed} runs were given. " if made.fixed else ""
    return (
        f"{given}{made.fit.parameters} parameters; D-efficiency {made.fit.d_efficiency:.4f}; {seconds:.1f} s.",
        f"Largest standard errors, in sigma: {errors}.",
        *((f"Potential terms, not all to be estimated: {len(made.potential)}.",) if made.potential else ()),
        *((f"The space cannot distinguish all of these: {', '.join(made.fit.reduced)}.",) if made.fit.reduced else ()),
        *(
            (f"Left out, because the space cannot distinguish them: {', '.join(made.fit.dropped)}.",)
            if made.fit.dropped
            else ()
        ),
    )


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InputError(f"{file} cannot be read: {reason}") from error


class DesignFormat(StrEnum):
    """The format of a design; csv is its matrix alone."""

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
    covering: Covering = None,
    augment: Augment = None,
    seed: Seed = 1,
    output: Output = STDOUT,
    chosen: _Format = DesignFormat.TEXT,
) -> None:
    """Print, check or export a design of experiments.

    Without a size it is the full factorial of two-level factors.
    """
    changes = Changes(foldover, semifold, replicates, blocks)
    if covering is not None:
        others = (factors, generators, runs, resolution, read, alias_order, optimal, order, orthogonal_array or None)
        _refuse("--covering goes with --augment and --seed", changes, plackett_burman, *others)
        write_covering(path, covering, augment, seed, output, chosen.value)
        return
    named = (factors, generators, resolution, read, alias_order)
    if optimal is not None:
        what = "--optimal goes with --runs, --order, --augment and --seed"
        _refuse(what, changes, plackett_burman, orthogonal_array or None, *named)
        write_optimal(path, optimal, runs, order, augment, seed, output, chosen.value)
        return
    if order is not None or augment is not None:
        raise InputError("--order and --augment are of optimal designs", fix="add --optimal D, I or bayes")
    if orthogonal_array:
        _refuse("--orthogonal-array goes with --runs alone", changes, plackett_burman, *named)
        write_orthogonal_array(path, runs, chosen.value, output)
        return
    if read is not None:
        if plackett_burman or any(choice is not None for choice in (path, factors, generators, runs, resolution)):
            raise InputError("--read is a design already", fix="leave the size and the factors out")
        from hati.wiring.screening.requested import read_design

        made = read_design(read)
    elif plackett_burman:
        made = _plackett_burman(_names(path, factors), generators, runs, resolution)
    else:
        made = _made(_names(path, factors), generators, runs, resolution)
    write_two_level(made, changes, alias_order, seed, chosen.value, output)


def _refuse(what: str, changes: Changes, plackett_burman: bool, *others: object) -> None:
    if changes or plackett_burman or any(choice is not None for choice in others):
        raise InputError(what, fix="leave the other options out")


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
