"""Predictions and load curves as documents and as JSON."""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

from msgspec import UNSET, Struct, UnsetType

from hati.core.wording import listed
from hati.document.document import (
    Align,
    Cell,
    Chart,
    ChartKind,
    Column,
    Document,
    Fact,
    Shown,
    Table,
    columns_of,
    general,
    percent,
    quantity,
    tidy,
)
from hati.document.publishing import Of
from hati.prediction import (
    LoadCurve,
    LoadPoint,
    OpenWorkload,
    PredictedValue,
    ProbedMachine,
    RequestPrediction,
    Resource,
    ResourcePrediction,
    Scheduling,
    ServiceModel,
    ServicePrediction,
    ends_of,
)

_RIGHT = Align.RIGHT


def interval_json(found: PredictedValue) -> tuple[float, float | None] | UnsetType:
    """The published interval of a value; unset where the value is exact."""
    if found.low is None or found.high is None:
        return UNSET
    return found.low, found.high if math.isfinite(found.high) else None


class EstimateJson(Struct, frozen=True):
    """A predicted value; the ends of its interval where it was simulated, or follows from measured speeds.

    The upper end is null where an end of a measured speed's interval overloads a resource.
    """

    value: float
    interval: Annotated[tuple[float, float | None] | UnsetType, Of(interval_json)] = UNSET


class QuantileJson(Struct, frozen=True):
    """A quantile of a response time, in s."""

    probability: float
    response: EstimateJson


class RequestJson(Struct, frozen=True):
    """Requests of a workload that enter at a component: throughput in 1/s, response time in s."""

    workload: str
    component: str
    throughput: EstimateJson
    response: EstimateJson
    quantiles: Annotated[
        list[QuantileJson], Of(lambda each: [QuantileJson(p, _estimate(found)) for p, found in each.quantiles])
    ]


class ComponentJson(Struct, frozen=True):
    """A component: visits in 1/s, the time of one in s."""

    name: str
    throughput: EstimateJson
    response: EstimateJson


class ResourceJson(Struct, frozen=True):
    """A resource: visits in 1/s, the busy part of its cores, the mean number of requests there, and the formula."""

    name: str
    throughput: EstimateJson
    utilisation: EstimateJson
    number: EstimateJson
    formula: str


class OverloadJson(Struct, frozen=True):
    """A resource that is asked for more than it has: mean number of cores that would be busy."""

    resource: str
    busy: float
    cores: float


class ProbedMachineJson(Struct, frozen=True):
    """A resource with the cores and the speed of a machine that was probed; of the speed, the 95 % interval too.

    The speed is relative to the machine that demands were measured on.
    """

    resource: Annotated[str, Of("name")]
    machine: Annotated[str, Of("measured.name")]
    cores: int
    speed: float
    measured_cores: Annotated[float, Of("measured.cores.value")]
    measured_speed: Annotated[EstimateJson, Of(lambda each: EstimateJson(each.measured.speed, each.measured.interval))]


class PredictionJson(Struct, frozen=True, tag_field="format", tag="hati-predict-1"):
    """What is predicted of a model, by which method and why; nothing of an overloaded one."""

    method: Annotated[str, Of("method.value")]
    reason: str
    requests: list[RequestJson]
    components: list[ComponentJson]
    resources: list[ResourceJson]
    overloads: list[OverloadJson]
    machines: Annotated[list[ProbedMachineJson], Of("model.measured")]
    replications: int | None
    confidence: float | None


def _estimate(found: PredictedValue) -> EstimateJson:
    return EstimateJson(found.value, interval_json(found))


def prediction_document(prediction: ServicePrediction, title: str) -> Document:
    """The prediction, for people."""
    facts: tuple[Fact, ...] = (
        ("workloads", _workloads(prediction.model)),
        ("method", f"{prediction.method.value}: {prediction.reason}"),
        *machine_facts(prediction.model),
    )
    if prediction.overloads:
        return Document(f"Prediction: {title}", _overloaded(prediction), facts)
    sections = (_requests(prediction), _components(prediction), _resources(prediction))
    return Document(f"Prediction: {title}", _answer(prediction), facts, sections)


def machine_facts(model: ServiceModel) -> tuple[Fact, ...]:
    """The resources that have the cores and the speed of a probed machine."""
    return tuple((each.name, _machine(each.measured, model)) for each in model.measured if each.measured is not None)


def _machine(machine: ProbedMachine, model: ServiceModel) -> str:
    low, high = machine.interval
    return (
        f"{machine.name}: {general(machine.cores.value)} usable cores, {general(machine.speed)} ({general(low)} to "
        f"{general(high)}) times as fast as {model.measured_on}"
    )


def _workloads(model: ServiceModel) -> str:
    found = []
    for workload in model.workloads:
        if isinstance(workload, OpenWorkload):
            found.append(f"{workload.name}: {quantity(workload.rate, '1/s')}")
        else:
            found.append(f"{workload.name}: {workload.population:,} users, think time {quantity(workload.think, 's')}")
    return "; ".join(found)


