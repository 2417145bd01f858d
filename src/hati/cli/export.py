"""``hati export``: the data, for other programs."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import typer

from hati.cli.output import STDOUT, write, write_pieces
from hati.cli.parameters import HERE, BenchmarkName, Output, ProjectPath, StorePlace
from hati.core import Configuration, InputError, setting_text


class ExportFormat(StrEnum):
    """What can be written: everything (samples), the runs' means for benchstat, or a table of configurations."""

    SAMPLES = "samples"
    BENCHSTAT = "benchstat"
    CSV = "csv"
    PARQUET = "parquet"


_Study = Annotated[str | None, typer.Option("--study", metavar="KEY", help="Export the runs of this study only.")]
_Where = Annotated[
    str | None, typer.Option("--where", metavar="OPTION=SETTING,...", help="Export only runs with these settings.")
]
_Format = Annotated[
    ExportFormat, typer.Option("--format", help="Output format: all observations, benchstat lines, or one row per run.")
]


def export(
    path: ProjectPath = HERE,
    study: _Study = None,
    benchmark: BenchmarkName = None,
    where: _Where = None,
    store: StorePlace = None,
    output: Output = STDOUT,
    chosen: _Format = ExportFormat.SAMPLES,
) -> None:
    """Export runs as samples, benchstat lines or a table."""
    from hati import render
    from hati.report import measured_table, samples_json
    from hati.store import Selection
    from hati.wiring import existing_store

    place = existing_store(path, store)
    selection = Selection(study, benchmark)
    wanted = _settings(where or "")
    if chosen in {ExportFormat.SAMPLES, ExportFormat.BENCHSTAT}:
        stored = place.samples(selection)
        _check(wanted, [sample.configuration for sample in stored])
        samples = tuple(sample for sample in stored if _has(sample.configuration, wanted))
        if not samples and (study or benchmark or chosen is ExportFormat.BENCHSTAT):
            raise _nothing()
        if chosen is ExportFormat.SAMPLES:
            write(render.to_json(samples_json(samples)), output)
        else:
            write_pieces(render.benchstat_text(samples), output)
        return
    runs = place.runs(selection)
    _check(wanted, [run.task.configuration for run in runs])
    runs = tuple(run for run in runs if _has(run.task.configuration, wanted))
    if not any(run.observations for run in runs):
        raise _nothing()
    table = measured_table(runs)
    write(render.table_csv(table) if chosen is ExportFormat.CSV else render.table_parquet(table), output)


def _settings(text: str) -> dict[str, str]:
    found = {}
    for part in filter(None, text.split(",")):
        name, equals, setting = part.partition("=")
        if not equals:
            raise InputError(f"--where {part!r} is not a valid setting", fix="write option=setting")
        found[name.strip()] = setting.strip()
    return found


def _has(configuration: Configuration, wanted: dict[str, str]) -> bool:
    return all(name in configuration and setting_text(configuration[name]) == text for name, text in wanted.items())


def _check(wanted: dict[str, str], configurations: Sequence[Configuration]) -> None:
    """See that what is wanted is there.

    Raises:
        InputError: where no run has these settings.
    """
    from hati.core.wording import suggestion

    if wanted and not any(_has(configuration, wanted) for configuration in configurations):
        for name, text in wanted.items():
            settings = dict.fromkeys(setting_text(each[name]) for each in configurations if name in each)
            if not settings:
                options = dict.fromkeys(option for each in configurations for option in each)
                raise InputError(f"--where: no run has an option {name!r}", fix=suggestion(name, options))
            if text not in settings:
                raise InputError(f"--where: no run has {name}={text}", fix=suggestion(text, settings))
        known = "; ".join(dict.fromkeys(str(configuration) or "default" for configuration in configurations[:20]))
        raise InputError(
            f"no run has {', '.join(f'{name}={text}' for name, text in wanted.items())}",
            fix=f"there are runs of {known}" if known else "`hati runs` lists what the store holds",
        )


def _nothing() -> InputError:
    return InputError("there is no run to export", fix="`hati runs` lists what the store holds")
