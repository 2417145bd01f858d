"""Histories on a console, as Markdown, and as one HTML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import StringIO
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console

from hati.render.html import page
from hati.render.markdown import escaped, table_markdown
from hati.render.terminal import print_facts, print_table
from hati.report import (
    Table,
    histories_answer,
    history_answer,
    history_facts,
    history_figures,
    history_table,
    series_title,
)
from hati.studies.regression import HistoryConclusion, Series
from hati.studies.replay import Replayed

if TYPE_CHECKING:
    from hati.render.chart_style import Chart
    from hati.report import HistoryFigure

_WIDTH = 80


class _Section(NamedTuple):
    """A series in the page; ``chart`` is the name of its figure."""

    title: str
    answer: str
    facts: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]
    table: Table | None
    chart: str


def print_histories(concluded: Sequence[HistoryConclusion], console: Console) -> None:
    """Print what was looked at, the changes, and the answer, for each series."""
    for number, one in enumerate(concluded):
        if number:
            console.print()
        table, facts, answer = history_table(one), history_facts(one), ("answer", history_answer(one))
        if not table.rows:
            print_facts((*facts, *(("warning", text) for text in one.warnings), answer), console)
            continue
        print_facts(facts, console)
        console.print()
        print_table(table, console)
        console.print()
        print_facts((answer,), console)


def histories_text(concluded: Sequence[HistoryConclusion]) -> str:
    """Histories as text, as they are printed where there is no terminal."""
    text = StringIO()
    print_histories(concluded, Console(file=text, width=_WIDTH, force_terminal=False, color_system=None))
    return text.getvalue()


def histories_markdown(concluded: Sequence[HistoryConclusion]) -> str:
    """Histories, for a pull request or an issue."""
    return "\n".join(map(_one, concluded))


def _one(concluded: HistoryConclusion) -> str:
    name = f"{escaped(concluded.name)}: " if concluded.name else ""
    heading = f"## {name}the history of {escaped(concluded.metric.name)}\n"
    answer = f"**{escaped(history_answer(concluded))}**\n"
    facts = "".join(f"- {label}: {escaped(text)}\n" for label, text in history_facts(concluded) if label != "series")
    return "\n".join((heading, answer, facts, table_markdown(history_table(concluded))))


def histories_html(
    series: Sequence[Series],
    concluded: Sequence[HistoryConclusion],
    replayed: Replayed | None = None,
    facts: Sequence[tuple[str, str]] = (),
    tables: Sequence[Table] = (),
) -> str:
    """The report of histories as one file: each series with its chart, changes and trend, and further tables."""
    figures = history_figures(list(zip(series, concluded, strict=True)), replayed)
    drawn = {f"series-{place}": figure for place, figure in enumerate(figures) if figure is not None}
    left = len(figures) - len(drawn)
    return page(
        "history.html.j2",
        lambda: _charts(drawn),
        {name: f"{figure.title}, by position." for name, figure in drawn.items()},
        title=f"History of {', '.join(dict.fromkeys(one.metric.name for one in concluded))}",
        answer=histories_answer(concluded),
        warnings=(),
        facts=(*facts, *((("charts", f"{left} of {len(figures)} series are not drawn"),) if left else ())),
        sections=[_section(one, f"series-{place}") for place, one in enumerate(concluded)],
        tables=tables,
    )


def _charts(drawn: Mapping[str, HistoryFigure]) -> dict[str, Chart]:
    if not drawn:
        return {}
    from hati.render.history_charts import history_chart

    return {name: history_chart(figure) for name, figure in drawn.items()}


def _section(concluded: HistoryConclusion, chart: str) -> _Section:
    table = history_table(concluded)
    return _Section(
        series_title(concluded),
        history_answer(concluded),
        tuple(each for each in history_facts(concluded) if each[0] != "series"),
        () if table.rows else concluded.warnings,
        table if table.rows else None,
        chart,
    )
