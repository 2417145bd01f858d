"""``hati space``: check, count, list, sample, import."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hati.cli.output import STDOUT, TableFormat, write
from hati.cli.parameters import HERE, Output, ProjectPath, Seed, TableFormatOption
from hati.cli.tables import write_table
from hati.core import Configuration, InputError, canonical_json, generator

if TYPE_CHECKING:
    from hati.space import Space

app = typer.Typer(help="The options, their settings and constraints.", no_args_is_help=True, rich_markup_mode=None)

_MOST_LISTED = 1_000_000

_Count = Annotated[int, typer.Option("--count", min=1, help="How many.")]
_Model = Annotated[Path, typer.Argument(metavar="FILE", help="A FeatureModel.xml of SPL Conqueror.")]
_Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Stop after so many.")]
_Target = Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The hati.toml to write; - is stdout.")]


@app.command("count")
def count(path: ProjectPath = HERE, output: Output = STDOUT, chosen: TableFormatOption = TableFormat.TEXT) -> None:
    """Count the valid configurations, exactly."""
    from hati.space import count as count_configurations

    number = count_configurations(_space(path))
    if chosen is TableFormat.TEXT:
        write(f"{number:,} configurations\n", output)
    elif chosen is TableFormat.JSON:
        write(canonical_json({"configurations": number}) + "\n", output)
    else:
        from hati.report import Column, Table

        write_table(Table("Space", (Column("configurations"),), ((number,),)), chosen, output)


@app.command("list")
def list_all(
    path: ProjectPath = HERE,
    limit: _Limit = None,
    output: Output = STDOUT,
    chosen: TableFormatOption = TableFormat.TEXT,
) -> None:
    """List the valid configurations."""
    from itertools import islice

    from hati.space import count as count_configurations
    from hati.space import enumerate_configurations

    space = _space(path)
    number = count_configurations(space)
    if limit is None and number > _MOST_LISTED:
        raise InputError(
            f"{number:,} configurations are too many to list", fix="give --limit, or draw some by `hati space sample`"
        )
    _write_configurations(space, islice(enumerate_configurations(space), limit), chosen, output)


@app.command("sample")
def sample(
    path: ProjectPath = HERE,
    count: _Count = 1,
    seed: Seed = 1,
    output: Output = STDOUT,
    chosen: TableFormatOption = TableFormat.TEXT,
) -> None:
    """Draw valid configurations, each equally probable, with replacement."""
    from hati.space import sample as sample_configurations

    space = _space(path)
    drawn = sample_configurations(space, count, generator(seed, "space sample"))
    _write_configurations(space, drawn, chosen, output)


@app.command("check")
def check(path: ProjectPath = HERE, output: Output = STDOUT, chosen: TableFormatOption = TableFormat.TEXT) -> int:
    """Look for constraints that contradict each other, settings that can't be had, options that are forced."""
    from hati.report import diagnosis_table
    from hati.space import check as diagnose

    space = _space(path)
    diagnosis = diagnose(space)
    write_table(diagnosis_table(space, diagnosis), chosen, output)
    return 2 if diagnosis.contradiction else 0


@app.command("import")
def import_model(model: _Model, output: _Target = STDOUT) -> None:
    """Turn a feature model into a hati.toml."""
    from hati.project import read_feature_model, write_project

    read = read_feature_model(model)
    write(write_project(read.space, read.name), output)


def _space(path: Path) -> Space:
    from hati.project import read_project

    return read_project(path).space


def _write_configurations(
    space: Space, configurations: Iterable[Configuration], chosen: TableFormat, output: str
) -> None:
    from hati.report import configurations_table

    write_table(configurations_table(space.names, configurations), chosen, output)
