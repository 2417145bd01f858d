"""Documents and tables on a console: readable at 80 columns, and plain lines of text when piped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import StringIO

from rich.console import Console, Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from hati.render.terminal_table import Layout, lay_out, printable
from hati.report import Document, Fact, Facts, Folded, Part, Prose, Section, Table

_WIDTH = 80


def print_document(document: Document, console: Console) -> None:
    """Print what was studied, what was found, what limits it, and the answer, which comes last: there it is seen."""
    said = {table.title for table in document.tables}
    parts = [
        *([_facts(document.facts, console)] if document.facts else []),
        *(part for section in document.sections for part in _section(section, console)),
        *(_sentences(title, listed, console) for title, listed in _aside(document) if listed),
        *([_bold(document.answer, console)] if document.answer and document.answer not in said else []),
    ]
    for number, part in enumerate(parts):
        if number:
            console.print()
        _print(part, console)


def document_text(document: Document) -> str:
    """The document as text, as it is printed where there is no terminal."""
    return _text(lambda console: print_document(document, console))


def print_table(table: Table, console: Console) -> None:
    """Print a table with its title and notes."""
    _print(lay_out(table, console), console)


def table_text(table: Table) -> str:
    """The table as text, as it is printed where there is no terminal."""
    return _text(lambda console: print_table(table, console))


def _text(draw: Callable[[Console], None]) -> str:
    text = StringIO()
    draw(Console(file=text, width=_WIDTH, force_terminal=False, color_system=None))
    return text.getvalue()


def _aside(document: Document) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return (("failed runs", document.failures), ("warnings", document.warnings))


def _section(section: Section, console: Console) -> Iterator[Layout]:
    if isinstance(section, Table):
        yield lay_out(section, console)
    elif isinstance(section, Facts):
        drawn = _facts(section.lines, console)
        yield Layout(Group(_title(section.title), drawn.drawn), drawn.width) if section.title else drawn
    elif isinstance(section, Prose):
        yield Layout(Group(*(Text(printable(each, console)) for each in section.sentences)), console.width)
    elif isinstance(section, Folded):
        yield from (lay_out(table, console) for table in section.sections)
    elif isinstance(section, Part):
        yield Layout(_title(printable(section.title, console)), console.width)
        for each in section.sections:
            yield from _section(each, console)
        if section.answer:
            yield _bold(section.answer, console)


def _print(part: Layout, console: Console) -> None:
    if console.is_terminal:
        console.print(part.drawn)
        return
    lines = console.render_lines(part.drawn, console.options.update(width=part.width), pad=False)
    for line in lines:
        console.out("".join(piece.text for piece in line).rstrip(), highlight=False)


def _facts(lines: tuple[Fact, ...], console: Console) -> Layout:
    grid = RichTable.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, text in lines:
        grid.add_row(name, Text(printable(text, console)))
    return Layout(grid, console.width)


def _sentences(title: str, sentences: tuple[str, ...], console: Console) -> Layout:
    grid = RichTable.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for sentence in sentences:
        grid.add_row("-", Text(printable(sentence, console)))
    return Layout(Group(Text(title, style="bold yellow"), grid), console.width)


def _title(text: str) -> RenderableType:
    return Text(text, style="bold")


def _bold(text: str, console: Console) -> Layout:
    return Layout(Text(printable(text, console), style="bold"), console.width)
