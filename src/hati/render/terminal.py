"""Print documents and tables on a console: within its width, by whole words, as plain lines of text when piped."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from io import StringIO
from itertools import accumulate
from typing import NamedTuple

from msgspec import Struct
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from hati.core.wording import visible
from hati.document import (
    COMMAND,
    Align,
    Column,
    Document,
    Fact,
    Facts,
    Folded,
    Part,
    Prose,
    Section,
    Table,
    cell_text,
)

_ASCII = str.maketrans({"µ": "u", "×": "x", "−": "-", "…": "."})
_WIDTH = 80
_GAP = 2
_LONGEST_CELL = 300
_LONGEST_WORDS = (34, 30)
"""The most that a word adds to the width of its column: if there is room, a study's key; else less."""
_WORD = re.compile(rf"\s*(?:[^\s`]*{COMMAND}\S*|\S+)\s*|\s+")
_INDENT = "  "
_EMPHASISED = frozenset({"important", "important or aliased"})
"""The verdicts of effects whose rows are bold."""
_STOPS = ".,;: "

Lines = list[Text]


def print_document(document: Document, console: Console) -> None:
    """Print the facts, the results, failures and warnings, and last the answer, where it is seen."""
    said = {table.title for table in document.tables}
    parts = [
        *([_facts(document.facts, console)] if document.facts else []),
        *(part for section in document.sections for part in _section(section, console)),
        *(_sentences(title, listed, console) for title, listed in _aside(document) if listed),
        *([_prose(document.answer, console, "bold")] if document.answer and document.answer not in said else []),
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
    _print(_table(table, console), console)


def table_text(table: Table) -> str:
    """The text of a table, as printed without a terminal."""
    return _text(lambda console: print_table(table, console))


def printable(text: str, console: Console) -> str:
    """The text as one line without control sequences, in characters of the console's encoding."""
    shown = visible(text)
    if not _is_unicode(console):
        shown = shown.translate(_ASCII)
    return shown.encode(console.encoding, errors="backslashreplace").decode(console.encoding)


def _text(draw: Callable[[Console], None]) -> str:
    text = StringIO()
    draw(Console(file=text, width=_WIDTH, force_terminal=False, color_system=None))
    return text.getvalue()


def _print(lines: Lines, console: Console) -> None:
    if console.color_system is None:  # without styles, Rich's rendering would take longer than all else
        console.file.write("".join(f"{line.plain}\n" for line in lines))
        console.file.flush()
    else:
        console.print(Text("\n").join(lines), soft_wrap=True)


def _is_unicode(console: Console) -> bool:
    return console.encoding.lower().replace("-", "") == "utf8"


def _aside(document: Document) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return (("failed runs", document.failures), ("warnings", document.warnings))


def _section(section: Section, console: Console) -> Iterator[Lines]:
    if isinstance(section, Table):
        yield _table(section, console)
    elif isinstance(section, Facts):
        title = _prose(section.title, console, "bold") if section.title else []
        yield [*title, *_facts(section.lines, console)]
    elif isinstance(section, Prose):
        yield [line for each in section.sentences for line in _prose(each, console)]
    elif isinstance(section, Folded):
        yield from (_table(table, console) for table in section.sections)
    elif isinstance(section, Part):
        yield _prose(section.title, console, "bold")
        for each in section.sections:
            yield from _section(each, console)
        if section.answer:
            yield _prose(section.answer, console, "bold")


def _prose(text: str, console: Console, style: str = "") -> Lines:
    return [Text(line, style=style) for line in _wrapped(printable(text, console), console.width)]


def _facts(facts: Sequence[Fact], console: Console) -> Lines:
    width = console.width
    shown = [(printable(name, console), printable(text, console)) for name, text in facts]
    names = min(max(cell_len(name) for name, _ in shown), width // 2)
    rooms = (_Room(0, names), _Room(names + _GAP, width - names - _GAP))
    lines: Lines = []
    for fact in shown:
        first, *others = map(Text, _row(fact, rooms, width))
        first.stylize("bold", 0, names)
        lines += [first, *others]
    return lines


def _sentences(title: str, sentences: Sequence[str], console: Console) -> Lines:
    width = console.width
    rooms = (_Room(0, 1), _Room(2, width - 2))
    lines = (line for each in sentences for line in _row(("-", printable(each, console)), rooms, width))
    return [Text(title, style="bold yellow"), *map(Text, lines)]


def _table(table: Table, console: Console) -> Lines:
    """A table in the width of the console.

    Columns that do not fit beside each other are below each other, in blocks that each begin with the rows' names.
    """
    table = table.shown
    lines = _prose(table.title, console, "bold")
    width, rule = console.width, "─" if console.is_terminal and _is_unicode(console) else "-"
    if table.rows and table.columns:
        styles = ["" if _EMPHASISED.isdisjoint(row) else "bold" for row in table.rows]
        for block in _blocks(_columns(table, console), width):
            lines += [Text(), *_block(block, styles, width, rule)]
    notes = [line for note in table.notes for line in _prose(note, console)]
    return [*lines, Text(), *notes] if notes else lines


class _Room(NamedTuple):
    """The place of a cell in its row."""

    start: int
    width: int
    right: bool = False


class _Texts(Struct, frozen=True, dict=True):
    """The lines of a column's heading, and the texts of its cells."""

    heading: tuple[str, ...]
    cells: tuple[str, ...]
    right: bool

    @cached_property
    def line(self) -> int:
        """The width of the longest text."""
        return max(map(cell_len, (*self.heading, *self.cells)))

    @cached_property
    def word(self) -> int:
        """The width of the longest word; a first one with the blanks before it, as in a drawing."""
        return max(cell_len(word) for text in (*self.heading, *self.cells) for word in (*_words(text), ""))


def _words(text: str) -> list[str]:
    first, *others = text.split() or [""]
    return [text[: text.find(first)] + first, *others]


def _columns(table: Table, console: Console) -> list[_Texts]:
    cells = zip(*([_cell(cell_text(cell), console) for cell in row] for row in table.rows), strict=True)
    return [
        _Texts(_heading(column, console), own, column.align is Align.RIGHT)
        for column, own in zip(table.columns, cells, strict=True)
    ]


def _heading(column: Column, console: Console) -> tuple[str, ...]:
    lines = (column.name, f"({column.unit})") if column.unit else (column.name,)
    return tuple(printable(line, console) for line in lines)


def _cell(text: str, console: Console) -> str:
    shown = printable(text, console)
    return shown if cell_len(shown) <= _LONGEST_CELL else set_cell_size(shown, _LONGEST_CELL - 3) + "..."


def _blocks(columns: Sequence[_Texts], width: int) -> list[list[_Texts]]:
    """The columns in blocks that fit; each begins with the first column, or with numbers if that repeats itself."""
    if _least(columns, width) <= width:
        return [list(columns)]
    names, *others = columns
    if len(set(names.cells)) < len(names.cells):
        numbers = tuple(map(str, range(1, len(names.cells) + 1)))
        names, others = _Texts(("row",), numbers, right=True), list(columns)
    blocks = [[names]]
    for column in others:
        if len(blocks[-1]) > 1 and _least([*blocks[-1], column], width) > width:
            blocks.append([names])
        blocks[-1].append(column)
    return blocks


def _least(columns: Sequence[_Texts], width: int) -> int:
    return sum(min(column.word, _longest_words(width)[-1]) for column in columns) + _gaps(columns)


def _longest_words(width: int) -> tuple[int, int]:
    """As ``_LONGEST_WORDS``, so that any two columns fit beside each other."""
    most, less = (min(longest, (width - _GAP - 1) // 2) for longest in _LONGEST_WORDS)
    return most, less


def _gaps(columns: Sequence[object]) -> int:
    return _GAP * len(columns) - 1


def _shares(columns: Sequence[_Texts], width: int) -> list[int]:
    """The columns' widths: whole words, then whole lines of the columns that lack least for them."""
    for longest in _longest_words(width):
        given = [min(column.word, longest) for column in columns]
        if sum(given) + _gaps(columns) <= width:
            break
    spare = width - _gaps(columns) - sum(given)
    for i in sorted(range(len(columns)), key=lambda i: columns[i].line - given[i]):
        more = min(spare, columns[i].line - given[i])
        given[i] += more
        spare -= more
    return given


def _block(columns: Sequence[_Texts], styles: Sequence[str], width: int, rule: str) -> Lines:
    """The headings over a rule, and the rows."""
    widths = _shares(columns, width)
    starts = accumulate(widths[:-1], lambda start, own: start + own + _GAP, initial=0)
    rooms = [_Room(start, own, each.right) for start, own, each in zip(starts, widths, columns, strict=True)]
    headings = [
        [piece for line in each.heading for piece in _wrapped(line, own)]
        for each, own in zip(columns, widths, strict=True)
    ]
    height = max(map(len, headings))
    raised = [[""] * (height - len(pieces)) + pieces for pieces in headings]
    return [
        *(Text(line, style="bold") for texts in zip(*raised, strict=True) for line in _row(texts, rooms, width)),
        Text(rule * (sum(widths) + _GAP * (len(widths) - 1))),
        *(
            Text(line, style=style)
            for style, texts in zip(styles, zip(*(each.cells for each in columns), strict=True), strict=True)
            for line in _row(texts, rooms, width)
        ),
    ]


def _row(texts: Sequence[str], rooms: Sequence[_Room], width: int) -> list[str]:
    """The lines of a row. A word that is longer than its room runs out of it, and what follows begins below."""
    lines: list[str] = []
    top = 0
    for text, room in zip(texts, rooms, strict=True):
        at = top
        for piece in _wrapped(text, room.width):
            length = cell_len(piece)
            start = room.start + (room.width - length if room.right else 0)
            if length > room.width:
                start = max(0, min(room.start, width - length))
                if at < len(lines) and lines[at] and cell_len(lines[at]) + _GAP > start:
                    at = len(lines)
                top = at + 1
            lines += [""] * (at + 1 - len(lines))
            lines[at] = (lines[at] + " " * (start - cell_len(lines[at])) + piece).rstrip()
            at += 1
    return lines


def _wrapped(text: str, width: int) -> list[str]:
    """The text in lines of whole words; a longer word has a line of its own.

    A command in backquotes is a word. A long one has a line of its own without them, to be copied.
    """
    if cell_len(text) <= width:
        return [text]
    lines, line = [], ""
    for found in _WORD.finditer(text):
        word, command = found[0], found[1]
        if command is not None and cell_len(command) > width // 2:
            before, _, after = word.partition(f"`{command}`")
            lines += [*filter(None, _wrapped((line + before).rstrip(), width)), _INDENT + command]
            line = after.lstrip(_STOPS)
            continue
        if line and cell_len(line) + cell_len(word.rstrip()) > width:
            lines.append(line.rstrip())
            line = ""
        line += word
    return [*lines, line.rstrip()] if line or not lines else lines
