"""``hati runs``, ``studies``, ``report``, ``tree``, ``forget``, ``findings`` and ``ack``: what a store holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hati.cli.commands import (
    HERE,
    BenchmarkName,
    FormatOption,
    Output,
    ProjectPath,
    RelevantShare,
    ScreenedMetricName,
    Seed,
    StorePlace,
    TableFormatOption,
)
from hati.cli.output import (
    STDOUT,
    DocumentFormat,
    Format,
    TableFormat,
    VerdictFormat,
    VerdictOption,
    check_output,
    format_option,
    say,
    write,
    write_document,
    write_published,
    write_table,
)
from hati.cli.progress import announced_if_slow
from hati.core import InputError, parse_share

if TYPE_CHECKING:
    from hati.document import Document
    from hati.store import Selection, SqlStore


_SHOWN = 1000
_Study = Annotated[
    str | None, typer.Option("--study", metavar="KEY", help="Runs of this study only: its key, or the beginning of it.")
]
_ForgottenStudy = Annotated[
    str | None,
    typer.Option("--study", metavar="KEY", help="Runs of this study only: its key, as `hati studies` lists it."),
]
_Task = Annotated[str | None, typer.Option("--task", metavar="ID", help="Runs whose task id begins with ID.")]
_Last = Annotated[
    int | None,
    typer.Option("--last", metavar="N", min=1, help="List the last N runs [default: 1000 as text; else all]."),
]
_Schema = Annotated[
    str | None,
    typer.Option("--schema", metavar="NAME", help="Print the JSON Schema of a study or format, such as screen."),
]
_Format = Annotated[str, format_option(DocumentFormat, "Output format.")]
_All = Annotated[bool, typer.Option("--all", help="All runs of the store, also other projects'.")]


def runs(
    path: ProjectPath = HERE,
    study: _Study = None,
    task: _Task = None,
    benchmark: BenchmarkName = None,
    last: _Last = None,
    store: StorePlace = None,
    output: Output = STDOUT,
    chosen: TableFormatOption = TableFormat.TEXT,
) -> None:
    """List stored runs, or show one run with --task."""
    from hati.harness.document import run_table, runs_table
    from hati.harness.interference import disturbed_runs
    from hati.store import Selection
    from hati.wiring import existing_store
    from hati.wiring.known.named import is_unmeasured, selection_of

    place = existing_store(path, store)
    unmeasured = benchmark is not None and is_unmeasured(path, place, benchmark)
    selection = selection_of(place, study, None if unmeasured else benchmark, task)
    found = () if unmeasured else place.runs(selection)
    if unmeasured:
        say(f"note: the store has no runs of the benchmark {benchmark} yet")
    if task is not None and not found:
        raise InputError(f"no run's task begins with {task!r}", fix="`hati runs` lists them")
    if task is not None and len(found) == 1:
        disturbed = disturbed_runs(place.runs(Selection(study=found[0].task.study)))
        table = run_table(found[0], disturbed.get(found[0].task.id), place.machine(found[0].machine))
    else:
        table = runs_table(found, last or (_SHOWN if chosen is TableFormat.TEXT else None), place.machines())
    write_table(table, chosen, output)


def studies(
    path: ProjectPath = HERE,
    store: StorePlace = None,
    schema: _Schema = None,
    output: Output = STDOUT,
    chosen: TableFormatOption = TableFormat.TEXT,
) -> None:
    """List stored studies, in the order in which they were begun."""
    if schema is not None:
        from hati.render import json_schema
        from hati.wiring.published import published_type

        write(json_schema(published_type(schema)), output)
        return
    from hati.harness.document import ListedStudy, studies_table
    from hati.wiring import existing_store
    from hati.wiring.known.named import shown_keys, subject_of
    from hati.wiring.study_types import verb_of

    place = existing_store(path, store)
    spans, benchmarks = place.spans(), place.benchmarks()
    known = [(record, spans.get(record.id.key)) for record in place.studies()]
    shown = shown_keys([record.id for record, _ in known])
    found = [
        ListedStudy(
            record.id.key,
            short,
            verb_of(record.id.kind),
            subject_of(record),
            benchmarks.get(record.id.key, ()),
            span.runs if span else 0,
            span.last if span else None,
        )
        for short, (record, span) in zip(shown, known, strict=True)
    ]
    write_table(studies_table(found), chosen, output)


def tree(
    path: ProjectPath = HERE,
    study: _Study = None,
    benchmark: BenchmarkName = None,
    seed: Seed = 1,
    store: StorePlace = None,
    output: Output = STDOUT,
    chosen: _Format = DocumentFormat.TEXT.value,
) -> None:
    """Separate passed from failed stored runs by a classification tree.

    The tree is of the options, workloads, revisions and machines by which the runs differ.
    """
    from hati.document import publish
    from hati.studies.failure_search.document import StoredTreeJson, stored_tree_document
    from hati.wiring.stored_studies import stored_tree

    check_output(output, path)
    found = stored_tree(path, store, study, benchmark, seed)
    write_document(stored_tree_document(found), lambda: publish(found, StoredTreeJson), chosen, output)


def coverage(
    path: ProjectPath = HERE,
    study: _Study = None,
    benchmark: BenchmarkName = None,
    store: StorePlace = None,
    output: Output = STDOUT,
    chosen: _Format = DocumentFormat.TEXT.value,
) -> None:
    """Merge the lines that stored runs executed.

    It names the configurations that add lines, and the lines that none executes.
    """
    from hati.document import publish
    from hati.studies.line_coverage import LineCoverageJson, coverage_document
    from hati.wiring.stored_studies import stored_lines

    check_output(output, path)
    found = stored_lines(path, store, study, benchmark)
    write_document(coverage_document(found), lambda: publish(found, LineCoverageJson), chosen, output)


def forget(
    path: ProjectPath = HERE,
    study: _ForgottenStudy = None,
    task: _Task = None,
    benchmark: BenchmarkName = None,
    everything: _All = False,
    store: StorePlace = None,
) -> None:
    """Delete runs from the store."""
    from hati.core.wording import counted
    from hati.store import Selection
    from hati.wiring import existing_store
    from hati.wiring.known.named import study_to_forget

    if everything == (Selection(study, benchmark, task) != Selection()):
        raise InputError(
            "say which runs to forget",
            fix="give --study, --task or --benchmark, or --all alone; `hati runs` lists them",
        )
    place = existing_store(path, store)
    key = None if study is None else study_to_forget(place.studies(), study).id.key
    selection = Selection(key, benchmark, task)
    removed = place.forget(selection)
    alone = key if (task, benchmark) == (None, None) else None
    if not removed and not (alone and place.forget_study(alone)):
        _check_known(place, selection)
    typer.echo(f"{counted(removed, 'run')}{'' if key == study else f' of {key}'} forgotten")


def _check_known(place: SqlStore, selection: Selection) -> None:
    """Check that a selection without runs names known tasks and benchmarks.

    Raises:
        InputError: for a task or benchmark without a run.
    """
    from hati.wiring.known.named import selection_of

    selection_of(place, None, selection.benchmark)
    if (selection.task, selection.benchmark) != (None, None):
        raise InputError("there is no such run", fix="`hati runs` lists them")


findings_app = typer.Typer(help="List and acknowledge regressions and improvements.", rich_markup_mode=None)

_Project = Annotated[Path, typer.Option("--project", metavar="PATH", help="Folder with hati.toml, or the file.")]
_Id = Annotated[str, typer.Argument(metavar="FINDING", help="Id of the finding, or its beginning.")]
_Author = Annotated[
    str, typer.Option("--author", metavar="NAME", envvar="HATI_AUTHOR", help="Person who acknowledges it.")
]
_Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why the change is accepted, or has to wait.")]
_State = Annotated[
    str | None,
    typer.Option(
        "--state",
        metavar="STATE",
        help="List findings in this state: new, confirmed, acknowledged, resolved or reopened.",
    ),
]


@findings_app.callback(invoke_without_command=True)
def findings(
    context: typer.Context,
    project: _Project = HERE,
    state: _State = None,
    store: StorePlace = None,
    output: Output = STDOUT,
    chosen: FormatOption = Format.TEXT,
) -> None:
    """List the findings in the store."""
    if context.invoked_subcommand is not None:
        return
    from hati.core import FindingState
    from hati.core.wording import suggestion
    from hati.document import Joined, publish
    from hati.studies.findings import FindingsJson, findings_of, findings_table
    from hati.wiring import existing_store

    known = [one.value for one in FindingState]
    if state is not None and state not in known:
        raise InputError(f"there is no state {state!r}", fix=suggestion(state, known))
    check_output(output)
    found = [one for one in findings_of(existing_store(project, store).events()) if state in {None, one.state.value}]
    write_published(publish(Joined(findings=found), FindingsJson), findings_table(found), chosen, output)


@findings_app.command("acknowledge")
def acknowledge(
    finding: _Id,
    reason: _Reason,
    author: _Author,
    project: _Project = HERE,
    store: StorePlace = None,
) -> None:
    """Mark a finding as known: it fails no check until it grows."""
    from hati.wiring import acknowledge, existing_store

    known = acknowledge(existing_store(project, store), finding, author, reason)
    say(f"{known.id} is acknowledged by {known.author}: {known.reason}")


_ReportedStudy = Annotated[
    str | None,
    typer.Option(
        "--study", metavar="KEY", help="Study to report: its key, or the beginning of it [default: the last screening]."
    ),
]
_Charts = Annotated[
    Path | None, typer.Option("--charts", metavar="FOLDER", help="Write each chart to this folder, as PNG and SVG.")
]


_Means = Annotated[
    bool, typer.Option("--means", help="Screenings: add the mean of the metric at each setting of each option.")
]
_RELEVANT = "1%"


_OF_VERDICTS = {VerdictFormat.JUNIT.value, VerdictFormat.GITHUB.value}


def report(
    path: ProjectPath = HERE,
    study: _ReportedStudy = None,
    metric: ScreenedMetricName = None,
    relevant: RelevantShare = _RELEVANT,
    means: _Means = False,
    charts: _Charts = None,
    store: StorePlace = None,
    output: Output = STDOUT,
    chosen: VerdictOption = VerdictFormat.TEXT.value,
) -> None:
    """Report a stored study without measuring."""
    from hati.render import require_charts
    from hati.studies.screening.document import with_means
    from hati.wiring import existing_store, screening_key, stored_report, stored_screening_report, workplace

    if charts is not None:
        require_charts()
    if store is not None:
        existing_store(path, store).close()
    place = workplace(path, store)
    of_screening = screening_key(place, study)
    if study is None and of_screening is None and place.store.studies():
        raise InputError(
            f"there is no screening of {place.project.name} to report",
            fix="`hati studies` lists other studies, and `--study KEY` reports one",
        )
    if study is not None and of_screening is None:
        for option, given in (("--relevant", relevant != _RELEVANT), ("--means", means)):
            if given:
                raise InputError(f"{option} is for screenings", fix="leave it out")
        found = stored_report(place, study, metric)
    else:
        found = stored_screening_report(place, of_screening, metric, parse_share(relevant))
    document = with_means(found.document) if means else found.document
    if chosen in _OF_VERDICTS and not document.cases:
        raise InputError(f"--format {chosen} is for studies with verdicts", fix="write text, json, markdown or html")
    with announced_if_slow("writing the report"):
        write_document(document, found.values, chosen, output)
        if charts is not None:
            _write_charts(document, charts)


def _write_charts(document: Document, folder: Path) -> None:
    from hati import render

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made: {error.strerror}", fix="name another folder") from error
    charts = render.charts_of(document)
    for kind in render.ImageKind:
        for name, drawing in render.chart_images(charts, kind).items():
            if drawing.reason:
                say(f"warning: {folder / name}.{kind} is not written: {drawing.reason}")
            else:
                write(drawing.image, str(folder / f"{name}.{kind}"))
                say(f"{folder / name}.{kind} is written")
