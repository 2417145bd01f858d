"""The command of a kind of study, made from what its request has."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer
from msgspec import Struct
from msgspec.structs import FieldInfo, fields

from hati.cli.documents import (
    DocumentFormat,
    Formats,
    VerdictFormat,
    format_option,
    keep_report,
    of_plan,
    parse_target,
    write_document,
)
from hati.cli.dry_run import write_plan
from hati.cli.output import STDOUT, check_targets, say, write_targets
from hati.cli.parameters import HERE, DryRun, Fresh, Output, StorePlace
from hati.cli.progress import make_watched
from hati.core import ExitStatus, FlagField, PositionalField, TableFields
from hati.wiring.study_types import AnyStudyType, StudyReport

_PROJECT = "Folder with hati.toml, or the file."
_PROJECT_OR_TABLE = "Folder with hati.toml, the file, or a table (CSV, Parquet, measurements.xml)."
_REPORTS = "Write the result to another file too, such as markdown=hati.md; repeatable."


def study_command(kind: AnyStudyType) -> Callable[..., int]:
    """What runs a kind of study, with the flags of its request and those that all have."""
    formats: Formats = VerdictFormat if kind.judges else DocumentFormat

    def command(**given: Any) -> int:
        own = {name: given.pop(name) for name in kind.request.__struct_fields__}
        return _run(kind, formats, _request(kind.request, own), **given)

    parameters = [*_own_parameters(kind.request), *_common_parameters(formats)]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # which inspect reads
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    command.__doc__ = inspect.getdoc(kind.request)
    return command


def _request(request: type[Struct], own: Mapping[str, Any]) -> Struct:
    """The request: what the command line gives several times is a tuple, and what it does not give is the default."""
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in own.items()}
    return request(**{name: value for name, value in given.items() if value is not None})


def _run(
    kind: AnyStudyType,
    formats: Formats,
    request: Struct,
    *,
    path: Path,
    store: str | None,
    fresh: bool,
    dry_run: bool,
    output: str,
    report: Sequence[str] | None,
    chosen: Any,
) -> int:
    from hati.wiring import plan_campaign

    reports = [parse_target(text, formats) for text in report or ()]
    check_targets(output, reports, path, project=path)
    place = kind.open(path, store, request, say)
    prepared = kind.prepare(place, request, fresh=fresh)
    if dry_run:
        write_plan(plan_campaign(prepared), of_plan(chosen), output)
        return ExitStatus.OK
    found = make_watched(kind, prepared, request)
    answer = kind.concluded(prepared, request, found)
    for remark in answer.remarks:
        say(f"warning: {remark}")
    errors = _write(answer, [(chosen, output), *reports])
    if answer.kept and chosen == DocumentFormat.TEXT and output == STDOUT:
        say(keep_report(answer.document, place.project.root / ".hati" / "reports", answer.kept))
    answer.written()
    for error in errors:
        say(f"error: {error}")
    return answer.status or (ExitStatus.BAD_INPUT if errors else ExitStatus.OK)


def _write(answer: StudyReport, targets: Sequence[tuple[Any, str]]) -> list[str]:
    """Write every report that can be written; what is wrong with the others.

    Where standard output has none that could be, the answer goes to standard error, so that people have it.
    """
    errors, shown = write_targets(
        targets, lambda kind, file: write_document(answer.document, answer.values, kind, file)
    )
    if errors and not shown:
        for sentence in (answer.document.answer, *answer.spoken):
            say(sentence)
    return errors


def _own_parameters(request: type[Struct]) -> Iterator[inspect.Parameter]:
    """Those of the request's fields: arguments first, then where the project is, then the others."""
    hints = get_type_hints(request, include_extras=True)
    asked = [(field, *_asked(hints[field.name])) for field in fields(request)]
    words = [_argument_parameter(field, plain, how) for field, plain, how in asked if isinstance(how, PositionalField)]
    yield from words
    text = _PROJECT_OR_TABLE if issubclass(request, TableFields) else _PROJECT
    where = typer.Option("--project", metavar="PATH", help=text) if words else typer.Argument(metavar="PATH", help=text)
    yield _keyword("path", Annotated[Path, where], HERE)
    of_tables = TableFields.__struct_fields__ if issubclass(request, TableFields) else ()
    flags = [_flag_parameter(field, plain, how) for field, plain, how in asked if isinstance(how, FlagField)]
    yield from sorted(flags, key=lambda flag: flag.name in of_tables)


def _asked(hint: Any) -> tuple[Any, FlagField | PositionalField]:
    """The type of a field, and how it is asked for."""
    plain, *more = get_args(hint)
    return plain, next(each for each in more if isinstance(each, FlagField | PositionalField))


def _flag_parameter(field: FieldInfo, plain: Any, how: FlagField) -> inspect.Parameter:
    name = how.name or f"--{field.name.replace('_', '-')}"
    default = inspect.Parameter.empty if field.required else field.default
    if how.parse is not None:
        plain, default = Any, None if default in (None, ()) else default if field.required else how.write(default)
    elif get_origin(plain) is tuple:
        plain, default = list[get_args(plain)[0]] | None, None  # type: ignore[misc]  # a type of run time
    elif plain is bool:
        name = f"{name}/--no-{name.removeprefix('--')}" if default is True else name
    option = typer.Option(name, metavar=how.metavar, help=how.help, min=how.least, max=how.most, parser=how.parse)
    return _keyword(field.name, Annotated[plain, option], default)


def _argument_parameter(field: FieldInfo, plain: Any, how: PositionalField) -> inspect.Parameter:
    argument = typer.Argument(metavar=how.metavar, help=how.help)
    default = inspect.Parameter.empty if field.required else field.default
    return _keyword(field.name, Annotated[plain, argument], default)


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _common_parameters(formats: Formats) -> Iterator[inspect.Parameter]:
    """Those that every kind has."""
    more = "; github writes annotations" if formats is VerdictFormat else ""
    yield _keyword("fresh", Fresh, default=False)
    yield _keyword("dry_run", DryRun, default=False)
    yield _keyword("store", StorePlace, None)
    yield _keyword("output", Output, STDOUT)
    reports = typer.Option("--report", metavar="FORMAT=FILE", help=_REPORTS)
    yield _keyword("report", Annotated[list[str] | None, reports], None)
    yield _keyword("chosen", Annotated[str, format_option(formats, f"Output format{more}.")], formats.TEXT.value)
