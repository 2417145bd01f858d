"""Output: messages and results, documents and tables, in the requested format and file."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hati.core import HatiError, InputError, MeasurementError
from hati.file_errors import FULL, free_text, is_nearly_full, write_error
from hati.whole_files import prepared_file, replace_file

if TYPE_CHECKING:
    from msgspec import Struct
    from rich.console import Console

    from hati.document import Document, Table
    from hati.wiring import PlannedCampaign

STDOUT = "-"
_OWN = ".hati"
_REPORTS = "reports"
_PROJECT_FILE = "hati.toml"
_DATABASE = b"SQLite format 3\0"
"""The first bytes of an SQLite file: section 1.3 of https://www.sqlite.org/fileformat2.html."""


class Format(StrEnum):
    """The format of a result."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


class TableFormat(StrEnum):
    """The format of a table."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    CSV = "csv"


def write(content: str | bytes, output: str = STDOUT) -> None:
    """Write a result to standard output, or to a file that is replaced in one step.

    Raises:
        HatiError: where the file cannot be written.
    """
    write_pieces([content], output)


def write_pieces(pieces: Iterable[str | bytes], output: str = STDOUT) -> None:
    """Write a result that comes in pieces; a file is replaced in one step, once it is complete.

    Raises:
        HatiError: if the file cannot be written, or is one that Hati keeps.
    """
    data = (piece.encode() if isinstance(piece, str) else piece for piece in pieces)
    if output == STDOUT:
        sys.stdout.flush()
        sys.stdout.buffer.writelines(data)
        sys.stdout.buffer.flush()
        return
    path = Path(output)
    _refuse_kept(path)
    try:
        replace_file(path, data)
    except OSError as error:
        raise write_error(path, error, "name another file") from error
    from hati.subject.folders import remember_output

    remember_output(path)


def write_targets(
    targets: Sequence[tuple[str, str]], writer: Callable[[str, str], None]
) -> tuple[list[HatiError], bool]:
    """Write every report that can be written; return the errors of the others, and whether standard output has one."""
    errors, shown = list[HatiError](), False
    for kind, file in sorted(targets, key=lambda target: target[1] == STDOUT):  # files first: a pipe may be closed
        try:
            with whether_read_or_not():
                writer(kind, file)
                sys.stdout.flush()
        except HatiError as error:
            errors.append(error)
        except OSError as error:
            errors.append(output_error(error))
            discard_output()
        else:
            shown = shown or file == STDOUT
    return errors, shown


@contextmanager
def whether_read_or_not() -> Iterator[None]:
    """Finish the work and keep the exit status, even if the reader closes the pipe (`hati check | head`)."""
    try:
        yield
    except (BrokenPipeError, SystemExit) as error:
        if isinstance(error, SystemExit) and not isinstance(error.__context__, BrokenPipeError):  # rich's way
            raise
        discard_output()


def output_error(error: OSError) -> HatiError:
    """The error for standard output that cannot be written."""
    message = f"standard output cannot be written: {error.strerror}{free_text(sys.stdout.fileno())}"
    if error.errno in FULL:
        return MeasurementError(message, fix="free some space there, or use --output")
    return InputError(message, fix="use --output")


def is_output_full() -> bool:
    """Whether standard output is on a full disk or device; what is left to write to it is tried again."""
    try:
        sys.stdout.flush()
        os.write(sys.stdout.fileno(), b"")
    except OSError as error:
        return error.errno in FULL
    return is_nearly_full(sys.stdout.fileno())


