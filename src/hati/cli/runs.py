"""``hati run``, ``hati runs`` and ``hati forget``: measuring without a question, and what the store holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hati.cli.documents import DocumentFormat, DocumentOption, of_plan, write_document
from hati.cli.dry_run import write_plan
from hati.cli.output import STDOUT, TableFormat, check_output, say
from hati.cli.parameters import (
    HERE,
    BenchmarkName,
    BudgetText,
    DryRun,
    Fresh,
    Output,
    ProjectPath,
    Seed,
    StorePlace,
    TableFormatOption,
    Template,
)
from hati.cli.progress import progress
from hati.cli.tables import write_table
from hati.core import Budget, Configuration, InputError

if TYPE_CHECKING:
    from hati.space import Space
    from hati.store import Selection, SqlStore


def run(
    path: ProjectPath = HERE,
    benchmark: BenchmarkName = None,
    template: Template = None,
    budget: BudgetText = "10",
    seed: Seed = 1,
    fresh: Fresh = False,
    dry_run: DryRun = False,
    store: StorePlace = None,
    output: Output = STDOUT,
    chosen: DocumentOption = DocumentFormat.TEXT,
) -> None:
    """Measure the default configuration and summarise its runs.

    With --set other settings; several settings of an option are measured interleaved.
    """
    from hati.report import measurement_document, measurement_json
    from hati.wiring import measure, plan_measurement, template_configurations, warm_up_hints, workplace

    Budget.parse(budget)
    place = workplace(path, store, say)
    check_output(output, project=path)
    measured = place.project.benchmark(benchmark)
    configurations = template_configurations(place.project.space, template or (), say)
    if dry_run:
        rehearsal = plan_measurement(place, measured, configurations, budget, seed)
        write_plan(rehearsal, of_plan(chosen), output)
        return
    with progress(measured.name) as observe:
        conclusion = measure(place, measured, configurations, budget, seed, fresh=fresh, announce=say, observe=observe)
    for hint in warm_up_hints(place, measured):
        say(f"warning: {hint}")
    write_document(measurement_document(conclusion), lambda: measurement_json(conclusion), chosen, output)


def parse_configuration(space: Space, text: str) -> Configuration:
    """The default configuration with the settings in the text.

    Raises:
        InputError: for what is no option or no setting of it, and for a configuration that is not valid.
    """
    changed = {}
    for part in filter(None, text.split(",")):
        name, equals, setting = part.partition("=")
        if not equals:
            raise InputError(f"--set {part!r} is not a valid setting", fix="write option=setting")
        changed[name.strip()] = setting.strip()
    configuration = space.parse(changed)
    if not space.valid(configuration):
        raise InputError(f"the configuration {configuration} is not valid", fix="see the constraints in hati.toml")
    return configuration


_SHOWN = 1000
_Study = Annotated[str | None, typer.Option("--study", metavar="KEY", help="Runs of this study only.")]
_Task = Annotated[str | None, typer.Option("--task", metavar="ID", help="Runs whose task id begins with ID.")]
_Last = Annotated[
    int | None,
    typer.Option("--last", metavar="N", min=1, help="List the last N runs [default: 1000 as text; else all]."),
]
_All = Annotated[bool, typer.Option("--all", help="All runs.")]


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
    from hati.report import disturbed_runs, run_table, runs_table
    from hati.store import Selection
    from hati.wiring import existing_store

    place = existing_store(path, store)
    found = place.runs(Selection(study, benchmark, task))
    if task is not None and not found:
        raise InputError(f"no run's task begins with {task!r}", fix="`hati runs` lists them")
    if task is not None and len(found) == 1:
        beside = disturbed_runs(place.runs(Selection(study=found[0].task.study)))
        table = run_table(found[0], beside.get(found[0].task.id))
    else:
        table = runs_table(found, last or (_SHOWN if chosen is TableFormat.TEXT else None))
    write_table(table, chosen, output)


def studies(
    path: ProjectPath = HERE,
    store: StorePlace = None,
    output: Output = STDOUT,
    chosen: TableFormatOption = TableFormat.TEXT,
) -> None:
    """List stored studies, in the order in which they were begun."""
    from hati.report import ListedStudy, studies_table
    from hati.wiring import existing_store

    place = existing_store(path, store)
    spans = place.spans()
    known = ((record.id, spans.get(record.id.key)) for record in place.studies())
    found = [
        ListedStudy(study.key, study.kind, span.runs if span else 0, span.last if span else None)
        for study, span in known
    ]
    write_table(studies_table(found), chosen, output)


def forget(
    path: ProjectPath = HERE,
    study: _Study = None,
    task: _Task = None,
    benchmark: BenchmarkName = None,
    everything: _All = False,
    store: StorePlace = None,
) -> None:
    """Delete runs from the store."""
    from hati.store import Selection
    from hati.wiring import existing_store

    selection = Selection(study, benchmark, task)
    if everything == (selection != Selection()):
        raise InputError(
            "say which runs to forget",
            fix="give --study, --task or --benchmark, or --all by itself; `hati runs` lists them",
        )
    place = existing_store(path, store)
    removed = place.forget(selection)
    alone = study if (task, benchmark) == (None, None) else None
    if not removed and not (alone and place.forget_study(alone)):
        _check_known(place, selection)
    typer.echo(f"{removed:,} run{'' if removed == 1 else 's'} forgotten")


def _check_known(place: SqlStore, selection: Selection) -> None:
    """See that a selection without runs means something.

    Raises:
        InputError: for a study that the store does not hold, or a task or benchmark without a run.
    """
    known = [record.id.key for record in place.studies()]
    if selection.study is not None and selection.study not in known:
        fix = f"there are: {', '.join(known)}" if known else "the store is empty"
        raise InputError(f"there is no study {selection.study}", fix=fix)
    if (selection.task, selection.benchmark) != (None, None):
        raise InputError("there is no such run", fix="`hati runs` lists them")
