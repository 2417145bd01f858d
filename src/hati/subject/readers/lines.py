"""Reader ``hati``: JSON lines among whatever else is printed."""

from __future__ import annotations

import json
from typing import NoReturn

from hati.core import InputError, Place
from hati.subject.readers.reading import OUTPUT, Reading, numbers, shown


def read_lines(output: bytes, source: str = OUTPUT) -> list[Reading]:
    """The readings of all lines that are a JSON object with a ``metric``, in order; other lines are ignored.

    Raises:
        InputError: with the line, for one that names a metric and cannot be read.
    """
    readings = []
    for number, line in enumerate(output.split(b"\n"), start=1):
        text = line.strip()
        if text.startswith(b"{") and (reading := _reading(text.decode("utf-8", "replace"), Place(source, number))):
            readings.append(reading)
    return readings


def _reading(text: str, place: Place) -> Reading | None:
    try:
        document = json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        document, reason = None, "it is nested too deeply"
    except ValueError as error:  # also a constant, and an integer of more digits than Python reads
        document, reason = None, str(error)
    if document is None:
        if '"metric"' in text:
            raise InputError(f"a reading that is no JSON: {reason}", place=place)
        return None
    return _from_object(document, place) if "metric" in document else None


def _no_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number")


def _from_object(document: dict[str, object], place: Place) -> Reading:
    metric, unit, mark = document["metric"], document.get("unit"), document.get("warmup", False)
    if not isinstance(metric, str):
        raise InputError(f"`metric` is {shown(metric)}, not a name", place=place)
    if unit is not None and not isinstance(unit, str):
        raise InputError(f"`unit` of {metric!r} is {shown(unit)}, not a text", place=place)
    if not isinstance(mark, bool):
        raise InputError(f"`warmup` of {metric!r} is {shown(mark)}, not true or false", place=place)
    if ("value" in document) == ("values" in document):
        raise InputError(f"{metric!r} needs either `value` or `values`", place=place)
    if "value" in document:
        return Reading(metric, numbers([document["value"]], metric, place), place, unit, mark, per_run=True)
    values = document["values"]
    if not isinstance(values, list):
        raise InputError(f"`values` of {metric!r} is {shown(values)}, not a list", place=place)
    return Reading(metric, numbers(values, metric, place), place, unit, mark)
