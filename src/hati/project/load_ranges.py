"""Ranges of a load, read from an argument such as ``users.rate=100/min..2000/min``, with located errors."""

from __future__ import annotations

import math
import re

from hati.core import InputError, Place
from hati.core.wording import suggestion
from hati.prediction import ClosedWorkload, LoadField, LoadRange, ModelError, ServiceModel, with_load
from hati.project.prediction_models import parse_rate

_ARGUMENT = "--over"
_EXAMPLES = {LoadField.RATE: "users.rate=100/min..2000/min", LoadField.POPULATION: "users.population=1..50"}
_UNIT = re.compile(r"[0-9]\s*(?:1?/)?\s*([a-zµ]+)\s*$")


def parse_load_range(text: str, model: ServiceModel) -> LoadRange:
    """The range of a workload of the model.

    Raises:
        InputError: for what is wrong, with its place in the argument.
    """
    head, equals, ends = text.rpartition("=")
    name, dot, word = head.rpartition(".")
    low, dots, high = ends.partition("..")
    if not (equals and dot and dots):
        raise _wrong(text, 0, f"{text!r} is not a range of a load", f"write it as {_EXAMPLES[LoadField.RATE]}")
    field = _field(text, name.strip(), word, model)
    at = len(head) + len(equals)
    places = (at, at + len(low) + len(dots))
    first, last = (_load(text, place, end, field) for place, end in zip(places, (low, high), strict=True))
    if first >= last:
        raise _wrong(text, at, "the range does not grow", "give the smaller load first")
    unit = _UNIT.search(high) if field is LoadField.RATE else None
    shown = f"1/{unit[1]}" if unit else "1/s" if field is LoadField.RATE else "users"
    over = LoadRange(name.strip(), field, first, last, shown, parse_rate(f"1/{unit[1]}") if unit else 1.0)
    for place, load in zip(places, (first, last), strict=True):
        try:
            with_load(model, over, load)
        except ModelError as error:
            raise _wrong(text, place, error.message, error.fix) from None
    return over


def _field(text: str, name: str, word: str, model: ServiceModel) -> LoadField:
    known = {each.name: each for each in model.workloads}
    if name not in known:
        raise _wrong(text, 0, f"there is no workload {name!r}", suggestion(name, list(known)))
    field = LoadField.POPULATION if isinstance(known[name], ClosedWorkload) else LoadField.RATE
    if word.strip() != field.value:
        kind = "a closed" if field is LoadField.POPULATION else "an open"
        message = f"{word.strip()!r} is not the load of {kind} workload"
        raise _wrong(text, text.rindex(".", 0, text.rindex("=")) + 1, message, f"write {name}.{field.value}=...")
    return field


def _load(text: str, at: int, end: str, field: LoadField) -> float:
    fix = f"write the range as {_EXAMPLES[field]}"
    if field is LoadField.POPULATION:
        if not re.fullmatch(r"\s*[0-9]{1,9}\s*", end):
            raise _wrong(text, at, f"{end!r} is not a number of users", fix)
        return float(end)
    try:
        load = parse_rate(end)
    except InputError as error:
        raise _wrong(text, at, error.message, fix) from None
    if not (math.isfinite(load) and load > 0.0):
        raise _wrong(text, at, f"{end!r} is not a rate above 0", fix)
    return load


def _wrong(text: str, at: int, message: str, fix: str | None) -> InputError:
    return InputError(message, place=Place(_ARGUMENT, 1, at + 1, text), fix=fix)
