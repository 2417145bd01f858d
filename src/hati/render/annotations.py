"""Annotations of GitHub's workflows: lines on standard output that are shown beside a change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hati.report import Case


def to_annotations(title: str, cases: Sequence[Case]) -> str:
    """An error for each case that fails, a warning for each that is not decided, and one notice where all is well."""
    lines = list(_lines(cases)) or [_line("notice", title, f"{len(cases)} of {len(cases)} are not slower")]
    return "".join(f"{line}\n" for line in lines)


def _lines(cases: Sequence[Case]) -> Iterator[str]:
    for case in cases:
        name = " ".join(filter(None, (case.suite, case.name)))
        if case.failure is not None:
            yield _line("error", name, case.failure)
        elif case.skipped is not None:
            yield _line("warning", name, case.skipped)


def _line(kind: str, title: str, message: str) -> str:
    return f"::{kind} title={_property(title)}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
