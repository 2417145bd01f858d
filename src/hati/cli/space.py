"""``hati space``: check, count, list, sample, import."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hati.cli.commands import HERE, Output, ProjectPath, Seed, TableFormatOption
from hati.cli.output import STDOUT, TableFormat, say, write, write_table
from hati.core import Configuration, InputError, generator

if TYPE_CHECKING:
    from hati.space import Space

app = typer.Typer(
    help="Count, list, sample, check or import configurations.", no_args_is_help=True, rich_markup_mode=None
)

_MOST_LISTED = 1_000_000

_Count = Annotated[int, typer.Option("--count", min=1, max=_MOST_LISTED, help="Number of configurations.")]
_Source = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="SPL Conqueror's FeatureModel.xml or measurements.xml, or a table of measurements.",
    ),
]
_Metrics = Annotated[
    list[str] | None,
    typer.Option("--metric", metavar="NAME", help="For a table: column that holds a metric; repeatable."),
]
_Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Largest number of configurations to print.")]
_Target = Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="File to write; - is standard output.")]


@app.command("count")
def count(path: ProjectPath = HERE, output: Output = STDOUT, chosen: TableFormatOption = TableFormat.TEXT) -> None:
    """Count the valid configurations, exactly."""
    from hati import render
    from hati.space import count as count_configurations
    from hati.space.document import SpaceSizeJson

    number = count_configurations(_space(path))
    if chosen is TableFormat.TEXT:
        write(f"{number:,} configurations\n", output)
    elif chosen is TableFormat.JSON:
        write(render.to_json(SpaceSizeJson(number)), output)
    else:
        from hati.document import Column, Table

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
    """Find contradictory constraints, impossible settings and forced options."""
    from hati.project import read_project
    from hati.project.prerequisites import (
        empty_arguments,
        misspelled_units,
        options_without_choice,
        unmet_prerequisites,
    )
    from hati.project.project import unreached_warning
    from hati.space import check as diagnose
    from hati.space.document import diagnosis_table

    project = read_project(path)
    if not project.space.options and not project.benchmarks:
        raise InputError(
            f"{project.file} has no options and no benchmarks",
            fix="write [options.NAME] and [[benchmark]], or begin with `hati init`",
        )
    diagnosis = diagnose(project.space)
    found = (
        *(unreached_warning(project), *options_without_choice(project), *empty_arguments(project)),
        *(*misspelled_units(project), *unmet_prerequisites(project, os.environ)),
    )
    warnings = list(filter(None, found))
    write_table(diagnosis_table(project.space, diagnosis, len(warnings)), chosen, output)
    for warning in warnings:
        say(f"warning: {warning}")
    return 2 if diagnosis.contradiction else 0


@app.command("import")
def import_model(source: _Source, metric: _Metrics = None, output: _Target = STDOUT) -> None:
    """Create a hati.toml from a feature model or a table."""
    from hati.project import read_feature_model, write_project
    from hati.subject.table import is_table

    if is_table(source):
        space, name = _from_table(source, metric or []), source.name.partition(".")[0]
    elif metric:
        raise InputError(f"--metric is for a table, and {source} is none", fix="leave it out")
    else:
        read = read_feature_model(source)
        space, name = read.space, read.name
    write(write_project(space, name), output)


def _from_table(file: Path, metrics: list[str]) -> Space:
    """The space of a table's columns; omitted columns and missing configurations are reported."""
    from hati.space import count
    from hati.subject.table import infer_space, read_sheet

    sheet = read_sheet(file, lambda text: say(f"warning: {text}"))
    inferred = infer_space(sheet, metrics)
    for column, reason in inferred.others:
        say(f"no option: {column} ({reason})")
    rows, configurations = inferred.configurations(sheet), count(inferred.space)
    if rows < configurations:
        say(
            f"the table has {rows:,} of {configurations:,} configurations; "
            "if others are not valid, write under [space] why"
        )
    return inferred.space


def _space(path: Path) -> Space:
    from hati.project import read_project

    return read_project(path).space


def _write_configurations(
    space: Space, configurations: Iterable[Configuration], chosen: TableFormat, output: str
) -> None:
    from hati.space.document import configurations_table

    write_table(configurations_table(space.names, configurations), chosen, output)
