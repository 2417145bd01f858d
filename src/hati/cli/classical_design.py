"""What ``hati design`` does to a two-level design once it is made, and orthogonal arrays for a project's options."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import Struct

from hati.cli.output import TableFormat, write
from hati.cli.tables import write_table
from hati.core import InputError, replace

if TYPE_CHECKING:
    from hati.design import Blocks, Design, Separation
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
    int | None, typer.Option("--blocks", min=2, help="Divide a regular design into this many blocks.")
]
OrthogonalArray = Annotated[
    bool,
    typer.Option(
        "--orthogonal-array", help="Orthogonal array for options of any number of settings, with --runs runs."
    ),
]


class Changes(Struct, frozen=True):
    """What is added to a design, in this order: a foldover or half of one, replicates; then it is parted in blocks."""

    foldover: str | None = None
    semifold: str | None = None
    replicates: int | None = None
    blocks: int | None = None

    def __bool__(self) -> bool:
        return any(choice is not None for choice in (self.foldover, self.semifold, self.replicates, self.blocks))


def write_two_level(made: Design, changes: Changes, alias_order: int | None, chosen: str, output: str) -> None:
    """Write a two-level design with its changes: json, csv (its matrix, with the blocks first), text or markdown."""
    from hati import render
    from hati.design import blocked, describe, write_csv
    from hati.report import blocks_notes, design_table, separation_note

    folded = _folded(made, changes)
    final = _replicated(folded, changes.replicates)
    blocks = None if changes.blocks is None else blocked(final, changes.blocks)
    if chosen == "csv":
        write(write_csv(final) if blocks is None else _with_blocks(write_csv(final), blocks), output)
        return
    separation = None if folded is made else _separation(made, folded)
    if chosen == "json":
        extra = _separation_json(separation) | _blocks_json(blocks)
        write(render.to_json(describe(final, alias_order) | extra), output)
        return
    table = design_table(final, alias_order)
    notes = (*([separation_note(separation)] if separation else []), *(blocks_notes(blocks) if blocks else ()))
    write_table(replace(table, notes=(*table.notes, *notes)), TableFormat(chosen), output)


def write_orthogonal_array(path: Path | None, runs: int | None, chosen: str, output: str) -> None:
    """Write an orthogonal array for a project's options, in their settings.

    Raises:
        InputError: without a project, or for options that no array is for.
    """
    from hati import render
    from hati.core import setting_text
    from hati.design import array_runs, check_unconstrained, describe_levels, orthogonal_array, write_level_csv
    from hati.project import read_project
    from hati.report import level_design_table

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
        write(render.to_json(describe_levels(design) | {"settings": settings}), output)
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
    """Of effects up to second order, or, where these are too many, of main effects."""
    from hati.design import separation

    try:
        return separation(before, after)
    except InputError:
        return separation(before, after, 1)


def _separation_json(separation: Separation | None) -> dict[str, object]:
    if separation is None:
        return {}
    told = {
        side: {"runs": it.runs, "parameters": it.rank, "estimable": [list(effect) for effect in it.effects]}
        for side, it in (("before", separation.before), ("after", separation.after))
    }
    separated = [list(effect) for effect in separation.separated]
    return {"separation": {"order": separation.after.order, **told, "separated": separated}}


def _blocks_json(blocks: Blocks | None) -> dict[str, object]:
    if blocks is None:
        return {}
    told = {
        "number": blocks.number,
        "generators": list(blocks.generators),
        "of_runs": list(blocks.of_runs),
        "confounded": [list(effect) for effect in blocks.confounded],
        "lost": [list(effect) for effect in blocks.lost],
    }
    return {"blocks": told}


def _with_blocks(text: str, blocks: Blocks) -> str:
    header, *rows = text.splitlines()
    numbered = (f"{block},{row}" for block, row in zip(blocks.of_runs, rows, strict=True))
    return "\n".join([f"block,{header}", *numbered]) + "\n"


def _elsewhere(exact: tuple[int, ...], nearly: tuple[int, ...], runs: int) -> str:
    found = {
        "orthogonal": [size for size in exact if size != runs],
        "nearly so": [size for size in nearly if size < runs],
    }
    told = [f"{words} in {', '.join(map(str, sizes[:6]))}" for words, sizes in found.items() if sizes]
    return f"Other sizes, by --runs: {'; '.join(told)}." if told else ""
