"""Commands: that of a kind of study, built from the fields of its request, and the parameters that several share."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

import typer
from msgspec import Struct
from msgspec.structs import FieldInfo, fields
from typer.core import TyperArgument, TyperCommand, TyperOption

from hati.cli.output import (
    STDOUT,
    DocumentFormat,
    Format,
    Formats,
    TableFormat,
    VerdictFormat,
    check_targets,
    format_option,
    keep_report,
    of_plan,
    parse_target,
    say,
    shows_warnings,
    whether_read_or_not,
    write,
    write_document,
    write_plan,
    write_targets,
)
from hati.cli.progress import announced_if_slow, make_watched, steps_progress
from hati.core import ExitStatus, FlagField, HatiError, InputError, PositionalField, TableFields, requests
from hati.core.metric import parse_duration
from hati.wiring.study_machines import disturbed
from hati.wiring.study_types import AnyStudyType, GivenFlags, StudyReport

if TYPE_CHECKING:
    from typer._click import Context

    from hati.wiring import Workplace

ProjectPath = Annotated[Path, typer.Argument(metavar="PATH", help="Folder with hati.toml, or the file.")]
Output = Annotated[
    str, typer.Option("--output", "-o", metavar="FILE", help="Write to FILE instead; - is standard output.")
]
FormatOption = Annotated[Format, typer.Option("--format", help="Output format.")]
TableFormatOption = Annotated[TableFormat, typer.Option("--format", help="Output format.")]
StorePlace = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        envvar="HATI_STORE",
        help="Store to use: a file, or postgresql://USER@HOST/DATABASE [default: .hati/store.sqlite].",
    ),
]


def option(name: str, asked: Any) -> Any:
    """The option of that name, with the help and the limits of the requests' field ``asked``."""
    flag = next(each for each in get_args(asked) if isinstance(each, FlagField))
    return typer.Option(name, metavar=flag.metavar, help=flag.help, min=flag.least, max=flag.most)


Seed = Annotated[int, option("--seed", requests.Seed)]
BenchmarkName = Annotated[str | None, option("--benchmark", requests.BenchmarkName)]
ScreenedMetricName = Annotated[str | None, option("--metric", requests.ScreenedMetric)]
RelevantShare = Annotated[str, option("--relevant", requests.Relevant)]
Fresh = Annotated[bool, typer.Option("--fresh", help="Start a new campaign; do not resume or reuse one.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Print the planned runs and their estimated time; measure nothing.")
]
EngineName = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="NAME",
        help="What runs the benchmarks: local, workers, volunteers or tls://HOST:PORT [default: that of hati.toml].",
    ),
]
Replicas = Annotated[
    int | None,
    typer.Option(
        "--replicate",
        metavar="N",
        min=1,
        help="Volunteers that have to agree on a result [default: that of hati.toml, else 1].",
    ),
]
Classes = Annotated[
    str | None,
    typer.Option("--classes", metavar="N", help="On workers: spread repetitions over N classes of machines, or all."),
]
Priority = Annotated[
    int,
    typer.Option("--priority", metavar="N", help="On workers: run before studies of a lower priority [default: 0]."),
]
Due = Annotated[
    str | None,
    typer.Option("--due", metavar="TIME", help="On workers: run before studies that are due later, such as 2h."),
]

HERE = Path()


_REPORTS = "Write the result to another file too, such as html=report.html; repeatable."


def study_command(kind: AnyStudyType) -> Callable[..., int]:
    """The command that runs a kind of study, with the flags of its request and the common ones."""
    formats: Formats = VerdictFormat if kind.judges else DocumentFormat

    def command(context: typer.Context, **given: Any) -> int:
        own = {name: given.pop(name) for name in kind.request.__struct_fields__}
        return _run(kind, formats, _request(kind.request, own), context, **given)

    parameters = [
        _keyword("context", typer.Context, inspect.Parameter.empty),
        *_own_parameters(kind),
        *_common_parameters(formats, lent=kind.lent),
    ]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # which inspect reads
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    command.__doc__ = inspect.getdoc(kind.request)
    return command


def _request(request: type[Struct], own: Mapping[str, Any]) -> Struct:
    """The request: repeated parameters become tuples, and missing ones have their defaults."""
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in own.items()}
    for field, _, how in _asked_fields(request):
        if isinstance(how, FlagField) and how.stands_for is not None:
            given[field.name] = how.stands_for if given[field.name] else None
    return request(**{name: value for name, value in given.items() if value is not None})


