"""``hati export``: the data, for other programs."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from hati.cli.output import STDOUT, write, write_pieces
from hati.cli.parameters import HERE, BenchmarkName, Output, ProjectPath, StorePlace
from hati.core import InputError


class ExportFormat(StrEnum):
    """What can be written: everything (samples), the runs' means for benchstat, or a table of configurations."""

    SAMPLES = "samples"
    BENCHSTAT = "benchstat"
    CSV = "csv"
    PARQUET = "parquet"


_Study = Annotated[str | None, typer.Option("--study", metavar="KEY", help="Those of one study.")]
_Format = Annotated[ExportFormat, typer.Option("--format", help="All observations, Go's lines, or a row for each run.")]


def export(
    path: ProjectPath = HERE,
    study: _Study = None,
    benchmark: BenchmarkName = None,
    store: StorePlace = None,
    output: Output = STDOUT,
    chosen: _Format = ExportFormat.SAMPLES,
) -> None:
    """Write the stored runs: samples with every observation, lines that benchstat reads, or a row for each run."""
    from hati import render
    from hati.report import measured_table, samples_json
    from hati.store import Selection
    from hati.wiring import existing_store

    place = existing_store(path, store)
    selection = Selection(study, benchmark)
    if chosen is ExportFormat.SAMPLES:
        write(render.to_json(samples_json(place.samples(selection))), output)
        return
    if chosen is ExportFormat.BENCHSTAT:
        samples = place.samples(selection)
        if not samples:
            raise _nothing()
        write_pieces(render.benchstat_text(samples), output)
        return
    runs = place.runs(selection)
    if not any(run.observations for run in runs):
        raise _nothing()
    table = measured_table(runs)
    write(render.table_csv(table) if chosen is ExportFormat.CSV else render.table_parquet(table), output)


def _nothing() -> InputError:
    return InputError("there is no run to export", fix="`hati runs` lists what the store holds")
