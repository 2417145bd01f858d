"""Models for ``hati predict``, read from TOML with located errors, and their keys as a JSON Schema for editors.

Ranges of a load are read from an argument such as ``users.rate=100/min..2000/min``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeVar

from hati.core import InputError, Place
from hati.core.wording import suggestion
from hati.prediction import (
    CONSTANT,
    EXPONENTIAL,
    MOST_CORES,
    MOST_USERS,
    ClosedWorkload,
    Component,
    Demand,
    Law,
    LawKind,
    LoadField,
    LoadRange,
    ModelError,
    OpenWorkload,
    Resource,
    Scheduling,
    ServiceModel,
    Workload,
    with_load,
)
from hati.project.document import TomlTable, Value, parse_document
from hati.project.metrics import number
from hati.project.schema import Described, Fragment
from hati.project.text_files import read_text

MODEL_SCHEMA_FILE: Final = "hati-model.schema.json"

_TIME: Fragment = {"type": "string", "pattern": r"^\s*[0-9.]+([eE][-+]?[0-9]+)?\s*(ns|us|µs|ms|s|m|min|h)\s*$"}
_LAW: Fragment = {"enum": [kind.value for kind in LawKind]}
_CV: Fragment = {"type": "number", "minimum": 0}
_FRACTIONS: Fragment = {"type": "object", "additionalProperties": {"type": "number", "minimum": 0, "maximum": 1}}


def _named(table: str) -> Fragment:
    return {"type": "object", "additionalProperties": {"$ref": f"#/definitions/{table}"}, "minProperties": 1}


MODEL_KEYS: Final[Mapping[str, Described]] = MappingProxyType(
    {
        "model": {
            "measured_on": (
                {"type": "string"},
                "The machine that demands were measured on, as `hati probe diff` names it. For --resources.",
            ),
            "resources": (_named("resource"), "What serves: processors, disks, delays, by their names."),
            "components": (_named("component"), "What demands service, by their names."),
            "workloads": (_named("workload"), "Who asks, by their names."),
        },
        "resource": {
            "policy": (
                {"enum": [policy.value for policy in Scheduling]},
                "ps: processor sharing, fcfs: first come, first served, delay: no queue. Default: ps.",
            ),
            "cores": ({"type": "integer", "minimum": 1}, "The number of cores. Default: 1."),
            "speed": (
                {"type": "number", "exclusiveMinimum": 0},
                "Speed relative to the machine that demands were measured on. Default: 1.",
            ),
            "overhead": (
                {"type": ["number", "string"], "exclusiveMaximum": 1},
                "The part by which virtualisation lengthens demands, such as 6.7%. Default: 0.",
            ),
        },
        "component": {
            "demands": (
                {
                    "type": "object",
                    "additionalProperties": {"anyOf": [_TIME, {"$ref": "#/definitions/demand"}]},
                    "minProperties": 1,
                },
                "The mean time that a visit needs at each resource, in this order.",
            ),
            "next": (_FRACTIONS, "Probabilities of the components that follow; the rest of the requests leaves."),
        },
        "demand": {
            "mean": (_TIME, "The mean time, such as 20ms."),
            "law": (_LAW, "The distribution. Default: exponential."),
            "cv": (_CV, "The coefficient of variation of gamma and lognormal."),
        },
        "workload": {
            "rate": (
                {"type": ["number", "string"]},
                "Open: arrivals per second, or with a unit, such as 500/min.",
            ),
            "arrivals": (_LAW, "Open: the distribution of times between arrivals. Default: exponential."),
            "cv": (_CV, "Open: the coefficient of variation of gamma and lognormal arrivals."),
            "population": ({"type": "integer", "minimum": 1}, "Closed: the number of users."),
            "think": (_TIME, "Closed: the mean time between a response and the next request. Default: none."),
            "mix": (_FRACTIONS, "The part of requests that enters at each component. Adds up to 1."),
        },
    }
)
_NEEDED: Final = {
    "model": ["resources", "components", "workloads"],
    "component": ["demands"],
    "demand": ["mean"],
    "workload": ["mix"],
}


def model_keys(table: str) -> tuple[str, ...]:
    """The keys of a table of a model."""
    return tuple(MODEL_KEYS[table])


def model_json_schema() -> dict[str, object]:
    """The JSON Schema (draft 7) of a model; it accepts whatever the reader accepts."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "model of hati predict",
        **_object("model"),
        "definitions": {name: _object(name) for name in MODEL_KEYS if name != "model"},
    }


