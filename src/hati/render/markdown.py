"""Documents and tables as GitHub's Markdown."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator

from hati.report import Align, Brief, Document, Facts, Folded, Part, Prose, Section, Table, cell_text

_TOP = "###"
_LARGEST_COMMENT = 60_000
"""Characters; GitHub takes 65,536."""
_CUT = "\n\nThe rest is left out.\n\n"
_BEGIN, _END = "<details>", "</details>\n"
_NEW_LINE = "\n"
_SPECIAL = re.compile(r"([\\`*\[\]|~]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")
_AT_START = re.compile(r"^([-+=#]|\d+(?=[.)]))")


def table_markdown(table: Table, heading: str = _TOP) -> str:
    """A titled table, its notes as paragraphs below; ends in a newline. Without rows: title and notes only."""
    lines = [f"{heading} {escaped(table.title)}"]
    if table.rows:
        lines += ["", *_rows(table)]
    for note in table.notes:
        lines += ["", _sentence(note)]
    return "\n".join(lines) + "\n"


def document_markdown(document: Document) -> str:
    """A document, for a pull request or an issue: the answer first, details folded.

    With a ``mark`` it is a comment that a bot replaces: it begins with the mark, and fits into a comment.
    """
    if document.mark:
        return _comment(document)
    facts = (*document.facts, *((("study", document.study),) if document.study else ()))
    parts = [
        f"## {escaped(document.title)}\n",
        *([f"**{escaped(document.answer)}**\n"] if document.answer else []),
        *([_list(f"{name}: {text}" for name, text in facts)] if facts else []),
        *_sections(document.sections, _TOP, {document.title, document.answer}),
        *_aside(document),
    ]
    return "\n".join(parts)


def _comment(document: Document) -> str:
    head = [comment_mark(document.mark), f"**{escaped(document.title)}: {escaped(document.answer)}**\n"]
    text = "\n".join((*head, *_sections(document.sections, _TOP, set()), *_aside(document)))
    if len(text) <= _LARGEST_COMMENT:
        return text
    return f"{text[:_LARGEST_COMMENT].rpartition(_NEW_LINE)[0]}{_CUT}{_END * text.count(_BEGIN)}"


def _aside(document: Document) -> Iterator[str]:
    for title, listed in (("Failed runs", document.failures), ("Warnings", document.warnings)):
        if listed:
            yield f"{_TOP} {title}\n\n{_list(listed)}"


def comment_mark(mark: str) -> str:
    """The first line of a comment, by which a bot finds its own."""
    safe = mark.replace("--", "%2D%2D").replace(">", "%3E").replace("\n", "%0A")
    return f"<!-- {safe} -->"


def _sections(sections: Iterable[Section], heading: str, said: set[str]) -> Iterator[str]:
    """The sections' texts; a table whose title was ``said`` above has none."""
    for section in sections:
        if isinstance(section, Table):
            yield _untitled(section) if section.title in said else table_markdown(section, heading)
        elif isinstance(section, Facts):
            facts = _list(f"{name}: {text}" for name, text in section.lines)
            yield f"{heading} {escaped(section.title)}\n\n{facts}" if section.title else facts
        elif isinstance(section, Prose):
            yield "\n\n".join(map(_sentence, section.sentences)) + "\n"
        elif isinstance(section, Brief):
            yield _untitled(section.table)
        elif isinstance(section, Folded):
            tables = "\n".join(table_markdown(table, heading) for table in section.sections)
            yield f"{_BEGIN}<summary>{escaped(section.title)}</summary>\n\n{tables}\n{_END}"
        elif isinstance(section, Part):
            yield f"{heading} {escaped(section.title)}\n"
            if section.answer:
                yield f"**{escaped(section.answer)}**\n"
            yield from _sections(section.sections, f"#{heading}", said)


def _untitled(table: Table) -> str:
    return "\n".join([*_rows(table), *(f"\n{_sentence(note)}" for note in table.notes)]) + "\n"


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


def _list(sentences: Iterable[str]) -> str:
    return "".join(f"- {_sentence(sentence)}\n" for sentence in sentences)