def _overloaded(prediction: ServicePrediction) -> str:
    found = [
        f"`{each.resource}` would need {general(each.busy)} of its {general(each.cores)} "
        f"{'cores' if each.cores > 1 else 'core'}"
        for each in prediction.overloads
    ]
    return f"Overloaded: {listed(found)}. Response times grow without limit."


def _answer(prediction: ServicePrediction) -> str:
    busiest = max(
        (each for each in prediction.resources if not _is_delay(prediction.model, each.name)),
        key=lambda each: each.utilisation.value,
        default=None,
    )
    slowest = max(prediction.requests, key=lambda each: each.response.value)
    answer = f"Mean response time of `{slowest.component}`: {quantity(slowest.response.value, 's')}."
    if busiest is None:
        return answer
    return f"{answer} Busiest resource: `{busiest.name}`, {percent(busiest.utilisation.value)}."


def _is_delay(model: ServiceModel, resource: str) -> bool:
    return model.resource(resource).policy is Scheduling.DELAY


def _requests(prediction: ServicePrediction) -> Table:
    requests = prediction.requests
    scale = tidy("s", [each.response.value for each in requests])
    probabilities = next((tuple(p for p, _ in each.quantiles) for each in requests if each.quantiles), ())
    columns = (
        *columns_of(f"workload | request | > throughput (1/s) | > response ({scale.unit})"),
        *(Column(_named(p), scale.unit, _RIGHT) for p in probabilities),
    )
    rows = tuple(_request(each, probabilities, scale.factor) for each in requests)
    notes = interval_notes(prediction)
    if any(each.quantiles for each in requests) and not all(each.quantiles for each in requests):
        notes = (*notes, "Quantiles are shown where the method has them.")
    return Table("Requests", columns, rows, notes)


def _request(each: RequestPrediction, probabilities: tuple[float, ...], factor: float) -> tuple[Cell, ...]:
    known = dict(each.quantiles)
    return (
        each.workload,
        each.component,
        shown(each.throughput),
        shown(each.response, factor),
        *(shown(known[p], factor) if p in known else None for p in probabilities),
    )


def _named(probability: float) -> str:
    return "median" if probability == 0.5 else f"p{general(100.0 * probability)}"


def interval_notes(prediction: ServicePrediction) -> tuple[str, ...]:
    """The sources of the intervals in a table."""
    if prediction.confidence is None:
        return ()
    level = percent(prediction.confidence)
    replicated = f"{prediction.replications} replications"
    if not ends_of(prediction.model):
        return (f"In brackets: the {level} interval over {replicated}.",)
    sources = "the machines' measured cores and speeds"
    found = (
        f"In brackets: the {level} interval, from {sources}{f', and {replicated}' if prediction.replications else ''}."
    )
    unlimited = any(each.response.high == math.inf for each in prediction.requests)
    return (found, "No limit: a resource is overloaded at an end of a measured interval.") if unlimited else (found,)


def _components(prediction: ServicePrediction) -> Table:
    scale = tidy("s", [each.response.value for each in prediction.components])
    columns = columns_of(f"component | > visits (1/s) | > response ({scale.unit})")
    rows = tuple(
        (each.name, shown(each.throughput), shown(each.response, scale.factor)) for each in prediction.components
    )
    return Table("Components", columns, rows, ("The response time of one visit, without the components that follow.",))


def _resources(prediction: ServicePrediction) -> Table:
    columns = columns_of("resource | > cores | > visits (1/s)", "> utilisation (%) | > requests there | formula")
    return Table("Resources", columns, tuple(_resource(prediction.model, each) for each in prediction.resources))


def _resource(model: ServiceModel, each: ResourcePrediction) -> tuple[Cell, ...]:
    delay = _is_delay(model, each.name)
    return (
        each.name,
        None if delay else _cores(model.resource(each.name)),
        shown(each.throughput),
        None if delay else shown(each.utilisation, 100.0),
        shown(each.number),
        each.formula,
    )


def _cores(resource: Resource) -> Cell:
    return resource.cores if resource.usable is None else Shown(general(resource.usable), resource.usable)


def shown(found: PredictedValue, factor: float = 1.0) -> Shown:
    """A value with four digits, and with its interval where it has one."""
    text = general(found.value * factor)
    if found.low is not None and found.high is not None:
        high = general(found.high * factor, 3) if math.isfinite(found.high) else "no limit"
        text = f"{text} ({general(found.low * factor, 3)} to {high})"
    return Shown(text, found.value * factor)


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
    return Document(f"Load curve: {title}", _curves_answer(curve), facts, _sections(curve, title))


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


def _curves_answer(curve: LoadCurve) -> str:
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
    names = [_point_named(each) for each in answered[0]] if answered else ["requests"]
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


def _point_named(each: RequestPrediction) -> str:
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
