"""Intervals of what measured machines determine: those of their cores and rates, propagated into predictions.

Each measured number is set to both ends of its interval, and the deviations of a prediction are squared and added,
with those of a simulation. For a single number the interval is exact where the prediction is monotone in it, however
close to saturation; for several it is the method of variance estimates recovery (Zou and Donner 2008, Statistics in
Medicine 27, 1693-1702).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from hati.prediction.model import MeasuredNumber, Resource, ServiceModel
from hati.prediction.prediction import PredictedValue

Found = TypeVar("Found")


def propagated(model: ServiceModel, found: Found, answer: Callable[[ServiceModel], Found]) -> Found:
    """What was found for a model, with the intervals that the model's measured machines give to its values.

    ``answer`` finds the same for the model with a measured number at an end of its interval: values of the same
    structure, infinite where they have no limit.
    """
    ends = [tuple(map(answer, pair)) for pair in ends_of(model)]
    combined: Found = _combined(found, ends) if ends else found
    return combined


def ends_of(model: ServiceModel) -> list[tuple[ServiceModel, ServiceModel]]:
    """The model at both ends of each measured number that matters."""
    machines = [each.measured for each in model.resources if each.measured is not None]
    numbers = dict.fromkeys(number for each in machines for number in (each.cores, each.rate, each.reference))
    pairs = ((_at(model, number, number.low), _at(model, number, number.high)) for number in numbers)
    return [pair for pair in pairs if any(_speeds(each) != _speeds(model) for each in pair)]


def _at(model: ServiceModel, number: MeasuredNumber, value: float) -> ServiceModel:
    return msgspec.structs.replace(model, resources=tuple(each.given(number, value) for each in model.resources))


def _speeds(model: ServiceModel) -> list[float]:
    return [each.speed for each in model.resources]


def _combined(found: Any, ends: Sequence[tuple[Any, ...]]) -> Any:
    """The structure with an interval in each predicted value."""
    if isinstance(found, PredictedValue):
        return _with_interval(found, ends)
    if isinstance(found, tuple):
        parts = zip(*(zip(*pair, strict=True) for pair in ends), strict=True)
        return tuple(_combined(each, part) for each, part in zip(found, parts, strict=True))
    if isinstance(found, Struct) and not isinstance(found, ServiceModel | Resource):
        own = {
            name: _combined(getattr(found, name), [tuple(getattr(each, name) for each in pair) for pair in ends])
            for name in found.__struct_fields__
        }
        return msgspec.structs.replace(found, **own)
    return found


def _with_interval(found: PredictedValue, ends: Sequence[tuple[PredictedValue, ...]]) -> PredictedValue:
    changes = [[each.value - found.value for each in pair] for pair in ends]
    down = math.hypot(
        *(min(0.0, *pair) for pair in changes), found.value - (found.value if found.low is None else found.low)
    )
    up = math.hypot(
        *(max(0.0, *pair) for pair in changes), (found.value if found.high is None else found.high) - found.value
    )
    if down == up == 0.0:
        return found
    return PredictedValue(found.value, max(0.0, found.value - down), found.value + up)
