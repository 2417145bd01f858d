"""A table of measured configurations as the subject of a study."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from hati.core import (
    Benchmark,
    Better,
    Budget,
    InputError,
    Machine,
    Metric,
    Reader,
    ReaderKind,
    TableFields,
    Workload,
    replace,
    setting_text,
)
from hati.project import Project, read_project
from hati.space import Option, check
from hati.store import open_store
from hati.subject.table import (
    MeasuredTable,
    MetricColumn,
    RowCondition,
    RunDeviations,
    Sheet,
    assembled,
    is_table,
    metric_column,
    read_deviations,
    read_sheet,
    same_everywhere,
    selected,
    space_columns,
)
from hati.wiring.workplace import IN_MEMORY, Announce, Workplace, mute, workplace

BENCHMARK = "table"


class TableRequest(Struct, frozen=True):
    """Which rows of which file are studied, as configurations of which space.

    ``space`` is a ``hati.toml`` or its folder. Without ``metrics`` the only column that can be one is taken.
    ``where`` holds texts such as ``revision=2.1.0``. ``deviation`` is a fraction, a column, or another table with the
    same columns: the relative standard deviation of a run, from which noise is drawn for every task.
    """

    table: Path
    space: Path
    metrics: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    unit: str | None = None
    better: Better | None = None
    deviation: str | None = None


def table_workplace(request: TableRequest, store: str | None = None, announce: Announce = mute) -> Workplace:
    """The workplace of a table, which replaces a program; looked-up rows are stored only if a store is named.

    The project is that of the space file, with one benchmark of the requested metrics. The revision is that of the
    rows, or a hash of the file's content; the machine represents the file and how it is read.

    Raises:
        InputError: for errors in the table, the space or the request, with their place.
    """
    project = read_project(request.space)
    if not project.space.options:
        raise InputError(
            f"{project.file} has no options", fix=f"make it with: hati space import {request.table} --output hati.toml"
        )
    conditions = tuple(RowCondition.parse(text) for text in request.where)
    announce = _once(announce)
    sheet = selected(_read(request.table, announce), conditions)
    columns = _metric_columns(sheet, project, request)
    deviations, drawn_from = _deviations(sheet, project, columns, conditions, request.deviation, announce)
    table = assembled(sheet, project.space, columns, deviations)
    _check_settings_left(sheet, table, project, conditions)
    benchmark = table_benchmark(table.metrics, table.workload)
    return Workplace(
        project=replace(project, benchmarks=(benchmark,)),
        store=open_store(store or IN_MEMORY),
        machine=_machine(table.name, table.content, conditions, drawn_from),
        revision=table.revision,
        table=table,
        announce=announce,
        given=_given(request),
        named_store=store,
    )


def _given(request: TableRequest) -> tuple[str, ...]:
    """The words that name the table, its rows and what they mean on the command line."""
    flags = {"--unit": request.unit, "--better": request.better, "--deviation": request.deviation}
    where = (word for text in request.where for word in ("--where", text))
    meant = (word for flag, value in flags.items() if value is not None for word in (flag, str(value)))
    return str(request.table), "--space", str(request.space), *where, *meant


def table_benchmark(metrics: tuple[Metric, ...], workload: Workload | None = None) -> Benchmark:
    """The benchmark that represents a table; its command is never started."""
    return Benchmark(BENCHMARK, (BENCHMARK,), Reader(ReaderKind.HATI), metrics, workload=workload or Workload())


def check_table_budget(budget: str) -> None:
    """Check that a budget is a number of runs: a lookup takes no time.

    Raises:
        InputError: where it is a time.
    """
    if Budget.parse(budget).seconds != float("inf"):
        raise InputError(
            f"a budget of {budget} says nothing for a table: looking runs up takes no time",
            fix="give a number of runs, as in --budget 128",
        )


def described(place: Workplace) -> tuple[str, ...]:
    """The contents of a table, in sentences for people."""
    table = place.table
    if table is None:
        return ()
    rows, configurations = sum(map(len, table.rows.values())), len(table.rows)
    metrics = ", ".join(f"{m.name} in unit {m.unit}, {m.better} is better" for m in table.metrics)
    lines = [f"{table.name}: {rows:,} rows of {configurations:,} configurations; {metrics} (--unit, --better)"]
    if table.outside:
        lines.append(f"rows left out because the constraints of the space do not hold in them: {table.outside:,}")
    if table.repetitions == 1:
        lines.append("not every configuration has a second run: designs are not repeated")
    return tuple(lines)


def _check_settings_left(
    sheet: Sheet, table: MeasuredTable, project: Project, conditions: tuple[RowCondition, ...]
) -> None:
    """Check that conditions on options leave rows of each possible setting.

    Raises:
        InputError: where a setting has no row left: all its runs would fail.
    """
    owners = {column: name for name, columns in space_columns(sheet, project.space).items() for column in columns}
    for condition in conditions:
        if condition.column in owners:
            _check_left(project.space.option(owners[condition.column]), table, project, condition)


def _check_left(option: Option, table: MeasuredTable, project: Project, condition: RowCondition) -> None:
    left = set(table.codes[:, project.space.names.index(option.name)].tolist())
    gone = [(option.name, setting) for place, setting in enumerate(option.settings) if place not in left]
    dead = check(project.space).dead if gone else ()
    missing = [f"{name}={setting_text(setting)}" for name, setting in gone if (name, setting) not in dead]
    if missing:
        one = len(option.settings) - len(gone) == 1
        raise InputError(
            f"--where {condition} leaves no row with {missing[0]}, and the space has such configurations",
            fix=f"leave {f'the option {option.name!r}' if one else missing[0]} out of {project.file}",
        )


def _metric_columns(sheet: Sheet, project: Project, request: TableRequest) -> tuple[MetricColumn, ...]:
    options = {name for columns in space_columns(sheet, project.space).values() for name in columns}
    others = options | set(project.space.names) | {request.deviation or ""}
    known: Mapping[str, Metric] = {m.name: m for b in reversed(project.benchmarks) for m in b.metrics}
    names = request.metrics or (None,)
    return tuple(metric_column(sheet, name, others, known, unit=request.unit, better=request.better) for name in names)


def _deviations(
    sheet: Sheet,
    project: Project,
    columns: tuple[MetricColumn, ...],
    conditions: tuple[RowCondition, ...],
    wanted: str | None,
    announce: Announce,
) -> tuple[RunDeviations | None, str]:
    """The requested deviations, and a text for the machine's identity that distinguishes them."""
    if wanted is None:
        return None, "none"
    if wanted in sheet:
        found = read_deviations(sheet, project.space, {column.metric.name: wanted for column in columns})
        return found, f"column {wanted}"
    share = _share(wanted)
    if share is not None:
        return same_everywhere(share), str(share)
    if not Path(wanted).exists():
        raise InputError(
            f"{wanted!r} is neither a share, a column of the table, nor a file",
            fix="write a share such as 2%, a column's name, or a table with the same columns",
        )
    other = _read(Path(wanted), announce)
    other = selected(other, [condition for condition in conditions if condition.column in other])
    for column in columns:
        if column.name not in other:
            raise other.missing(column.name, "for the metric's deviations")
    found = read_deviations(other, project.space, {column.metric.name: column.name for column in columns})
    return found, f"file {other.content}"


