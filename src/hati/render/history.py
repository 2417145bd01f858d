"""Histories on a console and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO

from rich.console import Console

from hati.render.markdown import escaped, table_markdown
from hati.render.terminal import print_facts, print_table
from hati.report import history_answer, history_facts, history_table
from hati.studies.regression import HistoryConclusion

_WIDTH = 80


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
