"""Documents in the requested format."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hati.cli.output import STDOUT, Format, console, say, whether_read_or_not, write
from hati.core import InputError

if TYPE_CHECKING:
    from msgspec import Struct

    from hati.document import Document


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
        InputError: where the file cannot be written, or the format's package cannot be loaded.
    """
    from hati.render import print_document, renderer_of, to_json

    with whether_read_or_not():
        if chosen == DocumentFormat.TEXT and output == STDOUT:
            print_document(document, console())
        elif chosen == DocumentFormat.HTML:
            _write_page(document, output)
        elif chosen == DocumentFormat.JSON:
            write(to_json(values()), output)
        else:
            write(renderer_of(chosen)(document), output)


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
    except InputError as error:
        return f"no report: {error.message}"
    return f"report: {file}"


def _write_page(document: Document, output: str) -> None:
    """Write a page, and warn if its charts cannot be drawn."""
    from hati.render import charts_of, document_html, missing_charts

    write(document_html(document), output)
    if (missing := missing_charts()) and charts_of(document):
        say(f"warning: the report has no charts: {missing}")
