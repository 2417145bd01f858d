"""Load curves as documents and as JSON."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from msgspec import UNSET, Struct, UnsetType

from hati.document.document import Align, Cell, Chart, ChartKind, Column, Document, Fact, Shown, Table, general, tidy
from hati.document.publishing import Of
from hati.prediction import LoadCurve, LoadPoint, PredictedValue, RequestPrediction, Scheduling
from hati.prediction.document import (
    ComponentJson,
    OverloadJson,
    RequestJson,
    ResourceJson,
    interval_json,
    interval_notes,
    machine_facts,
    shown,
)

_RIGHT = Align.RIGHT
_OVERLOADED = "overloaded"


class LoadPointJson(Struct, frozen=True):
    """What is predicted at a load, by which method and why; nothing but the overloads of an overloaded one."""

    load: float
    method: Annotated[str, Of("prediction.method.value")]
    reason: Annotated[str, Of("prediction.reason")]
    requests: Annotated[list[RequestJson], Of("prediction.requests")]
    components: Annotated[list[ComponentJson], Of("prediction.components")]
    resources: Annotated[list[ResourceJson], Of("prediction.resources")]
    overloads: Annotated[list[OverloadJson], Of("prediction.overloads")]


class SaturationJson(Struct, frozen=True):
    """The resource that saturates first, and at which load."""

    resource: str
    load: Annotated[float, Of("load.value")]
    interval: Annotated[tuple[float, float | None] | UnsetType, Of(lambda each: interval_json(each.load))] = UNSET


class LoadCurveJson(Struct, frozen=True, tag_field="format", tag="hati-predict-over-1"):
    """What is predicted over loads of a workload: rates in 1/s, or populations.

    ``saturation`` is null where no rate saturates a resource.
    """

    workload: Annotated[str, Of("over.workload")]
    field: Annotated[str, Of("over.field.value")]
    saturation: SaturationJson | None
    points: list[LoadPointJson]


class LoadPanel(NamedTuple):
    """Lines over the load; a point is the name of its line, the load and the value."""

    name: str
    unit: str
    points: tuple[tuple[str, float, float], ...]


class LoadFigure(NamedTuple):
    """A load curve: its panels, both ends of the range, and the load that saturates a resource, all in ``unit``."""

    title: str
    load: str
    unit: str
    ends: tuple[float, float]
    saturation: float | None
    panels: tuple[LoadPanel, ...]


def load_curve_document(curve: LoadCurve, title: str) -> Document:
    """The predictions over the loads, for people."""
    facts: tuple[Fact, ...] = (
        ("range", f"{curve.over.workload}: {_load(curve, curve.over.low)} to {_load(curve, curve.over.high)}"),
        *machine_facts(curve.points[0].prediction.model),
    )
    return Document(f"Load curve: {title}", _answer(curve), facts, _sections(curve, title))


def _sections(curve: LoadCurve, title: str) -> tuple[Table | Chart, ...]:
    tables = (_responses(curve), _utilisations(curve))
    over, found = curve.over, curve.saturation
    figure = LoadFigure(
        title,
        f"{over.field.value} of {over.workload}",
        over.unit,
        (over.low / over.per_unit, over.high / over.per_unit),
        None if found is None else found.load.value / over.per_unit,
        tuple(map(_panel, ("response time", "utilisation"), tables)),
    )
    return (*tables, Chart(ChartKind.LOADS, "loads", "The tables have the same numbers.", figure))


def _panel(name: str, table: Table) -> LoadPanel:
    """The numbers of a table whose first column is the load; cells without a number have no point."""
    points = tuple(
        (column.name, load.value, cell.value)
        for load, *cells in table.rows
        for column, cell in zip(table.columns[1:], cells, strict=True)
        if isinstance(load, Shown) and isinstance(load.value, float)
        if isinstance(cell, Shown) and isinstance(cell.value, float)
    )
    return LoadPanel(name, table.columns[-1].unit or "", points)


def _load(curve: LoadCurve, load: float) -> str:
    return f"{general(load / curve.over.per_unit)} {curve.over.unit}"


def _saturation(curve: LoadCurve, load: PredictedValue) -> str:
    return f"{shown(load, 1.0 / curve.over.per_unit).text} {curve.over.unit}"


def _answer(curve: LoadCurve) -> str:
    found = curve.saturation
    if found is not None:
        if found.load.value == 0.0:
            return f"Other workloads saturate `{found.resource}` without `{curve.over.workload}`."
        return f"`{found.resource}` saturates first, at {_saturation(curve, found.load)} of `{curve.over.workload}`."
    last = curve.points[-1]
    slowest = max(last.prediction.requests, key=lambda each: each.response.value, default=None)
    if slowest is None:
        return f"No load of `{curve.over.workload}` changes what is overloaded."
    scale = tidy("s", [slowest.response.value])
    shown = f"{general(slowest.response.value * scale.factor)} {scale.unit}"
    return f"No load saturates a resource. Mean response time of `{slowest.component}` at the last load: {shown}."


def _load_column(curve: LoadCurve) -> Column:
    return Column(curve.over.field.value, curve.over.unit, _RIGHT)


def _load_cell(curve: LoadCurve, point: LoadPoint) -> Cell:
    load = point.load / curve.over.per_unit
    return Shown(general(load), load)


def _responses(curve: LoadCurve) -> Table:
    answered = [point.prediction.requests for point in curve.points if point.prediction.requests]
    scale = tidy("s", [each.response.value for requests in answered for each in requests])
    names = [_named(each) for each in answered[0]] if answered else ["requests"]
    columns = (_load_column(curve), *(Column(name, scale.unit, _RIGHT) for name in names))
    rows = tuple(
        (
            _load_cell(curve, point),
            *(
                [shown(each.response, scale.factor) for each in point.prediction.requests]
                or [Shown(_OVERLOADED, None)] * len(names)
            ),
        )
        for point in curve.points
    )
    notes = next((interval_notes(each.prediction) for each in curve.points if each.prediction.requests), ())
    return Table("Response times", columns, rows, notes)


def _named(each: RequestPrediction) -> str:
    return f"{each.workload}: {each.component}"


def _utilisations(curve: LoadCurve) -> Table:
    model = curve.points[0].prediction.model
    names = [each.name for each in model.resources if each.policy is not Scheduling.DELAY]
    columns = (_load_column(curve), *(Column(name, "%", _RIGHT) for name in names))
    rows = tuple((_load_cell(curve, point), *_busy(point, names)) for point in curve.points)
    overloads = any(point.prediction.overloads for point in curve.points)
    notes = (
        "Overloaded: open workloads ask the resource for all its cores or more; response times grow without limit.",
    )
    return Table("Utilisation", columns, rows, notes if overloads else ())


def _busy(point: LoadPoint, names: list[str]) -> tuple[Cell, ...]:
    busy: dict[str, Cell] = {each.name: shown(each.utilisation, 100.0) for each in point.prediction.resources}
    for each in point.prediction.overloads:
        asked = each.busy / each.cores
        busy[each.resource] = Shown(f"{general(100.0 * asked)} {_OVERLOADED}", 100.0 * asked)
    return tuple(busy.get(name) for name in names)
