"""Tables and conclusions as GitHub's Markdown."""

from __future__ import annotations

import html
import re

from hati.report import (
    Align,
    Table,
    answer,
    cell_text,
    conditional_table,
    design_summary,
    dominating_sentence,
    follow_up_table,
    noise_summary,
    run_summary,
    scale_sentence,
    screening_tables,
    space_size,
    suspects_table,
)
from hati.studies.screening import ScreeningConclusion

_SPECIAL = re.compile(r"([\\`*\[\]|~]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")
_AT_START = re.compile(r"^([-+=#]|\d+(?=[.)]))")


def table_markdown(table: Table) -> str:
    """A titled table, its notes as paragraphs below; ends in a newline. Without rows: title and notes only."""
    lines = [f"### {escaped(table.title)}"]
    if table.rows:
        lines += ["", *_rows(table)]
    for note in table.notes:
        lines += ["", _sentence(note)]
    return "\n".join(lines) + "\n"


def screening_markdown(conclusion: ScreeningConclusion) -> str:
    """What a screening found, for a pull request or an issue."""
    tables = screening_tables(conclusion)
    facts = (
        f"Subject: {conclusion.subject} {conclusion.revision}, benchmark {conclusion.benchmark}",
        f"Space: {space_size(conclusion)}",
        f"Design: {design_summary(conclusion)}",
        f"Runs: {run_summary(conclusion)}",
        scale_sentence(conclusion),
        *((f"Noise: {noise}",) if (noise := noise_summary(conclusion)) else ()),
    )
    parts = [
        f"## {escaped(conclusion.subject)}: which options matter for {escaped(conclusion.metric.name)}\n",
        f"**{escaped(answer(conclusion))}**\n",
        _list(facts),
    ]
    if conclusion.effects:
        parts.append(table_markdown(tables.effects))
    conditional, dominating = conditional_table(conclusion), dominating_sentence(conclusion)
    beside = follow_up_table(conclusion), suspects_table(conclusion), conditional
    parts += [table_markdown(each) for each in beside if each is not None]
    if dominating is not None:
        parts.append(f"{escaped(dominating)}\n")
    if tables.dispersion is not None and conclusion.dispersion and conclusion.dispersion.shown:
        parts.append(table_markdown(tables.dispersion))
    for title, sentences in (("Failed runs", conclusion.failures), ("Warnings", conclusion.warnings)):
        if sentences:
            parts.append(f"### {title}\n\n{_list(sentences)}")
    parts.append(table_markdown(tables.options))
    return "\n".join(parts)


def escaped(text: str) -> str:
    """The text on one line, with all that Markdown or HTML would read as markup taken literally."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return _SPECIAL.sub(r"\\\1", html.escape(line, quote=False))


def _rows(table: Table) -> list[str]:
    rule = ["---:" if column.align is Align.RIGHT else "---" for column in table.columns]
    return [
        _line([escaped(column.heading) for column in table.columns]),
        _line(rule),
        *(_line([escaped(cell_text(cell)) for cell in row]) for row in table.rows),
    ]


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _sentence(text: str) -> str:
    return _AT_START.sub(lambda match: f"&#{ord(match[0][0])};{match[0][1:]}", escaped(text))


def _list(sentences: tuple[str, ...]) -> str:
    return "".join(f"- {_sentence(sentence)}\n" for sentence in sentences)