def _once(announce: Announce) -> Announce:
    """Announce each text only the first time: several parts of a request may name one file."""
    announced: set[str] = set()

    def first(text: str) -> None:
        if text not in announced:
            announced.add(text)
            announce(text)

    return first


def _read(file: Path, announce: Announce) -> Sheet:
    return read_sheet(file, lambda warning: announce(f"warning: {warning}"))


def _share(text: str) -> float | None:
    number, percent = text.strip().removesuffix("%"), text.strip().endswith("%")
    try:
        return float(number) / (100 if percent else 1)
    except ValueError:
        return None


def _machine(name: str, content: str, conditions: tuple[RowCondition, ...], deviation: str) -> Machine:
    properties = {
        "content": content,
        "deviation": deviation,
        "table": name,
        "where": ", ".join(map(str, conditions)) or "all rows",
    }
    return Machine.of(properties)


def open_subject(
    path: Path,
    store: str | None,
    asked: TableFields,
    metric: str | None,
    budget: str | None,
    announce: Announce,
    others: tuple[str, ...] = (),
) -> Workplace:
    """The workplace of a project, or of a table, whose contents are announced.

    ``others`` are metrics that are read from a table in addition to the requested one.

    Raises:
        InputError: for errors in either, a table without a space, or a project with options of tables.
    """
    if asked.space is None and (path.is_dir() or not is_table(path)):
        _refuse(path, asked)
        return workplace(path, store, announce)
    if asked.space is None:
        raise InputError(
            f"{path} is a table, and nothing says what its options are",
            fix=f"name their hati.toml by --space; make one with: hati space import {path} --output hati.toml",
        )
    if path.is_dir():
        raise InputError(f"{path} is a folder, and --space is for a table", fix="name the table")
    if budget is not None:
        check_table_budget(budget)
    metrics = () if metric is None else (metric, *others)
    request = TableRequest(path, Path(asked.space), metrics, asked.where, asked.unit, asked.better, asked.deviation)
    place = table_workplace(request, store, announce)
    for line in described(place):
        announce(line)
    return place


def _refuse(path: Path, asked: TableFields) -> None:
    given = [name for name in TableFields.__struct_fields__ if getattr(asked, name)]
    if given:
        raise InputError(
            f"--{given[0]} is for a table, and {path} is none",
            fix="name a CSV or Parquet file, or measurements.xml, and its --space",
        )
