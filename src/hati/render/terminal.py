"""Tables and conclusions on a console: readable at 80 columns, and plain lines of text when piped."""

from __future__ import annotations

from io import StringIO

from rich.console import Console, Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from hati.render.terminal_table import Layout, lay_out, printable
from hati.report import (
    ScreeningTables,
    Table,
    answer,
    conditional_table,
    design_summary,
    dominating_sentence,
    follow_up_table,
    noise_summary,
    run_summary,
    scale_sentence,
    screening_tables,
    settings_summary,
    space_size,
    suspects_table,
)
from hati.studies.screening import ScreeningConclusion


def print_table(table: Table, console: Console) -> None:
    """Print a table with its title and notes."""
    layout = lay_out(table, console)
    _print(layout.drawn, console, layout.width)


def print_facts(lines: tuple[tuple[str, str], ...], console: Console) -> None:
    """Print lines that each have a name."""
    _print(_facts(lines, console), console, console.width)


def table_text(table: Table) -> str:
    """The table as text, as it is printed where there is no terminal."""
    text = StringIO()
    print_table(table, Console(file=text, width=_WIDTH, force_terminal=False, color_system=None))
    return text.getvalue()


def screening_text(conclusion: ScreeningConclusion) -> str:
    """What a screening found as text, as it is printed where there is no terminal."""
    text = StringIO()
    print_screening(conclusion, Console(file=text, width=_WIDTH, force_terminal=False, color_system=None))
    return text.getvalue()


def print_screening(conclusion: ScreeningConclusion, console: Console) -> None:
    """Print what a screening found: the space, the design, the effects, what was done, and warnings with remedies."""
    tables = screening_tables(conclusion)
    lines = (
        ("subject", f"{conclusion.subject} {conclusion.revision}, benchmark {conclusion.benchmark}"),
        ("space", space_size(conclusion)),
        ("options", settings_summary(conclusion)),
        ("design", design_summary(conclusion)),
        ("runs", run_summary(conclusion)),
        ("scale", scale_sentence(conclusion)),
        *((("noise", noise),) if (noise := noise_summary(conclusion)) else ()),
    )
    parts = [Layout(_facts(lines, console), console.width)]
    if conclusion.effects:
        parts.append(lay_out(tables.effects, console))
    conditional, dominating = conditional_table(conclusion), dominating_sentence(conclusion)
    beside = follow_up_table(conclusion), suspects_table(conclusion), conditional
    parts += [lay_out(each, console) for each in beside if each is not None]
    parts += _aside(conclusion, tables, console)
    for sentence in filter(None, (answer(conclusion), dominating)):
        parts.append(Layout(Text(printable(sentence, console), style="bold"), console.width))
    for number, (drawn, width) in enumerate(parts):
        if number:
            console.print()
        _print(drawn, console, width)


def _print(drawn: RenderableType, console: Console, width: int) -> None:
    if console.is_terminal:
        console.print(drawn)
        return
    lines = console.render_lines(drawn, console.options.update(width=width), pad=False)
    for line in lines:
        console.out("".join(part.text for part in line).rstrip(), highlight=False)


def _facts(lines: tuple[tuple[str, str], ...], console: Console) -> RenderableType:
    grid = RichTable.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, text in lines:
        grid.add_row(name, Text(printable(text, console)))
    return grid


def _aside(conclusion: ScreeningConclusion, tables: ScreeningTables, console: Console) -> list[Layout]:
    parts = []
    if tables.dispersion is not None and conclusion.dispersion and conclusion.dispersion.shown:
        parts.append(lay_out(tables.dispersion, console))
    if conclusion.failures:
        parts.append(Layout(_sentences("failed runs", conclusion.failures, console), console.width))
    if conclusion.warnings:
        parts.append(Layout(_sentences("warnings", conclusion.warnings, console), console.width))
    return parts


def _sentences(title: str, sentences: tuple[str, ...], console: Console) -> RenderableType:
    grid = RichTable.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for sentence in sentences:
        grid.add_row("-", Text(printable(sentence, console)))
    return Group(Text(title, style="bold yellow"), grid)


_WIDTH = 80