def _object(table: str) -> dict[str, object]:
    properties = {key: {"description": doc, **fragment} for key, (fragment, doc) in MODEL_KEYS[table].items()}
    needed = {"required": _NEEDED[table]} if table in _NEEDED else {}
    return {"type": "object", "properties": properties, "additionalProperties": False, **needed}


_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_QUANTITY = re.compile(r"\s*([0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?)\s*(.*?)\s*")
_EXAMPLES = {
    "resources": "[resources.cpu] cores = 4",
    "components": '[components.web] demands = { cpu = "20ms" }',
    "workloads": '[workloads.users] rate = "500/min", mix = { web = 1.0 }',
}
_OPEN, _CLOSED = ("rate", "arrivals", "cv"), ("population", "think")
_Word = TypeVar("_Word", bound=StrEnum)


def read_model(path: Path) -> ServiceModel:
    """The model in a TOML file.

    Raises:
        InputError: where it cannot be read, or for an error in it, with its place.
    """
    return parse_model(read_text(path), str(path))


def parse_model(text: str, file: str) -> ServiceModel:
    """The model that a TOML text describes.

    Raises:
        InputError: for an error in it, with its place.
    """
    root = parse_document(text, file)
    root.only(*model_keys("model"))
    try:
        return ServiceModel(
            tuple(_resource(name, table) for name, table in _tables(root, "resources").items()),
            tuple(_component(name, table) for name, table in _tables(root, "components").items()),
            tuple(_workload(name, table) for name, table in _tables(root, "workloads").items()),
            root.read("measured_on", Value.line, ""),
        )
    except ModelError as error:
        place = root.document.key_place(error.path)
        raise InputError(error.message, place=place, fix=error.fix) from None


def parse_rate(text: str) -> float:
    """The requests per second in a text such as ``8``, ``8/s`` or ``500/min``.

    Raises:
        InputError: for anything else.
    """
    match = _QUANTITY.fullmatch(text)
    unit = match[2].removeprefix("1").removeprefix("/") if match else "?"
    if match is None or (match[2] and unit not in _SECONDS):
        raise InputError(f"{text!r} is not a rate", fix="write a number per second, or with a unit, such as 500/min")
    return float(match[1]) / (_SECONDS[unit] if match[2] else 1.0)


def parse_time(text: str) -> float:
    """The seconds in a text such as ``20ms``.

    Raises:
        InputError: for anything else.
    """
    match = _QUANTITY.fullmatch(text)
    if match is None or match[2] not in _SECONDS:
        raise InputError(f"{text!r} is not a time", fix="write a number and ns, us, ms, s, min or h, such as 20ms")
    return float(match[1]) * _SECONDS[match[2]]


def _tables(root: TomlTable, key: str) -> dict[str, TomlTable]:
    if key not in root:
        raise root.error(f"the model has no {key}", fix=f"add some, as in {_EXAMPLES[key]}")
    tables = root.table(key)
    return {name: tables.table(name) for name in tables}


def _resource(name: str, table: TomlTable) -> Resource:
    table.only(*model_keys("resource"))
    return Resource(
        name,
        table.read("policy", lambda value: _word(value, Scheduling), Scheduling.PS),
        table.read("cores", _cores, 1),
        table.read("speed", number, 1.0),
        table.read("overhead", _overhead, 0.0),
    )


def _cores(value: Value) -> int:
    return _whole(value, MOST_CORES, "write 4 for four cores; a slower core has a `speed` below 1")


def _users(value: Value) -> int:
    return _whole(value, MOST_USERS, "write 20 for twenty users")


def _whole(value: Value, most: int, fix: str) -> int:
    """A whole number from 1 on."""
    if isinstance(value.data, bool) or not isinstance(value.data, int) or not 1 <= value.data <= most:
        raise value.differs(f"a whole number from 1 to {most:,}", fix=fix)
    return value.data


def _overhead(value: Value) -> float:
    found = _fraction(value)
    if found < 1.0 or (isinstance(value.data, str) and value.data.strip().endswith("%")):
        return found
    message = f"{value.name}: {found:g} would make demands {1.0 + found:g} times as long"
    raise value.error(message, fix=f'write "{found:g} %", or "{100.0 * found:g} %" if that is meant')


