"""``hati export`` and ``hati import``: data for other programs, and from them; stores that are merged."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hati.cli.commands import HERE, BenchmarkName, Output, ProjectPath, StorePlace
from hati.cli.output import STDOUT, check_output, is_database, say, write, write_pieces
from hati.cli.progress import reading_progress
from hati.core import Configuration, InputError, SampleFormat, replace, setting_text
from hati.core.wording import counted

if TYPE_CHECKING:
    from hati.core import Sample
    from hati.store import Count, SqlStore


class ExportFormat(StrEnum):
    """Output formats: all observations (samples), means of runs for benchstat, one value a benchmark, or a table."""

    SAMPLES = "samples"
    BENCHSTAT = "benchstat"
    BENCHER = "bencher"
    GITHUB_ACTION = "github-action-benchmark"
    CSV = "csv"
    PARQUET = "parquet"


_Study = Annotated[
    str | None,
    typer.Option("--study", metavar="KEY", help="Export the runs of this study only: its key, or the beginning of it."),
]
_Where = Annotated[
    str | None, typer.Option("--where", metavar="OPTION=SETTING,...", help="Export only runs with these settings.")
]
_All = Annotated[
    bool, typer.Option("--all", help="Export the runs of all projects that share the store [default: this project's].")
]
_Metric = Annotated[
    str | None, typer.Option("--metric", metavar="NAME", help="Export this metric only; not for tables.")
]
_Revision = Annotated[
    str | None,
    typer.Option("--revision", metavar="NAME", help="Export the runs of this revision only, by its name or a prefix."),
]
_Format = Annotated[
    ExportFormat,
    typer.Option(
        "--format",
        help="Output format: all observations, benchstat lines, one value a benchmark, or one row per run.",
    ),
]
_TABLES = {ExportFormat.CSV, ExportFormat.PARQUET}


def export(
    path: ProjectPath = HERE,
    study: _Study = None,
    benchmark: BenchmarkName = None,
    where: _Where = None,
    metric: _Metric = None,
    revision: _Revision = None,
    store: StorePlace = None,
    output: Output = STDOUT,
    chosen: _Format = ExportFormat.SAMPLES,
    everything: _All = False,
) -> None:
    """Export runs as samples, for other tools or as a table."""
    from hati import render
    from hati.space.document import measured_table
    from hati.wiring import existing_store
    from hati.wiring.known.named import selection_of

    place = existing_store(path, store)
    named = selection_of(place, study, benchmark)
    selection = named if everything or study is not None else replace(named, studies=_own_studies(path, place))
    wanted = _settings(where or "")
    if chosen not in _TABLES:
        stored = _of(place.samples(selection), metric, revision)
        _check(wanted, [sample.configuration for sample in stored])
        samples = tuple(sample for sample in stored if _has(sample.configuration, wanted))
        if not samples and (study or benchmark or chosen is not ExportFormat.SAMPLES):
            raise _nothing()
        _write_samples(samples, chosen, output)
        return
    if metric is not None:
        raise InputError(f"--metric is not for {chosen}: a table has a column for each", fix="leave it out")
    runs = place.runs(selection)
    revision = _full_revision(revision, [run.task.revision for run in runs])
    runs = tuple(run for run in runs if revision in {None, run.task.revision})
    _check(wanted, [run.task.configuration for run in runs])
    runs = tuple(run for run in runs if _has(run.task.configuration, wanted))
    if not any(run.observations for run in runs):
        raise _nothing()
    table = measured_table(runs)
    write(render.table_csv(table) if chosen is ExportFormat.CSV else render.table_parquet(table), output)


def _own_studies(path: Path, place: SqlStore) -> tuple[str, ...] | None:
    """The studies of this project; None where all are, or where there is no project. Say which are left out."""
    from hati.core.wording import listed
    from hati.wiring.known.named import stored_projects

    found = stored_projects(path, place)
    if not found.others:
        return None
    subjects = listed(sorted(set(found.others.values())))
    number = "1 study" if len(found.others) == 1 else f"{len(found.others):,} studies"
    say(f"note: {number} of other projects left out ({subjects}); --all exports all")
    return found.own


def _write_samples(samples: tuple[Sample, ...], chosen: ExportFormat, output: str) -> None:
    from hati import render
    from hati.document import Joined, SamplesJson, publish

    if chosen is ExportFormat.SAMPLES:
        write(render.to_json(publish(Joined(samples=samples), SamplesJson)), output)
    elif chosen is ExportFormat.BENCHSTAT:
        write_pieces(render.benchstat_text(samples), output)
    elif chosen is ExportFormat.BENCHER:
        write(render.to_json(render.bencher_json(samples)), output)
    else:
        write(render.to_json(render.action_json(samples)), output)
        say(f"note: in the workflow, write tool: {render.action_tool(samples)}")


def _of(samples: Sequence[Sample], metric: str | None, revision: str | None) -> tuple[Sample, ...]:
    """The samples of a metric and of a revision, if these are given."""
    from hati.core.wording import suggestion

    revision = _full_revision(revision, [sample.revision for sample in samples])
    known = dict.fromkeys(sample.metric.name for sample in samples)
    if metric is not None and samples and metric not in known:
        raise InputError(f"--metric: there are no runs of {metric!r}", fix=suggestion(metric, known))
    return tuple(
        sample for sample in samples if metric in {None, sample.metric.name} and revision in {None, sample.revision}
    )


def _full_revision(revision: str | None, known: Sequence[str]) -> str | None:
    """The known revision that has this name, or is the only one whose name begins with it; None for all.

    Raises:
        InputError: where there is none, or several.
    """
    from hati.core.wording import listed, suggestion

    if revision is None or not known or revision in known:
        return revision
    found = [name for name in dict.fromkeys(known) if revision and name.startswith(revision)]
    if len(found) > 1:
        several = f"--revision: {len(found)} revisions begin with {revision!r}"
        raise InputError(several, fix=f"there are {listed(found)}")
    if not found:
        raise InputError(
            f"--revision: there are no runs of {revision!r}", fix=suggestion(revision, dict.fromkeys(known))
        )
    return found[0]


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
    """Check that the wanted configurations exist.

    Raises:
        InputError: if no run has these settings.
    """
    from hati.core.wording import suggestion

    if wanted and not any(_has(configuration, wanted) for configuration in configurations):
        for name, text in wanted.items():
            settings = sorted({setting_text(each[name]) for each in configurations if name in each})
            if not settings:
                options = dict.fromkeys(option for each in configurations for option in each)
                raise InputError(f"--where: no run has an option {name!r}", fix=suggestion(name, options))
            if text not in settings:
                raise InputError(f"--where: no run has {name}={text}", fix=suggestion(text, settings))
        known = "; ".join(sorted({str(configuration) or "default" for configuration in configurations})[:20])
        raise InputError(
            f"no run has {', '.join(f'{name}={text}' for name, text in wanted.items())}",
            fix=f"there are runs of {known}" if known else "`hati runs` lists what the store holds",
        )


def _nothing() -> InputError:
    return InputError("there is no run to export", fix="`hati runs` lists what the store holds")


_Sources = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...", help="Files with one or several runs, a folder of criterion.rs, or stores to merge."
    ),
]
_From = Annotated[
    str | None,
    typer.Option(
        "--from", metavar="FORMAT", help=f"Format of the files: {', '.join(SampleFormat)} [default: detected]."
    ),
]
_Project = Annotated[
    Path, typer.Option("--project", metavar="PATH", help="Stores: folder with hati.toml whose store receives the runs.")
]
_DryRun = Annotated[bool, typer.Option("--dry-run", help="Stores: print what would be merged; change nothing.")]


def import_(
    sources: _Sources,
    written_as: _From = None,
    project: _Project = HERE,
    store: StorePlace = None,
    dry_run: _DryRun = False,
    output: Output = STDOUT,
) -> None:
    """Convert other tools' files to samples, or merge stores."""
    stores = [source for source in sources if "://" in source or is_database(Path(source))]
    if stores and len(stores) < len(sources):
        raise InputError("stores and files of measurements are not imported at once", fix="give them one by one")
    if stores:
        _import_stores(stores, project, store, written_as, dry_run, output)
        return
    if dry_run:
        raise InputError("--dry-run is for stores", fix="leave it out: files are only read")
    _import_files([Path(source) for source in sources], written_as, output)


def _import_files(files: list[Path], written_as: str | None, output: str) -> None:
    from hati import render
    from hati.subject.samples import read_all

    check_output(output, *files)
    with reading_progress() as watch:
        found = read_all(files, written_as, watch)
    for warning in found.warnings:
        say(f"warning: {warning}")
    write_pieces(render.samples_text(found.samples), output)


def _import_stores(
    sources: list[str], project: Path, store: str | None, written_as: str | None, dry_run: bool, output: str
) -> None:
    from hati.wiring import count_import, import_stores

    if written_as is not None:
        raise InputError("--from is for files of measurements", fix="leave it out: this is a store")
    check_output(output)
    taken = count_import if dry_run else import_stores
    found = taken(sources, project, store)
    verb = "would be taken" if dry_run else "taken"
    lines = [
        f"{one.store}: {_counts_text(one.merged.taken)} {verb}; {_counts_text(one.merged.known)} there already"
        for one in found
    ]
    write("".join(f"{line}\n" for line in lines), output)


def _counts_text(count: Count) -> str:
    studies = "1 study" if count.studies == 1 else f"{count.studies:,} studies"
    return f"{studies}, {counted(count.runs, 'run')}, {counted(count.events, 'event')}"
