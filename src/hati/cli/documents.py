"""Documents in the format that was asked for."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hati.cli.output import STDOUT, Format, console, say, whether_read_or_not, write
from hati.core import InputError

if TYPE_CHECKING:
    from hati.report import Document, Plain


class DocumentFormat(StrEnum):
    """How a document is written."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"


class VerdictFormat(StrEnum):
    """How a document with verdicts is written."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"
    JUNIT = "junit"
    GITHUB = "github"


DocumentOption = Annotated[DocumentFormat, typer.Option("--format", help="Output format.")]
VerdictOption = Annotated[VerdictFormat, typer.Option("--format", help="Output format; github writes annotations.")]


def of_plan(chosen: DocumentFormat | VerdictFormat) -> Format:
    """The format of a plan where a document's was chosen."""
    return Format(chosen.value) if chosen.value in set(Format) else Format.TEXT


def shows_warnings(chosen: DocumentFormat | VerdictFormat) -> bool:
    """Whether a document in this format has its warnings; else they are for standard error."""
    return chosen.value in {"text", "markdown", "html"}


def write_document(
    document: Document,
    values: Callable[[], Plain],
    chosen: DocumentFormat | VerdictFormat,
    output: str = STDOUT,
) -> None:
    """Write a document, or the plain values of what it says.

    Raises:
        InputError: where the file cannot be written.
    """
    from hati import render

    texts: dict[str, Callable[[], str]] = {
        "text": lambda: render.document_text(document),
        "json": lambda: render.to_json(values()),
        "markdown": lambda: render.document_markdown(document),
        "junit": lambda: render.to_junit(document.suite, document.cases),
        "github": lambda: render.to_annotations(document.suite, document.answer, document.cases),
    }
    with whether_read_or_not():
        if chosen.value == "text" and output == STDOUT:
            render.print_document(document, console())
        elif chosen.value == "html":
            _write_page(document, output)
        else:
            write(texts[chosen.value](), output)


def keep_report(document: Document, folder: Path, metric: str) -> str:
    """Write a document as HTML into a folder of reports; where it is, or why there is none.

    The study has done its work either way.
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
    """Write a page, and say so where its charts cannot be drawn."""
    from hati import render

    write(render.document_html(document), output)
    if (missing := render.missing_charts()) and render.charts_of(document):
        say(f"warning: the report has no charts: {missing}")