def discard_output() -> None:
    """Redirect standard output to the null device, so that Python's last flush does not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def check_targets(output: str, reports: Sequence[tuple[str, str]], *inputs: Path, project: Path | None = None) -> None:
    """Check, before any work is done, that all results can be written, each to its own file.

    Raises:
        InputError: as ``check_output``, and if two results have the same file.
    """
    check_output(output, *inputs, project=project)
    seen = {Path(output).resolve()}
    for _, file in reports:
        check_output(file, *inputs, project=project, option="--report")
        path = Path(file).resolve()
        if file != STDOUT and path in seen and (path.is_file() or not path.exists()):
            raise InputError(f"{file} is written twice", fix="give each --report, and --output, a file of its own")
        seen.add(path)


def check_output(output: str, *inputs: Path, project: Path | None = None, option: str = "--output") -> None:
    """Check, before any work is done, that a result can be written there; ``option`` is the option that names the file.

    ``project`` is the measured project.

    Raises:
        InputError: if it is a folder, if its own folder is missing or not writable, or if it would replace an input,
            measured files, or files that Hati keeps.
    """
    if output == STDOUT:
        return
    path = Path(output)
    if path.is_file() and (path.name == _PROJECT_FILE or any(_is_same(path, each) for each in inputs)):
        raise _unwritable(path, "it is an input", option)
    _refuse_kept(path, option)
    if path.exists() and not path.is_file() and not path.is_dir():  # a device or a pipe
        return
    reason, folder = "", path.resolve().parent
    if path.is_dir():
        reason = os.strerror(errno.EISDIR)
    elif not folder.is_dir():
        reason = os.strerror(errno.ENOENT)
    elif not os.access(folder, os.W_OK):
        reason = os.strerror(errno.EACCES)
    if reason:
        raise _unwritable(path, reason, option)
    source = _source(path, project) if project is not None and path.is_file() else None
    if source is not None:
        exclude = "" if ".." in source.parts else f', or exclude it: [subject] sources = ["!{source}"]'
        raise InputError(
            f"{path} cannot be written: it is a source of the measured project",
            fix=f"name another file by {option}{exclude}",
        )


def _is_same(path: Path, other: Path) -> bool:
    return other.is_file() and path.samefile(other)


def _source(path: Path, project: Path) -> PurePath | None:
    """The path of a source of the measured project, relative to it; None for other files."""
    from hati.project import read_project
    from hati.subject import Revisions, list_sources
    from hati.wiring import sources_of

    try:
        known = read_project(project)
        revisions = Revisions(known.root)
    except InputError:  # nothing is measured then
        return None
    listed = list_sources(revisions.top, revisions.within, sources_of(known))
    if listed.open or path.resolve() not in {revisions.top / file for file in listed.files}:
        return None
    return PurePath(os.path.relpath(path.resolve(), known.root.resolve()))


def _refuse_kept(path: Path, option: str = "--output") -> None:
    """Refuse a store and the other files that Hati keeps for itself, except reports."""
    folders = path.resolve().parent.parts
    if _OWN in folders and folders[folders.index(_OWN) + 1 :][:1] != (_REPORTS,):
        raise _unwritable(path, "that folder is Hati's own", option)
    if path.is_file() and is_database(path):
        raise _unwritable(path, "it is a database", option)


def is_database(path: Path) -> bool:
    """Whether it is a readable file of SQLite."""
    try:
        with path.open("rb") as file:
            return file.read(len(_DATABASE)) == _DATABASE
    except OSError:
        return False


def _unwritable(path: Path, reason: str | None, option: str) -> InputError:
    return InputError(f"{path} cannot be written: {reason}", fix=f"name another file by {option}")


def write_files(texts: Mapping[Path, str]) -> None:
    """Write files, which may be new, all or none of them.

    Raises:
        HatiError: where one cannot be written.
    """
    for folder in {path.parent for path in texts}:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise write_error(folder, error, "name another one", "made") from error
    with ExitStack() as complete:
        try:
            prepared = {}
            for path, text in texts.items():
                prepared[path] = complete.enter_context(prepared_file(path, [text.encode()]))
            for path in texts:
                prepared[path]()
        except OSError as error:
            raise write_error(path, error, "name another file by --output") from error


_NARROWEST = 20
"""Columns; some terminals say that they have none."""


def console(*, stderr: bool = False) -> Console:
    """A console for people: as wide as the terminal, or 80 columns without one, unless ``COLUMNS`` says otherwise."""
    from rich.console import Console

    made = Console(file=sys.stderr if stderr else sys.stdout, highlight=False)
    made.width = max(made.width, _NARROWEST)
    return made


def say(message: str) -> None:
    """Print a message for people to standard error, so that a result on standard output stays clean.

    Text quoted from programs and files may contain anything: control characters are shown, and have no effect.
    """
    from hati.core.wording import visible

    # a plain print is quick, and nothing in it can go wrong
    print("\n".join(map(visible, message.split("\n"))), file=sys.stderr, flush=True)  # noqa: T201


class DocumentFormat(StrEnum):
    """The format of a document."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"


