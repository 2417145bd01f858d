"""Verdicts for continuous integration: JUnit's XML, and annotations of GitHub's workflows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from xml.etree import ElementTree as ET

from hati.report import Case

_OUTSIDE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""All that is no character of XML 1.0: https://www.w3.org/TR/xml/#charsets, production 2."""


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
