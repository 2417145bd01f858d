"""JUnit's XML, which every continuous integration reads."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from hati.report import Case

_CONTROL = {code: "?" for code in range(32) if code not in {9, 10, 13}}


def to_junit(title: str, cases: Sequence[Case]) -> str:
    """Test cases as one suite."""
    suite = ET.Element(
        "testsuite",
        name=title,
        tests=str(len(cases)),
        failures=str(sum(case.failure is not None for case in cases)),
        skipped=str(sum(case.skipped is not None for case in cases)),
        errors="0",
    )
    for case in cases:
        element = ET.SubElement(suite, "testcase", classname=_clean(case.suite), name=_clean(case.name))
        if case.failure is not None:
            ET.SubElement(element, "failure", message=_clean(case.failure))
        if case.skipped is not None:
            ET.SubElement(element, "skipped", message=_clean(case.skipped))
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _clean(text: str) -> str:
    """Without the characters that XML does not have."""
    return text.translate(_CONTROL)
