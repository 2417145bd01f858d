"""Models for ``hati predict``, read from TOML with located errors."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from hati.core import InputError
from hati.core.wording import suggestion
from hati.prediction import (
    CONSTANT,
    EXPONENTIAL,
    ClosedWorkload,
    Component,
    Demand,
    Law,
    LawKind,
    ModelError,
    OpenWorkload,
    Resource,
    Scheduling,
    ServiceModel,
    Workload,
)
from hati.project.document import TomlTable, Value, parse_document
from hati.project.files import read_text
from hati.project.metrics import number
from hati.project.prediction_schema import model_keys

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
        InputError: for what cannot be read or is wrong, with its place.
    """
    return parse_model(read_text(path), str(path))


def parse_model(text: str, file: str) -> ServiceModel:
    """The model that a TOML text describes.

    Raises:
        InputError: for what is wrong, with its place.
    """
    root = parse_document(text, file)
    root.only(*model_keys("model"))
    try:
        return ServiceModel(
            tuple(_resource(name, table) for name, table in _tables(root, "resources").items()),
            tuple(_component(name, table) for name, table in _tables(root, "components").items()),
            tuple(_workload(name, table) for name, table in _tables(root, "workloads").items()),
        )
    except ModelError as error:
        place = root.document.key_place(error.path)
        raise InputError(error.message, place=place, fix=error.fix) from None


def parse_rate(text: str) -> float:
    """Requests per second, of a text such as ``8``, ``8/s`` or ``500/min``.

    Raises:
        InputError: for anything else.
    """
    match = _QUANTITY.fullmatch(text)
    unit = match[2].removeprefix("1").removeprefix("/") if match else "?"
    if match is None or (match[2] and unit not in _SECONDS):
        raise InputError(f"{text!r} is not a rate", fix="write a number per second, or with a unit, such as 500/min")
    return float(match[1]) / (_SECONDS[unit] if match[2] else 1.0)


def parse_time(text: str) -> float:
    """Seconds, of a text such as ``20ms``.

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
        table.read("cores", Value.natural, 1),
        table.read("speed", number, 1.0),
        table.read("overhead", _fraction, 0.0),
    )


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
    return ClosedWorkload(name, table.need("population", "").natural(), table.read("think", _time, 0.0), mix)


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
