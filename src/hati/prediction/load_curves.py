"""Load curves: predictions of a model over a range of a workload's rate or population."""

from __future__ import annotations

from enum import StrEnum

import msgspec
import numpy as np
from msgspec import Struct

from hati.core import InputError
from hati.prediction.flows import Flows
from hati.prediction.model import ClosedWorkload, OpenWorkload, ServiceModel, Workload
from hati.prediction.predicting import predict
from hati.prediction.prediction import PredictedValue, ServicePrediction
from hati.prediction.simulation import Replications
from hati.prediction.uncertainty import propagated


class LoadField(StrEnum):
    """The field of a workload that is its load."""

    RATE = "rate"
    POPULATION = "population"


class LoadRange(Struct, frozen=True):
    """Loads of a workload, both ends included: rates in 1/s, or populations.

    ``unit`` is the unit that people write, such as ``1/min``, and ``per_unit`` is its size in the unit of loads.
    """

    workload: str
    field: LoadField
    low: float
    high: float
    unit: str
    per_unit: float = 1.0

    def loads(self, points: int) -> tuple[float, ...]:
        """Loads at equal distances; populations are rounded, each once."""
        found = np.linspace(self.low, self.high, points)
        if self.field is LoadField.POPULATION:
            found = np.unique(np.round(found))
        return tuple(found.tolist())


class LoadPoint(Struct, frozen=True):
    """The prediction at a load."""

    load: float
    prediction: ServicePrediction


class Saturation(Struct, frozen=True):
    """The resource that saturates first, and the load at which it does; 0 if other workloads saturate it."""

    resource: str
    load: PredictedValue


class LoadCurve(Struct, frozen=True):
    """The predictions over a range of loads; ``saturation`` is None if no rate saturates a resource."""

    over: LoadRange
    points: tuple[LoadPoint, ...]
    saturation: Saturation | None


def predict_over(
    model: ServiceModel,
    over: LoadRange,
    points: int,
    generator: np.random.Generator | None = None,
    replications: Replications | None = None,
) -> LoadCurve:
    """The predictions of ``predict`` at ``points`` loads.

    Raises:
        InputError: for a workload or field that the model does not have, and if no method is available.
    """
    return LoadCurve(
        over,
        tuple(
            LoadPoint(load, predict(with_load(model, over, load), generator, replications))
            for load in over.loads(points)
        ),
        saturation(model, over),
    )


def with_load(model: ServiceModel, over: LoadRange, load: float) -> ServiceModel:
    """The model with another load of the range's workload.

    Raises:
        InputError: for a workload or field that the model does not have, and a load out of range.
    """
    if not any(each.name == over.workload and _has(each, over.field) for each in model.workloads):
        raise InputError(f"the model has no workload {over.workload!r} with a {over.field.value}")
    loaded = (_loaded(each, load) if each.name == over.workload else each for each in model.workloads)
    return msgspec.structs.replace(model, workloads=tuple(loaded))


def _has(workload: Workload, field: LoadField) -> bool:
    return isinstance(workload, OpenWorkload) == (field is LoadField.RATE)


def _loaded(workload: Workload, load: float) -> Workload:
    if isinstance(workload, ClosedWorkload):
        return msgspec.structs.replace(workload, population=round(load))
    return msgspec.structs.replace(workload, rate=load)


def saturation(model: ServiceModel, over: LoadRange) -> Saturation | None:
    """The resource that saturates first as the rate grows, by the utilisation law: rate = free cores / demand."""
    if over.field is LoadField.POPULATION:
        return None
    found = _first_saturated(model, over)
    if found is None:
        return None
    load = propagated(model, found.load, lambda each: (_first_saturated(each, over) or found).load)
    return Saturation(found.resource, load)


def _first_saturated(model: ServiceModel, over: LoadRange) -> Saturation | None:
    flows = Flows(with_load(model, over, 1.0))
    own = np.array([each.workload.name == over.workload for each in flows.types])
    asked = (flows.open_rates * own) @ flows.demands
    free = np.maximum(flows.cores - (flows.open_rates * ~own) @ flows.demands, 0.0)
    found = [
        Saturation(resource.name, PredictedValue(float(cores / busy)))
        for resource, cores, busy in zip(model.resources, free, asked, strict=True)
        if busy > 0.0 and np.isfinite(cores)
    ]
    return min(found, key=lambda each: each.load.value, default=None)
