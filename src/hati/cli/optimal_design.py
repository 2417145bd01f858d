"""``hati design --optimal``: the runs that tell most about a model, on any space."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from hati.cli.output import TableFormat, write
from hati.cli.tables import write_table
from hati.core import InputError, canonical_json, generator

if TYPE_CHECKING:
    from hati.design import OptimalDesign
    from hati.report import Table


class OptimalIn(StrEnum):
    """The criteria, as ``hati.design.Criterion`` has them: it is not loaded to show the help."""

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
Augment = Annotated[Path | None, typer.Option("--augment", metavar="FILE", help="With --optimal: CSV of runs to keep.")]


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
        InputError: without a project or a number of runs, and for what cannot be designed or read.
    """
    if path is None or runs is None:
        raise InputError("--optimal needs a space and a size", fix="give a project's PATH and --runs")
    from hati.design import Criterion, optimal_design, read_runs
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
        write(canonical_json(_value(made, seconds)) + "\n", output)
    else:
        write_table(_table(made, seconds), TableFormat(chosen), output)


def _value(made: OptimalDesign, seconds: float) -> dict[str, object]:
    from hati.design import from_levels

    return {
        "criterion": made.criterion.value,
        "value": made.value,
        "d_efficiency": made.fit.d_efficiency,
        "parameters": made.fit.parameters,
        "terms": list(made.fit.terms),
        "potential": list(made.potential),
        "reduced": list(made.fit.reduced),
        "dropped": list(made.fit.dropped),
        "largest_standard_error": made.fit.largest_standard_error,
        "standard_errors": {str(order): error for order, error in made.fit.standard_errors.items()},
        "seconds": seconds,
        "augmented": made.fixed,
        "runs": [dict(configuration) for configuration in from_levels(made.levels, made.space)],
    }


def _table(made: OptimalDesign, seconds: float) -> Table:
    from hati.core import setting_text
    from hati.design import from_levels
    from hati.report import Column, Table

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