class VerdictFormat(StrEnum):
    """The format of a document with verdicts."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"
    JUNIT = "junit"
    GITHUB = "github"


Formats = type[DocumentFormat] | type[VerdictFormat]


def format_names(formats: Formats) -> tuple[str, ...]:
    """The names of these formats, and of those that packages add."""
    from hati.render import renderer_names

    return tuple(dict.fromkeys([*(each.value for each in formats), *renderer_names()]))


def validate_known(name: str, formats: Formats, option: str) -> str:
    """The name, if it is that of one of these formats, or of a format that a package adds and that can be loaded.

    Raises:
        InputError: for any other name.
    """
    if name in {each.value for each in formats}:
        return name
    if name not in (known := format_names(formats)):
        raise InputError(f"{option}: there is no format {name!r}", fix=f"the formats are {', '.join(known)}")
    from hati.render import renderer_of

    renderer_of(name)
    return name


def parse_target(text: str, formats: Formats) -> tuple[str, str]:
    """Read ``FORMAT=FILE``.

    Raises:
        InputError: for any other text, and for an unknown format.
    """
    name, equals, file = text.partition("=")
    if not equals or not file:
        raise InputError(
            f"--report {text!r} is not FORMAT=FILE", fix=f"the formats are {', '.join(format_names(formats))}"
        )
    return validate_known(name, formats, "--report"), file


def format_option(formats: Formats, help_: str) -> Any:
    """The option that names one of these formats, or one that a package adds.

    Raises:
        InputError: if it is used with another format.
    """

    def parse(text: str) -> str:
        return validate_known(text, formats, "--format")

    def complete(incomplete: str) -> list[str]:
        return [name for name in format_names(formats) if name.startswith(incomplete)]

    return typer.Option(
        "--format",
        metavar=f"<{'|'.join(each.value for each in formats)}>",
        parser=parse,
        autocompletion=complete,
        help=help_,
    )


VerdictOption = Annotated[str, format_option(VerdictFormat, "Output format; github writes annotations.")]


def of_plan(chosen: str) -> Format:
    """The format of a plan, given the one chosen for documents: text if plans do not have it."""
    return Format(chosen) if chosen in {each.value for each in Format} else Format.TEXT


def shows_warnings(chosen: str) -> bool:
    """Whether a document in this format includes its warnings; else they go to standard error."""
    return chosen in {"text", "markdown", "html"}


def write_document(document: Document, values: Callable[[], Struct], chosen: str, output: str = STDOUT) -> None:
    """Write a document, or its published JSON.

    Raises:
        HatiError: where the file cannot be written, or the format's package cannot be loaded.
    """
    from hati import render  # loads the functions of this format only

    with whether_read_or_not():
        if chosen == DocumentFormat.TEXT and output == STDOUT:
            render.print_document(document, console())
        elif chosen == DocumentFormat.HTML:
            _write_page(document, output)
        elif chosen == DocumentFormat.JSON:
            write(render.to_json(values()), output)
        else:
            write(render.renderer_of(chosen)(document), output)


def keep_report(document: Document, folder: Path, metric: str) -> str:
    """Write a document as HTML into a folder of reports; return a message with its place, or why there is none.

    Errors are not raised: the study has finished either way.
    """
    name = re.sub(r"[^\w.-]", "_", metric)
    file = folder / f"{document.study}-{name}.html"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write_page(document, str(file))
    except OSError as error:
        return f"no report: {folder} cannot be made: {error.strerror}"
    except HatiError as error:
        return f"no report: {error.message}"
    return f"report: {file}"


def _write_page(document: Document, output: str) -> None:
    """Write a page, and warn if its charts cannot be drawn."""
    from hati.render import charts_of, document_html, missing_charts

    write(document_html(document), output)
    if (missing := missing_charts()) and charts_of(document):
        say(f"warning: the report has no charts: {missing}")


_MOST_SHOWN = 100


def write_table(table: Table, chosen: TableFormat, output: str = STDOUT) -> None:
    """Write a table; as JSON an object for each row, as CSV with a header."""
    write_tables((table,), chosen, output)


def write_tables(tables: Sequence[Table], chosen: TableFormat = TableFormat.TEXT, output: str = STDOUT) -> None:
    """Write tables one below the other, an empty line between them."""
    from hati import render

    if chosen is TableFormat.TEXT and output == STDOUT:
        for number, table in enumerate(tables):
            if number:
                console().print()
            render.print_table(table, console())
        return
    write("\n".join(map(_text_of(chosen), tables)), output)


def _text_of(chosen: TableFormat) -> Callable[[Table], str]:
    from hati import render

    match chosen:
        case TableFormat.TEXT:
            return render.table_text
        case TableFormat.JSON:
            return render.table_json
        case TableFormat.MARKDOWN:
            return render.table_markdown
        case TableFormat.CSV:
            return render.table_csv


def write_published(values: Struct, table: Table, chosen: Format, output: str = STDOUT) -> None:
    """Write the published JSON, or the table for people."""
    if chosen is Format.JSON:
        from hati import render

        write(render.to_json(values), output)
        return
    write_table(table, TableFormat(chosen.value), output)


def write_plan(planned: PlannedCampaign, chosen: Format, output: str) -> None:
    """Write the tasks in the order of their runs; for formulas, first how often each method is run."""
    from hati import render

    table, methods = _table(planned), planned.methods
    if chosen is Format.JSON:
        from hati.document import Joined, publish, table_rows
        from hati.studies.dry_run import DryRunJson

        write(render.to_json(publish(Joined(planned, tasks=table_rows(table), methods=methods), DryRunJson)), output)
        return
    tables = [_shortened(table, chosen, planned.plan.expected_total)]
    if methods is not None:
        from hati.studies.dry_run import expected_runs_table

        tables = [_shortened(expected_runs_table(methods), chosen, len(methods)), *tables]
    write_tables(tables, TableFormat(chosen.value), output)


def _shortened(table: Table, chosen: Format, expected: int) -> Table:
    """All rows for programs, the first for people, with how to get the others that are known of ``expected``."""
    if chosen is not Format.TEXT:
        return table
    known = len(table.rows)
    return table.first(_MOST_SHOWN, f"--format json lists {'all' if known == expected else f'the first {known:,}'}")


def _table(planned: PlannedCampaign) -> Table:
    from hati.harness.document import plan_table
    from hati.studies.screening.promises import consequences, runs_after_design

    choice = planned.choice
    notes = () if planned.expected is None else (f"Expected: {planned.expected.source}.",)
    if choice is not None:
        notes = (*notes, *runs_after_design(choice), *consequences(choice, planned.options).sentences())
    return plan_table(planned.plan, planned.reason, planned.seconds, planned.options, (*notes, *planned.notes))