def _given(context: typer.Context, formats: Sequence[str]) -> GivenFlags:
    """The parameters that are on the command line, with any values."""
    sources = {each.name: context.get_parameter_source(each.name or "") for each in context.command.params}
    flags = {each.name or "": max(each.opts, key=len) for each in context.command.params}
    on_line = {name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"}
    return GivenFlags({name: flag for name, flag in flags.items() if name in on_line}, tuple(formats))


def _run(
    kind: AnyStudyType,
    formats: Formats,
    request: Struct,
    context: typer.Context,
    *,
    path: Path = HERE,
    store: str | None,
    fresh: bool,
    dry_run: bool,
    engine: str | None,
    replicate: int | None = None,
    classes: str | None,
    priority: int,
    due: str | None,
    output: str,
    report: Sequence[str] | None,
    chosen: Any,
) -> int:
    reports = [parse_target(text, formats) for text in report or ()]
    kind.refuse(path, request, _given(context, [chosen, *(name for name, _ in reports)]))
    root = kind.root(path, request)
    check_targets(output, reports, *kind.inputs(path, request), project=root)
    pages = None
    answer = kind.read(path, store, request, say, steps_progress)
    if answer is None:
        from hati.wiring.workplace import Urgency, with_engine

        place = (kind.look if dry_run else kind.open)(root or path, store, request, say)
        until = None if due is None else time.time() + parse_duration(due)
        place = with_engine(place, engine, replicate, Urgency(priority, until))
        kind.check_engine(place)
        place = _narrowed(place, classes)
        prepared = kind.prepare(place, request, fresh=fresh)
        if dry_run:
            write_plan(prepared.planned(), of_plan(chosen), output)
            return ExitStatus.OK
        if warning := disturbed(prepared):
            say(f"warning: {warning}")  # before anything is measured, so that the machine can be prepared first
        # an interruption from here on can be resumed
        context.ensure_object(set).add("the same command without --fresh" if fresh else "the same command")
        answer = kind.concluded(prepared, request, make_watched(kind, prepared, request), warning)
        pages = place.project.root / ".hati" / "reports"
    return _finished(answer, [(chosen, output), *reports], pages)


def _narrowed(place: Workplace, classes: str | None) -> Workplace:
    """The workplace narrowed to what machines have, with repetitions spread over that number of classes of them."""
    if place.project.machine_options:
        from hati.wiring.machine_options import narrow_to_machines

        place = narrow_to_machines(place, say)
    if classes is None:
        return place
    from hati.wiring.machine_options import over_classes

    return over_classes(place, classes)


def _finished(answer: StudyReport, targets: Sequence[tuple[str, str]], pages: Path | None) -> int:
    """Write the report to all ``targets``, and a page into the folder ``pages``; return the exit status."""
    (chosen, output), *_ = targets
    for remark in (*answer.remarks, *(() if shows_warnings(chosen) else answer.unshown)):
        say(f"warning: {remark}")
    with announced_if_slow("writing the report"):
        errors = _write(answer, targets)
    if answer.kept and pages and chosen == DocumentFormat.TEXT and output == STDOUT:
        with announced_if_slow("drawing the charts of the report"):
            kept = keep_report(answer.document, pages, answer.kept)
        say(kept)
    answer.written()
    for error in errors:
        say(f"error: {error}")
    return answer.status or max((error.exit_status for error in errors), default=ExitStatus.OK)


def _write(answer: StudyReport, targets: Sequence[tuple[Any, str]]) -> list[HatiError]:
    """Write every report that can be written; return the errors of the others.

    If there are errors, and standard output has no report, the answer goes to standard error for people.
    """
    if answer.instead:
        (_, output), *targets = targets
        with whether_read_or_not():
            write(answer.instead, output)
    errors, shown = write_targets(
        targets, lambda kind, file: write_document(answer.document, answer.values, kind, file)
    )
    if errors and not shown:
        for sentence in (answer.document.answer, *answer.spoken):
            say(sentence)
    return errors


def _own_parameters(kind: AnyStudyType) -> Iterator[inspect.Parameter]:
    """The parameters of the request's fields: arguments first, then the path of the project, then flags."""
    asked = list(_asked_fields(kind.request))
    words = [_argument_parameter(field, plain, how) for field, plain, how in asked if isinstance(how, PositionalField)]
    yield from words
    if text := kind.place_help:
        named = typer.Option("--project", metavar="PATH", help=text)
        yield _keyword("path", Annotated[Path, named if words else typer.Argument(metavar="PATH", help=text)], HERE)
    of_tables = TableFields.__struct_fields__ if issubclass(kind.request, TableFields) else ()
    flags = [_flag_parameter(field, plain, how) for field, plain, how in asked if isinstance(how, FlagField)]
    yield from sorted(flags, key=lambda flag: flag.name in of_tables)


def _asked_fields(request: type[Struct]) -> Iterator[tuple[FieldInfo, Any, FlagField | PositionalField]]:
    """Each field, its type, and its flag or position."""
    hints = get_type_hints(request, include_extras=True)
    for field in fields(request):
        plain, *more = get_args(hints[field.name])
        yield field, plain, next(each for each in more if isinstance(each, FlagField | PositionalField))


def _flag_parameter(field: FieldInfo, plain: Any, how: FlagField) -> inspect.Parameter:
    name = how.name or f"--{field.name.replace('_', '-')}"
    default = inspect.Parameter.empty if field.required else field.default
    if how.parse is not None:
        plain, default = Any, None if default in (None, ()) else default if field.required else how.write(default)
    elif how.stands_for is not None:
        plain, default = bool, False
    elif plain is bool:
        name = f"{name}/--no-{name.removeprefix('--')}" if default is True else name
    elif plain is str and default == "":
        plain, default = str | None, None
    else:
        plain, default = _of_many(plain, default)
    option = typer.Option(name, metavar=how.metavar, help=how.help, min=how.least, max=how.most, parser=how.parse)
    return _keyword(field.name, Annotated[plain, option], default)


def _argument_parameter(field: FieldInfo, plain: Any, how: PositionalField) -> inspect.Parameter:
    argument = typer.Argument(metavar=how.metavar, help=how.help)
    plain, default = _of_many(plain, inspect.Parameter.empty if field.required else field.default)
    return _keyword(field.name, Annotated[plain, argument], default)


def _of_many(plain: Any, default: Any) -> tuple[Any, Any]:
    """The type and default of a parameter: a repeated one if the field has any number of values."""
    for each in (plain, *get_args(plain)):
        if get_origin(each) is tuple and get_args(each)[-1] is Ellipsis:
            return list[get_args(each)[0]] | None, None  # type: ignore[misc]  # a type of run time
    return plain, default


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _common_parameters(formats: Formats, *, lent: bool) -> Iterator[inspect.Parameter]:
    """The parameters that all kinds have, and those of kinds whose tasks volunteers may run."""
    more = "; github writes annotations" if formats is VerdictFormat else ""
    yield _keyword("fresh", Fresh, default=False)
    yield _keyword("dry_run", DryRun, default=False)
    yield _keyword("engine", EngineName, None)
    if lent:
        yield _keyword("replicate", Replicas, None)
    yield _keyword("classes", Classes, None)
    yield _keyword("priority", Priority, 0)
    yield _keyword("due", Due, None)
    yield _keyword("store", StorePlace, None)
    yield _keyword("output", Output, STDOUT)
    reports = typer.Option("--report", metavar="FORMAT=FILE", help=_REPORTS)
    yield _keyword("report", Annotated[list[str] | None, reports], None)
    yield _keyword("chosen", Annotated[str, format_option(formats, f"Output format{more}.")], formats.TEXT.value)


_SEVERAL = frozenset({"--before", "--after"})


class ProjectCommand(TyperCommand):
    """Takes PATH, the folder of a project, by --project too, as verbs do whose arguments are others."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        named_path = [(each.name, each.metavar, type(each)) == ("path", "PATH", TyperArgument) for each in self.params]
        self._takes_path = any(named_path)
        if self._takes_path:
            own = TyperOption(param_decls=["--project"], metavar="PATH", help="The same as the argument PATH.")
            self.params.insert(named_path.index(True) + 1, own)

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Parse the words; the value of --project is that of PATH.

        Raises:
            InputError: where both are given.
        """
        rest = super().parse_args(ctx, args)
        project = ctx.params.pop("project", None) if self._takes_path else None
        if project is None:
            return rest
        source = ctx.get_parameter_source("path")
        if source is not None and source.name == "COMMANDLINE":
            raise InputError("PATH and --project both name the project", fix="leave one of them out")
        ctx.params["path"] = project
        return rest


class SeveralFiles(TyperCommand):
    """Lets an option of files take all words up to the next option, such as the files of a shell's pattern."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Parse the words with the option repeated before each of its files."""
        return super().parse_args(ctx, list(option_for_each(args)))


def option_for_each(words: Sequence[str]) -> Iterator[str]:
    """The words of a command line, each file with its option before it.

    >>> list(option_for_each(["--before", "a", "b", "--margin", "2%"]))
    ['--before', 'a', '--before', 'b', '--margin', '2%']
    """
    option, taken = "", False
    for word in words:
        if word.startswith("-") and len(word) > 1:
            option, taken = (word if word in _SEVERAL else ""), False
        elif option and taken:
            yield option
        else:
            taken = True
        yield word
