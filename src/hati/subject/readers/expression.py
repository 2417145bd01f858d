"""Reader ``regex``: a regular expression with one group for each metric."""

from __future__ import annotations

import re
from collections.abc import Iterable

from hati.core import InputError, Place
from hati.subject.readers.reading import OUTPUT, Reading, numbers

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,9})?", re.ASCII)


def parse_expression(expression: str) -> re.Pattern[str]:
    """Compile a regular expression with exactly one group; ``^`` and ``$`` match at lines.

    Python's engine tries alternatives one by one, without a bound: nested repetitions such as ``(a+)+b``
    can take for ever. Atomic groups ``(?>...)`` and possessive ``a++`` avoid that.

    Raises:
        InputError: where it is none.
    """
    try:
        pattern = re.compile(expression, re.MULTILINE)
    except (re.error, OverflowError, RecursionError) as error:
        raise InputError(f"{expression!r} is not a valid regular expression: {error}") from None
    if pattern.groups != 1:
        raise InputError(
            f"{expression!r} has {pattern.groups} groups", fix="put one group ( ) around the number; others as (?: )"
        )
    return pattern


def read_matches(output: bytes, expressions: Iterable[tuple[str, str]], source: str = OUTPUT) -> list[Reading]:
    """All matches, in order, of each pair of a metric's name and its expression; one match is one figure per run.

    Raises:
        InputError: where what the group matched is no number.
    """
    text = output.decode("utf-8", "replace")
    readings = []
    for metric, expression in expressions:
        found = [
            _number(match[1], metric, Place(source, text.count("\n", 0, match.start()) + 1))
            for match in parse_expression(expression).finditer(text)
        ]
        if found:
            values = numbers(found, metric, Place(source))
            readings.append(Reading(metric, values, Place(source), per_run=len(found) == 1))
    return readings


def _number(text: str | None, metric: str, place: Place) -> float:
    if text is None or not _NUMBER.fullmatch(text.strip()):
        raise InputError(f"{metric!r} matched {(text or '')[:40]!r}, which is not a number", place=place)
    return float(text)
