"""The formats of documents and their renderers: text, Markdown, JUnit's XML, GitHub's annotations.

Packages add formats by entry points of the group ``hati.renderers``; each is a function of a document that returns text
or bytes.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from xml.etree import ElementTree as ET

from hati.core import InputError
from hati.document import (
    Align,
    Brief,
    Case,
    Document,
    Facts,
    Folded,
    Part,
    Prose,
    Section,
    Table,
    cell_text,
    with_commands,
)
from hati.packages import added, callable_only, called, load_added
from hati.render.terminal import document_text

_TOP = "###"
_LARGEST_COMMENT = 60_000
"""In characters; GitHub accepts 65,536."""
_CUT = "\n\nThe rest is left out.\n\n"
_BEGIN, _END = "<details>", "</details>\n"
_NEW_LINE = "\n"
_SPECIAL = re.compile(r"([\\`*\[\]|~]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")
_AT_START = re.compile(r"^([-+=#]|\d+(?=[.)]))")


def table_markdown(table: Table, heading: str = _TOP) -> str:
    """A table with its title, and its notes as paragraphs below; title and notes only if it has no rows."""
    lines = [f"{heading} {escaped(table.title)}"]
    if table.rows:
        lines += ["", *_rows(table)]
    for note in table.notes:
        lines += ["", _sentence(note)]
    return "\n".join(lines) + "\n"


def document_markdown(document: Document) -> str:
    """A document for a pull request or an issue: the answer first, details folded.

    With a ``mark`` it is a comment that a bot updates: it begins with the mark, and is cut to the size of a comment.
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
    """The first line of a comment, by which a bot finds its own comment."""
    safe = mark.replace("--", "%2D%2D").replace(">", "%3E").replace("\n", "%0A")
    return f"<!-- {safe} -->"


def _sections(sections: Iterable[Section], heading: str, said: set[str]) -> Iterator[str]:
    """The sections' texts; a table whose title is in ``said``, and so above, has none."""
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
    """The text on one line, with Markdown and HTML markup escaped, and commands as code."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return with_commands(line, _plain, _code)


def _plain(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", html.escape(text, quote=False))


def _code(command: str) -> str:
    """The command as a code span; as text if it has what ends a code span or a cell, or begins an element."""
    return _plain(f"`{command}`") if set("`|<") & set(command) else f"`{command}`"


def _rows(table: Table) -> list[str]:
    table = table.shown
    rule = ["---:" if column.align is Align.RIGHT else "---" for column in table.columns]
    return [
        _table_row([escaped(column.heading) for column in table.columns]),
        _table_row(rule),
        *(_table_row([escaped(cell_text(cell)) for cell in row]) for row in table.rows),
    ]


def _table_row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _sentence(text: str) -> str:
    return _AT_START.sub(lambda match: f"&#{ord(match[0][0])};{match[0][1:]}", escaped(text))


def _list(sentences: Iterable[str]) -> str:
    return "".join(f"- {_sentence(sentence)}\n" for sentence in sentences)


GROUP = "hati.renderers"
"""The group of the entry points of other packages."""

Renderer = Callable[[Document], str | bytes]

_RENDERERS: dict[str, Renderer] = {
    "text": document_text,
    "markdown": document_markdown,
    "junit": lambda document: to_junit(document.suite, document.cases, document.warnings),
    "github": lambda document: to_annotations(document.suite, document.answer, document.cases, document.warnings),
}


def renderer_names() -> tuple[str, ...]:
    """The formats that packages add."""
    return tuple(entry.name for entry in added(GROUP))


def renderer_of(name: str) -> Renderer:
    """The renderer of a format.

    Raises:
        InputError: for an unknown format, or where its package is not usable.
    """
    if name in _RENDERERS:
        return _RENDERERS[name]
    found: Renderer = load_added(GROUP, name, "format", callable_only, tuple(_RENDERERS))

    def write(document: Document) -> str | bytes:
        text = called(f"the format {name!r}", found, document)
        if not isinstance(text, str | bytes):
            raise InputError(f"the format {name!r} gives {text!r}", fix="have it give text or bytes")
        return text

    return write


_OUTSIDE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters outside XML 1.0: https://www.w3.org/TR/xml/#charsets, production 2."""


def to_junit(title: str, cases: Sequence[Case], warnings: Sequence[str] = ()) -> str:
    """The JUnit XML of test cases in one suite; its standard error has the ``warnings``."""
    suite = ET.Element(
        "testsuite",
        name=_clean(title),
        tests=str(len(cases)),
        failures=str(sum(case.failure is not None for case in cases)),
        errors=str(sum(case.error is not None for case in cases)),
        skipped=str(sum(case.skipped is not None for case in cases)),
    )
    timed = [case.seconds for case in cases if case.seconds is not None]
    if timed:
        suite.set("time", _seconds(sum(timed)))
    for case in cases:
        element = ET.SubElement(suite, "testcase", classname=_clean(case.suite), name=_clean(case.name))
        if case.seconds is not None:
            element.set("time", _seconds(case.seconds))
        if case.failure is not None:
            ET.SubElement(element, "failure", message=_line(case.failure), type="slower").text = _clean(case.failure)
        elif case.error is not None:
            ET.SubElement(element, "error", message=_line(case.error), type="not measured").text = _clean(case.error)
        elif case.skipped is not None:
            ET.SubElement(element, "skipped", message=_line(case.skipped))
        if case.note is not None:
            ET.SubElement(element, "system-out").text = _clean(case.note)
    if warnings:
        ET.SubElement(suite, "system-err").text = _clean("\n".join(f"warning: {each}" for each in warnings))
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _seconds(value: float) -> str:
    return f"{value:.3f}"


def _line(text: str) -> str:
    """The first line of a text, for an attribute."""
    return _clean(next(iter(text.splitlines()), ""))


def _clean(text: str) -> str:
    """The text with the characters replaced that XML does not allow."""
    return _OUTSIDE.sub("?", text)


_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def to_annotations(title: str, answer: str, cases: Sequence[Case], warnings: Sequence[str] = ()) -> str:
    """An error for each case that fails, and a warning for each undecided one; without any, the answer as a notice.

    The ``warnings`` on the whole come last. Errors come first: GitHub shows the first ten of a step.
    """
    lines = sorted(_lines(cases), key=lambda line: not line.startswith("::error")) or [
        _annotation("notice", title, answer)
    ]
    lines += [_annotation("warning", title, each) for each in warnings]
    return "".join(f"{line}\n" for line in lines)


def _lines(cases: Sequence[Case]) -> Iterator[str]:
    for case in cases:
        name = case.name
        if not f"{name} ".startswith(f"{case.suite} "):
            name = f"{case.suite} {name}".strip()
        wrong = case.failure if case.error is None else case.error
        if wrong is not None:
            yield _annotation("error", name, wrong)
        elif case.skipped is not None:
            yield _annotation("warning", name, case.skipped)


def _annotation(kind: str, title: str, message: str) -> str:
    return f"::{kind} title={_property(title)}::{_data(message)}"


# Escapes as in the workflow commands of https://github.com/actions/toolkit, packages/core/src/command.ts.
def _data(text: str) -> str:
    return _CONTROL.sub("?", text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
