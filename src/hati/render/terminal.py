"""Print documents and tables on a console: readable at 80 columns, and plain lines of text when piped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import StringIO
from typing import NamedTuple

from rich import box
from rich.cells import cell_len, set_cell_size
from rich.console import Console, Group, RenderableType
from rich.constrain import Constrain
from rich.table import Table as RichTable
from rich.text import Text

from hati.core.wording import visible
from hati.document import Align, Column, Document, Fact, Facts, Folded, Part, Prose, Section, Table, cell_text
from hati.studies.screening.words import ALIASED, IMPORTANT

_PIPED = box.Box("    \n    \n -- \n    \n    \n    \n    \n    \n", ascii=True)
"""Only a line of hyphens under the headings."""

_TERMINAL = box.SIMPLE_HEAD
_ASCII = str.maketrans({"µ": "u", "×": "x", "−": "-", "…": "."})
_GAP = 2
_LONGEST_CELL = 300
_LONGEST_WORDS = (34, 30)
"""The longest parts of words that are kept whole: if they fit, a study's key; else less."""


class Layout(NamedTuple):
    """A renderable, and its width."""

    drawn: RenderableType
    width: int


def lay_out(table: Table, console: Console) -> Layout:
    """Lay out a table in the width of the console.

    In a pipe or a file, a table with too many columns for whole words is as wide as its lines instead.
    """
    headings = [_heading(column, console) for column in table.columns]
    cells = [[_cell(cell_text(cell), console) for cell in row] for row in table.rows]
    columns = [[*heading, *(row[i] for row in cells)] for i, heading in enumerate(headings)]
    lines = [max(cell_len(line) for line in texts) for texts in columns]
    whole = [max(cell_len(word) for text in texts for word in [*text.split(), ""]) for texts in columns]
    width = console.width
    for longest in _LONGEST_WORDS:
        words = [min(word, longest) for word in whole]
        needed = sum(words) + _gaps(words)
        if needed <= width:
            break
    if needed > width and not console.is_terminal:
        width = sum(lines) + _gaps(lines)
    return Layout(_draw(table, headings, cells, _share(width, lines, words), console), width)


def printable(text: str, console: Console) -> str:
    """The text as one line without control sequences, in characters of the console's encoding."""
    shown = visible(text)
    if console.encoding.lower().replace("-", "") != "utf8":
        shown = shown.translate(_ASCII)
    return shown.encode(console.encoding, errors="backslashreplace").decode(console.encoding)


def _share(width: int, lines: list[int], words: list[int]) -> tuple[int | None, ...]:
    """The columns' widths; None, which leaves them to Rich, if whole words do not fit."""
    spare = width - _gaps(words) - sum(words)
    if spare < 0:
        return (None,) * len(words)
    given = list(words)
    for i in sorted(range(len(words)), key=lines.__getitem__):
        more = min(spare, lines[i] - words[i])
        given[i] += more
        spare -= more
    return tuple(given)


def _gaps(columns: list[int]) -> int:
    return max(0, _GAP * len(columns) - 1)


def _draw(
    table: Table, headings: list[list[str]], cells: list[list[str]], widths: tuple[int | None, ...], console: Console
) -> RenderableType:
    drawn = RichTable(
        box=_TERMINAL if console.is_terminal else _PIPED,
        show_edge=False,
        pad_edge=False,
        header_style="bold",
        padding=(0, _GAP - 1, 0, 0),  # the box itself puts one space between columns
    )
    for column, heading, width in zip(table.columns, headings, widths, strict=True):
        drawn.add_column(
            Text("\n".join(heading)),
            justify="right" if column.align is Align.RIGHT else "left",
            overflow="fold",
            width=width,
        )
    for row, texts in zip(table.rows, cells, strict=True):
        drawn.add_row(*map(Text, texts), style="bold" if {IMPORTANT, ALIASED} & set(row) else None)
    notes: list[RenderableType] = [Constrain(Text(printable(note, console)), console.width) for note in table.notes]
    title = Constrain(Text(printable(table.title, console), style="bold"), console.width)
    below = [Text(), *notes] if notes else []
    if not table.rows:
        return Group(title, *below)
    return Group(title, Text(), drawn, *below)


def _heading(column: Column, console: Console) -> list[str]:
    lines = [column.name, f"({column.unit})"] if column.unit else [column.name]
    return [printable(line, console) for line in lines]


def _cell(text: str, console: Console) -> str:
    shown = printable(text, console)
    return shown if cell_len(shown) <= _LONGEST_CELL else set_cell_size(shown, _LONGEST_CELL - 3) + "..."


_WIDTH = 80


def print_document(document: Document, console: Console) -> None:
    """Print the facts, the results, failures and warnings, and last the answer, where it is seen."""
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
    """The text of a document, as printed without a terminal."""
    return _text(lambda console: print_document(document, console))


def print_table(table: Table, console: Console) -> None:
    """Print a table with its title and notes."""
    _print(lay_out(table, console), console)


def table_text(table: Table) -> str:
    """The text of a table, as printed without a terminal."""
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
        title = printable(section.title, console)
        yield Layout(Group(_title(title), drawn.drawn), drawn.width) if title else drawn
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
        grid.add_row(Text(printable(name, console)), Text(printable(text, console)))
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