def _component(name: str, table: TomlTable) -> Component:
    table.only(*model_keys("component"))
    demands = table.need("demands", 'demands = { cpu = "20ms" }').table()
    return Component(
        name,
        tuple(_demand(key, demands.need(key, "")) for key in demands),
        _fractions(table.table("next")),
    )


def _demand(resource: str, value: Value) -> Demand:
    if not isinstance(value.data, dict):
        return Demand(resource, _time(value))
    table = value.table()
    table.only(*model_keys("demand"))
    return Demand(resource, _time(table.need("mean", 'mean = "20ms"')), _law(table, "law"))


def _workload(name: str, table: TomlTable) -> Workload:
    table.only(*model_keys("workload"))
    mix = _fractions(table.need("mix", "mix = { web = 1.0 }").table())
    if ("rate" in table) == ("population" in table):
        raise table.error(
            f"workload {name!r} needs either a rate or a population",
            fix="give a rate to an open workload, a population to a closed one",
        )
    kind, others = ("an open", _CLOSED) if "rate" in table else ("a closed", _OPEN)
    for key in others:
        if key in table:
            raise table.error(f"{key} is not for {kind} workload", key=key, fix="remove it")
    if "rate" in table:
        return OpenWorkload(name, _rate(table.need("rate", "")), mix, _law(table, "arrivals"))
    return ClosedWorkload(name, _users(table.need("population", "")), table.read("think", _time, 0.0), mix)


def _law(table: TomlTable, key: str) -> Law:
    kind = table.read(key, lambda value: _word(value, LawKind), LawKind.EXPONENTIAL)
    varies = kind in {LawKind.GAMMA, LawKind.LOGNORMAL}
    if not varies:
        if "cv" in table:
            raise table.error(f"cv is not for {kind.value} times", key="cv", fix="remove it, or choose gamma")
        return EXPONENTIAL if kind is LawKind.EXPONENTIAL else CONSTANT
    variation = table.need("cv", "cv = 0.5")
    if not 0.0 < number(variation) < float("inf"):
        raise variation.error(f"cv: expected a number above 0, found {number(variation):g}")
    return Law(kind, number(variation))


def _word(value: Value, known: type[_Word]) -> _Word:
    words = [each.value for each in known]
    if value.line() not in words:
        raise value.error(
            f"{value.name}: {value.line()!r} is none of {', '.join(words)}", fix=suggestion(value.line(), words)
        )
    return known(value.line())


def _fractions(table: TomlTable) -> tuple[tuple[str, float], ...]:
    return tuple((key, _fraction(table.need(key, ""))) for key in table)


def _fraction(value: Value) -> float:
    """A fraction such as ``"6.7%"`` or 0.067."""
    if not isinstance(value.data, str):
        return number(value)
    text = value.data.strip()
    try:
        return float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
    except ValueError:
        raise value.error(f"{value.name}: {text!r} is not a fraction", fix="write it as 6.7% or 0.067") from None


def _rate(value: Value) -> float:
    if not isinstance(value.data, str):
        return number(value)
    try:
        return parse_rate(value.data)
    except InputError as error:
        raise value.error(error.message, fix=error.fix) from None


def _time(value: Value) -> float:
    try:
        return parse_time(value.text())
    except InputError as error:
        if error.place is not None:
            raise
        raise value.error(error.message, fix=error.fix) from None


_ARGUMENT = "--over"
_RANGE_EXAMPLES = {LoadField.RATE: "users.rate=100/min..2000/min", LoadField.POPULATION: "users.population=1..50"}
_UNIT = re.compile(r"[0-9]\s*(?:1?/)?\s*([a-zµ]+)\s*$")


def parse_load_range(text: str, model: ServiceModel) -> LoadRange:
    """The range of the load of a workload of the model.

    Raises:
        InputError: for an error in it, with its place in the argument.
    """
    head, equals, ends = text.rpartition("=")
    name, dot, word = head.rpartition(".")
    low, dots, high = ends.partition("..")
    if not (equals and dot and dots):
        raise _wrong(text, 0, f"{text!r} is not a range of a load", f"write it as {_RANGE_EXAMPLES[LoadField.RATE]}")
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
    fix = f"write the range as {_RANGE_EXAMPLES[field]}"
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
