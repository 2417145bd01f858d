"""Readers ``json``, ``regex`` and ``process``: a path or an expression for each metric, or what the operating
system says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

import numpy as np

from hati.core import InputError, Place, Resources
from hati.subject.readers.reading import OUTPUT, MissingMetricError, Reading, numbers, shown

_STEP = re.compile(r"""(?:^|\.)([^.\[\]"]+)|\[(-?\d{1,9})\]|\[(\*)\]|\["([^"]*)"\]""")

Step = str | int | None
"""A key, an index, or None for every element."""


def parse_path(path: str) -> tuple[Step, ...]:
    """The steps of a path such as ``results[*].latency``, ``a.b[0]`` or ``a["x.y"]``.

    Raises:
        InputError: where the text is no path.

    >>> parse_path("results[*].latency")
    ('results', None, 'latency')
    """
    steps: list[Step] = []
    position = 0
    while match := _STEP.match(path, position):
        key, index, every, quoted = match.groups()
        steps.append(None if every else int(index) if index else key if key is not None else quoted)
        position = match.end()
    if position != len(path) or not path:
        raise InputError(
            f"{path!r} is not a valid path",
            place=Place("path", 1, position + 1, path),
            fix="write keys and indexes such as results[*].latency or a.b[0]",
        )
    return tuple(steps)


def read_document(output: bytes, paths: Iterable[tuple[str, str]], source: str = OUTPUT) -> list[Reading]:
    """One reading for each pair of a metric's name and its path.

    A path that leads to a list of numbers takes them all; one number found without ``[*]`` is one figure
    for the whole run.

    Raises:
        InputError: where the output is no JSON document, or a path leads nowhere or to something else.
    """
    try:
        document = json.loads(output.decode("utf-8", "replace"))
    except RecursionError:
        raise InputError("the output is nested too deeply", place=Place(source)) from None
    except json.JSONDecodeError as error:
        raise InputError(
            f"the output is not JSON: {error.msg}", place=Place(source, error.lineno, error.colno)
        ) from None
    except ValueError as error:  # an integer of more digits than Python reads
        raise InputError(f"the output is not JSON: {error}", place=Place(source)) from None
    return [_follow(document, metric, path, source) for metric, path in paths]


def _follow(document: object, metric: str, path: str, source: str) -> Reading:
    steps, found = parse_path(path), [document]
    for step in steps:
        found = [inner for outer in found for inner in _inner(outer, step, metric, path, source)]
    place = Place(f"{source} at {path}")
    if None in steps or len(found) != 1 or isinstance(found[0], list):
        values = [v for value in found for v in (value if isinstance(value, list) else [value])]
        return Reading(metric, numbers(values, metric, place), place)
    return Reading(metric, numbers(found, metric, place), place, per_run=True)


def _inner(outer: object, step: Step, metric: str, path: str, source: str) -> list[object]:
    if step is None and isinstance(outer, list):
        return outer
    if isinstance(step, int) and isinstance(outer, list) and -len(outer) <= step < len(outer):
        return [outer[step]]
    if isinstance(step, str) and isinstance(outer, dict) and step in outer:
        return [outer[step]]
    wanted = "[*]" if step is None else f"[{step}]" if isinstance(step, int) else repr(step)
    there = f"the keys {', '.join(map(repr, list(outer)[:8]))}" if isinstance(outer, dict) else shown(outer)
    message = f"the output has no metric {metric!r}: path {path!r}: no {wanted} in {there}"
    raise MissingMetricError(metric, message, place=Place(source))


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


UNITS = {"wall_time": "s", "user_time": "s", "system_time": "s", "cpu_time": "s", "peak_memory": "B"}
"""The metrics that there are, and the units in which they are known."""


def read_process(resources: Resources) -> list[Reading]:
    """One reading, one figure for the whole run, of each metric that the system tells."""
    place = Place("the process")
    return [
        Reading(metric, np.array([getattr(resources, metric)], dtype=np.float64), place, unit, per_run=True)
        for metric, unit in UNITS.items()
    ]
