"""Annotations of GitHub's workflows: lines on standard output that are shown beside a change."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hati.report import Case

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def to_annotations(title: str, answer: str, cases: Sequence[Case]) -> str:
    """An error for each case that fails, a warning for each that is not decided; else the answer as a notice.

    Errors come first: GitHub shows the first ten of a step.
    """
    lines = sorted(_lines(cases), key=lambda line: not line.startswith("::error")) or [_line("notice", title, answer)]
    return "".join(f"{line}\n" for line in lines)


def _lines(cases: Sequence[Case]) -> Iterator[str]:
    for case in cases:
        name = " ".join(filter(None, (case.suite, case.name)))
        wrong = case.failure if case.error is None else case.error
        if wrong is not None:
            yield _line("error", name, wrong)
        elif case.skipped is not None:
            yield _line("warning", name, case.skipped)


def _line(kind: str, title: str, message: str) -> str:
    return f"::{kind} title={_property(title)}::{_data(message)}"


# What the workflow commands of https://github.com/actions/toolkit escape, in packages/core/src/command.ts.
def _data(text: str) -> str:
    return _CONTROL.sub("?", text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
