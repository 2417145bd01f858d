"""The formats of documents, each with what writes any document in it; JUnit's XML and GitHub's annotations.

Packages add formats by entry points of the group ``hati.renderers``; each is a function of a document to text or bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from xml.etree import ElementTree as ET

from hati.core import InputError
from hati.packages import added, callable_only, called, load_added
from hati.render.markdown import document_markdown
from hati.render.terminal import document_text
from hati.report import Case, Document

GROUP = "hati.renderers"
"""The entry points of other packages."""

Renderer = Callable[[Document], str | bytes]

_RENDERERS: dict[str, Renderer] = {
    "text": document_text,
    "markdown": document_markdown,
    "junit": lambda document: to_junit(document.suite, document.cases),
    "github": lambda document: to_annotations(document.suite, document.answer, document.cases),
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


def to_junit(title: str, cases: Sequence[Case]) -> str:
    """Test cases as one suite."""
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
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _seconds(value: float) -> str:
    return f"{value:.3f}"


def _line(text: str) -> str:
    """The first line: attributes have no others."""
    return _clean(next(iter(text.splitlines()), ""))


def _clean(text: str) -> str:
    """Without the characters that XML does not have."""
    return _OUTSIDE.sub("?", text)


_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def to_annotations(title: str, answer: str, cases: Sequence[Case]) -> str:
    """An error for each case that fails, a warning for each that is not decided; else the answer as a notice.

    Errors come first: GitHub shows the first ten of a step.
    """
    lines = sorted(_lines(cases), key=lambda line: not line.startswith("::error")) or [
        _annotation("notice", title, answer)
    ]
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


# What the workflow commands of https://github.com/actions/toolkit escape, in packages/core/src/command.ts.
def _data(text: str) -> str:
    return _CONTROL.sub("?", text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
