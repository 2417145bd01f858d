"""Reader ``hati``: JSON lines among whatever else is printed."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn

from hati.core import InputError, Place
from hati.subject.readers.reading import OUTPUT, Reading, numbers, shown


@dataclass
class _Gathered:
    """Single values of one metric whose lines say the same of them."""

    unit: str | None
    warmup: bool
    values: list[object] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)


def read_lines(output: bytes, source: str = OUTPUT) -> list[Reading]:
    """The readings of all lines that are a JSON object with a ``metric``; other lines are ignored.

    Those of one metric are in order; single values that follow each other are one reading.

    Raises:
        InputError: with the line, for one that names a metric and cannot be read.
    """
    readings: dict[str, list[Reading | _Gathered]] = defaultdict(list)
    for number, document in _documents(output, source):
        metric, unit, mark = _about(document, Place(source, number))
        found, last = readings[metric], readings[metric][-1] if readings[metric] else None
        if "values" in document:
            place = Place(source, number)
            found.append(Reading(metric, numbers(_list(document, place), metric, place), place, unit, mark))
            continue
        if not isinstance(last, _Gathered) or (last.unit, last.warmup) != (unit, mark):
            last = _Gathered(unit, mark)
            found.append(last)
        last.values.append(document["value"])
        last.lines.append(number)
    return [
        _reading(metric, each, source) if isinstance(each, _Gathered) else each
        for metric, found in readings.items()
        for each in found
    ]


def _reading(metric: str, found: _Gathered, source: str) -> Reading:
    place = Place(source, found.lines[0])
    values = numbers(found.values, metric, place, found.lines)
    return Reading(metric, values, place, found.unit, found.warmup, per_run=True, lines=found.lines)


def _documents(output: bytes, source: str) -> Iterator[tuple[int, dict[str, object]]]:
    """The lines that name a metric, with their numbers."""
    decoder = json.JSONDecoder(parse_constant=_no_constant)
    for number, line in enumerate(output.split(b"\n"), start=1):
        text = line.strip()
        if not text.startswith(b"{"):
            continue
        plain = text.decode("utf-8", "replace")
        try:
            document: dict[str, object] = decoder.decode(plain)
        except (
            RecursionError,
            ValueError,
        ) as error:  # also a constant, and an integer of more digits than Python reads
            if '"metric"' in plain:
                why = "it is nested too deeply" if isinstance(error, RecursionError) else error
                raise InputError(f"a reading that is not valid JSON: {why}", place=Place(source, number)) from None
            continue
        if "metric" in document:
            yield number, document


def _no_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a valid number")


def _about(document: dict[str, object], place: Place) -> tuple[str, str | None, bool]:
    """Which metric a line is of, its unit, and whether it is marked as warm-up."""
    metric, unit, mark = document["metric"], document.get("unit"), document.get("warmup", False)
    if not isinstance(metric, str):
        raise InputError(f"`metric` is {shown(metric)}, not a name", place=place)
    if unit is not None and not isinstance(unit, str):
        raise InputError(f"`unit` of {metric!r} is {shown(unit)}, not a text", place=place)
    if not isinstance(mark, bool):
        raise InputError(f"`warmup` of {metric!r} is {shown(mark)}, not true or false", place=place)
    if ("value" in document) == ("values" in document):
        raise InputError(f"{metric!r} needs either `value` or `values`", place=place)
    return metric, unit, mark


def _list(document: dict[str, object], place: Place) -> list[object]:
    values = document["values"]
    if not isinstance(values, list):
        raise InputError(f"`values` of {document['metric']!r} is {shown(values)}, not a list", place=place)
    return values
